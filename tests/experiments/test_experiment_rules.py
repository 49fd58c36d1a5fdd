"""The checker's parts: every kind of rule, and inequalities that are walked, never executed."""

import math

import numpy as np
import pytest

from lamina._errors import ParameterError
from lamina.experiments._inequality import holds
from lamina.experiments._rules import agrees, nature, plain

RULES = [
    (3, 3, "exact", True),
    (3, 4, "exact", False),
    (0.2**2, 0.04, "exact", True),
    (0.0400001, 0.04, "exact", False),
    (True, True, "exact", True),
    (True, 1, "exact", False),
    (1, True, "exact", False),
    ("float64", "float64", "exact", True),
    ("float64", "float32", "exact", False),
    ("nan", "nan", "exact", True),
    ("inf", 30, "exact", False),
    ("nan", 0.5, {"abs": 1.0}, False),
    (1.04, 1.0, {"abs": 0.05}, True),
    (1.06, 1.0, {"abs": 0.05}, False),
    (0.96, 1.0, {"abs": 0.05}, True),
    (104.0, 100.0, {"rel": 0.05}, True),
    (106.0, 100.0, {"rel": 0.05}, False),
    (-104.0, -100.0, {"rel": 0.05}, True),
    (1e-9, 0.0, {"max": 1e-8}, True),
    (1e-7, 0.0, {"max": 1e-8}, False),
    (0.5, 9.0, {"range": [0.4, 0.6]}, True),
    (0.39, 0.5, {"range": [0.4, 0.6]}, False),
    ([1, 2], [1, 2], "exact", True),
    ([1, 2], [1, 3], "exact", False),
    ([1, 2], [1, 2, 3], "exact", False),
    (1, [1], "exact", False),
    ([1], 1, "exact", False),
    ([[1.0, 2.0], [3.0]], [[1.01, 2.0], [2.99]], {"abs": 0.02}, True),
    ([[1.0, 2.0], [3.0]], [[1.03, 2.0], [2.99]], {"abs": 0.02}, False),
    ([0.1, 0.5], [0, 0], [{"max": 0.2}, {"range": [0.4, 0.6]}], True),
    ([0.3, 0.5], [0, 0], [{"max": 0.2}, {"range": [0.4, 0.6]}], False),
    ([0.1], [0, 0], [{"max": 0.2}, {"range": [0.4, 0.6]}], False),
    (0.1, 0, [{"max": 0.2}], False),
    (5, 6, "stream", None),
    ([1], [2], {"words": "any order"}, None),
]


@pytest.mark.parametrize(("got", "expected", "rule", "verdict"), RULES)
def test_rules(got, expected, rule, verdict):
    assert agrees(got, expected, rule) is verdict


@pytest.mark.parametrize("rule", ["about", {"near": 1}, {"abs": 1, "rel": 1}, {}])
def test_unknown_rules_are_refused(rule):
    with pytest.raises(ParameterError, match=r"^rule must be 'exact', 'stream', a list"):
        agrees(1.0, 1.5, rule)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("exact", "exact"),
        ("stream", "random stream, not compared"),
        ({"abs": 1}, "to rounding"),
        ({"rel": 1}, "to rounding"),
        ({"max": 1}, "bounded"),
        ({"range": [0, 1]}, "depends on the random stream, within a range"),
        ({"words": "any order"}, "not compared: any order"),
        ([{"max": 1}, {"max": 2}, "exact"], "bounded / exact"),
        ("inequality only", "inequality only"),
    ],
)
def test_every_rule_says_what_its_figure_is(rule, words):
    assert nature(rule) == words


def test_values_become_plain_python():
    value = (np.float64(1.5), np.array([[1, 2]]), [math.inf, -math.inf, math.nan], np.bool_(True))
    assert plain(value) == [1.5, [[1, 2]], ["inf", "-inf", "nan"], True]
    assert plain(np.array([np.inf, 1.0])) == ["inf", 1.0]
    assert type(plain(np.float32(2))) is float
    assert plain(np.float64(np.inf)) == "inf"


VALUES = {"a": 0.5, "b": [1, 2, 4], "c": [[1, 2], [3, 4]], "flag": True}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("a < 1", True),
        ("a > 1", False),
        ("0.4 < a <= 0.5", True),
        ("0.4 < a < 0.5", False),
        ("b[0] < b[1] < b[2]", True),
        ("b[0] > b[1] < b[2]", False),
        ("b[-1] == 4", True),
        ("b[0] != 1", False),
        ("c[1][0] >= 3", True),
        ("abs(a - 1) < 0.6", True),
        ("sum(b)/len(b) > 2*a + 1", True),
        ("max(b[1:]) - min(b) == 3", True),
        ("all(b[i] >= b[0] for i in range(3))", True),
        ("all(b[i] > 1 for i in range(3))", False),
        ("any(b[i] > 3 for i in range(3))", True),
        ("-a < 0", True),
    ],
)
def test_inequalities(text, verdict):
    assert holds(text, VALUES) is verdict
    assert eval(text, dict(VALUES)) is verdict


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "a.real < 1",
        "unknown < 1",
        "open('x')",
        "'a' < 'b'",
        "a if a else a",
        "[x for x in b]",
        "all(b[i] > 0 for i in range(3) if i)",
        "all(i > j for i in range(3) for j in range(3))",
        "max(b, key=abs) > 1",
        "a is a",
        "a ** 1000000 > 0",
        "lambda: 1",
        "a <",
        "a; a",
    ],
)
def test_whatever_else_is_refused(text):
    with pytest.raises(ParameterError, match=r"^inequality must "):
        holds(text, VALUES)
