"""Strict scores of identify, compare and assert_applied on the cases of real life.

python -m tests.reallife.score [--set NAME] [--only CASE] [-v]; PECLI_HELD=DIR adds a folder of the same files.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import pecli
from pecli import testing
from tests.reallife.cases import CASES, STATE, Case, Verdict
from tests.reallife.truth import keys_of, share_held

HERE = Path(__file__).parent
MODULES = ("caches", "printed", "mistakes", "reports", "small_arrays")
GROUPS = ("tables", "caches", "printed", "mistakes", "right", "applied", "reports", "small")

TOPICS = {
    "base": r"\b(?:base|theta|temperature)\b",
    "scaling": r"\bscaling|\bscaled\b|\byarn\b|llama3|longrope|\bntk\b|dynamic|\blinear\b|interpolat|proportional"
    r"|(?<!attention )(?<!attention-)(?<!freq-)\bfactor \d|short factors|long factors",
    "magnitude": r"magnitude|attention[ -]factor|mscale|amplitude|multiplied|divided by \d",
    "positions": r"\bstarts?\b|\bbegins?\b|\bshifted\b|\blater\b|\bearlier\b|positions? (?:is|are|off|counted)"
    r"|\bstep \d|offset|left padding|one position",
    "layout": r"interleaved|half-split|\bhalves\b|neighbours were|\bpairing\b",
    "exchange": r"exchang|swapped|changed places|each other",
    "sign": r"negat|\bsigns?\b|conjugat|inverse|other way|opposite",
    "transposed": r"transpos",
    "missing": r"\brows?\b[^.;]*\bmissing|missing rows?|\blacks?\b",
    "zero": r"\bzeros?\b|\bis 0(?![.\d])",
    "nan": r"\bnan\b|infinit",
    "float16": r"(?<!b)float16|\bhalf precision|fp16",
    "bfloat16": r"bfloat16|\bbf16",
    "width": r"rotary-dim|\bpartial|rotary width|\bdim \d",
    "order": r"\border\b|permut|rolled|reversed|\bmoved\b",
    "spacing": r"spacing|endpoint|max-timescale|min-timescale",
    "repeat": r"repeat|wrap|modul|clamp|\bagain\b",
    "slopes": r"\bslopes?\b",
    "heads": r"\bheads \d",
    "mask": r"\bmask",
    "degrees": r"degrees|turns\b|2 pi",
    "sections": r"\bsections?\b",
    "grid": r"\bgrid\b|\baxis\b|(?<!key )\baxes\b|\bcolumn first|\brow first",
    "buckets": r"\bbuckets?\b|max-distance|bidirectional",
    "noise": r"\bnoise\b|\bdropout\b|normalis|layer ?norm|trained",
}
"""Claims that a sentence makes, by the words of the field."""

WITH_GRID = (
    "sincos2d",
    "sincos3d",
    "detr",
    "rope2d",
    "rope-axes",
    "bands",
    "nerf",
    "fourier",
    "window",
    "decomposed",
    "mrope",
)
RECIPE = re.compile(r"\b[a-z0-9-]+:[\w-]+=\S*")
HARMLESS = re.compile(
    r"rounding|rounded|no more than|\bulp|last place|float32|float64|float16|of \d|accept|covers|shorter"
    r"|only the (first|second) has",
    re.IGNORECASE,
)
NOISE = re.compile(r"\b(mrope|retnet|rope-axes|xpos|proportional|frequencies=)", re.IGNORECASE)


def topics_of(text: str) -> set[str]:
    """Topics that a sentence claims something about."""
    plain = RECIPE.sub(" ", text)
    return {topic for topic, pattern in TOPICS.items() if re.search(pattern, plain, re.IGNORECASE)}


def load(held: str | None) -> list[Case]:
    """Register the cases of this folder, once, and of the held one."""
    if CASES and not held:
        return CASES
    for name in MODULES:
        if (HERE / f"{name}.py").exists():
            importlib.import_module(f"tests.reallife.{name}")
    _tables(HERE)
    if held:
        STATE.held = True
        for name in MODULES:
            path = Path(held, f"{name}.py")
            if path.exists():
                spec = importlib.util.spec_from_file_location(f"reallife_held_{name}", path)
                assert spec
                assert spec.loader
                module = importlib.util.module_from_spec(spec)
                sys.modules[spec.name] = module
                spec.loader.exec_module(module)
        _tables(Path(held))
        STATE.held = False
    return CASES


def _tables(folder: Path) -> None:
    manifest = folder / "tables.json"
    if not manifest.exists():
        return
    for row in json.loads(manifest.read_text()):
        path = folder / "data" / row["file"]
        CASES.append(
            Case(
                "tables",
                row["name"],
                lambda path=path: _stored(path),
                tuple(row["truth"]),
                about=row["made"],
                held=STATE.held,
            )
        )


def _stored(path: Path) -> Any:
    if path.suffix == ".safetensors":
        return path
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


# Truth of a named recipe


def _table(text: str, like: dict[str, str]) -> dict[str, np.ndarray]:
    name, keys = keys_of(text)
    taken = {k: like[k] for k in ("len", "layout", "form", "queries") if k in like}
    if name not in WITH_GRID:
        taken.setdefault("len", "64")
    keys = {**taken, **keys, "dtype": "float64"}
    keys.pop("arithmetic", None)
    if keys.get("slope-dtype") == "float32":
        keys.pop("slope-dtype")
    table = pecli.table(f"{name}:" + ",".join(f"{k}={v}" for k, v in keys.items()))
    return {str(k): np.asarray(table[k]) for k in table}


def agree(named: str, truth: str) -> bool:
    """Whether two recipes give the same values in the same layout."""
    if named == truth:
        return True
    like = keys_of(named)[1]
    try:
        a, b = _table(named, like), _table(truth, like)
    except pecli.PecliError:  # the truth has no such layout: another recipe
        return False
    if len(a) != len(b):
        return False
    for x, y in zip(a.values(), b.values(), strict=True):
        if x.size != y.size or x.shape[-1:] != y.shape[-1:]:
            return False
        x, y = x.reshape(y.shape), y
        both = np.isfinite(x) & np.isfinite(y)
        if not np.array_equal(x[~both], y[~both]) or not np.allclose(x[both], y[both], rtol=1e-9, atol=1e-9):
            return False
    return True


# One case


def score(case: Case) -> Verdict:
    """Run one case through the public interface and judge what was said."""
    run: Callable[[Case], Verdict] = {
        "tables": _identify,
        "caches": _identify,
        "printed": _printed,
        "small": _small,
        "applied": lambda case: _applied(case, *_made(case)),
    }.get(case.group, _compare)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            verdict = run(case)
        except Exception as error:
            verdict = Verdict(case, "", "", 0.0, crash=f"{type(error).__name__}: {error}")
    verdict.seconds = time.perf_counter() - began
    ours = [w for w in heard if "reallife" not in w.filename]
    if ours and not verdict.crash:
        verdict.crash = f"warning: {ours[0].message}"
    return verdict


def _made(case: Case) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return case.make()


def _identify(case: Case) -> Verdict:
    subject = _made(case)
    found = pecli.identify(subject)
    text, named = str(found), str(found.recipe or "")
    verdict = Verdict(case, f"{found.confidence}: {named}", text, 0.0)
    recipes = [t for t in case.truth if t != "unknown"]
    if found.confidence == "unknown":
        if "unknown" not in case.truth:
            verdict.missed.append(f"not named: {recipes[0]}")
    elif not any(agree(named, truth) for truth in recipes):
        verdict.false.append(f"named {named} where {' or '.join(case.truth)} is right")
    else:
        share = None if re.search(r"float16|padding at position", text) else share_held(subject, named)
        if share is not None and share < (1.0 if found.confidence == "sure" else 0.99):
            verdict.false.append(f"{found.confidence} of {named}, which gives {share:.2%} of the values")
    return verdict


def _printed(case: Case) -> Verdict:
    values, digits = _made(case)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        np.savetxt(path, values, fmt=f"%.{digits}f", delimiter=",")
        line = [sys.executable, "-m", "pecli", "identify", str(path), "--digits", str(digits)]
        run = subprocess.run(line, capture_output=True, text=True, check=False)
    named = run.stdout.partition("\n")[0] or run.stderr.strip()
    verdict = Verdict(case, named, run.stdout + run.stderr, 0.0)
    if run.returncode or named.startswith("unknown"):
        verdict.missed.append(f"not named: {case.truth[0]}")
    elif not any(agree(named.split()[0], truth) for truth in case.truth):
        verdict.false.append(f"named {named} where {' or '.join(case.truth)} is right")
    return verdict


def _sentences(found: Any) -> list[str]:
    return [str(found.verdict), *[str(f.text) for f in found.findings]]


def _compare(case: Case) -> Verdict:
    ours, expected = _made(case)
    if isinstance(ours, tuple):
        return _applied(case, *ours[:2], expected, ours[2])
    found = pecli.compare(ours, expected)
    said = _sentences(found)
    lines = [line for line in str(found).splitlines() if line.strip()]
    verdict = Verdict(case, "\n".join(said[:2]), "\n".join(lines), 0.0)
    if case.group == "right":
        return _right(case, found, said, verdict)
    if found.equal:
        verdict.missed.append("said to be the same")
    _judge(case, said, verdict, _is_double(ours))
    return verdict


def _is_double(values: Any) -> bool:
    arrays = values.values() if isinstance(values, dict) else [values]
    return any(getattr(a, "dtype", None) in (np.float64, np.complex128) for a in arrays)


def _judge(case: Case, said: list[str], verdict: Verdict, double: bool) -> None:
    for pattern in case.first:
        if not re.search(pattern, verdict.lead, re.IGNORECASE):
            verdict.missed.append(f"first finding without /{pattern}/")
    allowed = case.topics | topics_of(" ".join(case.first))
    wanted = " ".join(case.first).replace(r"\b", " ").replace("\\", "")
    numbers = dict(re.findall(r"\b([a-z][a-z-]+) (\d+(?:\.\d+)?)(?![.\w])", wanted))
    for sentence in said:
        extra = topics_of(sentence) - allowed
        if extra:
            verdict.false.append(f"{sentence} [claims {', '.join(sorted(extra))}]")
        elif double and re.search(r"(computed|phases) in float32", sentence):
            verdict.false.append(sentence)
        else:
            claims = re.findall(r"\b([a-z][a-z-]+) ([\d.]+) where", sentence)
            verdict.false += [
                sentence for key, value in claims if key in numbers and float(numbers[key]) != float(value)
            ]
    for pattern in case.never:
        verdict.false += [f"{s} [never: {pattern}]" for s in said if re.search(pattern, s, re.IGNORECASE)]


def _right(case: Case, found: Any, said: list[str], verdict: Verdict) -> Verdict:
    if found.equal:
        return verdict
    if len(said) < 2 and not HARMLESS.search(said[0].partition(":")[2]):
        verdict.missed.append("the rounding is not called harmless")
    for sentence in said[1:]:
        extra = topics_of(sentence) - case.topics
        if extra or not HARMLESS.search(sentence):
            verdict.false.append(f"{sentence} [claims {', '.join(sorted(extra)) or 'no rounding'}]")
    extra = topics_of(said[0]) - case.topics
    if extra:
        verdict.false.append(f"{said[0]} [claims {', '.join(sorted(extra))}]")
    return verdict


def _applied(case: Case, inputs: Any, outputs: Any, expected: Any, options: dict[str, Any]) -> Verdict:
    verdict = Verdict(case, "", "", 0.0)
    try:
        testing.assert_applied(inputs, outputs, expected, **options)
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        verdict.lead, verdict.text = "\n".join(lines[:3]), "\n".join(lines)
        if case.truth != ("right",):
            _judge(case, lines, verdict, False)
        else:
            verdict.false.append(lines[0])
        return verdict
    if case.first:
        verdict.missed.append("said to be right")
    return verdict


def _small(case: Case) -> Verdict:
    values = _made(case)
    verdict = Verdict(case, "", "", 0.0)
    try:
        found = pecli.identify(values)
        verdict.lead, verdict.text = f"{found.confidence}: {found.recipe}", str(found)
        recipes = [t for t in case.truth if t != "unknown"]
        if found.confidence == "sure" and not any(agree(str(found.recipe), truth) for truth in recipes):
            verdict.false.append(f"sure of {found.recipe}")
        elif found.confidence == "unknown" and recipes and "unknown" not in case.truth:
            verdict.missed.append(f"not named: {recipes[0]}")
    except pecli.PecliError as error:
        verdict.lead = f"refused: {error}"
    for expected in (case.about or "sinusoidal:dim=8", "rope:dim=8", "alibi:heads=4"):
        try:
            str(pecli.compare(values, expected))
        except pecli.PecliError as error:
            verdict.text += f"\ncompare {expected}: {error}"
    return verdict


# The report


def table_of(verdicts: Iterable[Verdict]) -> str:
    """Counts of each set as aligned text."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.case.group, []).append(verdict)
    rows = [
        f"{'set':<10}{'cases':>6}{'good':>6}{'share':>8}{'missed':>8}{'false':>7}{'crash':>7}{'seconds':>9}{'slowest':>9}"
    ]
    for group in sorted(groups, key=GROUPS.index):
        found = groups[group]
        good = sum(v.good for v in found)
        rows.append(
            f"{group:<10}{len(found):>6}{good:>6}{good / len(found):>8.1%}{sum(bool(v.missed) for v in found):>8}"
            f"{sum(bool(v.false) for v in found):>7}{sum(bool(v.crash) for v in found):>7}"
            f"{sum(v.seconds for v in found):>9.1f}{max(v.seconds for v in found):>9.1f}"
        )
    return "\n".join(rows)


