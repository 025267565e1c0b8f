"""Facts of encodings as they are declared, and what they speak for."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from pecli.declare.encoding import Encoding, Family

TITLES: Mapping[str, str] = {
    "type": "type",
    "acts": "acts on",
    "learned": "learned",
    "parameters": "trained values",
    "longest": "longest",
    "beyond": "past its length",
    "bounded": "bounded",
    "unique": "unique rows",
    "relative": "shift acts as",
    "multi_scale": "multi-scale",
    "cost": "values held",
    "token": "work per token",
}
ACTS = {
    Family.ABSOLUTE: ("embedding", "dim additions"),
    Family.ROTARY: ("queries and keys", "3 dim multiplications and additions"),
    Family.BIAS: ("logits", "heads n additions"),
    Family.RELATIVE: ("keys", "n dim products"),
    Family.CONDITIONAL: ("embedding", "dim additions after the gate"),
    Family.NONE: ("nothing", "none"),
}


def sheet(encoding: Encoding) -> dict[str, str]:
    """Return the declared facts as words, by the keys of `TITLES`."""
    facts = encoding.facts
    acts, token = ACTS[encoding.family]
    words = {"type": encoding.family.word, "acts": acts, "token": token}
    for key in TITLES:
        if key not in words:
            value = getattr(facts, key)
            words[key] = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    return {key: words[key] for key in TITLES}


def formula_value(formula: str, values: Mapping[str, Any]) -> int:
    """Return the value of a formula such as ``"(max_len + rows_offset) * dim"`` for these parameters."""
    operators: dict[type[ast.operator], Callable[[int, int], int]] = {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow,
        ast.FloorDiv: operator.floordiv,
    }  # fmt: skip

    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name):
                return int(values[name] or 0)  # a parameter that is not given counts nothing
            case ast.BoolOp(op=ast.Or(), values=[first, other]):  # what is given, or else the other
                given, then = (first.values[0], first.values[1]) if isinstance(first, ast.BoolOp) else (first, first)
                return value(other if values[ast.unparse(given)] is None else then)
            case ast.BinOp(left=left, op=op, right=right):
                result: int = operators[type(op)](value(left), value(right))
                return result
            case ast.Call(func=ast.Name(id="prod" | "sum" as word), args=[ast.Name(id=name)]):  # of a list
                return math.prod(values[name]) if word == "prod" else sum(values[name])
        raise ValueError(f"the formula {formula} has something other than + - * ** // prod sum in it")

    return value(ast.parse(formula, mode="eval").body)
