"""What inspect measures over every row: --expect and --frequencies."""

import json
import math

import numpy as np
import pytest

from pecli import CATALOGUE, Table
from pecli.errors import BadParameter
from pecli.inspect.facts import example_table
from pecli.inspect.properties import expect, measure_properties
from pecli.spec.tabular import InMemory


def holds(table, *words):
    return {found.name: found.holds for found in expect(table, words)}


@pytest.mark.parametrize("encoding", CATALOGUE.values(), ids=lambda e: e.name)
def test_every_example_is_expected_to_be_what_its_facts_say(encoding):
    table, facts = example_table(encoding), encoding.facts
    for word, declared in (("unique", facts.unique), ("relative", facts.relative != "no")):
        if word == "relative" and encoding.name in ("window", "none"):
            continue  # a distance along two axes; rows that are all the same, which a matrix takes to each other
        try:
            found = expect(table, [word])
        except BadParameter:
            assert len(table.read(table.arrays[0].name)) < 2 * table.arrays[0].shape[-1]  # too few rows to fit a matrix
            continue
        assert {one.holds for one in found} == {declared}, (word, found)


def test_a_wrong_value_anywhere_in_the_file_is_found(tmp_path):
    good = Table.parse("rope:dim=16,layout=half,len=200000").read("cos").copy()
    sines = Table.parse("rope:dim=16,layout=half,len=200000").read("sin")
    assert all(holds(InMemory({"cos": good, "sin": sines}), "unique", "relative", "bounded", "smooth").values())
    for word, broken, said in (
        ("unique", lambda a: a.__setitem__(199_998, a[3]), "row 199998 is row 3 again"),
        ("relative", lambda a: a.__setitem__((150_000, 2), a[150_000, 2] + 0.01), "at row 1"),
        ("finite", lambda a: a.__setitem__((199_999, 7), np.nan), "in row 199999"),
        ("bounded", lambda a: a.__setitem__((199_999, 7), 1.6), "1.6 in the second"),
    ):
        values, others = good.copy(), sines.copy()
        broken(values)
        if word == "unique":
            broken(others)
        (found,) = expect(InMemory({"cos": values, "sin": others}), [word])
        assert not found.holds
        assert said in found.text, found.text


def test_a_bias_is_looked_at_by_its_diagonals():
    values = Table.parse("alibi:heads=3,len=70").read("bias").copy()
    assert holds(InMemory({"bias": values}), "relative", "unique", "bounded") == {
        "relative": True, "unique": True, "bounded": False,
    }  # fmt: skip
    values[2, 69, 4] = 0
    (found,) = expect(InMemory({"bias": values}), ["relative"])
    assert (found.holds, "head 2, query 69" in found.text, found.figures["differ"]) == (False, True, 1)
    with pytest.raises(BadParameter, match="expect=smooth is for vectors"):
        expect(InMemory({"bias": values}), ["smooth"])


def test_rows_that_grow_are_not_bounded_and_a_matrix_that_is_not_there_is_not_found():
    growing = Table.parse("integer:dim=3,raw=true,len=64,dtype=float64")
    assert holds(growing, "bounded", "relative") == {"bounded": False, "relative": False}
    learned = Table.parse("learned:dim=4,len=64")
    assert holds(learned, "relative", "smooth", "unique") == {"relative": False, "smooth": False, "unique": True}


# the command


def test_expectations_are_a_status(pecli):
    assert pecli("generate", "sinusoidal", "--dim", 8, "--len", 40, "-q", "-o", "pe.npy").returncode == 0
    done = pecli("inspect", "pe.npy", "--expect", "unique,bounded,relative", "--json")
    assert (done.returncode, json.loads(done.stdout)["holds"]) == (0, True)
    assert [one["name"] for one in json.loads(done.stdout)["expected"]] == ["unique", "bounded", "relative"]
    failed = pecli("inspect", "learned:dim=4,len=40", "--expect", "unique,relative")
    assert (failed.returncode, failed.stdout.splitlines()[0]) == (1, "not as expected: learned:dim=4,len=40")
    unknown = pecli("inspect", "pe.npy", "--expect", "unik")
    assert (unknown.returncode, "did you mean 'unique'?" in unknown.stderr) == (2, True)


