"""YaRN: the frequencies of NTK by parts, and a magnitude that grows with the factor (Peng et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from typing import Annotated, Any

from pecli.declare.board import short
from pecli.declare.changes import Change
from pecli.declare.encoding import Param
from pecli.encodings.rotary.rope.scaling import ONE, ZERO, AttentionFactor, Factor, PlainSeries, Scaling
from pecli.encodings.rotary.rope.scalings.ntk_by_parts import SCALING as RAMP
from pecli.encodings.rotary.rope.types import Reader, RopeType
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, number_text


def _magnitude(
    *,
    factor: Factor,
    mscale: Annotated[Decimal | None, Param("Weight of ln(factor) in the magnitude.", ge=0)] = None,
    mscale_all_dim: Annotated[
        Decimal | None, Param("Weight of ln(factor) in the magnitude's denominator.", ge=0)
    ] = None,
    coefficient: Annotated[Decimal, Param("What multiplies ln(factor) in the magnitude.", ge=0, le=1e9)] = Decimal(
        "0.1"
    ),
    attention_factor: AttentionFactor | None = None,
) -> Decimal:
    """Return mscale(weight) over mscale(all_dim), with 1 and 0 for what is not given.

    This is DeepSeek's rule; transformers takes it where both are given and
    neither is 0, and the plain 0.1 ln(factor) + 1 otherwise.
    """
    if attention_factor is not None:
        if mscale is not None or mscale_all_dim is not None:
            raise BadParameter("attention-factor", attention_factor, "excludes mscale= and mscale-all-dim=")
        return attention_factor
    if factor <= 1:
        return ONE
    weights = ONE if mscale is None else mscale, ZERO if mscale_all_dim is None else mscale_all_dim
    with localcontext(CONTEXT):
        above, below = (coefficient * weight * factor.ln() + 1 for weight in weights)
        return above / below


def _read(reader: Reader, width: int) -> dict[str, str]:
    if width % 2:
        raise reader.bad(f"rotates {width} columns, an odd number, which rope type yarn does not take")
    original = reader.original
    factor = reader.number("factor", required="factor" not in reader.params)
    if factor is None:
        factor = CONTEXT.divide(Decimal(reader.length), Decimal(original))
        reader.notes.warn(
            f"{reader.place('factor')} is null: taken as max_position_embeddings over the original length"
        )
    found = {"scaling": "yarn", "factor": number_text(factor), "original-max": str(original)}
    for name, option in (("beta_fast", "beta-fast"), ("beta_slow", "beta-slow")):
        value = reader.number(name, required=False, least=None)
        if value:
            found[option] = number_text(value)
    if not reader.truncate:
        found["truncate"] = "false"
    return found | _read_magnitude(reader)


def _read_magnitude(reader: Reader) -> dict[str, str]:
    """Return the parameters of the magnitude: given, DeepSeek's ratio, or none."""
    given = reader.number("attention_factor", required=False, least=None)
    weights = {name: reader.number(name, required=False, least=None) for name in ("mscale", "mscale_all_dim")}
    written = {name: weight for name, weight in weights.items() if weight is not None}
    if given is not None:
        for name in written:
            reader.notes.ignore(reader.place(name), "attention_factor is given, which wins")
        return {"attention-factor": number_text(given)}
    if len(written) == 2 and all(written.values()):
        return {name.replace("_", "-"): number_text(weight) for name, weight in written.items()}
    for name, weight in written.items():
        reader.notes.ignore(reader.place(name), "transformers reads mscale and mscale_all_dim only together")
        if weight:
            reader.notes.fault(
                f"transformers ignores {reader.place(name)}={number_text(weight)} without its partner: DeepSeek's "
                "own code, vLLM and others scale by it"
            )
            reader.notes.warn(f"{reader.place(name)} has no effect without a partner that is not 0")
    return {}


def _mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the magnitude left out, and the other ramps."""
    own = [option for option in SCALING.options if option in keys and option not in RAMP.options]
    given = {option.replace("-", "_"): Decimal(keys[option]) for option in own}
    size = _magnitude(factor=Decimal(keys["factor"]), **given)
    bare: dict[str, str | None] = dict.fromkeys(own)
    squared = number_text(CONTEXT.multiply(size, size))
    if size != 1:
        yield Change("magnitude", f"magnitude applied twice ({float(size):.5g})", {**bare, "attention-factor": squared})
    yield Change("magnitude", "the magnitude is missing", {**bare, "scaling": RAMP.name})
    if keys.get("ramp", "index") == "index":
        yield Change("scaling", "yarn with truncate=false", {"truncate": "false"})
        yield Change("scaling", "yarn with ramp=rotations", {"ramp": "rotations", "truncate": None})
    yield from RAMP.mistakes(keys)


def _board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    assert RAMP.board is not None
    lines = RAMP.board(series, given, pairs)
    if given["attention_factor"] is None and given["factor"] > 1:
        c, f = short(float(given["coefficient"])), short(float(given["factor"]))
        weights = [given[name] for name in ("mscale", "mscale_all_dim")]
        sides = [f"({c} x {short(float(w))} x ln({f}) + 1)" for w in weights if w is not None]
        formula = " / ".join(sides) if len(sides) == 2 else f"{c} x ln({f}) + 1"
        if len(sides) != 1:
            lines.append(f"magnitude = {formula} = {short(float(SCALING.rotation(series, given)[1]))}")
    return lines


SCALING = Scaling(
    "yarn", 6, RAMP.frequencies, RAMP.float32, _magnitude,
    types=(RopeType("yarn", _read, needs_head_dim=True, original_beside=True),),
    mistakes=_mistakes, least=RAMP.least, board=_board,
)  # fmt: skip
