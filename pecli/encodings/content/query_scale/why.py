"""Why long contexts need a factor on the queries."""

from __future__ import annotations

import math

from pecli.declare.guidance import Reason

LEAD = 5  # of one logit before all others, in the figures below


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    few, many = (math.exp(LEAD) / (math.exp(LEAD) + n - 1) for n in (10, 1000))
    return [
        Reason(
            "Why do queries need a factor?",
            "A softmax over more keys is flatter. A key whose logit leads all others by "
            f"{LEAD} has the weight {few:.3f} among 10 keys and {many:.3f} among 1000; logits that grow with the "
            "logarithm of the position make up for it.",
            "inspect query-scale --steps",
        ),
        Reason(
            "Can its table be made beforehand?",
            "Yes: it is one number for each position. What it multiplies, the query, is content.",
        ),
    ]
