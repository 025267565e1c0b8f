"""Every encoding is applied, and compared with its formula written out plainly in NumPy; tables included."""

import math

import numpy as np
import pytest

from pecli import CATALOGUE, PecliError, Recipe
from pecli.apply.apply import apply
from pecli.apply.tensors import ApplyOptions, tensor_of
from pecli.spec.declaration import Family
from pecli.spec.tabular import InMemory
from pecli.tables.sources import read_source
from pecli.tables.table import Table
from tests.support import plain

RNG = np.random.default_rng(11)
FIRE = ("weight1", "bias1", "weight2", "bias2")


def done(text, *values, names=("q", "k"), axes=None, **wish):
    tensors = [tensor_of(InMemory({n: v}), n, axes) for n, v in zip(names, values, strict=False)]
    return apply(read_source(text), tensors, ApplyOptions(**wish))


def applied(text, *values, **wish):
    made = done(text, *values, **wish)
    (array,) = (a for a in made.outputs.arrays[:1])
    return made.outputs.read(array.name)


def table_of(text, length, **options):
    rows = Recipe.parse(text).rows
    return Table.parse(text, length=None if rows else length, dtype="float64", **options)


def given(text):
    """What is drawn, of which a formula says nothing."""
    table = table_of(text, plain.ROWS)
    return {name: table.read(name) for name in table}


def softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def turned(x, cos, sin, pairs):
    out, width = x.copy(), 2 * cos.shape[1]
    a, b = (
        (slice(0, width // 2), slice(width // 2, width))
        if pairs == "half"
        else (slice(0, width, 2), slice(1, width, 2))
    )
    out[..., a], out[..., b] = x[..., a] * cos - x[..., b] * sin, x[..., a] * sin + x[..., b] * cos
    return out


def scores(q, k):
    return np.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])


def of_family(*families):
    return [name for name, encoding in CATALOGUE.items() if encoding.family in families]


@pytest.mark.parametrize("name", of_family(Family.ABSOLUTE, Family.NONE))
def test_rows_are_added(name):
    text = CATALOGUE[name].example
    pe = plain.absolute(name, given(text))
    x = RNG.normal(size=(2, *pe.shape))
    if np.iscomplexobj(pe):
        with pytest.raises(PecliError, match="multiply complex embeddings"):
            applied(text, x)
        return
    np.testing.assert_allclose(applied(text, x, scale="sqrt"), x * math.sqrt(pe.shape[1]) + pe, rtol=1e-15, atol=1e-13)


