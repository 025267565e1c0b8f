"""Departures that several stacks have in the same words, each as a rule."""

from __future__ import annotations

from pecli.models import changes
from pecli.models.stack import (
    BETAS,
    FLOAT_FACTOR,
    GIVEN_FACTOR,
    INNER_ORIGINAL,
    NO_ATTENTION_FACTOR,
    NO_MSCALE,
    NO_SHARE,
    Rule,
    Where,
)
from pecli.models.stack import NO_TRUNCATE as NO_TRUNCATE

NONE_TIMES = "TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'"
Scalings = str | tuple[str, ...]


def null_betas(source: str, error: str = NONE_TIMES, where: Where | None = None) -> Rule:
    """Return the refusal of a beta that is null, which transformers takes for the default."""
    null = changes.null("beta_fast", "beta_slow")
    return Rule(
        key="beta_fast", text="reckons with a beta that is null", source=source, scaling="yarn", error=error,
        where=changes.both(null, where) if where else null, remedies=(BETAS,),
    )  # fmt: skip


def null_factor(source: str, where: Where | None = None) -> Rule:
    """Return the refusal of a factor that is null, which transformers takes for the ratio of the lengths."""
    null = changes.null("factor")
    return Rule(
        key="factor", text="takes no factor that is null", source=source, scaling="yarn", error="TypeError",
        where=changes.both(null, where) if where else null, remedies=(GIVEN_FACTOR,),
    )  # fmt: skip


def whole_factor(source: str) -> Rule:
    """Return the refusal of a linear factor without a decimal point."""
    return Rule(
        key="factor", text="takes no whole number as a factor: only a float becomes a list", source=source,
        scaling="linear", error="TypeError: 'int' object is not iterable", where=changes.whole_factor,
        remedies=(FLOAT_FACTOR,),
    )  # fmt: skip


def inner_original(source: str, scaling: Scalings, where: Where | None = None) -> Rule:
    """Return the preference of the inner original length; transformers prefers the one beside the dictionary."""
    text = "takes the original length inside the scaling before the one at the top level"
    return Rule(
        key=changes.ORIGINAL, text=text, source=source, scaling=scaling, change=changes.inner_original, where=where,
        remedies=(INNER_ORIGINAL,),
    )  # fmt: skip


def absent_original(length: int, source: str, scaling: Scalings, where: Where = changes.no_original) -> Rule:
    """Return a default for an original length that is absent, where transformers takes max_position_embeddings."""
    text = f"takes {length} for an original length that is absent where it looks"
    return Rule(
        key=changes.ORIGINAL, text=text, source=source, scaling=scaling, where=where,
        change=changes.giving(original_max=str(length)), remedies=(INNER_ORIGINAL,),
    )  # fmt: skip


def ratio(source: str, where: Where | None = None) -> Rule:
    """Return DeepSeek's magnitude for every config."""
    text = "reads no attention_factor, and scales by mscale over mscale_all_dim, with 1 and 0 for what is absent"
    return Rule(
        key="attention_factor", text=text, source=source, scaling="yarn", change=changes.ratio, where=where,
        remedies=(NO_ATTENTION_FACTOR, NO_MSCALE),
    )  # fmt: skip


def whole_ends(source: str, where: Where | None = None) -> Rule:
    """Return a ramp between whole indices."""
    text = "rounds the ends of the ramp to whole indices, whatever truncate says"
    return Rule(
        key="truncate", text=text, source=source, scaling="yarn", change=changes.whole_ends, where=where,
        remedies=(NO_TRUNCATE,),
    )  # fmt: skip


def honoured_share(source: str, scaling: Scalings = "none", where: Where | None = None) -> Rule:
    """Return a rotating share that every model honours."""
    return Rule(
        key="partial_rotary_factor", text="rotates the given share of a head for every model", source=source,
        scaling=scaling, change=changes.honoured_share, where=where, remedies=(NO_SHARE,),
    )  # fmt: skip
