"""Encodings in order for a purpose: for ``pecli compare --for``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from pecli.cli.terminal.items import Item
from pecli.cli.terminal.output import print_json
from pecli.declare.encoding import Encoding
from pecli.encodings.recipe import Recipe


def show_ranking(
    purpose: str,
    given: Sequence[tuple[Encoding, Recipe | None]],
    lengths: tuple[int | None, int | None],
    top: int | None,
    *,
    json: bool,
) -> int:
    """Print which encodings fit a purpose, the best first, each with its reasons; return 0."""
    from pecli.extrapolation.ranking import rank

    train, test = lengths
    ranked = rank(purpose, given, train, test)[:top]
    if json:
        advice = [
            {
                "name": r.encoding.name, "recipe": r.recipe, "fits": r.fits, "verdict": r.verdict, "reach": r.reach,
                "trained": r.trained, "why": r.reasons, **(asdict(r.encoding.guidance) if r.encoding.guidance else {}),
            }
            for r in ranked
        ]  # fmt: skip
        print_json({"for": purpose, "train_len": train, "test_len": test, "ranking": advice})
        return 0
    from pecli.cli.terminal.items import grid
    from pecli.cli.terminal.screen import show

    fitting = [r for r in ranked if r.fits]
    common = set.intersection(*(set(r.reasons) for r in fitting)) if len(fitting) > 1 else set()
    rows = [
        [str(place), r.name, "; ".join(w for w in r.reasons if w not in common), _use(r.encoding)]
        for place, r in enumerate(fitting, 1)
    ]
    items: list[Item] = [f"for {purpose}" + (f", all of these: {'; '.join(sorted(common))}" if common else "")]
    items += [grid([("", "right"), ("encoding", "left"), ("why", "left"), ("use it", "left")], rows)] if rows else []
    against: dict[str, list[str]] = {}
    for r in ranked:
        if not r.fits:
            against.setdefault("; ".join(r.reasons), []).append(r.name)
    items += [f"not {', '.join(names)}: {why}" for why, names in against.items()]
    show(*items)
    return 0


def _use(encoding: Encoding) -> str:
    return encoding.guidance.when if encoding.guidance else ""
