"""The shape of the source: who imports whom, how long things are, what is never written."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "lamina"

ABOVE_PLOTS = (
    *("root", "nn", "distributions", "heads", "stack", "inspection", "tables", "represent"),
    *("estimators", "search", "datasets"),
)
MAY_IMPORT = {
    "root": (),
    "nn": ("root",),
    "distributions": ("root",),
    "heads": ("root", "distributions"),
    "stack": ("root", "nn", "heads"),
    "inspection": ("root", "nn"),
    "tables": ("root",),
    "represent": ("root", "nn", "heads", "stack"),
    "estimators": ABOVE_PLOTS[: ABOVE_PLOTS.index("estimators")],
    "search": ABOVE_PLOTS[: ABOVE_PLOTS.index("search")],
    "datasets": ("root",),
    "plots": ABOVE_PLOTS,
    "report": ABOVE_PLOTS,
    "experiments": (*ABOVE_PLOTS, "plots", "report"),
    "serve": (*ABOVE_PLOTS, "plots", "report", "experiments"),
    "lab": (*ABOVE_PLOTS, "plots", "report", "experiments"),
    "cli": (*ABOVE_PLOTS, "plots", "report", "experiments"),
}
"""Each room, from the ground up, and the rooms whose public names it may use."""

MAY_USE_SKLEARN = {
    *("tables", "estimators", "search", "datasets", "plots", "report", "experiments"),
    *("serve", "lab", "cli"),
}
ONLY_WHEN_USED = {"matplotlib", "pyarrow", "cyclopts", "rich"}
"""Packages that no room but the command line and the plots imports before it needs them."""

CHANGES_GLOBALS = {
    *("torch.manual_seed", "torch.seed", "torch.set_default_dtype", "torch.set_num_threads"),
    *("torch.set_default_device", "torch.use_deterministic_algorithms"),
    *("np.random.seed", "numpy.random.seed", "random.seed", "np.seterr"),
    *("warnings.filterwarnings", "warnings.simplefilter"),
}

ALLOWED: dict[tuple[str, str], str] = {
    ("lamina/stack/_threads.py", "torch.set_num_threads"): "while training, and put back after",
    ("lamina/search/_search.py", "**params in fit"): "scikit-learn's searches take them so",
    ("lamina/estimators/_transfer.py", "**params in set_params"): "scikit-learn's own signature",
    ("lamina/search/_work.py", "except Exception"): "a fit that fails must not end the search",
    ("lamina/search/_workers.py", "except BaseException"): "raised again, under another name",
    **{
        (f"lamina/estimators/{file}.py", "__init__ is long"): "scikit-learn reads a signature"
        for file in ("_classifier", "_mlp", "_regressor")
    },
}
"""What is written against a rule: (file, what) and the reason."""

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


@dataclass(frozen=True)
class Source:
    """One file of the package, parsed."""

    path: str
    tree: ast.Module
    n_lines: int

    @property
    def parts(self) -> tuple[str, ...]:
        return Path(self.path).with_suffix("").parts

    @property
    def module(self) -> str:
        return ".".join(part for part in self.parts if part != "__init__")

    @property
    def package(self) -> tuple[str, ...]:
        return self.parts[:-1]

    @property
    def room(self) -> str:
        return room_of(self.module)


@dataclass(frozen=True)
class Import:
    """One imported module, by its full name."""

    name: str
    line: int
    at_module_level: bool
    level: int


def room_of(module: str) -> str:
    """Return the room of a module's full name."""
    parts = module.split(".")
    return "root" if len(parts) == 1 or parts[1].startswith("_") else parts[1]


def sources() -> list[Source]:
    """Return every Python file of the package."""
    files = sorted(PACKAGE.rglob("*.py"))
    texts = [(file, file.read_text(encoding="utf-8")) for file in files]
    return [
        Source(file.relative_to(PACKAGE.parent).as_posix(), ast.parse(text), text.count("\n"))
        for file, text in texts
    ]


SOURCES = sources()
MODULES = {source.module for source in SOURCES}
each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.path)


def for_type_checkers(node: ast.AST) -> bool:
    """Return whether a statement is an ``if TYPE_CHECKING:``."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def statements(node: ast.AST, at_module_level: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node that runs, and whether it runs when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if for_type_checkers(child):
            continue
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield child, at_module_level
        yield from statements(child, at_module_level and not inside)


def imports(source: Source) -> list[Import]:
    """Return the imports of a file, relative ones made absolute."""
    found = []
    for node, at_module_level in statements(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.append(Import(alias.name, node.lineno, at_module_level, 0))
        elif isinstance(node, ast.ImportFrom):
            for name in _imported_from(source, node):
                found.append(Import(name, node.lineno, at_module_level, node.level))
    return found


def _imported_from(source: Source, node: ast.ImportFrom) -> Iterator[str]:
    """Yield the modules that a ``from`` statement reads; a submodule counts as one."""
    above = source.package[: len(source.package) - node.level + 1] if node.level else ()
    module = ".".join((*above, *([node.module] if node.module else [])))
    for alias in node.names:
        submodule = f"{module}.{alias.name}"
        yield submodule if submodule in MODULES else module


def of_lamina(source: Source) -> list[Import]:
    """Return the imports of lamina's own modules."""
    return [found for found in imports(source) if found.name.split(".")[0] == "lamina"]


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method of a file."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function has, its docstring not counted."""
    told = function.body[0] if ast.get_docstring(function, clean=False) else None
    documented = told.end_lineno - told.lineno + 1 if told else 0
    return function.end_lineno - function.lineno + 1 - documented


