"""Files of numbers that a recipe names: one reader for all of them, bounded, whatever was imported before."""

import contextlib
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from pecli.errors import BadFile, BadParameter, UnknownName
from pecli.formats import FORMATS, open_table, write_table
from pecli.numbers.positions import Positions
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table
from tests.support.format_tables import sampled

SUFFIXES = tuple(form.suffixes[0].removeprefix(".") for form in FORMATS.values())
RECIPES = (
    't5:heads=4,len=4,weights="{}"',
    'rope:dim=6,frequencies="{}"',
    'cpe:content="{}"',
    'sinusoidal:dim=4,positions="@{}"',
)


class Stored:
    """A table of one array for the writers."""

    def __new__(cls, tmp_path, values, name="array"):
        np.savez(tmp_path / "made.npz", **{name: values})
        return open_table(tmp_path / "made.npz")


def saved(tmp_path, values, suffix):
    path = tmp_path / f"w.{suffix}"
    with Stored(tmp_path, np.asarray(values)) as table:
        write_table(table, path)
    return path


def fresh(code):
    """Run code in an interpreter in which nothing was imported."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("suffix", sampled(*SUFFIXES, often=("h5",)))
def test_weights_are_read_though_nobody_imported_the_formats(tmp_path, suffix):
    weights = np.arange(128.0).reshape(32, 4)
    path = saved(tmp_path, weights, suffix)
    code = f"""
from pecli.tables.table import Table
print(Table.parse('t5:heads=4,len=4,form=parameters,dtype=float64,weights="{path}"').read("weight").sum())"""
    done = fresh(code)
    assert done.stdout.strip() == str(weights.sum()), done.stderr


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_whatever_names_a_file_of_numbers_takes_every_format(tmp_path, suffix):
    path = saved(tmp_path, np.array([1.0, 0.5, 0.25]), suffix)
    assert list(map(float, Recipe.bind("rope", dim=6, frequencies=str(path)).plan.frequencies)) == [1, 0.5, 0.25]
    assert list(map(float, Positions.parse(f"@{path}"))) == [1, 0.5, 0.25]
    content = saved(tmp_path, np.arange(12.0).reshape(6, 2), suffix)
    assert Table.parse(f'cpe:content="{content}"').read("pe").shape == (6, 2)


def test_one_array_of_several_is_chosen_by_its_name(tmp_path):
    np.savez(tmp_path / "w.npz", a=np.array([1.0, 2.0]), b=np.array([3.0, 4.0]))
    assert list(Positions.parse(f"@{tmp_path}/w.npz::b")) == [3, 4]
    with pytest.raises(BadFile, match=r"holds a, b.*FILE::NAME"):
        Positions.parse(f"@{tmp_path}/w.npz")
    with pytest.raises(UnknownName, match="c"):
        Positions.parse(f"@{tmp_path}/w.npz::c")


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_a_device_without_end_is_not_read_to_its_end(recipe, device):
    with pytest.raises(BadFile, match=device):
        Table.parse(recipe.format(device))


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_pipe_without_end_is_read_up_to_a_limit_that_is_named(recipe, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write():
        with contextlib.suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            while True:
                file.write(b"1\n" * 4096)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(BadFile, match="16 MiB"):
        Table.parse(recipe.format(pipe))
    writer.join()


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_text_beyond_the_limit_is_refused_before_it_is_read(recipe, tmp_path):
    path = tmp_path / "w.txt"
    with path.open("wb") as file:
        file.write(b"1 " * 4096)
        file.truncate(1 << 40)
    with pytest.raises(BadFile, match="16 MiB"):
        Table.parse(recipe.format(path))


def test_an_array_of_another_shape_is_refused_by_what_the_file_says_of_it(tmp_path):
    """A terabyte of holes is not read only to be refused."""
    path = tmp_path / "w.npy"
    np.save(path, np.zeros((2, 2)))
    text = path.read_bytes()[:128].replace(b"(2, 2)", b"(1073741824, 128)").replace(b" " * 11, b"", 1)
    head = text[:127].ljust(127) + b"\n"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + (1 << 40))
    for recipe in ("t5:heads=128,len=4", "shaw:dim=128,clip=4,len=4", "window:grid=7x7,heads=128"):
        with pytest.raises(BadParameter, match="holds 1073741824 x 128 values"):
            Table.parse(f'{recipe},weights="{path}"')
    for recipe in (f'rope:dim=8,frequencies="{path}"', f"sinusoidal:dim=4,positions=@{path}"):
        with pytest.raises(BadFile, match="1073741824"):
            Table.parse(recipe)


def test_an_array_beyond_the_limit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "w.npy"
    np.save(path, np.zeros(4))
    head = path.read_bytes()[:128].replace(b"(4,), }" + b" " * 11, b"(137438953472,), }")
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + (1 << 40))
    for recipe in (f'rope:dim=8,frequencies="{path}"', f"sinusoidal:dim=4,positions=@{path}"):
        with pytest.raises(BadFile, match="MiB"):
            Table.parse(recipe)


def test_content_is_read_as_its_rows_are_asked_for(tmp_path):
    path = tmp_path / "c.npy"
    content = np.lib.format.open_memmap(path, "w+", np.float64, (1 << 22, 256))  # 8 GiB of holes
    content[5] = 1.0
    del content
    table = Table.parse(f'cpe:kernel=1,content="{path}"', dtype="float64")
    assert table.read_rows(["pe"], 4, 7)["pe"].any(axis=1).tolist() == [True, True, True]


def test_a_package_below_the_formats_loads_their_reader_when_a_file_is_named():
    code = "import sys, pecli.numbers.reader; assert not [name for name in sys.modules if 'formats' in name]"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1, [2]]", "is no finite number"),
        ("[[1, 2], [3]]", "rows of 1 to 2 numbers"),
        ("[" * 100_000, "is not JSON"),
        ("1 2\n3\n", "rows of 1 to 2 numbers"),
        ("\xff\xfe", "text in UTF-16"),
        ("1 2\0", "is neither"),
    ],
)
def test_a_text_that_holds_no_rows_of_numbers_is_refused(tmp_path, text, says):
    path = tmp_path / "w.txt"
    path.write_bytes(text.encode("latin1"))
    with pytest.raises(BadFile, match=says):
        Table.parse(f'cpe:content="{path}"')


def test_a_device_without_end_is_no_table_either():
    with pytest.raises(BadFile, match="of no known format"):
        open_table("/dev/zero")
