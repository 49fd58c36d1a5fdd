"""IDX files, MNIST and the packaged table: round trips, damage, and what is really there."""

import gzip
import os
import re
import struct
from importlib.resources import files
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from lamina._errors import FileError, ParameterError
from lamina.datasets import load_concrete, load_mnist, read_idx

CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}
TRAIN = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")


def idx_bytes(array):
    code = CODES[array.dtype.str[1:]]
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write_mnist(folder, images, labels, compressed=False):
    folder.mkdir(exist_ok=True)
    for name, array in zip(TRAIN, (images, labels), strict=True):
        data = idx_bytes(array)
        if compressed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            (folder / name).write_bytes(data)
    return folder


def digits(n=5):
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (n, 28, 28), dtype=np.uint8), (np.arange(n) % 10).astype(np.uint8)


@pytest.mark.parametrize("kind", list(CODES))
@pytest.mark.parametrize("compressed", [False, True])
def test_idx_round_trip(tmp_path, kind, compressed):
    array = np.arange(24).reshape(2, 3, 4).astype(kind)
    data = idx_bytes(array)
    (tmp_path / "a").write_bytes(gzip.compress(data) if compressed else data)
    got = read_idx(tmp_path / "a")
    assert got.dtype == array.dtype
    assert np.array_equal(got, array)


GOOD = idx_bytes(np.arange(6, dtype=np.uint8).reshape(2, 3))


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"", "a number of axes. Got b''."),
        (b"PK\x03\x04zip", r"a number of axes. Got b'PK\x03\x04'."),
        (b"\x00\x00\x07\x01", r"a number of axes. Got b'\x00\x00\x07\x01'."),
        (GOOD[:-1], "for shape (2, 3). Got 17 bytes. Download it again."),
        (GOOD + b"x", "for shape (2, 3). Got 19 bytes. Download it again."),
        (GOOD[:9], "Got 9 bytes. Download it again."),
        (gzip.compress(GOOD, mtime=0)[:-6], "Download it again."),
        (b"\x1f\x8b" + b"junk" * 9, "Download it again."),
    ],
)
def test_damaged_idx_files_are_refused(tmp_path, data, end):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(FileError, match=rf"^{re.escape(str(tmp_path))}.*{re.escape(end)}$"):
        read_idx(tmp_path / "a")


def test_a_flipped_bit_in_gzip_is_noticed(tmp_path):
    data = bytearray(gzip.compress(idx_bytes(digits()[0])))
    data[len(data) // 2] ^= 1
    (tmp_path / "a").write_bytes(bytes(data))
    with pytest.raises(FileError, match="whole gzip file"):
        read_idx(tmp_path / "a")


def test_idx_needs_a_file(tmp_path):
    with pytest.raises(FileError, match=r"must be a file\. Got a folder\.$"):
        read_idx(tmp_path)
    with pytest.raises(FileError, match=r"must be a file\. Got nothing there\.$"):
        read_idx(tmp_path / "none")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_mnist_from_files(tmp_path, monkeypatch, compressed, inside):
    images, labels = digits()
    write_mnist(tmp_path / "mnist" if inside else tmp_path, images, labels, compressed)
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path))
    X, y = load_mnist("train", 3)
    assert X.dtype == np.float32
    np.testing.assert_allclose(X, images[:3].reshape(3, 784) / 255, rtol=1e-6)
    assert y.tolist() == [0, 1, 2]
    assert y.dtype == np.int64
    monkeypatch.delenv("LAMINA_DATA")
    assert len(load_mnist("train", folder=tmp_path)[0]) == 5
    with pytest.raises(ParameterError, match=r"^n_samples must be at most 5\. Got 6\.$"):
        load_mnist("train", 6, folder=tmp_path)


