"""Assertions for anybody's test suite: of a table, of what was made with one, of a declaration.

An array may be NumPy's, PyTorch's, JAX's, MLX's, TensorFlow's or anything with an array protocol, on any device. A
message says what was done instead, as ``pecli compare`` does.

Examples
--------
>>> import numpy as np
>>> from pecli.testing import assert_table
>>> assert_table(np.array([[0.0, 1.0], [0.84147098, 0.54030231]], np.float32), "sinusoidal:dim=2", ulp=1)
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from pecli.errors import with_known_options

__all__ = ["assert_applied", "assert_table", "check_encoding"]


@with_known_options
def assert_table(
    values: Any, expected: Any, *, arithmetic: str | None = None, ulp: int = 0, atol: float = 0.0, rtol: float = 0.0,
    layer_type: str | None = None, stack: str | None = None,
) -> None:  # fmt: skip
    """Raise AssertionError unless these values are the expected table's.

    Parameters
    ----------
    values : array, pair of arrays (cos, sin), mapping of names to arrays, or path
    expected : recipe, path, table or config
        What a recipe leaves open, length, type and layout, is taken from the values.
    arithmetic : {"exact", "float32", "bfloat16"}, optional
        Whether the correctly rounded values are expected (the default), or those that a framework computes. No two
        frameworks have the same cosines in float32: every value then passes that float32 angles may give.
    ulp : int
        Units in the last place that may be between them.
    atol, rtol : float
        Or so much: abs(a - b) <= atol + rtol abs(b).
    layer_type, stack : str, optional
        What is read of a config.

    Raises
    ------
    AssertionError
        With what was done to make the values differ.

    Examples
    --------
    >>> from pecli import table
    >>> assert_table(table("rope:dim=64", len=8), "rope:dim=64,base=100")
    Traceback (most recent call last):
    ...
    AssertionError: these values are not rope:dim=64,base=100
    different: 434 of 512 values differ (84.8 %)
      base 10000 where 100 was expected
    """
    __tracebackhide__ = True
    from pecli import api

    source = exact = api.source_of(expected, layer_type=layer_type, stack=stack)
    if arithmetic is not None:
        source = replace(source, given={**source.given, "arithmetic": arithmetic})
    found = api.compare(values, source, atol=atol, rtol=rtol, ulp=ulp)
    if not found.equal and arithmetic == "float32":
        found = api.compare(values, exact, atol=atol, rtol=rtol, ulp=ulp)
        if not found.equal and all(one.kind == "rounding" for one in found.findings):
            return
    if not found.equal:
        raise AssertionError(f"these values are not {source.text}\n{as_argument(repr(found))}")


def as_argument(text: str) -> str:
    """Return a message with options of the command line written as arguments of a function: atol=5e-06."""
    return re.sub(r"--(atol|rtol|ulp) ([-+.\de]+\d)", r"\1=\2", text)


@with_known_options
def assert_applied(
    inputs: Any, outputs: Any, expected: Any, *, pairs: str | None = None, start: int | None = None,
    positions: Any = None, axes: str | None = None, atol: float | None = None, layer_type: str | None = None,
    stack: str | None = None,
) -> None:  # fmt: skip
    """Raise AssertionError unless a table was applied rightly to these inputs.

    Parameters
    ----------
    inputs, outputs : array, or mapping of the same names to arrays
        Queries and keys before and after, or embeddings.
    expected : recipe, path, table or config
        What was to be applied.
    pairs, start, positions, axes
        As :func:`pecli.apply` takes them.
    atol : float, optional
        The largest difference allowed. By default what a kernel may lose that makes its angles in float32 and its
        products in the inputs' type; see :func:`pecli.numbers.rounding.allowance`.
    layer_type, stack : str, optional
        What is read of a config.

    Raises
    ------
    AssertionError
        With what was done instead: other pairs, the other way round, other positions, nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from pecli import apply
    >>> q = np.ones((3, 4), np.float32)
    >>> assert_applied(q, apply("rope:dim=4", q, pairs="half", start=0)["array"], "rope:dim=4", pairs="half", start=0)
    """
    __tracebackhide__ = True
    from pecli import api
    from pecli.testing.applied import Applied

    source = api.source_of(expected, layer_type=layer_type, stack=stack)
    phrase = Applied(source, inputs, outputs, pairs, start, positions, axes).fault(atol)
    if phrase:
        raise AssertionError(as_argument(phrase))


def check_encoding(encoding: Any, length: int = 12) -> None:
    """Raise AssertionError unless a declared encoding keeps the contract of the catalogue.

    Its example is computed in every type, in any slice, reproduced by its recipe, worked through, and a value
    outside a parameter's range is refused by name.

    Parameters
    ----------
    encoding : str, Encoding or function
        By its name, or the decorated function.
    length : int
        Rows of the example.

    Raises
    ------
    AssertionError
        With every fault of the declaration.

    Examples
    --------
    >>> check_encoding("sinusoidal", length=2)
    """
    __tracebackhide__ = True
    from pecli.testing.contract import faults_of

    faults = faults_of(encoding, length)
    if faults:
        raise AssertionError("\n  ".join([f"{len(faults)} faults of the declaration", *faults]))
