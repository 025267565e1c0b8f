"""pecli.jax beside the real framework; skipped with a word where that is absent."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: make frameworks runs this")
jnp = jax.numpy

from pecli import table, widen  # noqa: E402
from pecli.errors import BadParameter, PecliError  # noqa: E402
from pecli.jax import AbsoluteTable, BiasTable, RelativeTable, RotaryTable  # noqa: E402
from pecli.testing import assert_applied, assert_table  # noqa: E402

Q = np.random.default_rng(1).standard_normal((2, 3, 6, 8)).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_every_type_is_rounded_once_from_the_real_values(dtype):
    made = AbsoluteTable("sinusoidal:dim=16", 300, dtype=dtype).arrays["pe"]
    exact = table("sinusoidal:dim=16,len=300", dtype=dtype).read("pe")
    assert made.dtype == dtype
    assert (np.asarray(made.astype(jnp.float32)) == widen(exact, dtype)).all()


def test_queries_of_cached_decoding_turn_as_in_the_whole():
    rotary = RotaryTable("rope:dim=8", 64)
    whole = rotary.rotate(Q, "half")
    assert_applied(Q, whole, "rope:dim=8", pairs="half")
    assert_applied(Q, rotary.rotate(Q, "interleaved", offset=9), "rope:dim=8", pairs="interleaved", start=9)
    places = np.array([[0, 1, 2, 3, 4, 5], [7, 8, 9, 10, 11, 80]])
    assert_applied(Q, rotary.rotate(Q, "half", places), "rope:dim=8", pairs="half", positions=places)
    part = jax.jit(lambda x, offset: rotary.rotate(x, "half", offset=offset))(Q[:, :, 4:], 4)
    assert np.allclose(part, whole[:, :, 4:], atol=1e-6)
    with pytest.raises(BadParameter, match="half or interleaved"):
        rotary.rotate(Q, "neox")


def test_it_grows_or_raises_and_is_nan_where_it_cannot_know():
    rows = AbsoluteTable("sinusoidal:dim=4", 8)
    x = jnp.zeros((2, 5, 4))
    assert_table(rows(x, offset=7)[0], "sinusoidal:dim=4,start=7")
    assert rows.length == 12
    with pytest.raises(IndexError, match="past the 8"):
        AbsoluteTable("sinusoidal:dim=4", 8, grow=False)(x, offset=7)
    with pytest.raises(IndexError, match="before the table"):
        rows(x, np.array([-1, 0, 1, 2, 3]))
    with pytest.raises(IndexError, match="position -6 lies before the table"):
        rows(x, offset=-6)
    with pytest.raises(IndexError, match="position -2 lies before the table"):
        BiasTable("alibi:heads=2", 8)(6, 4)
    with pytest.raises(PecliError):
        AbsoluteTable("learned:dim=4,max-len=8")(x, offset=7)
    traced = jax.jit(lambda x, places: rows(x, places))(x, jnp.array([0, 1, -1, 11, 12]))
    assert np.isnan(traced[0, :, 0]).tolist() == [False, False, True, False, True]
    assert jax.jit(lambda x: rows(x, offset=30))(x).shape == x.shape
    assert rows(x, offset=30).shape == x.shape


def test_biases_and_vectors_of_decoding_are_the_last_rows_of_the_whole():
    bias = BiasTable("alibi:heads=4", 16)
    assert (bias(2, 40) == bias(40)[:, 38:]).all()
    assert_table(bias(10), "alibi:heads=4")
    trained = BiasTable("t5:heads=2,buckets=8,max-distance=16,std=0.5", 6)
    assert_table(trained(6), table("t5:heads=2,buckets=8,max-distance=16,std=0.5,len=6").only(["bias"]))
    slope = jax.grad(lambda w: trained(6, weight=w).sum())(trained.start["weight"])
    assert slope.sum() == 2 * 36
    vectors = RelativeTable("shaw:dim=4,clip=3", 5)
    assert (vectors(2, 9) == vectors(9)[7:]).all()
    assert (vectors(9)[8, 0] == vectors.start["vector"][0]).all()


def test_a_learned_table_is_handed_in():
    rows = AbsoluteTable("learned:dim=4,max-len=8,seed=3")
    start = table("learned:dim=4,max-len=8,seed=3,len=8")["pe"]
    assert (rows(jnp.zeros((8, 4))) == start).all()
    slope = jax.jit(jax.grad(lambda pe: rows(jnp.zeros((2, 4)), np.array([3, 3]), pe=pe).sum()))(rows.start["pe"])
    assert slope.sum(1).tolist() == [0, 0, 0, 8, 0, 0, 0, 0]
