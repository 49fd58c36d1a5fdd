"""The format of a saved model: exact round trips, atomic writing, and one sentence a failure."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import _files, _json
from lamina._errors import FileError, ParameterError
from lamina._files import check_writable, read_model, write_model

CONFIG = {
    "kind": "Thing",
    "widths": [3, 2],
    "rate": 0.1,
    "bias": None,
    "fitted": True,
    "categories": ["ä", "float:nan", "text:", "nan", "\ud800", ""],
    "range": [-math.inf, math.inf],
    "nested": {"a b": [[], {}, -0.0, 1, 1.0, 2**80, 5e-324]},
}
ARRAYS = {
    "W0": np.linspace(-1.0, 1.0, 6).reshape(2, 3),
    "b0": np.array([np.nan, -np.inf], dtype=np.float32),
    "flags": np.array([[True], [False]]),
    "codes": np.arange(5, dtype=np.int64),
    "scalar": np.array(7.5),
    "empty": np.zeros((0, 4)),
}
FUZZ = settings(max_examples=150, deadline=None, database=None, derandomize=True)


@pytest.fixture
def folder(tmp_path):
    write_model(tmp_path / "model", CONFIG, ARRAYS)
    return tmp_path / "model"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """The bytes of the two files and a folder to damage them in."""
    folder = tmp_path_factory.mktemp("fuzz") / "model"
    write_model(folder, CONFIG, ARRAYS)
    files = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    return folder, files


def rewrite(folder: Path, change) -> None:
    """Change model.json and sign it again, as a hostile or buggy writer could."""
    document = json.loads((folder / "model.json").read_text())
    change(document)
    document.pop("sha256", None)
    signed = json.dumps(document, separators=(",", ":"))
    document["sha256"] = hashlib.sha256(signed.encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps(document))


def refusal(path) -> str:
    """The sentence with which a folder is refused."""
    with pytest.raises(FileError) as caught:
        read_model(path)
    return str(caught.value)


# What goes in comes out


def test_round_trip_is_exact(folder):
    config, arrays = read_model(folder)
    assert repr(config) == repr(CONFIG)  # repr tells 1 from 1.0 and 0.0 from -0.0
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()
        assert arrays[name].flags.writeable


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12.0)[::-2],
        np.arange(3, dtype=">f8"),
        np.broadcast_to(np.float32(2.0), (2, 2)),
    ],
    ids=["transposed", "fortran", "strided", "big-endian", "broadcast"],
)
def test_any_memory_layout_comes_back_with_equal_values(tmp_path, array):
    write_model(tmp_path / "m", {}, {"x": array})
    np.testing.assert_array_equal(read_model(tmp_path / "m")[1]["x"], array)


def test_nan_comes_back_as_a_number_and_its_name_as_a_text(tmp_path):
    write_model(tmp_path / "m", {"number": math.nan, "text": "float:nan"}, {})
    config, arrays = read_model(tmp_path / "m")
    assert math.isnan(config["number"])
    assert config["text"] == "float:nan"
    assert arrays == {}


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_gives_back_any_value(value):
    assert repr(_json.decode(_json.parse(_json.dump(_json.encode(value))))) == repr(value)


def test_numpy_scalars_become_numbers_of_python():
    encoded = _json.encode({"a": np.int64(3), "b": np.float32(0.5), "c": np.bool_(True)})
    assert repr(encoded) == "{'a': 3, 'b': 0.5, 'c': True}"


def test_files_are_plain_json_and_safetensors(folder):
    safetensors = pytest.importorskip("safetensors.numpy")
    document = json.loads((folder / "model.json").read_bytes().decode("ascii"))
    weights = (folder / "weights.safetensors").read_bytes()
    assert sorted(os.listdir(folder)) == ["model.json", "weights.safetensors"]
    assert document["format"] == "lamina-model"
    assert document["schema"] == 1
    assert document["lamina"] == _files.__version__
    assert document["config"]["range"] == ["float:-inf", "float:inf"]
    assert document["arrays"]["W0"] == ["float64", [2, 3]]
    assert document["weights"] == {
        "n_bytes": len(weights),
        "sha256": hashlib.sha256(weights).hexdigest(),
    }
    np.testing.assert_array_equal(safetensors.load(weights)["W0"], ARRAYS["W0"])


def test_equal_models_give_equal_files(tmp_path, folder):
    write_model(tmp_path / "again", CONFIG, ARRAYS)
    for name in os.listdir(folder):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


# What cannot be saved


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            {"loss": {"f": [len]}},
            "config['loss']['f'][0] must be a number, text, bool, None, list or dict to be "
            "saved. Got <built-in function len>.",
        ),
        ({1: "a"}, "The keys of config must be texts to be saved. Got 1."),
    ],
)
def test_config_that_json_cannot_hold_is_refused_by_its_place(tmp_path, config, sentence):
    with pytest.raises(ParameterError) as caught:
        write_model(tmp_path / "m", config, {})
    assert str(caught.value) == sentence
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        (
            {"x": np.array(["a", None], dtype=object)},
            "arrays['x'] must hold numbers or bools. Got dtype object.",
        ),
        (
            {"x": np.zeros(2, dtype=complex)},
            "arrays['x'] must hold numbers or bools. Got dtype complex128.",
        ),
        (
            {"__metadata__": np.zeros(2)},
            "The name of an array must be a text. Got '__metadata__'.",
        ),
    ],
)
def test_arrays_that_the_file_cannot_hold_are_refused(tmp_path, arrays, sentence):
    with pytest.raises(ParameterError) as caught:
        write_model(tmp_path / "m", {}, arrays)
    assert str(caught.value) == sentence
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", ["", None, 3, "a\0b"])
def test_path_that_is_none_is_refused(path):
    for function in (read_model, check_writable, lambda path: write_model(path, {}, {})):
        with pytest.raises(
            ParameterError, match=r"^path must be the name of a folder\. Got .*\.$"
        ):
            function(path)


# Where it is written


def test_missing_parents_are_made_and_nothing_else_remains(tmp_path):
    write_model(tmp_path / "a" / "b", {"n": 1}, {})
    assert os.listdir(tmp_path / "a") == ["b"]


def test_a_model_and_an_empty_folder_are_replaced(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    for path in (folder, tmp_path / "empty"):
        check_writable(path)
        write_model(path, {"n": 2}, {})
        assert read_model(path) == ({"n": 2}, {})
    assert sorted(os.listdir(tmp_path)) == ["empty", "model"]


def test_a_link_to_a_model_stays_a_link(tmp_path, folder):
    (tmp_path / "link").symlink_to(folder, target_is_directory=True)
    write_model(tmp_path / "link", {"n": 2}, {})
    assert (tmp_path / "link").is_symlink()
    assert read_model(folder) == ({"n": 2}, {})


@pytest.mark.parametrize("write", [lambda path: write_model(path, {}, {}), check_writable])
def test_what_is_not_a_model_is_never_replaced(tmp_path, folder, write):
    rule = "path must be a new folder or one that lamina.save wrote. Got"
    (tmp_path / "file").write_text("notes")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("notes")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "model.json").write_text('{"format": "other"}')
    (folder / "notes.txt").write_text("notes")
    for name, problem in [
        ("file", "which is a file"),
        ("full", "which also holds 'thesis.txt'"),
        ("foreign", "which holds something else"),
        ("model", "which also holds 'notes.txt'"),
    ]:
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(FileError) as caught:
            write(tmp_path / name)
        path = str(tmp_path / name)
        assert str(caught.value) == f"{rule} {path!r}, {problem}. Give another name."
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("write", [lambda path: write_model(path, {}, {}), check_writable])
def test_a_place_that_cannot_be_written_is_refused(tmp_path, write):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError) as caught:
        write(tmp_path / "file" / "model")
    assert str(caught.value) == (
        f"path must be a folder that can be written. Got {str(tmp_path / 'file' / 'model')!r}: "
        "Not a directory. Give another place."
    )
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="Permission denied"):
        check_writable(tmp_path / "model")


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_a_failure_in_the_middle_leaves_the_old_model(tmp_path, folder, monkeypatch, step):
    rename = Path.rename

    def fsync(descriptor):
        raise OSError(28, "No space left on device")

    def rename_old_only(path, target):
        if target == folder and '"n": 2' in (path / "model.json").read_text():
            raise OSError(28, "No space left on device")
        return rename(path, target)

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", fsync)
    else:
        monkeypatch.setattr(Path, "rename", rename_old_only)
    with pytest.raises(FileError, match="No space left on device"):
        write_model(folder, {"n": 2}, {})
    assert repr(read_model(folder)[0]) == repr(CONFIG)
    assert os.listdir(tmp_path) == ["model"]


def test_a_killed_writer_leaves_the_old_model(tmp_path):
    """The process dies while the second file is being written, after the first is on disk."""
    write_model(tmp_path / "model", {"n": 1}, {})
    program = (
        "import os, signal, sys, lamina._files as f\n"
        "write = f._write_file\n"
        "def die(path, content):\n"
        "    if path.name == 'model.json': os.kill(os.getpid(), signal.SIGKILL)\n"
        "    write(path, content)\n"
        "f._write_file = die\n"
        "f.write_model(sys.argv[1], {'n': 2}, {})\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "model")], check=False)
    assert done.returncode == -9
    assert read_model(tmp_path / "model") == ({"n": 1}, {})


# What is refused on reading


def test_paths_that_hold_no_model(tmp_path, folder):
    rule = "path must be a folder that lamina.save wrote. Got"
    (tmp_path / "empty").mkdir()
    missing, file = str(tmp_path / "missing"), str(folder / "model.json")
    assert refusal(missing) == f"{rule} {missing!r}, which does not exist."
    assert refusal(file) == (
        f"{rule} {file!r}, which is not a folder. Give the folder that holds model.json."
    )
    empty = str(tmp_path / "empty")
    assert refusal(empty) == f"{rule} {empty!r}, which has no model.json."
    (folder / "weights.safetensors").unlink()
    assert refusal(folder) == f"{rule} {str(folder)!r}, which has no weights.safetensors."
    (folder / "weights.safetensors").mkdir()
    assert refusal(folder) == f"{rule} {str(folder)!r}, which has no weights.safetensors."


@pytest.mark.parametrize(
    "text", ['{"format": "other"}', "[]", "3", '"text"', "{}", "null", '{"format": null}']
)
def test_json_of_something_else(folder, text):
    (folder / "model.json").write_text(text)
    assert refusal(folder) == (
        f"path must be a folder that lamina.save wrote. Got {str(folder / 'model.json')!r}, "
        "which is JSON of something else."
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ('{"format": NaN}', "the bare word NaN is not JSON"),
        ('{"format": 1e999}', "the number '1e999' is too large"),
        ('{"format": 1, "format": 2}', "a key occurs twice in one object"),
        ("[" * 100_000, "recursion"),
        ("1" * 10_000, "integer string"),
        ("\xe4", "utf-8"),
    ],
)
def test_damaged_json(folder, text, reason):
    (folder / "model.json").write_bytes(text.encode("latin-1"))
    sentence = refusal(folder)
    assert sentence.startswith(
        f"{str(folder / 'model.json')!r} must be as lamina.save wrote it. Got a damaged file: "
    )
    assert reason in sentence
    assert sentence.endswith(". Save the model again or take a copy.")


def test_a_newer_schema_names_the_cure(folder):
    rewrite(folder, lambda document: document.update(schema=2, lamina="9.9"))
    assert refusal(folder) == (
        f"{str(folder / 'model.json')!r} must be of schema 1 or older. Got schema 2, written by "
        "lamina '9.9'. Install a newer lamina."
    )


def test_an_edited_config_is_noticed(folder):
    path = folder / "model.json"
    path.write_text(path.read_text().replace('"rate": 0.1', '"rate": 0.2'))
    assert "its content does not match its SHA-256" in refusal(folder)


def test_weights_that_are_cut_or_exchanged_are_noticed(folder):
    path = folder / "weights.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert f"it has {len(whole) - 1} bytes and not {len(whole)}" in refusal(folder)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "its content does not match its SHA-256" in refusal(folder)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d["arrays"].update(W0=["float64", [3, 2]]), "'W0' is float64 of shape (2, 3)"),
        (lambda d: d["arrays"].update(b0=["float64", [2]]), "'b0' is float32 of shape (2,)"),
        (lambda d: d["arrays"].pop("b0"), "it differs from model.json in the arrays b0"),
        (lambda d: d.pop("config"), "does not match"),
        (lambda d: d.update(config=[]), "does not match"),
        (lambda d: d.update(arrays=7), "does not match"),
        (lambda d: d.update(weights={"file": "/etc/passwd"}), "does not match"),
        (lambda d: d["weights"].update(n_bytes="many"), "bytes and not many"),
        (lambda d: d.update(extra=1), "does not match"),
        (lambda d: d["config"].update(rate="float:five"), "'float:five' stands for no number"),
    ],
)
def test_well_signed_nonsense_is_refused(folder, change, reason):
    rewrite(folder, change)
    assert reason in refusal(folder)


def test_a_weights_file_with_a_right_digest_and_wrong_inside_is_refused(folder):
    garbage = b"\xff" * 64
    (folder / "weights.safetensors").write_bytes(garbage)
    digest = hashlib.sha256(garbage).hexdigest()
    rewrite(folder, lambda d: d.update(weights={"n_bytes": 64, "sha256": digest}))
    assert "header" in refusal(folder)


# Chance


def damage(pristine, name: str, content: bytes) -> Path:
    """Write the pristine files, one of them changed."""
    folder, files = pristine
    for other, whole in files.items():
        (folder / other).write_bytes(whole)
    (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors"])
@FUZZ
@given(data=st.data())
def test_any_truncation_is_refused(pristine, name, data):
    whole = pristine[1][name]
    # The newline at the end of model.json may go: the document before it is whole.
    length = data.draw(st.integers(0, len(whole) - 2))
    refusal(damage(pristine, name, whole[:length]))


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors"])
@FUZZ
@given(data=st.data())
def test_any_flipped_byte_is_refused_or_harmless(pristine, name, data):
    whole = pristine[1][name]
    place = data.draw(st.integers(0, len(whole) - 1))
    flip = data.draw(st.integers(1, 255))
    changed = whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :]
    folder = damage(pristine, name, changed)
    if name == "model.json" and same_document(changed, whole):
        assert repr(read_model(folder)[0]) == repr(CONFIG)
    else:
        refusal(folder)


def same_document(one: bytes, other: bytes) -> bool:
    """Tell whether two texts are the same JSON, such as a blank turned into a line feed."""
    try:
        return repr(json.loads(one)) == repr(json.loads(other))
    except ValueError:
        return False


@FUZZ
@given(st.binary(max_size=200))
def test_any_bytes_in_place_of_a_file_are_refused(pristine, content):
    for name in ("model.json", "weights.safetensors"):
        refusal(damage(pristine, name, content))


def test_nothing_is_left_behind(pristine):
    folder, _ = pristine
    assert os.listdir(folder.parent) == ["model"]
    shutil.rmtree(folder)