@pytest.mark.parametrize("name", of_family(Family.ROTARY))
@pytest.mark.parametrize("pairs", ["half", "interleaved"])
def test_pairs_are_turned(name, pairs):
    text = CATALOGUE[name].example
    angles, factor, decay = plain.rotary(name)
    cos, sin, scale = np.cos(angles), np.sin(angles), {"q": factor, "k": 1 / factor}
    n, width = len(cos), 2 * cos.shape[1]
    q, k = RNG.normal(size=(2, 2, 3, n, width))
    made = done(text, q, k, pairs=pairs).outputs
    for part, x in (("q", q), ("k", k)):
        expected = turned(x, cos * scale[part], sin * scale[part], pairs)
        np.testing.assert_allclose(made.read(part), expected, rtol=0, atol=1e-14)
    heads = 3 if decay is None else len(decay)
    q, k = q[:, :heads], k[:, :heads]
    found = applied(text, q, k, pairs=pairs, scores=True)
    moved = [turned(x, cos * scale[part], sin * scale[part], pairs) for part, x in (("q", q), ("k", k))]
    expected = scores(*moved)
    if decay is not None:
        expected = expected * decay
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", of_family(Family.BIAS))
def test_biases_are_added_to_logits_and_scores(name):
    text = CATALOGUE[name].example
    drawn = given(text)
    if name == "fire":
        parameters = Table.parse(f"{text},form=parameters,len=1", dtype="float64")
        drawn["weights"] = [parameters.read(part) for part in FIRE]
    bias = plain.bias(name, drawn)
    heads, n, _ = bias.shape
    x = RNG.normal(size=(2, heads, n, n))
    both = np.multiply if name == "gaussian" else np.add  # whose weight multiplies
    np.testing.assert_allclose(applied(text, x), both(x, bias), rtol=1e-14, atol=1e-14)
    q, k = RNG.normal(size=(2, 2, heads, n, 4))
    expected = both(scores(q, k) * (2 if name == "t5" else 1), bias)  # T5 does not divide, here by sqrt(4)
    np.testing.assert_allclose(applied(text, q, k, scores=True), expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(applied(text, x, softmax=True), softmax(both(x, bias)), rtol=1e-13)
    hidden = np.where(np.arange(n) > np.arange(n)[:, None], -np.inf, expected)
    found = applied(text, q, k, scores=True, causal=True, softmax=True)
    np.testing.assert_allclose(found, softmax(hidden), rtol=1e-12, atol=1e-15)


def by_hand(name, drawn, q, k, h, i, j):
    """Return the score of one query and one key."""
    d, root = q.shape[-1], math.sqrt(q.shape[-1])
    r, index = plain.relative(name, drawn)
    if name == "decomposed":
        (rows, of_rows), (columns, of_columns) = r, index
        return q[i] @ k[j] / root + q[i] @ rows[of_rows[i // 4, j // 4]] + q[i] @ columns[of_columns[i % 4, j % 4]]
    index = index[i, j]
    if name == "shaw":
        return (q[i] @ k[j] + q[i] @ r[index]) / root
    if name == "deberta":
        return (q[i] @ k[j] + q[i] @ r[index] + k[j] @ r[index]) / math.sqrt(3 * d)
    assert name == "transformer-xl"
    u, v, own = drawn["u"][h], drawn["v"][h], r[index, h * d : (h + 1) * d]
    return ((q[i] + u) @ k[j] + (q[i] + v) @ own) / root


@pytest.mark.parametrize("name", of_family(Family.RELATIVE))
def test_relative_scores_are_sums_of_products(name):
    text = CATALOGUE[name].example
    drawn, n = given(text), Recipe.parse(text).rows or plain.ROWS
    d = {"transformer-xl": 4, "decomposed": 2}.get(name, 4)
    q, k = RNG.normal(size=(2, 2, 2, n, d))
    found = applied(text, q, k, scores=True)
    expected = np.array(
        [
            [[[by_hand(name, drawn, q[b, h], k[b, h], h, i, j) for j in range(n)] for i in range(n)] for h in range(2)]
            for b in range(2)
        ]
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-14)


def test_a_query_scale_multiplies_queries_alone():
    q, k = RNG.normal(size=(2, 2, 3, 40, 4))
    made = done("query-scale:length=16,beta=1", q, k).outputs
    factor = 1 + np.log(1 + (np.arange(40) + 1) // 16)[:, None]
    np.testing.assert_allclose(made.read("q"), q * factor, rtol=1e-15)
    np.testing.assert_array_equal(made.read("k"), k)
    found = applied("query-scale:length=16,beta=1", q, k, scores=True)
    np.testing.assert_allclose(found, scores(q * factor, k), rtol=0, atol=1e-13)


def test_a_convolution_takes_the_place_of_its_input(tmp_path):
    weight, bias = RNG.normal(size=(4, 3)), RNG.normal(size=4)
    np.savez(tmp_path / "w.npz", weight=weight, bias=bias)
    x = RNG.normal(size=(2, 7, 4))
    wide = np.pad(x, ((0, 0), (1, 1), (0, 0)))
    expected = x + bias + sum(wide[:, t : t + 7] * weight[:, t] for t in range(3))
    text = f'cpe:content="learned:dim=4,max-len=512",channels=4,weights="{tmp_path / "w.npz"}"'
    np.testing.assert_allclose(applied(text, x), expected, rtol=0, atol=1e-14)


def test_a_gate_turns_rows_up_and_down_before_they_are_added(tmp_path):
    weight, bias = RNG.normal(size=4), RNG.normal(size=1)
    np.savez(tmp_path / "w.npz", weight=weight, bias=bias)
    x = RNG.normal(size=(2, 7, 4))
    pe = plain.absolute("sinusoidal", {})[:7]
    gate = 1 / (1 + np.exp(-(x @ weight + bias)))[..., None]
    text = f'conditional:dim=4,content="learned:dim=4,max-len=512",weights="{tmp_path / "w.npz"}"'
    np.testing.assert_allclose(applied(text, x), x + gate * pe, rtol=0, atol=1e-14)


def test_a_query_of_a_group_meets_the_head_of_its_keys():
    q, k = RNG.normal(size=(2, 6, 5, 4)), RNG.normal(size=(2, 2, 5, 4))
    slopes = 2.0 ** np.array([-2, -4, -6, -8, -1, -3])[:, None, None]
    bias = -slopes * abs(np.arange(5) - np.arange(5)[:, None])
    expected = scores(q, np.repeat(k, 3, axis=1)) + bias
    np.testing.assert_allclose(applied("alibi:heads=6", q, k, scores=True), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "text", ["alibi:heads=2", "rope:dim=4", "shaw:dim=4,clip=3", "xpos:dim=4", "query-scale:length=2"]
)
def test_fewer_queries_are_the_last_of_the_keys(text):
    q, k = RNG.normal(size=(2, 1, 2, 9, 4))
    pairs = {"pairs": "half"} if "ro" in text or "xpos" in text else {}
    whole = applied(text, q, k, scores=True, causal=True, softmax=True, **pairs)
    late = applied(text, q[:, :, 7:].copy(), k, scores=True, causal=True, softmax=True, **pairs)
    np.testing.assert_allclose(late, whole[:, :, 7:], rtol=0, atol=1e-15)


def test_axes_of_scores_follow_those_of_the_vectors():
    q, k = RNG.normal(size=(2, 2, 9, 3, 4))
    other = applied("alibi:heads=3", q.swapaxes(1, 2).copy(), k.swapaxes(1, 2).copy(), scores=True)
    np.testing.assert_array_equal(applied("alibi:heads=3", q, k, axes="bshd", scores=True), other)


def test_the_bound_holds_and_is_small():
    q, k = RNG.normal(size=(2, 1, 2, 40, 64)).astype(np.float32)
    made = done("alibi:heads=2", q, k, scores=True, softmax=True)
    found = made.outputs.read("scores").astype(np.longdouble)
    wide = scores(*(x.astype(np.longdouble) for x in (q, k))) + table_of("alibi:heads=2", 40).read("bias")
    wide = np.einsum("bhqd,bhkd->bhqk", q.astype(np.longdouble), k.astype(np.longdouble)) / 8 + table_of(
        "alibi:heads=2", 40
    ).read("bias")
    assert abs(found - softmax(wide)).max() <= made.bound() < 1e-12


def test_logits_and_bias_are_rounded_once():
    x = RNG.normal(size=(2, 6, 20, 20)).astype(np.float32)
    table = Table.parse("kerple:heads=6", length=20, dtype="float64")
    exact = x.astype(np.longdouble) + table.read("bias")
    np.testing.assert_array_equal(applied("kerple:heads=6", x), exact.astype(np.float32))


def test_hidden_logits_stay_hidden_and_nan_stays_nan():
    x = RNG.normal(size=(2, 5, 5)).astype(np.float32)
    x[0, 2, 3], x[1, 4, 0] = -np.inf, np.nan
    found = applied("alibi:heads=2", x, causal=True)
    assert np.argwhere(np.isnan(found)).tolist() == [[1, 4, 0]]
    assert (found[:, *np.triu_indices(5, 1)] == -np.inf).all()
    assert np.isfinite(found[0][np.tril_indices(5)]).all()


@pytest.mark.parametrize(
    ("text", "shapes", "wish", "says"),
    [
        ("alibi:heads=8", [(2, 8, 4), (2, 8, 4)], {}, ["--scores"]),
        ("alibi:heads=8", [(1, 4, 5, 5)], {}, ["heads=8", "4 heads"]),
        ("shaw:dim=4,clip=3", [(2, 8, 4), (2, 8, 4)], {}, ["--scores"]),
        ("rope:dim=4", [(2, 8, 4)], {"scores": True, "pairs": "half"}, ["queries, keys"]),
        ("rope:dim=4", [(1, 3, 8, 4), (1, 2, 8, 4)], {"scores": True, "pairs": "half"}, ["2 heads", "divide"]),
        ("shaw:dim=6,clip=3", [(1, 3, 8, 4), (1, 3, 8, 4)], {"scores": True}, ["vectors of 4"]),
        ("rope:dim=4", [(8, 4)], {"causal": True, "pairs": "half"}, ["mask=causal", "--scores"]),
        ("deberta", [(1, 3, 8, 4), (1, 3, 8, 4)], {"scores": True}, ["lacks", "dim"]),
        ("decomposed:grid=4x5,dim=4", [(1, 1, 16, 4), (1, 1, 16, 4)], {"scores": True}, ["16 queries", "20 x 20"]),
        ("fire:threshold=16", [(1, 1, 8, 8)], {}, ["no bias"]),
        ("alibi:heads=3", [(1, 3, 9, 4)], {}, ["(9 queries x 4 keys)", "more queries than keys", "--scores"]),
        ("t5:heads=3", [(1, 3, 9, 4), (1, 3, 5, 4)], {"scores": True}, ["(9 queries x 5 keys)"]),
    ],
)  # fmt: skip
def test_what_has_no_scores_is_said_in_one_sentence(text, shapes, wish, says):
    with pytest.raises(PecliError) as error:
        applied(text, *(np.zeros(shape) for shape in shapes), **wish)
    for word in says:
        assert word in str(error.value)


def test_values_are_refused():
    with pytest.raises(PecliError, match="holds values"):
        applied("rope:dim=4", np.zeros((2, 4)), names=("v",), pairs="half")


def test_values_take_vectors_of_their_own(tmp_path):
    """Shaw's equation 3: z_i = sum of a_ij (v_j + r_ij), written out plainly; BERT counts the other way."""
    key, value = RNG.normal(size=(2, 5, 4))
    np.save(tmp_path / "k.npy", key), np.save(tmp_path / "v.npy", value)
    q, k, v = RNG.normal(size=(3, 2, 2, 6, 4))
    at = np.arange(6)
    for words, distance in (("", at - at[:, None]), (",backward=true", at[:, None] - at)):
        files = f'weights="{tmp_path / "k.npy"}",value-weights="{tmp_path / "v.npy"}"'
        made = done(f"shaw:dim=4,clip=3,right=1,{files}{words}", q, k, v, names="qkv", scores=True, softmax=True)
        where = np.clip(distance, -3, 1) + 3
        weights = softmax(scores(q, k) + np.einsum("bhqd,qkd->bhqk", q, key[where]) / 2)
        expected = weights @ v + np.einsum("bhqk,qkd->bhqd", weights, value[where])
        np.testing.assert_allclose(made.outputs.read("output"), expected, rtol=0, atol=1e-14)
        assert 1e-15 < made.bound() < 1e-12


@pytest.mark.parametrize(
    ("text", "wish", "says"),
    [
        ("shaw:dim=4,clip=3", {"scores": True}, "--softmax"),
        ("shaw:dim=4,clip=3", {}, "holds values"),
        ("alibi:heads=2", {}, "holds values"),
    ],
)
def test_values_are_refused_where_nothing_is_added_to_them(text, wish, says):
    with pytest.raises(PecliError, match=says):
        applied(text, *np.zeros((3, 1, 2, 6, 4)), names="qkv", **wish)
