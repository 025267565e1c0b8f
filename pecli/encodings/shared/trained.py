"""Trained values: from a file, or as they are before training, drawn from a seed by a counter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Annotated, Literal

from pecli.encodings.shared.deferred import Floats, Integers, np, seeded
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT
from pecli.numbers.reader import StoredArray, only_array, open_numbers
from pecli.spec.declaration import Param
from pecli.spec.parameter import When
from pecli.spec.plans import Fixed, Role, nothing

Rule = Literal["normal", "truncated-normal", "uniform", "zeros"]
# Without a file of weights.
DRAWN: When = ("weights", (None,))


def deviation(when: When | None = DRAWN) -> Param:
    """Return the declaration of a parameter for the spread of random values."""
    return Param("Standard deviation of random values.", ge=1e-30, le=1e30, when=when)


def generation(when: When | None) -> Param:
    """Return the declaration of the parameter that names the generator of random values."""
    return Param("Random generator: one Philox word for each value; normal numbers by inverse CDF.", when=when)


Philox = Literal["philox4x64-10+as241"]
Generator = Annotated[Philox, generation(DRAWN)]
Weights = Annotated[str | None, Param("File of the trained values (default: random, from the seed).", file=True)]
Std = Annotated[Decimal, deviation()]
VectorWeights = Annotated[
    Weights, Param("File of the vectors, one row each (default: random, from the seed).", file=True)
]
DrawnSeed = Annotated[int, Param("Seed of random values.", ge=0, lt=1 << 64, when=DRAWN)]

GENERATOR: Philox = "philox4x64-10+as241"  # another way of drawing would get another name
# Random numbers of heads that are drawn at once and kept, 32 MiB.
MAX_HELD = 1 << 22
TAIL = 0.022750131948179207200  # the normal distribution function at -2


def draw(
    seed: int, stream: int, start: int, stop: int, width: int, rule: Rule = "normal", spread: float = 1.0
) -> Floats:
    """Return rows `start` to `stop` of drawn values, (stop - start, width).

    Parameters
    ----------
    seed, stream : int
        Key of the generator; each array of a table has a stream of its own.
    rule : {"normal", "truncated-normal", "uniform", "zeros"}
        Normal, normal within two deviations, or uniform between -1 and 1.
    spread : float
        Multiplies the values.
    """
    if rule == "zeros":
        return np.zeros((stop - start, width))
    u = seeded.uniform(seeded.words(seed, start * width, (stop - start) * width, stream))
    return of_rule(u.reshape(-1, width), rule, spread)


def of_rule(u: Floats, rule: Rule, spread: float) -> Floats:
    """Map uniform values in (0, 1) to the distribution of a rule other than zeros."""
    if rule == "uniform":
        return (2.0 * u - 1.0) * spread
    if rule == "truncated-normal":  # the part within two deviations: what redrawing until a value falls there gives
        u = TAIL + u * (1.0 - 2.0 * TAIL)
    found = seeded.normal(u)
    found *= spread
    return found


def glorot(rows: int, columns: int, above: int = 6) -> float:
    """Return the bound of Glorot's uniform distribution, sqrt(6 / (rows + columns)); with 2 the normal's deviation."""
    return float(CONTEXT.sqrt(CONTEXT.divide(Decimal(above), Decimal(rows + columns))))


def fan_in(count: int) -> float:
    """Return 1 / sqrt(count), the bound of a linear layer's first weights."""
    return float(CONTEXT.divide(Decimal(1), CONTEXT.sqrt(Decimal(count))))


def linear_layer(seed: int, outputs: int, inputs: int) -> tuple[Floats, Floats]:
    """Return weight (outputs, inputs) and bias (outputs,) as torch's layers start: uniform within 1 / sqrt(inputs)."""
    weight, bias = (
        draw(seed, stream, 0, outputs, width, "uniform", fan_in(inputs)) for stream, width in enumerate((inputs, 1))
    )
    return weight, bias[:, 0]


def by_head(
    path: str | None, names: tuple[str, ...], axis: str, rows: int, heads: int | None, what: str, seed: int, rule: Rule,
    std: float,
) -> tuple[int, Callable[[Integers, range], Floats], tuple[Fixed, ...]]:  # fmt: skip
    """Return trained numbers (rows, heads): of how many heads, those of some rows and heads, and the array.

    Random numbers of many heads are drawn for the rows and the heads that are asked for.
    """

    @cache
    def values() -> Floats:
        if path is None:
            return draw(seed, 0, 0, rows, heads or 0, rule, std)
        return WeightFile(path).values((rows, heads), what + (f" and heads={heads}" if heads else ""), *names)

    count = values().shape[1] if path is not None and not heads else heads or 0
    held = path is not None or rows * count <= MAX_HELD

    def of(places: Integers, some: range) -> Floats:
        if held:
            return values()[places, some.start : some.stop]
        which, at = np.unique(places, return_inverse=True)
        words = np.stack([seeded.words(seed, row * count + some.start, len(some)) for row in which.tolist()])
        return np.asarray(of_rule(seeded.uniform(words), rule, std)[at])

    def weight(start: int, stop: int) -> Floats:
        return values()[start:stop] if held else draw(seed, 0, start, stop, count, rule, std)

    array = Fixed("weight", (rows, count), (axis, "head"), weight, prepare=nothing if path is None else values)
    return count, of, (array,) if count else ()


