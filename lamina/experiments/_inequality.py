"""Evaluate an inequality over named values without running code.

The text is parsed by Python and walked: comparisons, arithmetic, indices, a few functions, and
``all`` or ``any`` over a counted loop. Everything else is refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from lamina._errors import ParameterError

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "len": len,
    "max": max,
    "min": min,
    "range": range,
    "sum": sum,
}


def holds(text: str, values: Mapping[str, Any]) -> bool:
    """Return whether an inequality over ``values`` is true.

    Raises
    ------
    ParameterError
        If the text is not an inequality of the allowed form, or names an unknown value.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ParameterError(f"inequality must be an expression. Got {text!r}.") from error
    return bool(_value(tree.body, values))


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of one node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.Compare):
        return _chain(node, names)
    if isinstance(node, ast.Subscript):
        return _value(node.value, names)[_index(node.slice, names)]
    if isinstance(node, ast.GeneratorExp):
        return _loop(node, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = _FUNCTIONS.get(node.func.id)
        if function is not None:
            return function(*[_value(argument, names) for argument in node.args])
    raise ParameterError(
        f"inequality must be made of numbers, known names, arithmetic and comparisons. "
        f"Got {ast.unparse(node)!r}."
    )


def _chain(node: ast.Compare, names: Mapping[str, Any]) -> bool:
    """Return whether a chain such as ``a < b <= c`` holds."""
    operands = [_value(part, names) for part in (node.left, *node.comparators)]
    if not all(type(op) in _BINARY for op in node.ops):
        raise ParameterError(
            f"inequality must compare by <, <=, >, >=, == or !=. Got {ast.unparse(node)!r}."
        )
    pairs = zip(node.ops, operands, operands[1:], strict=False)
    return all(_BINARY[type(op)](left, right) for op, left, right in pairs)


def _index(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return what stands between the brackets: a number or a slice."""
    if isinstance(node, ast.Slice):
        ends = (node.lower, node.upper, node.step)
        return slice(*[None if end is None else _value(end, names) for end in ends])
    return _value(node, names)


def _loop(node: ast.GeneratorExp, names: Mapping[str, Any]) -> list[Any]:
    """Return the values of ``expression for i in range(n)``."""
    loop = node.generators[0]
    if len(node.generators) > 1 or loop.ifs or not isinstance(loop.target, ast.Name):
        raise ParameterError(
            f"inequality must loop over one name without conditions. Got {ast.unparse(node)!r}."
        )
    name = loop.target.id
    return [_value(node.elt, {**names, name: i}) for i in _value(loop.iter, names)]
