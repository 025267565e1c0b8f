"""pecli.jax beside the real framework; skipped with a word where that is absent."""

import copy
import os
import pickle

import numpy as np
import pytest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")  # for shard_map
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


def test_a_table_is_a_pytree_with_a_readable_repr():
    rows, rotary = AbsoluteTable("learned:dim=4,max-len=8"), RotaryTable("rope:dim=8", 16)
    assert repr(rows) == "AbsoluteTable(learned:dim=4,max-len=8, 8 positions, float32)"
    seen = []
    jax.jit(lambda table, x: seen.append(repr(table)) or table(x))(rows, jnp.zeros((3, 4)))
    assert seen == [repr(rows)]
    tree = {"rows": rows, "rotary": rotary}
    assert repr(rotary) in str(jax.tree_util.tree_structure(tree))
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    assert paths == ["['rows'].pe"]
    for other in (copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        total = jax.tree.map(jnp.add, tree, other)
        assert (total["rows"].start["pe"] == 2 * rows.start["pe"]).all()
    with pytest.raises(ValueError, match="learned:dim=4,max-len=8, 8 positions"):
        jax.tree.map(jnp.add, rows, AbsoluteTable("learned:dim=4,max-len=9"))


def test_a_table_that_has_grown_is_compiled_anew():
    rotary = RotaryTable("rope:dim=8", 16)
    look = jax.jit(lambda table, places: table(places)[0])
    assert np.isnan(look(rotary, jnp.array([20]))).all()
    rotary.reach(20)
    assert (look(rotary, jnp.array([20])) == table("rope:dim=8", length=21)["cos"][20:]).all()


def test_it_goes_through_transformations():
    rotary, rows = RotaryTable("rope:dim=8", 64), AbsoluteTable("learned:dim=8,max-len=64,std=1")
    q = jnp.asarray(Q)
    whole = rotary.rotate(q, "half")
    places = jnp.stack([jnp.arange(6), jnp.arange(6) + 9])
    mapped = jax.vmap(lambda table, x, p: table.rotate(x[None], "half", p)[0], in_axes=(None, 0, 0))(rotary, q, places)
    assert (mapped == rotary.rotate(q, "half", places)).all()
    steps = jax.lax.scan(lambda _, o: (None, rotary.rotate(q[:, :, :1], "half", offset=o)), None, jnp.arange(6))[1]
    assert np.allclose(steps[3], rotary.rotate(q[:, :, :1], "half", offset=3), atol=1e-6)
    slope = jax.grad(lambda table: (table(q) ** 2).sum() / 2)(rows)
    expected = (Q + np.asarray(rows.start["pe"][:6])).sum((0, 1))
    assert np.allclose(slope.start["pe"][:6], expected, atol=1e-5)
    assert not slope.start["pe"][6:].any()
    trained = jax.jit(lambda table, slope: jax.tree.map(lambda a, b: a - 0.1 * b, table, slope))(rows, slope)
    assert np.allclose(trained.start["pe"], rows.start["pe"] - 0.1 * slope.start["pe"])
    saved = jax.grad(lambda x: jax.checkpoint(lambda x: (rotary.rotate(x, "half") ** 2).sum())(x))(q)
    assert np.allclose(saved, 2 * q, atol=1e-5)
    exported = jax.export.export(jax.jit(lambda x: rotary.rotate(x, "half")))(
        jax.ShapeDtypeStruct(jax.export.symbolic_shape("batch, 3, n, 8"), jnp.float32)
    )
    assert np.allclose(exported.call(q), whole, atol=1e-6)


def test_shards_of_a_sequence_and_of_heads():
    if jax.device_count() < 2:
        pytest.skip("JAX was started with one device")
    part, mesh = jax.sharding.PartitionSpec, jax.sharding.Mesh(np.array(jax.devices()[:2]), ("d",))
    shard_map = getattr(jax, "shard_map", None) or pytest.importorskip("jax.experimental.shard_map").shard_map
    rotary, rows, alibi = (
        RotaryTable("rope:dim=8", 64),
        AbsoluteTable("learned:dim=8,max-len=64"),
        BiasTable("alibi:heads=2", 8),
    )
    place, sequence = (lambda: jax.lax.axis_index("d")), part(None, None, "d")
    split = shard_map(
        lambda x: rotary.rotate(x, "half", offset=3 * place()), mesh=mesh, in_specs=sequence, out_specs=sequence
    )
    assert np.allclose(split(Q), rotary.rotate(Q, "half"), atol=1e-6)
    added = shard_map(lambda table, x: table(x), mesh=mesh, in_specs=(part(), part("d")), out_specs=part("d"))
    assert (added(rows, Q) == rows(Q)).all()
    heads = shard_map(lambda x: x + alibi(6)[place()], mesh=mesh, in_specs=part(None, "d"), out_specs=part(None, "d"))
    assert (heads(jnp.zeros((1, 2, 6, 6)))[0] == alibi(6)).all()
