"""Lazy arrays of Dask.

A package that is not installed is skipped with a word; `make reach` installs them.
"""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from pecli import table
from pecli.errors import BadFile, BadParameter
from pecli.formats import open_table
from pecli.inspect.verification import verify


def need(package):
    """The package, or a skip that names it."""
    return pytest.importorskip(package, reason=f"{package} is not installed: make reach installs it")


@pytest.mark.parametrize(
    ("recipe", "name", "chunks"),
    [
        ("sinusoidal:dim=16,len=100", None, None),
        ("sinusoidal:dim=16,len=100", "pe", (7, 5)),
        ("alibi:heads=3,len=20", None, (2, 6, 20)),
        ("alibi:heads=3,len=20", None, (1, 20, 7)),
        ("alibi:heads=4,form=slopes", "slopes", 3),
        ("rope:dim=8,len=33,dtype=float16", "sin", "auto"),
    ],
)
def test_a_lazy_array_holds_the_table(recipe, name, chunks):
    need("dask")
    from pecli.dask import array

    made = table(recipe)
    lazy = array(recipe, name, chunks=chunks)
    values = made.read(name or made.arrays[0].name)
    assert (lazy.shape, lazy.dtype) == (values.shape, values.dtype)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), values)
    assert array(recipe, name, chunks=chunks).name == lazy.name


def test_a_long_bias_takes_no_memory_until_it_is_wanted():
    need("dask")
    from pecli.dask import array

    lazy = array("alibi:heads=32,len=131072")
    assert lazy.nbytes == 32 * 131072**2 * 4
    part = lazy[5, 131071, 131000:].compute(scheduler="synchronous")
    assert part[-1] == 0
    assert part[-2] == -np.float32(2.0 ** (-8 * 6 / 32))


def test_which_array_must_be_said():
    need("dask")
    from pecli.dask import array

    with pytest.raises(BadParameter, match="one of cos, sin"):
        array("rope:dim=8,len=4")
    with pytest.raises(BadParameter, match="give float32"):
        array("rope:dim=8,len=4,dtype=bfloat16", "cos")


def test_a_config_is_taken_as_everywhere(tmp_path):
    need("dask")
    from pecli.dask import array

    config = {"model_type": "bloom", "n_head": 2, "seq_length": 16}
    np.testing.assert_array_equal(array(config).shape, (2, 16, 16))
    np.save(tmp_path / "pe.npy", np.zeros((3, 4)))
    with pytest.raises(BadParameter, match="has no recipe"):
        array(tmp_path / "pe.npy")


def test_a_file_that_is_lost_is_one_sentence_wherever_it_is_missed(tmp_path):
    need("dask")
    from pecli.dask import _table, array

    np.save(tmp_path / "w.npy", np.zeros((35, 2), np.float32))
    lazy = array(f"window:grid=3x4,heads=2,weights={tmp_path / 'w.npy'}", "bias")
    (tmp_path / "w.npy").unlink()
    _table.cache_clear()  # as in another process
    with pytest.raises(BadFile, match=r"w\.npy: does not exist"):
        lazy.compute(scheduler="synchronous")


OWN = os.path.join(os.getcwd(), "examples", "own_encoding.py")


def test_workers_know_an_encoding_of_ones_own(process):
    """As in another process, which loads the plug-in for itself."""
    need("dask")
    code = (
        "import pickle, sys\nfrom pecli.dask import array\nfrom pecli.spec.catalogue import load_file\n"
        f"load_file({OWN!r})\n"
        "sys.stdout.buffer.write(pickle.dumps(array('resonance-rope:dim=16,len=100', 'cos')))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    lazy = pickle.loads(made)
    assert lazy.compute(scheduler="synchronous").shape == (100, 8)


def test_dask_writes_and_pecli_reads(tmp_path):
    need("dask")
    zarr = need("zarr")
    from pecli.dask import array

    zarr.create_group(tmp_path / "pe.zarr")
    array("sinusoidal:dim=16,len=1000", chunks=(300, 16)).to_zarr(str(tmp_path / "pe.zarr"), component="pe")
    with open_table(tmp_path / "pe.zarr") as found:
        assert verify(found, "pe.zarr", "sinusoidal:dim=16").good
