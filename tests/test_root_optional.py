"""Optional packages: there when installed, and one sentence with the cure when not."""

from __future__ import annotations

import sys
import tomllib

import pytest

from lamina._errors import LaminaError, MissingDependencyError
from lamina._optional import optional_import


def test_an_installed_module_is_returned():
    import xml.dom.minidom

    module = optional_import("xml.dom.minidom", extra="plots", purpose="Plotting")
    assert module is xml.dom.minidom


@pytest.mark.parametrize("module", ["matplotlib", "matplotlib.pyplot"])
def test_a_missing_package_is_named_with_the_cure(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError) as caught:
        optional_import(module, extra="plots", purpose="Plotting")
    assert str(caught.value) == (
        "Plotting needs the package 'matplotlib', which is not installed. "
        "Install it with: pip install 'lamina[plots]'"
    )
    assert isinstance(caught.value, (LaminaError, ImportError))
    assert isinstance(caught.value.__cause__, ImportError)


def test_every_extra_that_a_sentence_names_exists(root):
    import re

    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = {
        name
        for file in (root / "lamina").rglob("*.py")
        for name in re.findall(r"extra=\"(\w+)\"", file.read_text(encoding="utf-8"))
    }
    assert named <= set(extras)
