"""``pecli convert``: format, type and layout of any table, block by block."""

import numpy as np
import pytest

from pecli import Table, open_table, write_table
from pecli.errors import PecliError
from pecli.numbers.rounding import narrow
from pecli.tables.conversion import convert
from pecli.tables.layouts import LAYOUTS

COS_SIN = [word for word in LAYOUTS if word != "angles"]


def arrays(table):
    return {a.name: table.read(a.name) for a in table.arrays}


@pytest.mark.parametrize("before", COS_SIN)
@pytest.mark.parametrize("after", COS_SIN)
def test_any_layout_becomes_any_other(before, after):
    recipe = "rope:dim=6,base=100,len=11"
    made = convert(Table.parse(recipe, layout=before), layout=after)
    want = Table.parse(recipe, layout=after)
    assert [(a.name, a.shape, a.dtype) for a in made.arrays] == [(a.name, a.shape, a.dtype) for a in want.arrays]
    assert made.recipe == want.recipe
    for name, values in arrays(want).items():
        assert made.read(name).tobytes() == values.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_type_is_rounded_to_nearest(dtype):
    source = Table.parse("sinusoidal:dim=8,len=50,dtype=float64")
    made = convert(source, dtype=dtype)
    assert made.read("pe").tobytes() == narrow(source.read("pe"), None, dtype).tobytes()


def test_an_npy_files_stacked_pair_is_rearranged(tmp_path):
    table = Table.parse("rope:dim=6,len=9")
    write_table(table, tmp_path / "a.npy")
    made = convert(open_table(tmp_path / "a.npy"), layout="concat", from_layout="split")
    want = Table.parse("rope:dim=6,len=9,layout=concat")
    assert made.read("cos_sin").tobytes() == want.read("cos_sin").tobytes()


def test_the_command_writes_the_other_format(pecli, tmp_path):
    pecli("generate", "rope", "--dim", 8, "--len", 20, "-o", "a.h5")
    done = pecli("convert", "a.h5", "--layout", "half", "--dtype", "float64", "-o", "b.npz")
    assert done.returncode == 0, done.stderr
    cos = np.load(tmp_path / "b.npz")["cos"]
    assert cos.shape == (20, 8)
    assert cos.dtype == np.float64
    np.testing.assert_array_equal(cos[:, :4], open_table(tmp_path / "a.h5").read("cos"))


def test_bfloat16_survives_the_way_through_hdf5_and_safetensors(pecli, tmp_path):
    pecli("generate", "sinusoidal", "--dim", 8, "--len", 20, "--dtype", "bfloat16", "-o", "a.h5")
    assert pecli("convert", "a.h5", "-o", "b.safetensors").returncode == 0
    want = Table.parse("sinusoidal:dim=8,len=20,dtype=bfloat16").read("pe")
    assert open_table(tmp_path / "b.safetensors").read("pe").tobytes() == want.tobytes()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"layout": "halff"}, "did you mean 'half'"),
        ({"layout": "angles"}, "holds angles"),
        ({"dtype": "float8"}, "unknown dtype"),
        ({"layout": "half", "from_layout": "concat"}, "contradicts the source's own recipe, which says split"),
    ],
)
def test_what_cannot_be_is_refused(options, says):
    with pytest.raises(PecliError, match=says):
        convert(Table.parse("rope:dim=4,len=3"), **options)


def test_a_table_of_unknown_layout_asks_for_it(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3, 4), np.float32))
    with pytest.raises(PecliError, match="--from-layout"):
        convert(open_table(tmp_path / "a.npy"), layout="half")


def test_a_layout_that_does_not_fit_the_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", cos=np.zeros((3, 4)), sin=np.zeros((3, 4)))
    with pytest.raises(PecliError, match="does not fit"):
        convert(open_table(tmp_path / "a.npz"), layout="half", from_layout="concat")


def test_converting_without_a_target_is_refused(refuses):
    refuses("convert", "rope:dim=4,len=3", says="-o PATH")