def main(arguments: list[str] | None = None) -> int:
    """Score the cases that are asked for, and print counts and misses."""
    parser = argparse.ArgumentParser(prog="tests.reallife.score", description=__doc__)
    parser.add_argument("--set", action="append", choices=GROUPS)
    parser.add_argument("--only", help="a part of the case's name")
    parser.add_argument("--held", choices=("only", "none"), help="of PECLI_HELD: those cases alone, or none of them")
    parser.add_argument("-v", "--verbose", action="store_true", help="everything that was said, of good cases too")
    parser.add_argument("-q", "--quiet", action="store_true", help="counts alone")
    chosen = parser.parse_args(arguments)
    cases = load(None if chosen.held == "none" else os.environ.get("PECLI_HELD"))
    names = [(c.group, c.name) for c in cases]
    assert len(set(names)) == len(names), sorted({n for n in names if names.count(n) > 1})
    cases = [c for c in cases if not chosen.set or c.group in chosen.set]
    cases = [c for c in cases if not chosen.only or chosen.only in c.name]
    cases = [c for c in cases if chosen.held != "only" or c.held]
    cases.sort(key=lambda c: GROUPS.index(c.group))
    verdicts = []
    for case in cases:
        verdict = score(case)
        verdicts.append(verdict)
        if not chosen.quiet and (chosen.verbose or not verdict.good):
            print(_told(verdict, chosen.verbose), flush=True)
    print(table_of(verdicts))
    return 0


def _told(verdict: Verdict, verbose: bool) -> str:
    case = verdict.case
    mark = "good" if verdict.good else "MISS"
    lines = [f"{mark} {case.group}/{case.name}{' (held)' if case.held else ''}  {verdict.seconds:.2f} s"]
    lines += [f"  truth   {t}" for t in case.truth] + ([f"  about   {case.about}"] if case.about else [])
    lines += [f"  crash   {verdict.crash}"] if verdict.crash else []
    lines += [f"  missed  {m}" for m in verdict.missed] + [f"  false   {f}" for f in verdict.false]
    said = verdict.text if verbose else verdict.lead
    lines += [f"  | {line}" for line in said.splitlines()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
