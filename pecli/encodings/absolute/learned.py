"""Learned positions: the table with which training starts."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal

from pecli.encodings.absolute.sinusoidal import sinusoidal
from pecli.encodings.shared import trained
from pecli.encodings.shared.deferred import Floats, dd, engine, np, seeded
from pecli.encodings.shared.parameters import MAX_LEN, Dim, MaxLen, Seed
from pecli.errors import BadParameter
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.hooks import Reach
from pecli.spec.plans import Domain, Values, nothing

Init = Literal["normal", "truncated-normal", "uniform", "xavier-uniform", "xavier-normal", "zeros", "sinusoidal"]
DRAWN: tuple[str, ...] = ("normal", "truncated-normal", "uniform", "xavier-uniform", "xavier-normal", "sinusoidal")
RULES: dict[str, trained.Rule] = {
    "uniform": "uniform", "xavier-uniform": "uniform", "truncated-normal": "truncated-normal",
}  # fmt: skip
WITH_STD = ("normal", "truncated-normal", "sinusoidal")


REACH = Reach("rows", "trained rows, resized or repeated", "--extend makes a longer table of a trained one")


@encoding(
    family=Family.ABSOLUTE,
    title="Learned",
    facts=Facts(
        learned=True, beyond="ends", multi_scale=False, parameters="(max_len + rows_offset) * dim", longest="max_len"
    ),
    example="learned:dim=4,max-len=8",
    place=4,
    hooks={"extend": lambda recipe: REACH},
)
def learned(
    *,
    dim: Dim,
    max_len: Annotated[MaxLen, Param(names=MAX_LEN)] = None,
    init: Annotated[Init, Param(when=trained.DRAWN)] = "normal",
    std: Annotated[Decimal | None, Param(ge=1e-30, le=1e30, when=("init", WITH_STD))] = None,
    bound: Annotated[Decimal, Param(ge=1e-30, le=1e30, when=("init", ("uniform",)))] = Decimal("0.1"),
    seed: Annotated[Seed, Param(when=("init", DRAWN))] = 0,
    generator: Annotated[trained.Philox, trained.generation(("init", DRAWN))] = trained.GENERATOR,
    rows_offset: Annotated[int, Param(ge=0, le=1 << 20)] = 0,
    weights: trained.Weights = None,
) -> Values:
    """Randomly initialised table, to be trained, or a trained table from a file.

    Each random value depends on the seed, its row and its column alone, so any slice
    equals the same rows of the whole.

    Formula
    -------
    pe(p) = row p + rows-offset of a trained matrix; before training:
    normal: N(0, std^2); truncated-normal: the same within 2 std
    uniform: U(-bound, bound); zeros: 0; sinusoidal: the sinusoid + N(0, std^2)
    xavier-uniform: U(-a, a), a = sqrt(6 / (rows + dim)); xavier-normal: N(0, 2 / (rows + dim))

    Parameters
    ----------
    max_len
        Rows of the trained matrix (default: the table's length).
    init
        Distribution of the initial values.
    std
        Standard deviation (default 1/sqrt(dim)); BERT 0.02, GPT-2 0.01.
    bound
        Bound of the uniform distribution: values lie in -bound .. bound.
    rows_offset
        Rows before position 0 (OPT, BART: 2; RoBERTa: padding index + 1).

    Source
    ------
    Gehring et al. 2017, arXiv:1705.03122, section 3.1
    Devlin et al. 2018, arXiv:1810.04805
    Glorot and Bengio 2010, AISTATS 9, for the xavier rules

    Used by
    -------
    BERT, GPT-1, GPT-2, OPT, BART, RoBERTa, ViT

    Use it
    ------
    for fixed lengths and much data, as in BERT and ViT

    Not
    ---
    if sequences may be longer than any in training

    Not recognised
    --------------
    its values are random, then trained: only their statistics can be reported
    """
    if init == "sinusoidal" and dim % 2:
        raise BadParameter("dim", dim, f"must be even with init=sinusoidal: use {max(2, dim - 1)} or {dim + 1}")
    rows = (max_len or 1) + rows_offset
    spread = _spread(init, dim, rows, std, bound)

    @cache
    def matrix() -> Floats:
        assert weights is not None
        file, phrase = trained.WeightFile(weights), f"a matrix of {rows} rows (max-len and rows-offset) and dim={dim}"
        return file.values((rows, dim), phrase, "weight", "pe")

    def at(points: dd.Points) -> Floats:

        if weights is not None:
            return matrix()[points.whole() + rows_offset]
        if init == "zeros":
            return np.zeros((len(points), dim))
        words = seeded.row_words(seed, points.whole() + rows_offset, dim)
        drawn = trained.of_rule(seeded.uniform(words), RULES.get(init, "normal"), spread)
        return drawn + _sinusoid(points, dim) if init == "sinusoidal" else drawn

    held = f"the trained matrix has positions {-rows_offset} to {(max_len or 1) - 1}"
    remedy = f"{held}: give a larger max-len, or rows-offset for rows before 0"
    domain = Domain(Fraction(-rows_offset), Fraction((max_len or 1) - 1), integral=True, remedy=remedy)
    return Values(dim, at, domain=domain, prepare=nothing if weights is None else matrix)


def _spread(init: Init, dim: int, rows: int, std: Decimal | None, bound: Decimal) -> float:
    """Return the deviation of a normal, or the bound of a uniform distribution."""
    if init == "uniform":
        return float(bound)
    if init.startswith("xavier"):
        return trained.glorot(rows, dim, 6 if init == "xavier-uniform" else 2)
    return trained.fan_in(dim) if std is None else float(std)


def _sinusoid(points: dd.Points, dim: int) -> Floats:

    plan = sinusoidal(dim=dim)
    (band,) = plan.bands
    out = np.empty((len(points), dim))
    views: list[Any] = [("sin", out[:, band.sin]), ("cos", out[:, band.cos])]
    engine.fill(engine.FrequencySet(band.frequencies, unit=points.unit), points.multiples, views, "float64")
    return out
