"""Every declared fact is measured; a declaration that claims what is not so fails here."""

import dataclasses

import pytest

from pecli import CATALOGUE, Recipe, Table
from pecli.errors import PecliError
from pecli.inspect.facts import example_table, formula_value, sheet
from tests.support.measured_facts import measured

ENCODINGS = [pytest.param(encoding, id=name) for name, encoding in CATALOGUE.items()]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_facts_are_what_the_values_say(encoding):
    declared = dataclasses.asdict(encoding.facts)
    found = measured(encoding)
    for fact in ("beyond", "bounded", "unique", "relative", "multi_scale"):
        if fact == "multi_scale" and declared["learned"] and not declared[fact]:
            continue  # columns drawn alike differ by chance
        assert found[fact] == declared[fact], fact


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_cost_is_the_number_of_values(encoding):
    table = example_table(encoding)
    values = {**table.source.values, "n": table.part.count}
    assert measured(encoding)["cost"] == formula_value(encoding.facts.cost, values)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_is_learned_has_trained_values_and_nothing_else_has(encoding):
    recipe = Recipe.parse(encoding.example)
    if recipe.open_parameters:
        recipe = recipe.resolve(length=8, last=7, whole=True)
    assert (formula_value(encoding.facts.parameters, recipe.values) > 0) == encoding.facts.learned


@pytest.mark.parametrize("encoding", [p for p in ENCODINGS if p.values[0].facts.longest != "unlimited"])
def test_the_longest_position_has_a_value_and_the_next_has_none(encoding):
    recipe = Recipe.parse(encoding.example)
    longest = formula_value(encoding.facts.longest, recipe.values)
    assert Table.make(recipe, length=longest).part.count == longest
    with pytest.raises(PecliError):
        Table.make(recipe, start=longest, length=1)


def test_the_learned_table_of_the_guides_has_393216_values():
    recipe = Recipe.parse("learned:dim=768,max-len=512")
    assert formula_value(recipe.encoding.facts.parameters, recipe.values) == 393_216


def test_a_sheet_says_what_the_guides_tables_say():
    assert sheet(CATALOGUE["learned"])["beyond"] == "ends"
    assert sheet(CATALOGUE["learned"])["parameters"] == "(max_len + rows_offset) * dim"
    assert sheet(CATALOGUE["binary"])["longest"] == "2 ** dim"
    assert sheet(CATALOGUE["alibi"])["relative"] == "distance"
    assert sheet(CATALOGUE["sinusoidal"])["relative"] == sheet(CATALOGUE["rope"])["relative"] == "rotation"
    assert sheet(CATALOGUE["integer"])["multi_scale"] == "no"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_says_when_to_use_it_and_when_not(encoding):
    for words in (encoding.use_when, encoding.not_when):
        assert words[0].islower()
        assert not words.endswith(".")
        assert "[" not in words
