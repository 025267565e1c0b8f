"""LitGPT: model.py's rope cache, from configs of its own."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial

from pecli.models import changes, common_rules
from pecli.models.config import number
from pecli.models.reading import Params, RawConfig
from pecli.models.stack import EVERY, Rule, Stack
from pecli.numbers.decimals import CONTEXT, TAU, join_list, number_text

_PATH = "litgpt/model.py:939-1036"
_yarn = partial(Rule, scaling="yarn", source=_PATH)
_DIGITS = Decimal(10) ** -30  # of the lists below; float64 has 16


def _reversed_ramp(params: Params, written: RawConfig) -> Params:
    """Return YaRN with its ramp the wrong way round, as divisors of the plain frequencies.

    Pair i is divided by f/(f r + 1 - r), with r the share that YaRN interpolates: 0 for the fastest pair.
    """
    d = int(params.get("rotary-dim", params["dim"]))
    factor, base = Decimal(params["factor"]), Decimal(params["base"])

    def at(turns: str) -> Decimal:
        rotations = CONTEXT.multiply(Decimal(turns), TAU)
        return d * CONTEXT.divide(Decimal(params["original-max"]), rotations).ln(CONTEXT) / (2 * base.ln(CONTEXT))

    low, high = at(params.get("beta-fast", "32")), at(params.get("beta-slow", "1"))
    if params.get("truncate") != "false":
        low, high = low.to_integral_value(ROUND_FLOOR), high.to_integral_value(ROUND_CEILING)
    low, high = max(low, Decimal(0)), min(high, Decimal(d // 2 - 1))
    spread = high - low or Decimal("0.001")
    shares = [min(max((i - low) / spread, Decimal(0)), Decimal(1)) for i in range((d + 1) // 2)]
    divisors = (CONTEXT.divide(factor, factor * share + 1 - share) for share in shares)
    listed = join_list([one.quantize(_DIGITS, context=CONTEXT) for one in divisors], "+")
    lists = {"scaling": "longrope", "short-factor": listed, "long-factor": listed, "original-max": "2"}
    return {**changes.unscaled(params, written), **lists, "attention-factor": number_text(_magnitude(written, factor))}


def _magnitude(written: RawConfig, factor: Decimal) -> Decimal:
    """Return the ratio of mscale and mscale_all_dim, or what the one gives that is given; a 0 counts for none."""
    found = [value for name in ("mscale", "mscale_all_dim") if (value := number(written.rope.get(name)))]
    if not found or factor <= 1:
        return Decimal(1)
    above, *below = (CONTEXT.add(Decimal("0.1") * Decimal(weight) * factor.ln(CONTEXT), 1) for weight in found)
    return CONTEXT.divide(above, below[0]) if below else above


def _none(word: str) -> Rule:
    return Rule(
        key="rope_type", text=f"has no {word} scaling", source=_PATH,
        error=f"ValueError: build_rope_cache has no {word} scaling",
        where=lambda written: not changes.new_keys(written) and changes.typed(written, word),
    )  # fmt: skip


STACK = Stack(
    title="LitGPT", version="0.5.13", scalings=("none", *EVERY), own_reader=True,
    words={"mrope": "default", "su": "longrope"},
    conversion="configs of its own, litgpt/config.py: a config.json's values are taken as its extra_config",
    rules=(
        *(_none(word) for word in ("mrope", "su", "longrope", "dynamic", "xdrope", "proportional")),
        Rule(
            key="rope_parameters",
            text="has the keys of transformers 4: rope_theta, rope_scaling and the share beside them", source=_PATH,
            change=changes.old_keys("10000"), where=changes.new_keys,
        ),
        Rule(
            key=changes.ORIGINAL, text="looks for the original length inside the scaling alone", source=_PATH,
            scaling=("yarn", "llama3"), error="KeyError: 'original_max_position_embeddings'",
            where=changes.no_inner_original,
        ),
        common_rules.inner_original(_PATH, ("yarn", "llama3")),
        common_rules.null_betas(_PATH),
        common_rules.null_factor(_PATH),
        _yarn(
            key="rope_type",
            text="has YaRN's ramp the wrong way round: fast pairs are interpolated, slow ones left; the magnitude "
            "is 1 unless mscale or mscale_all_dim is given",
            change=_reversed_ramp,
        ),
        common_rules.honoured_share("litgpt/config.py:145, rotary_percentage", where=changes.old_share),
    ),
)  # fmt: skip
