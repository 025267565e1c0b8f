"""What every encoding owes, tested on its example; a new encoding is tested without a line here."""

import gc
import re
import weakref
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest

from pecli import CATALOGUE, Recipe, Table, open_table, write_table
from pecli.errors import PecliError, UndeclaredHook
from pecli.inspect.facts import example_table
from pecli.numbers.dtypes import DTYPES, storage
from pecli.spec.declaration import Family, HookName
from pecli.spec.hooks import SmallTable
from pecli.spec.recipe import split_recipe
from pecli.teach.examples import work_through

EXAMPLES = [pytest.param(encoding, id=name) for name, encoding in CATALOGUE.items()]


def contents(table):
    return {array.name: table.read(array.name).tobytes() for array in table.arrays}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("encoding", EXAMPLES)
def test_any_slice_equals_the_same_rows_of_the_whole(encoding, dtype):
    table = example_table(encoding, 37)
    if dtype in ("float16", "bfloat16") and table.arrays[0].dtype.startswith("complex"):
        pytest.skip("there are no complex numbers of half the width")
    table = Table.parse(table.recipe, dtype=dtype)
    for array in table.arrays:
        whole = table.read_rows([array.name], 0, array.rows)[array.name]
        cuts = [*(cut for cut in (0, 1, 2, 7, 23, 36) if cut < array.rows), array.rows]
        parts = [table.read_rows([array.name], *ends)[array.name] for ends in pairwise(cuts)]
        assert np.concatenate(parts).tobytes() == whole.tobytes(), array.name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("encoding", EXAMPLES)
def test_rows_that_were_computed_are_free_once_their_taker_lets_go(encoding, dtype):
    # a circle of references would keep them until Python looks for circles: seldom, in a worker of Dask
    table = example_table(encoding, 300)
    if dtype in ("float16", "bfloat16") and table.arrays[0].dtype.startswith("complex"):
        pytest.skip("there are no complex numbers of half the width")
    table = Table.parse(table.recipe, dtype=dtype)
    for array in table.arrays:
        gc.disable()
        try:
            rows = np.empty((array.rows, *array.row_shape), storage(array.dtype))
            taken = weakref.ref(rows)
            table.fill(0, array.rows, {array.name: rows})
            del rows
            assert taken() is None, array.name
        finally:
            gc.enable()


@pytest.mark.parametrize("encoding", EXAMPLES)
@pytest.mark.sample(2)
def test_a_block_is_the_same_whatever_its_size(encoding):
    table = example_table(encoding, 37)
    for names in ([a.name] for a in table.arrays):
        whole = table.read(names[0]).tobytes()
        for size in (1, 100, 10**6):
            blocks = [b.values[names[0]] for b in table.blocks(names, block_bytes=size)]
            assert b"".join(b.tobytes() for b in blocks) == whole


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_the_recipe_of_a_table_reproduces_it(encoding):
    table = example_table(encoding, 12)
    again = Table.parse(table.recipe)
    assert again.recipe == table.recipe
    assert contents(again) == contents(table)


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_narrow_types_are_the_nearest_to_the_float64_value(encoding):
    wide = example_table(encoding, 25)
    if wide.arrays[0].dtype.startswith("complex"):
        pytest.skip("tested part by part, beside the sinusoid that it equals")
    for dtype in ("float16", "float32"):
        narrow = Table.parse(wide.recipe, dtype=dtype)
        for array in narrow.arrays:
            exact, rounded = wide.read(array.name), narrow.read(array.name)
            if array.dtype == dtype:
                # the float64 is within an ulp of the value, far finer than half an ulp of the narrow type
                error = np.abs(np.where(np.isfinite(exact), exact - rounded.astype(np.float64), 0))
                bound = 0.5 * np.spacing(np.abs(rounded)).astype(np.float64) * (1 + 2.0**-20)
                assert (error <= np.where(np.isfinite(bound), bound, np.inf)).all(), (array.name, dtype)


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_what_is_written_is_read_back_equal_with_its_recipe(encoding, tmp_path):
    table = example_table(encoding, 9)
    for suffix in ("npz", "h5"):
        path = tmp_path / f"a.{suffix}"
        write_table(table, path)
        stored = open_table(path)
        assert stored.recipe == table.recipe
        for array in table.arrays:
            assert stored.read(array.name).tobytes() == table.read(array.name).tobytes(), (suffix, array.name)


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_values_are_finite_unless_masked(encoding):
    table = example_table(encoding, 50)
    for array in table.arrays:
        assert np.isfinite(table.read(array.name)).all()


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_every_word_of_a_preset_sets_parameters_of_its_encoding(encoding):
    _, example = split_recipe(encoding.example)
    for preset in encoding.presets:
        assert preset.help.endswith(".")
        assert preset.sets
        for word, given in preset.sets.items():
            assert {*given} <= {*encoding.parameters}, word
            Recipe.bind(encoding.name, **{**example, preset.name: word})


