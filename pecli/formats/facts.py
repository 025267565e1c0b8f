"""The recipe and what else is known of a table, as one JSON object."""

from __future__ import annotations

import json
from typing import Any

from pecli.tabular import Tabular

KEY = "pecli"


def facts_json(table: Tabular, **more: Any) -> str:
    """Return the recipe, the metadata and `more` as JSON, always in the same order."""
    facts = {**table.metadata, **more}
    if table.recipe is not None:
        facts["recipe"] = table.recipe
    return json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def parse_facts(data: bytes | str) -> dict[str, str]:
    """Return the texts in such an object; nothing where it is none."""
    return {key: value for key, value in parse_object(data).items() if isinstance(value, str)}


def parse_object(data: bytes | str) -> dict[str, Any]:
    """Return a JSON object, or an empty one where the text is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
