"""The recipe and what else is known of a table, as one JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pecli.declare.tabular import Tabular

KEY = "pecli"


def plain(text: str) -> str:
    r"""Return a text that UTF-8 can hold: bytes that were no UTF-8 where they came from are written as ``\udcff``."""
    return text.encode(errors="backslashreplace").decode()


def facts_json(table: Tabular, **more: Any) -> str:
    """Return the recipe, the metadata, what the arrays are, and `more` as JSON, always in the same order."""
    import json

    arrays = {
        plain(array.name): {"shape": array.shape, "axes": array.axes, "dtype": array.dtype} for array in table.arrays
    }
    facts = {**plain_facts(table.metadata), "arrays": arrays, **more}
    if table.recipe is not None:
        facts["recipe"] = plain(table.recipe)
    return json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def plain_facts(facts: Mapping[str, str]) -> dict[str, str]:
    """Return facts as UTF-8 can hold them."""
    return {plain(key): plain(value) for key, value in facts.items()}


def texts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return those facts that are text."""
    return {key: value for key, value in facts.items() if isinstance(value, str)}


def axes_of(facts: Mapping[str, Any], name: str) -> list[str]:
    """Return what the facts call the axes of an array; nothing where they say nothing sensible."""
    arrays = facts.get("arrays")
    described = arrays.get(name) if isinstance(arrays, dict) else None
    axes = described.get("axes") if isinstance(described, dict) else None
    return axes if isinstance(axes, list) and all(isinstance(axis, str) for axis in axes) else []


def parse_object(data: bytes | str) -> dict[str, Any]:
    """Return a JSON object, or an empty one where the text is none."""
    import json

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
