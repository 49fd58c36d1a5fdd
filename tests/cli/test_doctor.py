"""``lamina doctor``: what is here, what is missing, and the cure."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
from importlib import metadata

import pytest
import torch

import lamina
from lamina import stack
from lamina.cli import _doctor as module
from lamina.stack import EngineInfo

COMPILED = EngineInfo("cpu", "avx2", ("avx2", "baseline"), "lamina/_native.so", "")
OPTIONAL = ("matplotlib", "pyarrow", "optuna", "dask", "ray")
NONE = EngineInfo("torch", None, (), None, "it was not built when lamina was installed")


@pytest.fixture
def found(monkeypatch):
    """Make a function that lets the command find an engine, a compiler and packages."""

    def let(engine, compiler="/usr/bin/c++", missing=()):
        monkeypatch.setattr(stack, "engine_info", lambda: engine)
        monkeypatch.setattr(shutil, "which", lambda name: compiler)
        monkeypatch.delenv("CXX", raising=False)
        versions = {name: None if name in missing else "1.2" for name in module.PACKAGES}
        monkeypatch.setattr(module, "_packages", lambda: versions)

    return let


def values(done):
    """Return the lines of the table as a mapping from the words on the left."""
    rows = [line.split("  ", 1) for line in done.lines if "  " in line.strip()]
    return {left.strip(): right.strip() for left, right in rows}


def test_what_is_here_is_told(run, found):
    found(COMPILED)
    done = run("doctor")
    assert (done.status, done.err) == (0, "")
    assert done.lines[0] == f"lamina {lamina.__version__}"
    told = values(done)
    assert told["training on the CPU"] == "in machine code, with avx2"
    assert told["instruction sets"] == "avx2, baseline"
    assert told["compiled part"] == "lamina/_native.so"
    assert told["C++ compiler"] == "/usr/bin/c++"
    assert told["torch"].startswith(f"{torch.__version__}, ")
    assert told["optional packages"] == ", ".join(f"{name} 1.2" for name in OPTIONAL)
    # Nothing is missing, so the table is all there is.
    assert done.lines[-1].startswith("optional packages")


def test_the_document_is_that_of_this_machine(run):
    done = run("doctor", "--json")
    told = json.loads(done.out)
    engine = stack.engine_info()
    assert {name: told[name] for name in ("backend", "instruction_set", "file", "missing")} == {
        name: getattr(engine, name) for name in ("backend", "instruction_set", "file", "missing")
    }
    assert told["instruction_sets"] == list(engine.instruction_sets)
    assert told["command"] == "doctor"
    assert told["version"] == lamina.__version__
    assert told["python"].startswith(".".join(map(str, sys.version_info[:2])))
    assert 1 <= told["cores"] <= (os.cpu_count() or 1)
    assert told["threads"] == torch.get_num_threads()
    assert told["torch"]["version"] == torch.__version__
    assert told["torch"]["cuda"] == torch.version.cuda
    assert len(told["gpus"]) == (torch.cuda.device_count() if torch.cuda.is_available() else 0)
    assert told["packages"]["matplotlib"] == metadata.version("matplotlib")
    assert told["blas"]


AGAIN = (
    "Install lamina once more as you did before, with the options --force-reinstall --no-deps "
    "--no-cache-dir."
)
REASON = (
    "The compiled part of lamina is missing: it was not built when lamina was installed. "
    "Networks train several times faster with it. "
)


def test_without_the_compiled_part_the_cure_is_told(run, found):
    found(NONE)
    done = run("doctor")
    assert done.status == 0
    told = values(done)
    assert told["training on the CPU"] == "by torch alone, since the compiled part is missing"
    assert told["instruction sets"] == "none compiled"
    assert told["compiled part"] == "missing: it was not built when lamina was installed"
    assert done.lines[-1] == f"{REASON}{AGAIN}"


@pytest.mark.parametrize(
    ("system", "how"),
    [
        ("linux", "Get a C++ compiler, on Debian and Ubuntu with: apt install g++."),
        ("darwin", "Get a C++ compiler with: xcode-select --install."),
        (
            "win32",
            "Get GCC or Clang for C++, and let the environment variable CXX name it.",
        ),
    ],
)
def test_without_a_compiler_the_cure_begins_with_one(run, found, monkeypatch, system, how):
    found(NONE, compiler=None)
    monkeypatch.setattr(module.sys, "platform", system)
    done = run("doctor")
    assert values(done)["C++ compiler"] == "none found"
    assert done.lines[-1] == f"{REASON}{how} {AGAIN}"


def test_a_compiled_part_that_does_not_load_says_why(run, found):
    reason = "it was built, and cannot be loaded here: libstdc++.so.6: version not found"
    found(dataclasses.replace(NONE, missing=reason))
    done = run("doctor")
    assert values(done)["compiled part"] == f"missing: {reason}"
    assert reason in done.lines[-1]


def test_each_optional_package_that_is_missing_is_a_sentence(run, found):
    found(COMPILED, missing=("matplotlib", "optuna"))
    done = run("doctor")
    listed = "matplotlib missing, pyarrow 1.2, optuna missing, dask 1.2, ray 1.2"
    assert values(done)["optional packages"] == listed
    assert [line for line in done.lines if "pip install" in line] == [
        "matplotlib is not installed. Get it with: pip install 'lamina[plots]'",
        "optuna is not installed. Get it with: pip install 'lamina[search]'",
    ]


def test_the_compiler_of_the_environment_is_the_one_that_counts(monkeypatch):
    asked = []
    monkeypatch.setattr(shutil, "which", lambda name: asked.append(name))
    monkeypatch.setenv("CXX", "my-compiler")
    assert module._compiler() is None
    assert asked == ["my-compiler"]
    asked.clear()
    monkeypatch.delenv("CXX")
    assert module._compiler() is None
    assert asked == list(module.COMPILERS)


def test_packages_that_are_not_installed_have_no_version(monkeypatch):
    def fail(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", fail)
    assert module._packages() == dict.fromkeys(OPTIONAL)


def test_graphics_cards_in_words():
    cpu = module.Torch("2.13", "AVX2", "mkl", None)
    cuda = dataclasses.replace(cpu, cuda="12.8")
    assert module._graphics([], cpu) == "none, and this torch was built for the CPU only"
    assert module._graphics([], cuda) == "none found by torch, which was built for CUDA 12.8"
    cards = [module.Gpu("NVIDIA H200", 139 * 2**30 + 5), module.Gpu("NVIDIA H100", 80 * 2**30)]
    told = "NVIDIA H200 with 139 GiB, NVIDIA H100 with 80 GiB (CUDA 12.8)"
    assert module._graphics(cards, cuda) == told


def test_graphics_cards_are_those_of_torch(monkeypatch):
    @dataclasses.dataclass
    class Properties:
        name: str
        total_memory: int

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda i: Properties(f"card {i}", i))
    assert module._gpus() == [module.Gpu("card 0", 0), module.Gpu("card 1", 1)]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert module._gpus() == []


def test_a_limit_on_threads_is_told(run, found, monkeypatch):
    found(COMPILED)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    n = torch.get_num_threads()
    assert values(run("doctor"))["cores"].endswith(f"; training uses {n} (OMP_NUM_THREADS=3)")
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert values(run("doctor"))["cores"].endswith(f"; training uses {n}")