def puts_filters_back(node: ast.AST) -> bool:
    """Return whether a statement is a ``with warnings.catch_warnings()``."""
    return isinstance(node, ast.With) and any(
        ast.unparse(item.context_expr).startswith("warnings.catch_warnings") for item in node.items
    )


def broken_rules(source: Source) -> Iterator[tuple[str, int]]:
    """Yield what a file writes that the package does without, and the line."""
    for function in functions(source):
        if length(function) > MAX_FUNCTION_LINES:
            yield f"{function.name} is long", function.lineno
    restored = {
        id(inner)
        for outer in ast.walk(source.tree)
        if puts_filters_back(outer)
        for inner in ast.walk(outer)
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else ""
            if caught in ("", "Exception", "BaseException"):
                yield f"except {caught}".strip(), node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.kwarg:
            yield f"**{node.args.kwarg.arg} in {node.name}", node.lineno
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            for_a_while = called.startswith("warnings.") and id(node) in restored
            if called == "hasattr" or (called in CHANGES_GLOBALS and not for_a_while):
                yield called, node.lineno


def test_every_room_is_in_the_layer_table():
    rooms = {source.room for source in SOURCES}
    assert rooms <= set(MAY_IMPORT)


@each_source
def test_imports_go_down_the_layer_table(source):
    wrong = [
        f"line {found.line}: {source.room} imports {found.name}"
        for found in of_lamina(source)
        if source.parts != ("lamina", "__init__")  # the front names the rooms, see below
        if room_of(found.name) not in (source.room, *MAY_IMPORT[source.room])
    ]
    assert not wrong


def test_the_front_imports_no_room():
    front = next(source for source in SOURCES if source.path == "lamina/__init__.py")
    assert [found.name for found in of_lamina(front) if room_of(found.name) != "root"] == []


@each_source
def test_rooms_use_one_another_by_public_name_and_full_path(source):
    wrong = []
    for found in of_lamina(source):
        crosses = room_of(found.name) not in (source.room, "root")
        if crosses and found.name.count(".") > 1:
            wrong.append(f"line {found.line}: {found.name} is private to its room")
        if found.level > 1:
            wrong.append(f"line {found.line}: a relative import leaves the room")
    assert not wrong


def test_no_module_imports_itself_in_a_circle():
    graph = {
        source.module: {found.name for found in of_lamina(source) if found.at_module_level}
        - {source.module}
        for source in SOURCES
    }
    assert list(graphlib.TopologicalSorter(graph).static_order())


@each_source
def test_scikit_learn_enters_at_the_tables_and_above(source):
    names = [found.name.split(".")[0] for found in imports(source)]
    assert source.room in MAY_USE_SKLEARN or "sklearn" not in names


@each_source
def test_optional_and_slow_packages_are_imported_when_used(source):
    early = {
        found.name.split(".")[0] for found in imports(source) if found.at_module_level
    } & ONLY_WHEN_USED
    assert source.room in ("cli", "plots") or not early


@each_source
def test_files_stay_short(source):
    assert source.n_lines <= MAX_FILE_LINES


@each_source
def test_functions_are_short_and_nothing_is_swallowed_or_guessed(source):
    wrong = [
        f"line {line}: {what}"
        for what, line in broken_rules(source)
        if (source.path, what) not in ALLOWED
    ]
    assert not wrong


def test_every_allowance_is_still_needed():
    written = {(source.path, what) for source in SOURCES for what, _ in broken_rules(source)}
    assert set(ALLOWED) <= written


def test_the_rules_see_what_they_forbid():
    text = (
        "def f(**options):\n    try:\n        hasattr(f, 'x')\n    except Exception:\n"
        "        np.random.seed(0)\n    try:\n        pass\n    except:\n        pass\n"
    )
    source = Source("lamina/nn/_bad.py", ast.parse(text), 9)
    found = [what for what, _ in broken_rules(source)]
    assert sorted(found) == [
        *("**options in f", "except", "except Exception", "hasattr", "np.random.seed")
    ]


def test_the_importer_sees_what_it_forbids():
    text = (
        "import sklearn.base\nfrom lamina.stack import train\nfrom ..heads._head import Head\n"
        "def f():\n    from . import _network\n"
        "if TYPE_CHECKING:\n    from lamina.cli import main\n"
    )
    source = Source("lamina/nn/_bad.py", ast.parse(text), 7)
    assert [(found.name, found.at_module_level) for found in imports(source)] == [
        ("sklearn.base", True),
        ("lamina.stack", True),
        ("lamina.heads._head", True),
        ("lamina.nn._network" if "lamina.nn._network" in MODULES else "lamina.nn", False),
    ]
