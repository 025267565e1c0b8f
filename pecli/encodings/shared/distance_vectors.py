"""Trained vectors, one for each distance."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated

from pecli.declare.encoding import Param
from pecli.declare.plan import Domain, Fixed, Role
from pecli.encodings.shared.drawn import Rule, Weights, draw
from pecli.encodings.shared.kernel_types import Floats

WHOLE = Domain(integral=True, remedy="rows of vectors belong to whole distances")


VectorWeights = Annotated[
    Weights, Param("File of the vectors, one row each (default: drawn from the seed).", file=True)
]


def vectors(
    name: str, path: str | None, rows: int, dim: int, rule: Rule, spread: float, seed: int, stream: int = 0,
    axes: tuple[str, str] = ("row", "channel"), ending: str | None = None, role: Role = "vector",
) -> tuple[Fixed, Callable[[], None]]:  # fmt: skip
    """Return an array of trained vectors, drawn or from a file, and what reads and checks the file."""
    if path is None:

        def drawn(start: int, stop: int) -> Floats:
            return draw(seed, stream, start, stop, dim, rule, spread)

        return Fixed(name, (rows, dim), axes, drawn, role=role), lambda: None

    @cache
    def read() -> Floats:
        from pecli.encodings.shared.files import one_array, read_arrays, shaped

        endings = (ending or name, "weight") if ending is None else (ending,)
        return shaped(
            one_array(read_arrays(path), path, *endings), path, (rows, dim), f"{name} of {rows} rows and dim={dim}"
        )

    def prepare() -> None:
        read()

    return Fixed(name, (rows, dim), axes, lambda start, stop: read()[start:stop], role=role), prepare
