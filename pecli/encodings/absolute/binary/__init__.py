"""The bits of a position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from pecli.encodings.shared.deferred import Floats, dd, lessons, np
from pecli.encodings.shared.parameters import Dim
from pecli.spec.declaration import Facts, Family, encoding
from pecli.spec.hooks import Item, Reach, SmallTable, Step
from pecli.spec.plans import Domain, Values

if TYPE_CHECKING:
    from pecli.spec.measured import Held

REACH = Reach("values", "the bits of the new positions", "a wider dim holds more positions")


@encoding(
    family=Family.ABSOLUTE,
    title="Binary",
    facts=Facts(longest="2 ** dim", beyond="ends"),
    example="binary:dim=8",
    place=3,
    hooks={"lesson": ":lesson", "extend": lambda recipe: REACH, "identify_arrays": ":identify_arrays"},
)
def binary(*, dim: Dim, msb: bool = False, code: Literal["binary", "gray"] = "binary", signed: bool = False) -> Values:
    """Bits of the position, one column each.

    Formula
    -------
    pe(p, i) = floor(p / 2^i) mod 2, least significant bit first
    with code gray: the bits of p xor floor(p / 2)

    Parameters
    ----------
    msb
        Most significant bit first.
    code
        Plain binary, or Gray: neighbours differ in one bit.
    signed
        Use -1 and 1 instead of 0 and 1.

    Source
    ------
    Gray 1953, US patent 2,632,058, for the Gray code

    Used by
    -------
    teaching

    Use it
    ------
    to show what sinusoids do continuously

    Not
    ---
    in a model: neighbouring rows differ in many bits, and positions end with the last bit
    """

    def at(points: dd.Points) -> Floats:

        number = points.whole()
        if code == "gray":
            number = number ^ (number >> 1)
        shifts = np.minimum(np.arange(dim, dtype=np.int64), 62)  # positions end below 2^53
        bits = (number[:, None] >> (shifts[::-1] if msb else shifts)) & 1
        return (2 * bits - 1 if signed else bits).astype(np.float64)

    remedy = f"{dim} bits hold 0 to 2^{dim} - 1: use a wider dim" if dim < 53 else "bits hold whole numbers from 0"
    return Values(dim, at, domain=Domain(Fraction(0), Fraction(2**dim - 1), integral=True, remedy=remedy))


def lesson(exercise: lessons.Exercise) -> Iterator[Step]:
    """Work out the bits of positions, and how many of them change between neighbours."""
    values = exercise.recipe.values
    dim, gray, msb = values["dim"], values["code"] == "gray", values["msb"]
    largest = 2**dim - 1
    default = [p for p in ((3, 4) if gray else (13, 3, 4)) if p <= largest] or [0, 1]
    at = exercise.at(default)
    table = exercise.arrays(at)["pe"].astype(int).tolist()
    lines = [line for p, row in zip(at, table, strict=True) for line in _written(int(p), dim, gray, row)]
    order = "most significant bit first" if msb else "least significant bit first: column i holds 2^i"
    title = "the Gray code, p xor floor(p / 2)" if gray else "the position as a sum of powers of two"
    yield Step(title, [f"columns: {order}", *lines])
    pairs = list(dict.fromkeys((int(p), int(p) + 1) for p in at if p < largest))
    if not pairs:
        return
    grid = SmallTable(
        ["p", "p + 1", "binary", "", "bits changed", "Gray", "", "bits changed"], [_change(a, b, dim) for a, b in pairs]
    )
    yield Step("neighbours, and their Hamming distance", [grid, *_all_changes(exercise, largest, gray)])


# Rows of which 0 and 1 are no mask, and columns whose numbers are held in 64 bits.
MIN_ROWS, MAX_BITS = 4, 62


def identify_arrays(arrays: Mapping[str, Floats]) -> Iterator[Held]:
    """Yield the parameters of the bits of positions from 0."""
    from pecli.spec.measured import Held

    (values, *more) = arrays.values()
    if more or len(values) < MIN_ROWS or values.shape[1] > MAX_BITS:
        return
    rows, dim = np.arange(len(values)), values.shape[1]
    for code, numbers in (("binary", rows), ("gray", rows ^ (rows >> 1))):
        bits = numbers[:, None] >> np.arange(dim) & 1
        for msb, own in (("false", bits), ("true", bits[:, ::-1])):
            if (values == own).all():
                keys = {"dim": str(dim), "msb": msb, "code": code}
                usual = {"msb": "false", "code": "binary"}
                keys = {key: text for key, text in keys.items() if usual.get(key) != text}
                yield Held({**keys, "len": str(len(rows))}, equal=1.0)


def _written(p: int, dim: int, gray: bool, stored: Sequence[int]) -> list[str]:
    number = p ^ (p >> 1) if gray else p
    powers = " + ".join(str(1 << i) for i in range(number.bit_length() - 1, -1, -1) if number >> i & 1) or "0"
    code = f"{p} xor {p >> 1} = {number} = " if gray else ""
    shown = " ".join(map(str, stored))
    return [f"{p} = {code}{powers} = {number:0{min(dim, 16)}b} in binary: PE({p}) = {shown}"]


def _change(a: int, b: int, dim: int) -> list[str | float]:
    """Return two neighbours in both codes, and how many bits differ."""
    codes = [n ^ (n >> 1) for n in (a, b)]
    width = min(dim, max(4, b.bit_length()))
    row: list[str | float] = [a, b, f"{a:0{width}b}", f"{b:0{width}b}", (a ^ b).bit_count()]
    return [*row, f"{codes[0]:0{width}b}", f"{codes[1]:0{width}b}", (codes[0] ^ codes[1]).bit_count()]


def _all_changes(exercise: lessons.Exercise, largest: int, gray: bool) -> list[Item]:
    """Return the number of bits in which neighbouring positions of the table differ."""
    count = min(largest + 1, 256)
    values = exercise.arrays([Fraction(p) for p in range(count)])["pe"]
    changes = (np.diff(values, axis=0) != 0).sum(axis=1)
    most = int(changes.max())
    code, bits = "Gray" if gray else "binary", "exactly 1 bit" if most == 1 else f"1 to {most} bits"
    return [f"in this table ({code}) the neighbours among positions 0 to {count - 1} differ in {bits}"]
