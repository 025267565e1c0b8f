"""The campaign of unknown tables: what is determined is named, and nothing is named that is not so."""

import warnings
from collections import Counter

import numpy as np
import pytest

from pecli import Table, open_table
from pecli.identification.identification import identify
from pecli.measures.samples import take

from . import campaign_tables, unknown_tables

GRAIN = {"float64": 2.0**-30, "float32": 2.0**-19, "float16": 2.0**-9, "bfloat16": 2.0**-6}
NAMED = 0.95  # of what the values determine


def planes(arrays):
    found = []
    for array in arrays:
        parts = (array.real, array.imag) if np.iscomplexobj(array) else (array,)
        found += [np.squeeze(np.asarray(part, np.float64)) for part in parts]
    return found


def near(recipe, case):
    """Whether the recipe's exact values are what the case would be without roundings and spoiling."""
    made = [
        np.squeeze(p.values)
        for p in take(Table.parse(recipe, dtype="float64", arithmetic="exact"), 8192, unstack=False).planes
    ]
    theirs = planes(case.ideal.values())
    if len(made) == 2 and len(theirs) == 1:
        theirs = [theirs[0][0], theirs[0][1]]
    kind = next((k for k in ("bfloat16", "float16", "float64") if f" {k}" in case.text), "float32")
    loose = max(GRAIN[kind], case.loose * 1e-3)
    for p, q in zip(made, theirs, strict=len(made) == len(theirs)):
        p = p.reshape(q.shape) if p.size == q.size else p
        if p.shape != q.shape or not np.array_equal(np.isfinite(p), np.isfinite(q)):
            return False
        finite = np.isfinite(q)
        if np.abs(p[finite] - q[finite]).max(initial=0) > loose * max(1.0, np.abs(q[finite]).max(initial=0)):
            return False
    return True


def as_said(recipe, case):
    """Whether the recipe's own values are those of the file, every one."""
    made = planes(a for a in _stored(Table.parse(recipe)))
    theirs = planes(case.arrays.values())
    if len(made) == 2 and len(theirs) == 1:
        theirs = [theirs[0][0], theirs[0][1]]
    return all(np.array_equal(p.reshape(q.shape), q, equal_nan=True) for p, q in zip(made, theirs, strict=False))


def _stored(table):
    for array in table.arrays:
        values = table.read(array.name)
        if array.dtype == "bfloat16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        yield values


def score(case, found):
    """exact, range, unknown, right unknown, or mistake."""
    if case.spoiled == "nothing":
        return "right unknown" if found.confidence == "unknown" else "mistake"
    if found.confidence == "unknown":
        return "unknown"
    if found.confidence == "sure" and case.spoiled:
        return "mistake"
    if case.ideal is None:
        keys = dict(item.split("=") for item in found.recipe.partition(":")[2].split(","))
        same = float(keys["base"]) == case.extra["base"] and int(keys["dim"]) == case.extra["dim"]
        return "exact" if same and keys.get("scaling", "none") == "none" else "mistake"
    if not near(found.recipe, case):
        base = case.text.partition(" base=")[2].partition(" ")[0]
        low, high = found.ranges.get("base", (0, 0))
        return (
            "range" if base and float(low) <= float(base) <= float(high) and found.confidence != "sure" else "mistake"
        )
    if found.confidence == "sure" and found.arithmetic.startswith("exact") and not as_said(found.recipe, case):
        return "mistake"
    return "exact"


def run(folder, seed, count):
    scores, told = Counter(), []
    for number, case in enumerate(campaign_tables.cases(seed, count)):
        unknown = unknown_tables.Unknown("", case.text, case.arrays)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with open_table(unknown_tables.save(unknown, folder, f"t{number}")) as table:
                found = identify(table)
        scores[score(case, found)] += 1
        if score(case, found) in ("mistake", "unknown"):
            told.append((score(case, found), case.text, found.confidence, found.recipe))
    return scores, told


def check(scores, told):
    assert scores["mistake"] == 0, [t for t in told if t[0] == "mistake"]
    determined = sum(scores.values()) - scores["right unknown"]
    assert scores["exact"] + scores["range"] >= NAMED * determined, (scores, told)


def test_200_unknown_tables(tmp_path):
    check(*run(tmp_path, 1, 200))


@pytest.mark.exhaustive
def test_2000_unknown_tables(tmp_path):
    check(*run(tmp_path, 2, 2000))
