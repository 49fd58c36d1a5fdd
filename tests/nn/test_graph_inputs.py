"""What a graph reads: tables by name, mappings of many names, and what it refuses."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
import torch

from lamina._errors import DataError
from lamina.nn import GraphNetwork

TABLE = pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]})


def places(n=2):
    """Return a graph that writes its inputs as digits of one number."""
    names = [chr(ord("a") + i) for i in range(n)]
    return GraphNetwork({"y": names}, inputs=names, weights={"y": 10.0 ** np.arange(n)})


@pytest.mark.parametrize("table", [TABLE, TABLE[["b", "a"]], TABLE[["b", "a"]].astype("Int64")])
def test_a_table_is_read_by_name(table):
    for read in (places().predict_raw, places().forward):
        assert read(table).tolist() == [[21.0], [43.0]]
    assert places().values(table)[:, :2].tolist() == TABLE.to_numpy().tolist()
    assert places().predict_raw(table.head(0)).shape == (0, 1)


def test_a_table_of_another_library_is_read_by_name():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"b": [2.0, 4.0], "a": [1.0, 3.0]})
    assert places().predict_raw(table).tolist() == [[21.0], [43.0]]


def test_columns_without_names_are_read_by_place():
    assert places().predict_raw(pd.DataFrame([[1.0, 2.0]])).tolist() == [[21.0]]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            TABLE.set_axis(["q", "r"], axis=1),
            r"inputs \('a', 'b'\) as its columns.*Got \['q',",
        ),
        (TABLE[["a"]], r"as its columns, in any order\. Got \['a'\]\. Give X\.to_numpy\(\)"),
        (TABLE.assign(c=1.0), r"Got \['a', 'b', 'c'\]"),
        (TABLE.rename(columns={"a": 0}), r"Got \[0, 'b'\]"),
        (TABLE.set_axis(["a", "a"], axis=1), r"must have a different name for each column"),
        (TABLE.assign(b=["p", "q"]), r"X\['b'\] must be an array of real numbers"),
    ],
)
def test_a_table_of_other_columns_is_refused(table, sentence):
    with pytest.raises(DataError, match=sentence):
        places().predict_raw(table)


def test_many_inputs_by_name_take_time_in_proportion():
    names = [f"x{i}" for i in range(8000)]
    graph = GraphNetwork({"y": names}, weights={"y": np.ones(8000)})
    start = time.perf_counter()
    assert graph.forward(dict.fromkeys(names, 0.5)) == {"y": 4000.0}
    assert time.perf_counter() - start < 1.0  # 3 s where each name made a set of all


def test_what_stands_beside_a_tensor_is_checked_too():
    with pytest.raises(DataError, match=r"X\['b'\] must be an array of real numbers"):
        places().forward({"a": torch.ones(2, dtype=torch.float64), "b": "one"})
    a = torch.ones(2, dtype=torch.float32, requires_grad=True)
    places().forward({"a": a, "b": np.array([1.0, 2.0])})["y"].sum().backward()
    assert a.grad.tolist() == [1.0, 1.0]
