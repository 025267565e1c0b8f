"""Recommendations by task, the filter by facts, and the questions with their answers."""

import json
import re
import shlex
from pathlib import Path

import mpmath
import numpy as np
import pytest

import pecli
from pecli import CATALOGUE, Recipe
from pecli.cli.run import run
from pecli.errors import BadParameter, UnknownName
from pecli.spec.catalogue import every_question, questions
from pecli.teach.choosing import named_tasks, tasks, where

ENCODINGS = list(CATALOGUE.values())
ANSWERS = [pytest.param(r, id=f"{e.name}-{n}") for e in ENCODINGS for n, r in enumerate(questions(e))]
DISTINCT = list({one.see: one for one in every_question() if one.see}.values())


@pytest.mark.parametrize("name", tasks())
def test_recommendations_are_recipes_with_reasons_and_sources(name):
    one = tasks()[name]
    assert len(one.choose) >= 2
    assert one.avoid
    for recipe, why in one.choose:
        assert Recipe.parse(recipe).encoding.name in CATALOGUE
        assert why
    assert all(re.fullmatch(r"\d{4}\.\d{5}", number) for number in one.sources)


def test_long_context_is_rope_with_a_scaling_first():
    assert named_tasks("128k") == named_tasks("serving at 128k") == named_tasks("serving")
    assert named_tasks("long documents") == named_tasks("long-context")
    assert "scaling=" in named_tasks("Long Context")[0].choose[0][0]
    with pytest.raises(UnknownName, match="images"):
        named_tasks("imges")


def test_a_question_names_tasks_and_else_the_encoding_in_it(pecli):
    shown = pecli("list", "which", "encoding", "for", "128k", "context").stdout
    assert "Long context (32k and more)\n1. " in shown
    assert "\n\nServing a trained model at 128k\n1. " in shown
    asked = pecli("explain", "which encoding for 128k context").stdout
    assert "\n  $ pecli list 'which encoding for 128k context'\n" in asked
    assert pecli("list", "models using alibi").stdout == pecli("list", "alibi").stdout
    assert pecli("list", "models").returncode == 2


def test_no_name_means_two_tasks():
    names = [word for one in tasks().values() for word in (one.name, *one.names)]
    assert len(names) == len(set(names))


def test_the_filter_takes_what_has_all_facts():
    assert {e.name for e in where(ENCODINGS, "relative=yes,learned=no,family=bias")} == {
        "alibi",
        "gaussian",
        "sandwich",
    }
    assert where(ENCODINGS, "relative=no,beyond=ends")
    with pytest.raises(UnknownName, match="relative"):
        where(ENCODINGS, "relativ=yes")
    with pytest.raises(BadParameter, match="distance, no, rotation"):
        where(ENCODINGS, "relative=maybe")


def test_every_encoding_has_answers_but_for_what_has_nothing_to_ask():
    assert all(questions(e) for e in ENCODINGS)
    assert all(q.question.endswith("?") and q.answer and "```" not in q.answer for e in ENCODINGS for q in questions(e))


def test_headings_of_questions_name_encodings_or_a_family():
    known = {*CATALOGUE, *(f"Every {e.family.word} encoding" for e in ENCODINGS)}
    texts = [path.read_text() for path in sorted(Path(pecli.__file__).parent.glob("encodings/*/questions.md"))]
    assert {
        name for text in texts for name in ", ".join(re.findall("^## (.+)$", text, re.MULTILINE)).split(", ")
    } <= known
    assert sum(text.count("$ pecli") for text in texts) >= len(DISTINCT)


@pytest.mark.parametrize("answer", DISTINCT, ids=lambda one: one.question)
def test_what_an_answer_says_to_run_runs(answer, monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)
    status = run(shlex.split(answer.see))
    said = capfd.readouterr()
    assert status in (0, 1 if answer.see.startswith("compare") else 0), said.err
    assert said.err.startswith("would print") if "--dry-run" in answer.see else said.out.strip()


def said(name, question):
    return next(r.answer for r in questions(CATALOGUE[name]) if question in r.question)