def outside(parameter):
    """Values that a parameter's declared range excludes."""
    p = parameter.param
    if p.ge is not None:
        yield p.ge - 1
    if p.gt is not None:
        yield p.gt
    if p.le is not None:
        yield p.le * 2 + 1
    if p.lt is not None:
        yield p.lt


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_a_value_outside_its_range_is_refused_by_name(encoding):
    base = Recipe.parse(encoding.example).keys()
    for parameter in encoding.parameters.values():
        for value in outside(parameter):
            text = f"{value:.0f}" if value == int(value) else f"{value}"
            with pytest.raises(PecliError, match=parameter.option):
                Recipe.bind(encoding.name, **{**base, parameter.option: text})


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_the_declaration_is_complete(encoding):
    assert encoding.formula
    assert encoding.source
    assert encoding.description.splitlines()[0].endswith(".")
    assert len(encoding.description.splitlines()[0]) <= 76
    for parameter in encoding.parameters.values():
        assert parameter.param.help.endswith("."), parameter.name
        assert "_" not in parameter.option


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_its_command_explains_itself(encoding, pecli):
    shown = pecli("generate", encoding.name, "--help-all")
    assert shown.returncode == 0
    for parameter in encoding.options:
        assert f"--{parameter.option}" in shown.stdout


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_it_is_recognised_by_a_hook_or_says_why_not(encoding):
    hooks = [name for name in encoding.hooks if name.startswith("identify")]
    assert bool(hooks) != bool(encoding.unrecognised), f"{encoding.name}: identify, or the section Not recognised"


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_it_declares_the_hooks_that_its_family_needs(encoding):
    assert encoding.declares("apply") or encoding.family not in (Family.RELATIVE, Family.CONDITIONAL)


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_every_hook_that_is_declared_is_there(encoding):
    for name in encoding.hooks:
        assert callable(encoding.hook(name))
    for name in set(get_args(HookName)) - set(encoding.hooks):
        with pytest.raises(UndeclaredHook, match=encoding.name):
            encoding.hook(name)


@pytest.mark.parametrize("encoding", EXAMPLES)
def test_its_example_is_worked_through_with_its_own_values(encoding):
    example = work_through(Recipe.parse(encoding.example), length=4)
    assert example.steps
    numbers = {round(n, 9) for step in example.steps for item in step.items for n in numbers_of(item)}
    table = example_table(encoding, 4)
    told = {round(float(v), 9) for a in table.arrays for v in np.ravel(table.read(a.name)).view(np.float64)[:64]}
    assert numbers & told, "a lesson shows values of the table"


def numbers_of(item):
    """Every number of a table, a matrix or a line on the board."""
    if isinstance(item, str):
        cells = re.findall(r"-?\d+(?:\.\d+)?", item)
    elif isinstance(item, SmallTable):
        cells = [cell for row in item.rows for cell in row]
    else:
        cells = [cell for term in item.terms if not isinstance(term, str) for row in term.rows for cell in row]
    for cell in cells:
        try:
            yield float(cell)
        except ValueError:
            continue