def test_frequencies_of_a_recipe_are_listed(pecli):
    found = json.loads(pecli("inspect", "rope:dim=8,base=10000,len=100", "--frequencies", "--json").stdout)
    assert [one["radians"] for one in found["frequencies"]] == [1.0, 0.1, 0.01, 0.001]
    assert found["frequencies"][1]["wavelength"] == pytest.approx(20 * math.pi, rel=1e-15)
    assert [one["ratio"] for one in found["frequencies"]] == [None, 10, 10, pytest.approx(10)]
    assert found["frequencies"][0]["turns"] == pytest.approx(100 / (2 * math.pi))
    shown = pecli("inspect", "rope:dim=64", "--frequencies").stdout.splitlines()
    assert len([line for line in shown if line.strip()[:1].isdigit()]) == 32
    for recipe, said in (("alibi:heads=2", "alibi has none"), ("xpos:dim=8", "give --len N")):
        refused = pecli("inspect", recipe, "--frequencies")
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_rows_that_are_no_numbers_are_neither_smooth_nor_shifted(odd, pecli, tmp_path):
    values = Table.parse("sinusoidal:dim=8,len=64").read("pe")
    values[30:32, 2] = odd
    np.save(tmp_path / "n.npy", values)
    done = pecli("inspect", "n.npy", "--expect", "finite,smooth,relative", "--json")
    assert "Warning" not in done.stderr
    finite, smooth, relative = json.loads(done.stdout)["expected"]
    assert finite["text"] == "2 values are NaN or infinite, the first in row 30"
    assert (smooth["holds"], smooth["largest"], smooth["text"][:26]) == (
        False,
        "inf",
        "rows 29 and 30 are inf apart"[:26],
    )
    assert (relative["holds"], relative["residual"]) == (False, "inf")


def test_a_table_without_rows_is_no_bug(refuses, tmp_path):
    np.save(tmp_path / "z.npy", np.zeros((0, 8), np.float32))
    refuses("extrapolate", "z.npy", "--test-len", "4", says=["0 x 8"])


@pytest.mark.parametrize("words", [["--expect", "finite"]])
def test_what_is_not_drawn_is_refused(words, refuses):
    refuses("inspect", "rope:dim=8", *words, "--plot", "x.svg", says=[f"plot has no option {words[0]}"])


def test_frequencies_have_no_positions_and_no_type(refuses):
    for words in (["--start", "3"], ["--dtype", "float16"], ["--layout", "half"]):
        refuses("inspect", "rope:dim=8", "--frequencies", *words, says=["has no effect on frequencies"])


@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "n.npy", "--properties"],
        ["extrapolate", "n.npy", "--test-len", "40", "--extend", "cubic"],
        ["extrapolate", "n.npy", "--test-len", "40", "--extend", "linear", "-o", "o.npy"],
    ],
    ids=lambda words: words[2] + words[-1],
)
def test_what_is_no_number_is_measured_without_a_warning(words, odd, pecli, tmp_path):
    values = np.random.default_rng(1).standard_normal((20, 3))
    values[5:7, 1] = odd
    np.save(tmp_path / "n.npy", values)
    done = pecli(*words)
    assert done.returncode == 0
    assert "Warning" not in done.stderr


def test_properties_say_where_0_stands_for_what_is_no_number():
    values = np.random.default_rng(1).standard_normal((20, 3))
    values[4, 1:] = np.nan
    scope = measure_properties(InMemory({"pe": values}))[0]
    assert scope.text == "all 20 rows, with 0 in the place of what is NaN or infinite, 2 times"
    alone = measure_properties(InMemory({"pe": np.full((20, 3), np.inf)}))
    assert [one.name for one in alone] == ["measured on"]