def test_the_numbers_in_answers_are_right():
    """Each against mpmath, from the formula of the papers."""
    with mpmath.workdps(30):
        ratio = mpmath.mpf(10000) ** (mpmath.mpf(2) / 512)
        assert mpmath.nstr(ratio, 5) == "1.0366"
        assert "1.0366" in said("sinusoidal", "How fast")
        slowest = 2 * mpmath.pi * mpmath.mpf(10000) ** (mpmath.mpf(510) / 512)
        assert f"{int(mpmath.nint(slowest)):,}" in said("sinusoidal", "10000")
        assert f"{int(mpmath.nint(2 * mpmath.pi * 10000)):,}" in said("sinusoidal", "10000")
        base = (131072 / (2 * mpmath.pi)) ** (mpmath.mpf(512) / 510)
        assert f"{int(mpmath.nint(base)):,}" in said("sinusoidal", "Which base")
        assert abs(2 * mpmath.pi * base ** (mpmath.mpf(510) / 512) - 131072) < 1e-9  # the slowest pair turns once
        turned = sum(2 * mpmath.pi * mpmath.mpf(10000) ** (mpmath.mpf(2 * i) / 128) <= 4096 for i in range(64))
        assert f"{turned} of 64 pairs" in said("rope", "fail past")
        assert mpmath.nstr(-mpmath.sin(1), 4) in said("rope", "function of the distance")
        assert "393,216" in said("learned", "cost")
        assert "0.5 to 0.00390625" in said("alibi", "slope")
        assert "e^-8 " in said("alibi", "slope")
        assert f"{mpmath.nstr(2 * mpmath.pi * mpmath.mpf(10000) ** (mpmath.mpf(2) / 128), 3)} positions" in said(
            "sandwich", "keep falling"
        )
        assert f"{mpmath.nstr(2 * mpmath.pi * mpmath.mpf(10000) ** (mpmath.mpf(2) / 8), 3)} at width 8" in said(
            "sandwich", "keep falling"
        )
        assert mpmath.nstr((mpmath.mpf(2) / 7) ** (mpmath.mpf(10000) / 512), 2) in said("xpos", "centre")
        assert "2,401 pairs share 169 numbers" in said("window", "entries")
        assert "254 for rows" in said("decomposed", "each axis")
        assert "16,129" in said("decomposed", "each axis")
        weights = [mpmath.e**5 / (mpmath.e**5 + n - 1) for n in (10, 1000)]
        assert "{} among 10 keys and {} among 1000".format(*(mpmath.nstr(w, 3) for w in weights)) in said(
            "query-scale", "factor"
        )


def test_sinusoidal_rows_leave_most_directions_free():
    rows = np.asarray(pecli.table("sinusoidal:dim=512,len=512,dtype=float64"))
    shares = np.cumsum(np.linalg.svd(rows, compute_uv=False) ** 2) / np.sum(rows**2)
    assert f"in {np.searchsorted(shares, 0.99) + 1} of the 512 directions" in said("sinusoidal", "Why add it")


def test_how_far_columns_are_from_orthogonal():
    waves = np.exp(1j * np.arange(512)[:, None] * 10000.0 ** (-np.arange(256) / 256))
    products = np.abs(waves.T.conj() @ waves)[np.triu_indices(256, 1)] / 512
    assert f"is {products.mean():.3f}" in said("sinusoidal", "columns of different frequencies")
    assert round(4 * (products > 0.5).mean()) == 1  # a quarter


def test_the_size_of_a_dense_alibi():
    assert f"{32 * 131072**2 * 4 / 2**40:.1f} TiB" in said("alibi", "heads x length x length")


def test_interleaved_columns_that_were_stacked_wrongly_give_the_same_scores():
    cos, sin = np.cos([[1.0, 0.01], [3.0, 0.03]]), np.sin([[1.0, 0.01], [3.0, 0.03]])
    x = np.array([[1.0, 2.0, -1.0, 1.0], [2.0, 1.0, 1.0, -1.0]]).reshape(2, 2, 2)
    members = [x[..., 0] * cos - x[..., 1] * sin, x[..., 0] * sin + x[..., 1] * cos]
    right, wrong = np.stack(members, -1).reshape(2, 4), np.concatenate(members, -1)
    assert np.isclose(right[0] @ right[1], wrong[0] @ wrong[1])
    assert not np.allclose(right, wrong)


@pytest.mark.parametrize("name", ["nerf", "bands", "sincos2d", "detr", "rope", "alibi"])
def test_only_what_is_added_to_a_text_is_asked_about_it(name):
    assert not [r for r in questions(CATALOGUE[name]) if "mask of padding" in r.question or "sqrt(dim)" in r.question]


def test_what_is_no_pure_rotation_says_what_it_does_to_a_length():
    assert said("xpos", "how long a vector is").startswith("The rotation does not, the scale does")
    assert said("query-scale", "in advance").startswith("Yes")


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        (["list", "--choose"], "Recommendations by task"),
        (["list", "rope", "--why"], "R_m R_n = R_(m+n)"),
        (["list", "--where", "learned=yes,family=absolute"], "learned"),
    ],
)
def test_the_command_line_says_it(pecli, arguments, holds):
    done = pecli(*arguments)
    assert done.returncode == 0
    assert holds in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "$ pecli" not in line)
    assert json.loads(pecli(*arguments, "--json").stdout)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["explain", "--why"], "explain needs SOURCE"), (["list", "rope", "--choose"], "unknown task")],
)
def test_what_goes_together_is_said(refuses, arguments, says):
    refuses(*arguments, says=(says,))


@pytest.mark.parametrize("key", ["dtype=500k", "shard=1 2", "len=x", "layout=angles"])
def test_what_a_recipe_says_of_its_table_must_be_right_where_facts_are_compared(key, capfd):
    assert run(["compare", f"sinusoidal:dim=8,{key}", "rope:dim=8"]) == 2
    assert key.partition("=")[2] in capfd.readouterr().err
