"""``lamina doctor``: what trains networks on this machine, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ._options import Flag
from ._output import Output

if TYPE_CHECKING:
    from lamina.stack import EngineInfo

PACKAGES = {
    "matplotlib": "plots",
    "pyarrow": "parquet",
    "optuna": "search",
    "dask": "dask",
    "ray": "ray",
}
"""Optional packages, and the extra of lamina that installs each."""

COMPILERS = ("c++", "g++", "clang++")
GIBIBYTE = 2**30


@dataclass(frozen=True)
class Torch:
    """The installed torch: its version and what it was built with."""

    version: str
    instruction_set: str
    blas: str
    cuda: str | None


@dataclass(frozen=True)
class Gpu:
    """A graphics card that torch can use."""

    name: str
    memory: int


def doctor(*, quiet: Flag = False, json: Flag = False) -> None:
    """Say what trains networks here, what is missing, and how to get it.

    Networks train on the CPU in machine code if lamina was installed where there was a C++
    compiler, else by torch alone, which gives the same results and takes longer.

    Parameters
    ----------
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    from joblib import cpu_count

    from lamina import __version__
    from lamina.stack import engine_info

    say = Output(json=json, quiet=quiet)
    engine, torch, gpus = engine_info(), _torch(), _gpus()
    blas, packages, compiler = _blas_of_numpy(), _packages(), _compiler()
    cores, threads = cpu_count(), _threads()
    advice = _advice(engine, compiler, packages)
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    say.table(
        f"lamina {__version__}",
        ["", "found here"],
        [
            ["Python", python],
            ["training on the CPU", _training(engine)],
            ["instruction sets", ", ".join(engine.instruction_sets) or "none compiled"],
            ["compiled part", engine.file or f"missing: {engine.missing}"],
            ["C++ compiler", compiler or "none found"],
            ["cores", f"{cores}; training uses {threads}{_limits()}"],
            ["torch", f"{torch.version}, {torch.instruction_set}, BLAS {torch.blas}"],
            ["GPU", _graphics(gpus, torch)],
            ["BLAS of NumPy", blas],
            ["optional packages", _listed(packages)],
        ],
    )
    for sentence in advice:
        say.line("")
        say.line(sentence, style="yellow")
    say.document(
        {
            "command": "doctor",
            "version": __version__,
            "python": python,
            **asdict(engine),
            "compiler": compiler,
            "cores": cores,
            "threads": threads,
            "torch": asdict(torch),
            "gpus": [asdict(gpu) for gpu in gpus],
            "blas": blas,
            "packages": packages,
            "advice": advice,
        }
    )


def _training(engine: EngineInfo) -> str:
    """Return what trains networks on the CPU, in words."""
    if engine.backend == "cpu":
        return f"in machine code, with {engine.instruction_set}"
    return "by torch alone, since the compiled part is missing"


def _torch() -> Torch:
    """Return what torch says of itself."""
    import torch

    built = torch.__config__.show()
    blas = re.search(r"BLAS_INFO=(\w+)", built)
    return Torch(
        version=torch.__version__,
        instruction_set=torch.backends.cpu.get_cpu_capability(),
        blas=blas[1] if blas else "unknown",
        cuda=torch.version.cuda,
    )


def _gpus() -> list[Gpu]:
    """Return the graphics cards that torch can use."""
    import torch

    if not torch.cuda.is_available():
        return []
    every = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    return [Gpu(one.name, one.total_memory) for one in every]


def _graphics(gpus: list[Gpu], torch: Torch) -> str:
    """Return the graphics cards in words."""
    if gpus:
        named = (f"{gpu.name} with {gpu.memory / GIBIBYTE:.0f} GiB" for gpu in gpus)
        return f"{', '.join(named)} (CUDA {torch.cuda})"
    if torch.cuda is None:
        return "none, and this torch was built for the CPU only"
    return f"none found by torch, which was built for CUDA {torch.cuda}"


def _blas_of_numpy() -> str:
    """Return name and version of the BLAS that NumPy calls."""
    import numpy as np

    config: Any = np.show_config(mode="dicts")
    found = config["Build Dependencies"]["blas"]
    return f"{found['name']} {found['version']}"


def _threads() -> int:
    """Return on how many threads the members of a stack train."""
    import torch

    return torch.get_num_threads()


def _limits() -> str:
    """Return the environment variable that limits the threads, if there is one."""
    value = os.environ.get("OMP_NUM_THREADS")
    return f" (OMP_NUM_THREADS={value})" if value else ""


def _packages() -> dict[str, str | None]:
    """Return the versions of the optional packages, None for those that are not installed."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _listed(packages: dict[str, str | None]) -> str:
    """Return the optional packages in words."""
    return ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items())


def _compiler() -> str | None:
    """Return the path of the C++ compiler that an installation would take."""
    named = os.environ.get("CXX")
    return next(filter(None, map(shutil.which, [named] if named else COMPILERS)), None)


def _advice(
    engine: EngineInfo, compiler: str | None, packages: dict[str, str | None]
) -> list[str]:
    """Return a sentence for each thing that is missing and can be had."""
    advice = []
    if engine.missing:
        first = "" if compiler else f"{_how_to_get_a_compiler()} "
        advice.append(
            f"The compiled part of lamina is missing: {engine.missing}. Networks train several "
            f"times faster with it. {first}Install lamina once more as you did before, with the "
            "options --force-reinstall --no-deps --no-cache-dir."
        )
    for name, version in packages.items():
        if version is None:
            advice.append(
                f"{name} is not installed. Get it with: pip install 'lamina[{PACKAGES[name]}]'"
            )
    return advice


def _how_to_get_a_compiler() -> str:
    """Return how to get a C++ compiler on this system."""
    if sys.platform == "darwin":
        return "Get a C++ compiler with: xcode-select --install."
    if sys.platform == "win32":
        return "Get GCC or Clang for C++, and let the environment variable CXX name it."
    return "Get a C++ compiler, on Debian and Ubuntu with: apt install g++."
