"""The files around the package agree with each other and hold nothing that they should not."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import lamina

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
RUNTIME = [Requirement(text) for text in PROJECT["dependencies"]]
USERS = [Requirement(text) for name, texts in EXTRAS.items() if name != "dev" for text in texts]
OPTIONAL = [Requirement(text) for texts in EXTRAS.values() for text in texts]
EVERY = [r for r in (*RUNTIME, *OPTIONAL) if canonicalize_name(r.name) != "lamina"]

FORBIDDEN = {
    "a path of one machine": r"(?<![\w.~])/(work|tmp|root|home|opt|Users)/",
    "a package index": r"pypi\.|pythonhosted|--index-url|--extra-index|download\.pytorch",
    "an unfinished place": r"\b(TODO|FIXME|XXX|HACK)\b",
    "a number from a list of requirements": r"\bR\d{2,3}\b",
}


def pins():
    """Return the version that constraints.txt states for each package."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    stated = [line for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in (s.split("==") for s in stated)}


def text_files():
    """Return the files of the repository that people read, this one apart."""
    folders = ("lamina", "native", "tests", "benchmarks", "scripts", "docs")
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*"))]
    files += [file for kind in ("*.md", "*.toml", "*.txt") for file in ROOT.glob(kind)]
    files += [ROOT / name for name in ("Makefile", "LICENSE", ".gitignore", ".ci/run")]
    kinds = {".py", ".h", ".cpp", ".md", ".toml", ".txt", ".json", ".csv", ""}
    readable = [file for file in files if file.is_file() and file.suffix in kinds]
    return [file for file in readable if file != Path(__file__).resolve()]


@pytest.mark.parametrize("requirement", EVERY, ids=str)
def test_every_requirement_has_a_floor_and_a_pin_above_it(requirement):
    assert [clause.operator for clause in requirement.specifier] == [">="]
    assert requirement.specifier.contains(Version(pins()[canonicalize_name(requirement.name)]))


def test_constraints_are_sorted_and_exact():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    stated = [line for line in lines if not line.startswith("#")]
    names = [line.split("==")[0] for line in stated]
    assert names == sorted(set(names))
    assert all(re.fullmatch(r"[a-z0-9.-]+==[0-9][\w.]*", line) for line in stated)


def test_requirements_are_stated_once_and_in_order():
    for group in (PROJECT["dependencies"], *EXTRAS.values()):
        names = [Requirement(text).name for text in group]
        assert names == sorted(set(names))


def imported_packages():
    """Return the packages that any file of lamina imports."""
    trees = [ast.parse(file.read_text("utf-8")) for file in (ROOT / "lamina").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    full = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    full += [n.module for n in nodes if isinstance(n, ast.ImportFrom) and not n.level]
    return {name.split(".")[0] for name in full}


def test_every_import_is_a_stated_requirement():
    stated = {{"scikit-learn": "sklearn"}.get(r.name, r.name) for r in (*RUNTIME, *USERS)}
    foreign = imported_packages() - set(sys.stdlib_module_names) - {"lamina"}
    # joblib comes with scikit-learn, which cannot do without it.
    assert foreign - {"joblib"} <= stated


def test_every_stated_requirement_is_used():
    names = {{"scikit-learn": "sklearn"}.get(r.name, r.name) for r in RUNTIME}
    assert names <= imported_packages()


def test_the_version_is_the_same_everywhere():
    script = [sys.executable, str(ROOT / "scripts" / "check_changelog.py")]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert lamina.__version__ == PROJECT["version"]


def test_python_is_the_same_version_everywhere():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert SpecifierSet(PROJECT["requires-python"]) == SpecifierSet(">=3.11")
    assert "sys.version_info < (3, 11)" in makefile
    assert settings["ruff"]["target-version"] == "py311"
    assert settings["mypy"]["python_version"] == "3.11"


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what):
    pattern = re.compile(FORBIDDEN[what])
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for file in text_files()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found


def test_every_make_target_is_told_and_is_no_file():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):(?! export)", makefile, re.MULTILINE))
    told = set(re.findall(r"^([a-z][a-z-]*):.*## ", makefile, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()
    assert targets == told == set(phony)


def test_large_files_stay_out():
    large = [file for file in text_files() if file.stat().st_size > 300_000]
    assert not large
