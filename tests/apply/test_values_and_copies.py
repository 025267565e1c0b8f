"""Widths that do not fit, what is true and false, and tables that are copied and pickled."""

import copy
import pickle

import numpy as np
import pytest

import pecli
from pecli.formats import FORMATS
from pecli.spec.tabular import InMemory

COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda table: pickle.loads(pickle.dumps(table)), "copy": copy.copy}


@pytest.mark.parametrize(("recipe", "width"), [
    ("rope:dim=64", 128), ("rope:dim=64", 66), ("rope:dim=64", 32), ("rope:dim=128,rotary-dim=64", 96),
    ("xpos:dim=8", 16), ("retnet:dim=8,heads=1", 16), ("mrope:dim=12,sections=2+2+2", 24),
])  # fmt: skip
@pytest.mark.parametrize("scores", [False, True])
def test_a_width_that_is_not_the_recipes_is_refused(recipe, width, scores):
    q = np.ones((1, 1, 3, width), np.float32)
    inputs = {"q": q, "k": q} if scores else q
    with pytest.raises(pecli.PecliError, match=f"vectors of {width}"):
        pecli.apply(recipe, inputs, pairs="half", scores=scores)


def test_a_file_that_names_a_recipe_is_held_to_it_too(tmp_path):
    path = tmp_path / "rope.npz"
    pecli.write_table(pecli.table("rope:dim=8,len=4"), path)
    assert pecli.apply(path, np.ones((4, 8), np.float32), pairs="half")["array"].shape == (4, 8)
    with pytest.raises(pecli.PecliError, match="dim=16,rotary-dim=8"):
        pecli.apply(path, np.ones((4, 16), np.float32), pairs="half")


def test_a_part_of_a_head_is_rotated_where_the_recipe_says_so():
    x = np.random.default_rng(0).normal(size=(3, 16))
    found = pecli.apply("rope:dim=16,rotary-dim=8", x, pairs="half")["array"]
    assert (found[:, 8:] == x[:, 8:]).all()
    assert (found[1:, :8] != x[1:, :8]).all()


def test_a_comparison_is_true_where_the_tables_are_equal():
    table = pecli.table("rope:dim=8,len=4")
    assert pecli.compare(table, "rope:dim=8")
    assert not pecli.compare(table, "rope:dim=8,base=500")
    assert not pecli.compare(np.ones((2, 3), np.float32), "rope:dim=8")


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("name", pecli.CATALOGUE)
def test_every_table_is_copied_and_pickled(name, copied):
    recipe = pecli.Recipe.parse(pecli.CATALOGUE[name].example)
    table = pecli.table(str(recipe), length=None if recipe.rows is not None else 6)
    for one in (table, table.as_type("float64"), table.only(table.keys()[:1])):
        made = copied(one)
        assert (made.recipe, made.keys(), made.arrays) == (one.recipe, one.keys(), one.arrays)
        for key in one:
            np.testing.assert_array_equal(made[key], one[key])
    assert copied(recipe) == recipe


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_slices_and_arrays_in_memory_too(copied):
    part = pecli.table("sinusoidal:dim=4,len=9")[3:6]
    np.testing.assert_array_equal(copied(part)["pe"], part["pe"])
    held = InMemory({"a": np.arange(6.0).reshape(2, 3)})
    np.testing.assert_array_equal(copied(held)["a"], held["a"])


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("form", ["npy", "npz", "hdf5", "safetensors", "parquet", "csv", "json", "arrow"])
def test_tables_in_files_open_the_file_for_themselves(form, copied, tmp_path):
    path = tmp_path / f"rope{FORMATS[form].suffixes[0]}"
    table = pecli.table("rope:dim=4,len=5")
    pecli.write_table(table, path)
    with pecli.open_table(path) as stored:
        expected = {name: stored[name].astype(np.float32).reshape(-1) for name in stored}
        made = copied(stored)
    with made:
        assert made.keys() == stored.keys()
        for name in made:
            np.testing.assert_array_equal(made[name].astype(np.float32).reshape(-1), expected[name])
