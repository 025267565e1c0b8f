"""LongRoPE: a searched factor for each pair, another list for long sequences (Ding et al. 2024, arXiv:2402.13753)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from typing import Annotated, Any

from pecli.encodings.rotary.rope.scalings import Frequencies, PlainSeries, Reader, RopeType, Scaling, nearest, powers
from pecli.encodings.shared.deferred import Float32, np
from pecli.encodings.shared.parameters import AttentionFactor, Factor, MaxPosition, OriginalMax, SeqLen
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, number_text
from pecli.spec.declaration import Param
from pecli.spec.hooks import Change


def _frequencies(
    series: PlainSeries,
    *,
    original_max: OriginalMax,
    seq_len: SeqLen,
    short_factor: Annotated[tuple[Decimal, ...], Param(gt=0, file=True)],
    long_factor: Annotated[tuple[Decimal, ...], Param(gt=0, file=True)],
) -> Frequencies:
    """Return the exact frequencies; both lists must have one number for each pair.

    Formula
    -------
    w'_i = w_i / short-factor_i for a seq-len up to original-max, w_i / long-factor_i for a longer one

    Parameters
    ----------
    short_factor
        Divisor of each frequency for sequences up to original-max: a list, or a file with one.
    long_factor
        The same for longer sequences.
    """
    pairs = (series.width + 1) // 2
    for name, items in (("short-factor", short_factor), ("long-factor", long_factor)):
        if len(items) != pairs:
            rule = f"must be {pairs} numbers, one for each pair of the rotary width {series.width}"
            raise BadParameter(name, f"{len(items)} numbers", rule)
    factors = long_factor if seq_len > original_max else short_factor
    with localcontext(CONTEXT):
        return tuple(w / s for w, s in zip(series.frequencies, factors, strict=True))


def _float32(series: PlainSeries, **given: Any) -> Float32:

    factors = nearest(given["long_factor" if given["seq_len"] > given["original_max"] else "short_factor"])
    return np.asarray(np.float32(1) / (factors * powers(series.base, series.width)))


def _magnitude(
    *,
    factor: Factor | None = None,
    max_position: MaxPosition | None = None,
    original_max: OriginalMax,
    seq_len: SeqLen,
    attention_factor: AttentionFactor | None = None,
    short_mscale: Annotated[Decimal | None, Param(ge=0, le=1e9)] = None,
    long_mscale: Annotated[Decimal | None, Param(ge=0, le=1e9)] = None,
) -> Decimal:
    """Return the given magnitude, else sqrt(1 + ln factor / ln original), the factor being the ratio of the lengths.

    It is 1 for a factor of at most 1 (Microsoft's code).

    Formula
    -------
    magnitude = sqrt(1 + ln f / ln original-max), f = factor, or max-position / original-max; 1 for f up to 1

    Parameters
    ----------
    short_mscale
        Attention factor for sequences up to original-max (Phi-3.5-MoE).
    long_mscale
        Attention factor for longer sequences.
    """
    mscale = long_mscale if seq_len > original_max else short_mscale
    if mscale is not None and attention_factor is not None:
        raise BadParameter("attention-factor", attention_factor, "excludes short-mscale= and long-mscale=")
    given = attention_factor if mscale is None else mscale
    if given is not None:
        return given
    if factor is None and max_position is None:
        rule = "must be given for scaling=longrope, or max-position=, or the magnitude as attention-factor="
        raise BadParameter("factor", None, rule)
    with localcontext(CONTEXT):
        times = Decimal(max_position or 0) / original_max if factor is None else factor
        if times <= 1:
            return Decimal(1)
        if original_max == 1:
            raise BadParameter("original-max", original_max, "must be above 1: longrope divides by its logarithm")
        return (1 + times.ln() / Decimal(original_max).ln()).sqrt()


def _read(reader: Reader, width: int) -> dict[str, str]:
    pairs = (width + 1) // 2
    original = str(reader.original)
    short, long = reader.numbers("short_factor", pairs), reader.numbers("long_factor", pairs)
    found = {"scaling": "longrope", "short-factor": short, "long-factor": long, "original-max": original}
    if reader.family.option("mscale-by") == "length":
        reader.notes.fault(
            f"transformers uses the short factors of {reader.family.name} at every length: its forward pass asks "
            "for them without a length"
        )
        reader.read.update(("factor", "attention_factor"))
        magnitudes = {"short-mscale": reader.text("short_mscale"), "long-mscale": reader.text("long_mscale")}
        return {**found, "long-factor": short, **magnitudes}
    given = reader.number("attention_factor", required=False, above=None)
    factor = reader.number("factor", required=False)
    if given is not None:
        if factor is not None:
            reader.notes.ignore(reader.place("factor"), "attention_factor is given, which wins")
        return {**found, "attention-factor": number_text(given)}
    return {**found, "max-position": str(reader.length)} if factor is None else {**found, "factor": number_text(factor)}


def _mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield one list used at every length."""
    for used, other in (("short", "long"), ("long", "short")):
        text = f"the {used} factors are used where the {other} ones were expected"
        yield Change("scaling", text, {f"{other}-factor": keys[f"{used}-factor"]})


SCALING = Scaling(
    "longrope", 7, _frequencies, _float32, _magnitude,
    types=(RopeType("longrope", _read, needs_head_dim=True, original_outside=True),),
    mistakes=_mistakes,
    unrecognised="its list fits any frequencies",
)  # fmt: skip
