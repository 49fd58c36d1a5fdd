"""Fail unless pyproject.toml, the package and the top of the changelog name one version."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADING = re.compile(r"^## \[?(?P<version>[^\]\s]+)\]?", re.MULTILINE)
CONSTANT = re.compile(r'^__version__ = "(?P<version>[^"]+)"', re.MULTILINE)


def versions() -> dict[str, str]:
    """Return the version that each of the three files states."""
    stated = {"pyproject.toml": tomllib.loads(_text("pyproject.toml"))["project"]["version"]}
    for name, pattern in (("lamina/__init__.py", CONSTANT), ("CHANGELOG.md", HEADING)):
        found = pattern.search(_text(name))
        stated[name] = found["version"] if found else "none"
    return stated


def _text(name: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    stated = versions()
    lines = ", ".join(f"{name} says {version}" for name, version in stated.items())
    if len(set(stated.values())) > 1:
        sys.exit(f"The version must be the same everywhere: {lines}.")
    print(f"Version: {lines}.")
