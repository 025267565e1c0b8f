"""Arrays of bfloat16 are their bits in uint16, whatever other packages are installed."""

import sys
import types

import numpy as np
import pytest

import pecli

RECIPE = "sinusoidal:dim=4,len=5,dtype=bfloat16"


@pytest.fixture(params=["without", "a stand-in", "the real one"])
def with_ml_dtypes(request, monkeypatch):
    if request.param == "the real one":
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
        return
    stand_in = types.ModuleType("ml_dtypes")
    stand_in.bfloat16 = np.dtype(np.int16)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None if request.param == "without" else stand_in)


@pytest.mark.usefixtures("with_ml_dtypes")
def test_the_type_is_the_same_and_widen_reads_it():
    table = pecli.table(RECIPE)
    exact = np.asarray(pecli.table("sinusoidal:dim=4,len=5", dtype="float64"))
    for values in (table["pe"], np.asarray(table), dict(table)["pe"], table[0:5]["pe"]):
        assert values.dtype == np.uint16
        np.testing.assert_allclose(pecli.widen(values, "bfloat16"), exact, rtol=2.0**-8, atol=0)
    made = pecli.apply("sinusoidal:dim=4", table, dtype="bfloat16")
    assert made["pe"].dtype == np.uint16
    np.testing.assert_allclose(pecli.widen(made["pe"], "bfloat16"), 2 * exact, rtol=2.0**-7, atol=0)
    np.testing.assert_allclose(np.asarray(table, np.float32), exact, rtol=2.0**-8)


def test_widen_reads_the_arrays_of_ml_dtypes_too():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    values = pecli.table(RECIPE)["pe"]
    own = values.view(ml_dtypes.bfloat16)
    assert (pecli.widen(own, "bfloat16") == own.astype(np.float64)).all()
    assert (pecli.widen(own, "bfloat16") == pecli.widen(values, "bfloat16")).all()
    assert pecli.compare(own, RECIPE).equal


@pytest.mark.parametrize(("values", "dtype"), [
    (np.ones(3, np.float32), "bfloat16"), (np.ones(3, np.uint16), "float16"), (np.ones(3), "bfloat16"),
])  # fmt: skip
def test_widen_refuses_values_of_another_type(values, dtype):
    with pytest.raises(pecli.PecliError, match="is not the type of these values"):
        pecli.widen(values, dtype)