@pytest.mark.parametrize(
    ("images", "labels", "end"),
    [
        (np.zeros((2, 27, 28), "u1"), np.zeros(2, "u1"), "Got uint8 of shape (2, 27, 28)."),
        (np.zeros((2, 28, 28), "i2"), np.zeros(2, "u1"), "Got int16 of shape (2, 28, 28)."),
        (np.zeros((2, 28, 28), "u1"), np.zeros(3, "u1"), "each of 2 images. Got shape (3,)."),
        (np.zeros((2, 28, 28), "u1"), np.array([3, 10], "u1"), "digits from 0 to 9. Got 10."),
    ],
)  # fmt: skip
def test_files_that_do_not_belong_together_are_refused(tmp_path, images, labels, end):
    with pytest.raises(FileError, match=f"{re.escape(end)}$"):
        load_mnist(folder=write_mnist(tmp_path, images, labels))


def test_a_missing_half_is_named(tmp_path):
    write_mnist(tmp_path, *digits())
    (tmp_path / TRAIN[1]).unlink()
    with pytest.raises(FileError, match=f"Got no {TRAIN[1]} and no {TRAIN[1]}.gz"):
        load_mnist(folder=tmp_path)
    with pytest.raises(FileError, match=r"^folder must be an existing folder\."):
        load_mnist(folder=tmp_path / "none")


def test_without_files_sklearn_fetches(tmp_path, monkeypatch):
    images = np.zeros((70_000, 784), np.uint8)
    images[60_000] = 255

    def fetch(name, **options):
        assert name == "mnist_784"
        target = np.array(["7"] * 60_000 + ["3"] * 10_000, dtype=object)
        return sklearn.utils.Bunch(data=images, target=target)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.delenv("LAMINA_DATA", raising=False)
    X, y = load_mnist("test")
    assert X.shape == (10_000, 784)
    assert X[0].min() == 1
    assert set(y) == {3}
    assert len(load_mnist("train")[0]) == 60_000


@pytest.mark.filterwarnings("ignore:A network error occurred")
@pytest.mark.parametrize("named", [True, False])
def test_one_sentence_when_no_source_is_there(tmp_path, monkeypatch, named):
    def refuse(*arguments, **options):
        raise URLError("no network")

    # scikit-learn's own loader runs up to the first request
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", refuse)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    if named:
        monkeypatch.setenv("LAMINA_DATA", str(tmp_path))
    else:
        monkeypatch.delenv("LAMINA_DATA", raising=False)
    got = f"no such files in '{tmp_path}'" if named else "no such folder"
    end = f"Got {got}, and OpenML failed (URLError: <urlopen error no network>)."
    with pytest.raises(FileError, match=f"^MNIST must be in .*{re.escape(end)}$"):
        load_mnist()


@pytest.mark.skipif("LAMINA_DATA" not in os.environ, reason="LAMINA_DATA names no folder")
@pytest.mark.parametrize(("part", "n", "ones"), [("train", 60_000, 6742), ("test", 10_000, 1135)])
def test_the_real_digits(part, n, ones):
    X, y = load_mnist(part)
    assert X.shape == (n, 784)
    assert (X.min(), X.max()) == (0, 1)
    assert (y == 1).sum() == ones
    # means of the training and test pixels known to everyone who ever normalised them
    assert X.mean() == pytest.approx(0.1307 if part == "train" else 0.1325, abs=1e-4)


def test_concrete_table():
    table = load_concrete()
    assert list(table) == [
        "cement", "slag", "fly_ash", "water", "superplasticizer", "coarse_aggregate",
        "fine_aggregate", "age", "strength",
    ]  # fmt: skip
    assert table.shape == (1030, 9)
    assert not table.isna().any(axis=None)
    assert table.duplicated().sum() == 25
    # minimum, maximum and mean as the repository's description states them
    assert table["strength"].min() == pytest.approx(2.33, abs=0.005)
    assert table["strength"].max() == pytest.approx(82.6, abs=0.005)
    assert (table["age"].min(), table["age"].max()) == (1, 365)
    assert table["cement"].mean() == pytest.approx(281.17, abs=0.005)


def test_the_attribution_lies_beside_the_table():
    text = (files("lamina.datasets") / "data" / "concrete-attribution.txt").read_text("utf-8")
    for part in ("Yeh", "UCI", "CC BY 4.0", "https://archive.ics.uci.edu/dataset/165"):
        assert part in text
