"""The campaign of unknown tables: what is determined is named, and nothing is named that is not so."""

import re
import warnings
from collections import Counter

import numpy as np
import pytest

from pecli import Table, open_table
from pecli.inspection.samples import take
from pecli.judge.identify import identify
from tests.support import campaign_tables, unknown_tables

NAMED = 0.99  # of what the values determine, in a strict count
OTHER = 0.01  # that may be called likely with numbers of another recipe; never one that is called sure
EXACT = 1e-9  # relative difference of the same formula in another order: another number is off by more


def planes(arrays):
    found = []
    for array in arrays:
        parts = (array.real, array.imag) if np.iscomplexobj(array) else (array,)
        found += [np.squeeze(np.asarray(part, np.float64)) for part in parts]
    return found


def near(recipe, case):
    """Whether the recipe's exact values are what the case would be without roundings and spoiling."""
    table = Table.parse(recipe, dtype="float64", arithmetic="exact")
    names = [name for name in ("index",) if name in case.ideal] or None
    made = [np.squeeze(p.values) for p in take(table, 8192, unstack=False, names=names).planes]
    theirs = planes(case.ideal.values())
    if len(made) == 2 and len(theirs) == 1:
        theirs = [theirs[0][0], theirs[0][1]]
    if len(made) != len(theirs):
        return False
    for p, q in zip(made, theirs, strict=True):
        p = p.reshape(q.shape) if p.size == q.size else p
        if p.shape != q.shape or not np.array_equal(np.isfinite(p), np.isfinite(q)):
            return False
        finite = np.isfinite(q)
        if np.abs(p[finite] - q[finite]).max(initial=0) > EXACT * max(1.0, np.abs(q[finite]).max(initial=0)):
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


def same_part(recipe, case):
    """Whether a recipe has the frequencies and the start of a part of a table."""
    table = Table.parse(recipe, **({} if "len=" in recipe else {"length": 1}))
    w = np.array([float(w) for w in table.plan.frequencies])
    start = float(found_key(recipe, "start", "0"))
    step = float(found_key(recipe, "step", "1"))
    wanted = case.frequencies.astype(np.float64)
    return len(w) == len(wanted) and np.allclose(step * w, wanted, rtol=EXACT, atol=0) and start == case.start * step


def found_key(recipe, name, default):
    return dict(item.split("=", 1) for item in recipe.partition(":")[2].split(",") if "=" in item).get(name, default)


def right(recipe, case):
    return near(recipe, case) if case.ideal is not None else same_part(recipe, case)


def in_range(found, case):
    """Whether the recipe is right with the numbers that it leaves a range for, each within its range."""
    return any(_in_range(found, case, numbers) for numbers in (case.chosen, *case.alike))


def _in_range(found, case, numbers):
    recipe, allowed = found.recipe, False
    for key, number in numbers.items():
        low, high = (float(end) for end in found.ranges.get(key, (1, 0)))
        if low <= number <= high:
            name, _, rest = recipe.partition(":")
            kept = [item for item in rest.split(",") if not item.startswith(f"{key}=")]
            recipe, allowed = f"{name}:{','.join([*kept, f'{key}={number:.16g}'])}", True
    return allowed and right(recipe, case)


def located(found, case):
    """Whether what was said counts the values that are wrong."""
    said = " ".join(found.notes)
    double = "float64" in case.text or not found.arithmetic.startswith("exact")  # two ways to compute may differ
    most = case.wrong + (5 + case.wrong // 20 if double else 0) + rounded_twice(case)
    counted = [int(number) for number in re.findall(r"(\d+) of \d+ values", said)]
    if counted and found.arithmetic.startswith("exact"):
        return unequal(found.recipe, case) in counted
    return any(case.wrong <= n <= most for n in counted) or (case.wrong == 1 and "one value" in said) or not case.wrong


def unequal(recipe, case):
    """How many values of the file are not the recipe's own."""
    made, theirs = planes(a for a in _stored(Table.parse(recipe))), planes(case.arrays.values())
    if len(made) == 2 and len(theirs) == 1:
        theirs = [theirs[0][0], theirs[0][1]]
    pairs = [(p.reshape(q.shape), q) for p, q in zip(made, theirs, strict=False)]
    return sum(int(((p != q) & ~(np.isnan(p) & np.isnan(q))).sum()) for p, q in pairs)


def rounded_twice(case):
    """How many values the maker's own rounding to float32 before bfloat16 has made others than the nearest."""
    if case.ideal is None or "bfloat16" not in case.text:
        return 0
    count = 0
    for plane in planes(case.ideal.values()):
        size, power = np.frexp(plane)
        once = np.ldexp(np.rint(size * 256), power - 8)  # eight bits, ties to even
        count += int((once != unknown_tables.bf16(plane.astype(np.float32))).sum())
    return count


def score(case, found):
    """exact, range, unknown, right unknown, or a mistake, and which."""
    if case.spoiled == "nothing":
        if found.confidence != "unknown":
            return "mistake: nothing is named"
        return "right unknown" if case.said in " ".join(found.notes) else "unknown"
    if found.confidence == "unknown":
        return "unknown"
    if found.confidence == "sure" and case.spoiled and case.wrong:
        return "mistake: sure of a spoiled table"
    if not right(found.recipe, case):
        return "range" if in_range(found, case) and found.confidence != "sure" else "mistake: another recipe"
    if case.spoiled and not located(found, case):
        return "mistake: not located"
    if case.said and found.confidence == "sure" and "stands" in case.said:
        return "mistake: sure of other values"
    if case.said and not case.spoiled and case.said not in " ".join(found.notes):
        return "mistake: not said"
    whole = found.confidence == "sure" and found.arithmetic.startswith("exact") and not case.said
    if whole and case.ideal is not None and not as_said(found.recipe, case):
        return "mistake: not all values"
    return "exact"


def save(case, folder, name):
    """Write it as somebody would; a name of its own needs an npz."""
    unknown = unknown_tables.Unknown("", case.text, case.arrays)
    if list(case.arrays) in (["array"], ["bias"], ["index"]):
        return unknown_tables.save(unknown, folder, name)
    np.savez(folder / f"{name}.npz", **case.arrays)
    return str(folder / f"{name}.npz")


def run(folder, seed, count):
    scores, told = Counter(), []
    for number, case in enumerate(campaign_tables.cases(seed, count)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with open_table(save(case, folder, f"t{number}")) as table:
                found = identify(table)
        scores[score(case, found)] += 1
        if score(case, found) not in ("exact", "range", "right unknown"):
            told.append((score(case, found), case.text, found.confidence, found.recipe))
    return scores, told


def check(scores, told):
    mistakes = [t for t in told if t[0].startswith("mistake") and t[2] == "sure"]
    assert not mistakes, mistakes
    others = [t for t in told if t[0].startswith("mistake")]
    assert len(others) <= OTHER * sum(scores.values()), others
    determined = sum(scores.values()) - scores["right unknown"]
    assert scores["exact"] + scores["range"] >= NAMED * determined, (scores, told)


def test_60_unknown_tables(tmp_path):
    check(*run(tmp_path, 1, 60))


@pytest.mark.exhaustive
def test_2000_unknown_tables(tmp_path):
    check(*run(tmp_path, 2, 2000))
