"""Run the tests of the `cpu` backend under AddressSanitizer and UndefinedBehaviorSanitizer.

The extension is built with both into build/sanitize, and its wheel goes into a temporary
environment. Any wrong access or undefined operation ends the run with a report.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from wheel_test import ROOT, environment, run

SETTINGS = (
    f"build-dir={ROOT / 'build' / 'sanitize'}",
    "cmake.build-type=RelWithDebInfo",
    "cmake.define.LAMINA_SANITIZE=ON",
    "install.strip=false",
)


def build(folder: Path) -> Path:
    """Return the wheel, built with the sanitizers."""
    os.environ["LAMINA_REQUIRE_COMPILED"] = "1"
    options = [word for setting in SETTINGS for word in ("-C", setting)]
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-qq", "--no-deps")
    run(*pip, "--wheel-dir", folder, *options, ROOT, cwd=folder)
    (wheel,) = folder.glob("lamina-*.whl")
    return wheel


def libraries() -> str:
    """Return the sanitizers' libraries, which must be loaded before all others.

    That of C++ follows, so that they find the exceptions that it throws.
    """
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        sys.exit("A C++ compiler is needed, and none was found. Install g++, or set CXX.")
    names = ("libasan.so", "libubsan.so", "libstdc++.so")
    found = [
        subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        for name in names
    ]
    missing = [name for name, path in zip(names, found, strict=True) if not Path(path).is_file()]
    if missing:
        sys.exit(f"{', '.join(missing)} must come with {compiler}, and does not. Use GCC.")
    return " ".join(found)


def main() -> None:
    """Build, install, test, fuzz."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", default="60", help="how long to fuzz afterwards")
    given = parser.parse_args()
    preload = libraries()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = environment(folder / "env", build(folder)) / "python"
        os.environ |= {
            "LD_PRELOAD": preload,
            "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter keeps some memory to its end
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONMALLOC": "malloc",
            "OMP_NUM_THREADS": "1",
        }
        tests = sorted((ROOT / "tests" / "stack").glob("test_cpu_*.py"))
        # Without -P the source, which lacks the extension, would be found before the wheel; a
        # captured report would be lost with the process.
        options = ("-P", "-m", "pytest", "--capture=no", "-q", "-m", "not slow", "--timeout=600")
        run(python, *options, *tests, cwd=ROOT)
        run(python, "-P", ROOT / "scripts" / "fuzz_cpu.py", "--seconds", given.seconds, cwd=folder)


if __name__ == "__main__":
    main()
