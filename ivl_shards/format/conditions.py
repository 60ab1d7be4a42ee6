"""Conditions: select samples by an expression over their labels, such as `line_count <= 3`.

The expression is parsed and interpreted here, never evaluated as Python: it knows the names of
fields, numbers, texts, comparisons, `and`, `or`, `not` and parentheses, and nothing else.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ivl_shards.errors import UserError
from ivl_shards.format.schema import Array

_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# Longer conditions are refused: nobody types them, and parsing is recursive.
_LONGEST = 2000


def evaluate_condition(
    condition: str, column: Callable[[str], Array], samples: int, where: str
) -> Array:
    """Return which samples fulfil a condition, (N,) bool; `column` returns a field of all.

    >>> counts = {"line_count": np.array([1, 2, 3]), "split": np.array([b"a", b"b", b"b"])}
    >>> evaluate_condition("line_count < 3 and split == 'b'", counts.__getitem__, 3, "").tolist()
    [False, True, False]
    """
    try:
        if len(condition) > _LONGEST:
            raise ValueError("too long")
        tree = ast.parse(condition.strip(), mode="eval").body
        return _truth(tree, column, samples)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UserError(
            f"{where}: condition '{condition[:80]}' cannot be used ({reason}): write for example "
            "line_count <= 3 and alignment == 0"
        ) from None


def _truth(node: ast.expr, column: Callable[[str], Array], samples: int) -> Array:
    if isinstance(node, ast.BoolOp):
        parts = [_truth(value, column, samples) for value in node.values]
        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return np.asarray(join.reduce(parts))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_truth(node.operand, column, samples)
    if isinstance(node, ast.Compare):
        result = np.ones(samples, bool)
        values = [_value(each, column) for each in (node.left, *node.comparators)]
        for left, sign, right in zip(values, node.ops, values[1:], strict=False):
            if type(sign) not in _OPERATORS:
                raise ValueError("only ==, !=, <, <=, > and >= compare")
            result &= _compare(left, _OPERATORS[type(sign)], right)
        return result
    raise ValueError("not a comparison")


def _value(node: ast.expr, column: Callable[[str], Array]) -> Any:
    if isinstance(node, ast.Name):
        return one_each(column(node.id), node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _value(node.operand, column)
        if not isinstance(number, (int, float)):
            raise ValueError("only numbers can be negative")
        return -number
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
        return node.value
    raise ValueError("fields are compared with numbers and texts")


def one_each(values: Array, name: str) -> Array:
    """Return a column with one value for each sample; (N, 1) counts as such."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} has several values for each sample")
    return values


def _compare(left: Any, compare: Callable[[Any, Any], Any], right: Any) -> Array:
    sides = [side.encode() if isinstance(side, str) else side for side in (left, right)]
    kinds = {np.asarray(side).dtype.kind == "S" for side in sides}
    if len(kinds) > 1:
        raise ValueError("a text is compared with a number")
    return np.asarray(compare(*sides))


def equal_to(values: Array, value: Any, name: str) -> Array:
    """Return which values of a field equal a number or a text, (N,) bool."""
    try:
        return _compare(one_each(values, name), operator.eq, value)
    except ValueError as error:
        raise UserError(f"{name}={value!r}: {error}") from None
