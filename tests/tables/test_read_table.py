"""Reading files: values as written, and one sentence for each way in which a file is bad."""

import gzip

import numpy as np
import pandas as pd
import pytest

from lamina import _errors
from lamina.tables import read_table


def write(tmp_path, content, name="data.csv"):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def sentence(file):
    with pytest.raises(_errors.FileError) as caught:
        read_table(file)
    text = str(caught.value)
    assert "\n" not in text
    assert str(file) in text
    return text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "n,t\n1,x\n2,y\n"),
        ("a.csv", "\ufeffn,t\r\n1,x\r\n2,y\r\n"),
        ("a.csv", "n;t\n1;x\n2;y\n"),
        ("a.tsv", "n\tt\n1\tx\n2\ty\n"),
        ("a.txt", "n\tt\n1\tx\n2\ty\n"),
        ("a.csv", "n,t\n\n1,x\n2,y"),
    ],
    ids=["comma", "bom and crlf", "semicolon", "tab", "tab found", "blank line, no last newline"],
)
def test_text_tables_give_names_and_values(tmp_path, name, content):
    frame = read_table(write(tmp_path, content, name))
    assert frame.to_dict("list") == {"n": [1, 2], "t": ["x", "y"]}


def test_quoted_separators_and_newlines_belong_to_the_value(tmp_path):
    frame = read_table(write(tmp_path, 'a,b\n"x, y","1\n2"\n'))
    assert frame.to_dict("list") == {"a": ["x, y"], "b": ["1\n2"]}


def test_compressed_text(tmp_path):
    file = write(tmp_path, gzip.compress(b"a,b\n1,2\n"), "a.csv.gz")
    assert read_table(file).to_numpy().tolist() == [[1, 2]]
    file = write(tmp_path, gzip.compress(b"a\tb\n1\t2\n"), "a.tsv.gz")
    assert read_table(file).to_numpy().tolist() == [[1, 2]]


def test_parquet_keeps_types(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime(["2026-01-01", None]),
            "kind": pd.Categorical(["a", "b"]),
            "yes": [True, False],
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "a.parquet"), frame)


def test_missing_file_suggests_a_name_nearby(tmp_path):
    write(tmp_path, "a\n1\n", "houses.csv")
    text = sentence(tmp_path / "house.csv")
    assert "must be a file that exists" in text
    assert f"Did you mean '{tmp_path / 'houses.csv'}'?" in text
    assert "Did you mean" not in sentence(tmp_path / "nowhere" / "house.csv")


def test_folder(tmp_path):
    assert sentence(tmp_path).endswith("must be a CSV or Parquet file. Got a folder.")


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff"])
def test_empty_file(tmp_path, content):
    assert "Got an empty file" in sentence(write(tmp_path, content))


def test_header_without_rows(tmp_path):
    assert "at least one row" in sentence(write(tmp_path, "a,b\n"))


def test_foreign_encoding_names_byte_and_line(tmp_path):
    text = sentence(write(tmp_path, "name\nZoe\nZoé\n".encode("latin1")))
    assert "Got byte 0xe9 at position 11, in line 3." in text


def test_utf16(tmp_path):
    assert "byte 0xff at position 0, in line 1" in sentence(
        write(tmp_path, "a\n1".encode("utf-16"))
    )


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("a,b\n1,2\n1,2,3\n", "2 fields in every line, as the header has. Got 3 in line 3."),
        ("a,b\n1,2\n\n3\n", "2 fields in every line, as the header has. Got 1 in line 4."),
        ("a,b\n1,2,3\n1,2,3\n", "2 fields in every line, as the header has. Got 3 in line 2."),
    ],
    ids=["too many", "too few", "all too many"],
)
def test_ragged_lines_are_named(tmp_path, content, found):
    assert found in sentence(write(tmp_path, content))


def test_numbers_are_no_header(tmp_path):
    text = sentence(write(tmp_path, "1.5,2,-3e4\n1,2,3\n"))
    assert "Got numbers: '1.5, 2, -3e4'." in text


def test_years_beside_a_name_are_a_header(tmp_path):
    assert list(read_table(write(tmp_path, "who,2025,2026\nx,1,2\n"))) == ["who", "2025", "2026"]


def test_repeated_names(tmp_path):
    assert "Got 'a' 2 times" in sentence(write(tmp_path, "a,b,a\n1,2,3\n"))


def test_cut_off_gzip(tmp_path):
    whole = gzip.compress(b"a,b\n1,2\n" * 50)
    assert "whole gzip file" in sentence(write(tmp_path, whole[:-12], "a.csv.gz"))
    assert "whole gzip file" in sentence(write(tmp_path, b"a,b\n1,2\n", "a.csv.gz"))


def test_workbook(tmp_path):
    assert "Excel" in sentence(write(tmp_path, b"PK\x03\x04rest", "a.xlsx"))


def test_foreign_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    assert "readable Parquet file" in sentence(write(tmp_path, b"not parquet", "a.parquet"))


def test_numbers_are_read_to_the_last_digit(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=200) * 10.0 ** rng.integers(-20, 20, 200)
    file = write(tmp_path, "a\n" + "\n".join(map(repr, values.tolist())))
    np.testing.assert_allclose(read_table(file)["a"], values, rtol=5e-16, atol=0)