def vectors(
    name: str, path: str | None, rows: int, dim: int, rule: Rule, spread: float, seed: int, stream: int = 0,
    axes: tuple[str, str] = ("row", "channel"), role: Role = "vector",
) -> Fixed:  # fmt: skip
    """Return an array of trained vectors, random or from a file."""
    if path is None:

        def drawn(start: int, stop: int) -> Floats:
            return draw(seed, stream, start, stop, dim, rule, spread)

        return Fixed(name, (rows, dim), axes, drawn, role=role)

    @cache
    def read() -> Floats:
        return WeightFile(path).values((rows, dim), f"{name} of {rows} rows and dim={dim}", name, "weight")

    return Fixed(name, (rows, dim), axes, lambda start, stop: read()[start:stop], role=role, prepare=read)


def projection(name: str, path: str | None, outputs: int, inputs: int, *, biased: bool = False) -> tuple[Fixed, ...]:
    """Return the trained projection matrix (outputs, inputs) and its bias; empty without a file.

    Parameters
    ----------
    name : str
        Of the matrix; its bias is NAME_bias.
    path : str, optional
        File with weight (outputs, inputs) as a linear layer has it, or (inputs, heads, width), and maybe bias.
    outputs, inputs : int
        How many numbers a projected vector has, and the vector.
    biased : bool
        Whether such a layer has a bias; one left out is 0.
    """
    if path is None:
        return ()

    @cache
    def read() -> tuple[Floats, Floats]:

        file, what = WeightFile(path), f"{name} of {outputs} numbers for dim={inputs}"
        held = file.one(name, "weight")
        if len(held.shape) == 3 and held.shape[0] == inputs and held.shape[1] * held.shape[2] == outputs:
            weight = held.values().reshape(inputs, outputs).T
        else:
            weight = file.shaped(held, (outputs, inputs), what)
        return weight, file.bias(outputs, what) if biased else np.zeros(outputs)

    axes = ("output", "channel")
    matrix = Fixed(name, (outputs, inputs), axes, lambda start, stop: read()[0][start:stop], prepare=read)
    bias = Fixed(f"{name}_bias", (outputs,), ("output",), lambda start, stop: read()[1][start:stop])
    return (matrix, bias) if biased else (matrix,)


class WeightFile:
    """The arrays of a file by name; the one array of npy or text is called ``array``.

    Raises
    ------
    BadFile
        If it cannot be read.
    UnknownName
        If ``path::name`` names an array that it does not hold.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.arrays: Mapping[str, StoredArray] = open_numbers(path).arrays()

    def one(self, *endings: str) -> StoredArray:
        """Return the array whose name ends so; see :func:`pecli.numbers.reader.only_array`."""
        return only_array(self.arrays, self.path, *endings)

    def values(self, shape: tuple[int | None, ...], what: str, *endings: str) -> Floats:
        """Return the values of that array; see :meth:`shaped`."""
        return self.shaped(self.one(*endings), shape, what)

    def bias(self, count: int, what: str) -> Floats:
        """Return the array ``bias``, flat; one left out, where there is one array alone, is 0."""
        if len(self.arrays) == 1:
            return np.zeros(count)
        return self.shaped(self.one("bias").reshape(-1), (count,), what)

    def shaped(self, array: StoredArray, shape: tuple[int | None, ...], what: str) -> Floats:
        """Return the values of an array if it has this shape (None: any size), which `what` needs.

        Raises
        ------
        BadParameter
            Naming both shapes.
        BadFile
            If a value is no finite real number.
        """
        fits = len(array.shape) == len(shape) and all(w in (None, g) for w, g in zip(shape, array.shape, strict=True))
        if not fits:
            want = " x ".join("any" if side is None else str(side) for side in shape)
            rule = f"holds {_sides(array, ' x ')} values, and {what} needs {want}: give a file of that shape"
            raise BadParameter("weights", self.path, rule)
        return array.values()


def open_array(path: str) -> StoredArray:
    """Return the one array (n, c) of a file, whose rows are read when they are asked for.

    Raises
    ------
    BadFile
        If it cannot be read, or holds several arrays.
    BadParameter
        If it has another number of axes.
    """
    array = WeightFile(path).one()
    if len(array.shape) != 2 or 0 in array.shape:
        raise BadParameter("content", path, f"holds {_sides(array, 'x')} values: it must have a row for each position")
    return array


def _sides(array: StoredArray, by: str) -> str:
    return by.join(map(str, array.shape)) or "a single number"
