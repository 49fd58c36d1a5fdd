"""Build the wheel and use it from another folder, away from the source.

The wheel goes into a new environment that borrows the packages of the one that runs this
script, so that nothing is downloaded twice; lamina itself can come only from the wheel. A second
wheel is built as on a machine without a C++ compiler: it installs, and trains by torch.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

TRY = """
import sys
from pathlib import Path
import numpy as np
import lamina
assert Path(lamina.__file__).is_relative_to(sys.prefix), lamina.__file__
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
model = lamina.MLPRegressor(solver="lbfgs", random_state=0).fit(X, X[:, 0] - X[:, 1])
lamina.save(model, "model")
np.testing.assert_array_equal(lamina.load("model").predict(X), model.predict(X))
from lamina.stack import Member, engine_info, train
backend, = train([Member((4,), max_epochs=2)], X, X[:, 0]).backend
assert backend == engine_info().backend == sys.argv[1], (backend, engine_info())
print(f"lamina {lamina.__version__} from the wheel: fitted, saved, loaded; trains by {backend}.")
"""


def run(*command: str | Path, cwd: Path) -> None:
    """Run a command and stop here if it fails."""
    subprocess.run([str(word) for word in command], cwd=cwd, check=True)


def build(folder: Path, compiler: str | None = None) -> Path:
    """Return the wheel, built from the source by the compiler that is found or named."""
    wheels = folder / "wheels"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    # A folder of its own, so that nothing compiled before is found there.
    options = ("-C", f"build-dir={folder / 'build'}")
    if compiler is not None:
        os.environ["CXX"] = compiler
    run(*pip, "wheel", "-qq", "--no-deps", *options, "--wheel-dir", wheels, ROOT, cwd=folder)
    (wheel,) = wheels.glob("lamina-*.whl")
    return wheel


def environment(folder: Path, wheel: Path) -> Path:
    """Return the folder of programs of a new environment that holds the wheel."""
    venv.create(folder, with_pip=False)
    programs = folder / Path(sysconfig.get_path("scripts")).name
    python = programs / Path(sys.executable).name
    purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.check_output([str(python), "-c", purelib], text=True).strip())
    # Files named *.pth of the borrowed folder are not read, so the source is not on the path.
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    run(
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python),
        *("install", "-qq", "--no-deps", "--no-index", wheel),
        cwd=folder,
    )
    return programs


def holds_compiled_part(wheel: Path) -> bool:
    """Return whether the extension is in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return any("/_native." in name for name in archive.namelist())


def use(folder: Path, wheel: Path, backend: str) -> None:
    """Install the wheel, and see that it works by a backend."""
    programs = environment(folder / "env", wheel)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    run(programs / "python", "-I", "-c", TRY, backend, cwd=elsewhere)
    run(programs / "lamina", "--version", cwd=elsewhere)
    run(programs / "lamina", "doctor", cwd=elsewhere)
    run(programs / "lamina", "demo", "-o", "demo", cwd=elsewhere)


def main() -> None:
    """Build, install, use; once as here, and once as without a compiler."""
    os.environ.pop("LAMINA_REQUIRE_COMPILED", None)
    for backend, compiler in (("cpu", None), ("torch", "no-such-compiler")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            wheel = build(folder, compiler)
            compiled = holds_compiled_part(wheel)
            if compiled != (backend == "cpu"):
                sys.exit(f"{wheel.name} {'holds' if compiled else 'lacks'} the compiled part.")
            use(folder, wheel, backend)


if __name__ == "__main__":
    main()
