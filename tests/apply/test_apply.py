"""What a table does to tensors: each value is the real one, rounded once (computed here with mpmath)."""

import json
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pecli import PecliError, Recipe
from pecli import apply as apply_values
from pecli.apply.apply import apply
from pecli.apply.tensors import ApplyOptions, tensor_of
from pecli.engine.angles import round_ratio
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.rounding import widen
from pecli.spec.tabular import InMemory
from pecli.tables.sources import read_source
from pecli.tables.table import Table

RNG = np.random.default_rng(7)


def application(text, *values, names=("q", "k"), axes=None, **wish):
    tensors = [tensor_of(InMemory({n: v}), n, axes) for n, v in zip(names, values, strict=False)]
    return apply(read_source(text), tensors, ApplyOptions(**wish))


def applied(text, *values, **wish):
    return application(text, *values, **wish).outputs


def nearest(value, dtype):
    """An mpmath number as the nearest of a type."""
    exact = Fraction(int(mpmath.floor(mpmath.ldexp(value, 380))), 1 << 380)
    return round_ratio(exact.numerator, exact.denominator, GRIDS[dtype])


def turned(x, row, width, base, pairs, magnitude=1, back=False):
    """One vector turned, digit by digit."""
    found = [mpmath.mpf(float(v)) for v in x]
    for i in range(width // 2):
        angle = row * mpmath.power(base, -mpmath.mpf(2 * i) / width)
        c, s = magnitude * mpmath.cos(angle), magnitude * mpmath.sin(angle)
        s = -s if back else s
        a, b = (i, i + width // 2) if pairs == "half" else (2 * i, 2 * i + 1)
        found[a], found[b] = (
            mpmath.mpf(float(x[a])) * c - mpmath.mpf(float(x[b])) * s,
            mpmath.mpf(float(x[a])) * s + mpmath.mpf(float(x[b])) * c,
        )
    return found


@pytest.mark.parametrize("pairs", ["half", "interleaved"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_rotation_is_correctly_rounded_even_where_it_cancels(pairs, dtype):
    x = RNG.normal(size=(9, 10)).astype(np.float16 if dtype == "float16" else np.float32)
    angle = np.arange(9)[:, None] * 10000.0 ** (-np.arange(4) / 4)
    a, b = ([0, 1, 2, 3], [4, 5, 6, 7]) if pairs == "half" else ([0, 2, 4, 6], [1, 3, 5, 7])
    x[3:, a], x[3:, b] = np.sin(angle)[3:], np.cos(angle)[3:]  # the first member of each pair is then nearly zero
    found = widen(applied("rope:dim=10,rotary-dim=8", x, pairs=pairs, dtype=dtype).read("q"), dtype)
    with mpmath.workprec(400):
        for row in range(9):
            expected = [nearest(v, dtype) for v in turned(x[row], row, 8, 10000, pairs)]
            assert found[row].tolist() == expected, row
    assert abs(found[3:, 0]).max() < 2e-3


def by_long_double(x, positions, pairs):
    """Vectors (.., n, 64) turned in long double: float32 of it is right but once in a hundred million values."""
    angle = positions.astype(np.longdouble)[..., None] * np.longdouble(10000) ** (-np.arange(32) / np.longdouble(32))
    c, s, wide, out = np.cos(angle), np.sin(angle), x.astype(np.longdouble), np.empty(x.shape, np.longdouble)
    a, b = (slice(0, 32), slice(32, 64)) if pairs == "half" else (slice(0, 64, 2), slice(1, 64, 2))
    out[..., a], out[..., b] = wide[..., a] * c - wide[..., b] * s, wide[..., a] * s + wide[..., b] * c
    return out.astype(np.float32)


def spoiled(x, how):
    x = x.copy()
    match how:
        case "outliers":
            x[..., 5] *= 1e3
            x[0, 0, 7, 9] = 3e38
        case "padding":
            x[:, :, 300:] = 0
        case "nan":
            x[0, 1, ::50, 3] = np.nan
            x[1, 0, 9, 3] = np.inf
    return x


@pytest.mark.parametrize("pairs", ["half", "interleaved"])
@pytest.mark.parametrize("how", ["plain", "outliers", "padding", "nan"])
def test_every_value_of_many_is_rounded_once(how, pairs):
    x, at = spoiled(RNG.normal(size=(2, 2, 1100, 64)).astype(np.float32), how), np.arange(7, 1107)
    with np.errstate(invalid="ignore"):
        expected = by_long_double(x, at, pairs)
    np.testing.assert_array_equal(applied("rope:dim=64", x, pairs=pairs, start="7").read("q"), expected)
    other = np.ascontiguousarray(x.swapaxes(1, 2))
    found = applied("rope:dim=64", other, pairs=pairs, start="7", axes="bshd").read("q")
    np.testing.assert_array_equal(found, expected.swapaxes(1, 2))
    found = applied("rope:dim=64", x, pairs=pairs, positions=np.stack([at, at])).read("q")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("way", ["forward", "inverse"])
@pytest.mark.parametrize("recipe", ["rope:dim=64,scaling=yarn,factor=8,original-max=32", "xpos:dim=64,centre=350"])
def test_keys_whose_pairs_are_scaled_are_rounded_once(recipe, way):
    """Row by row in 40 digits; keys of xPos are divided by its scale."""
    x, plan = RNG.normal(size=(1, 1, 700, 64)).astype(np.float32), Recipe.parse(recipe).plan
    found = applied(recipe, x, x, pairs="half", way=way).read("k")
    with mpmath.workdps(40):
        for row in (0, 1, 333, 350, 699):
            for i in (0, 5, 17, 31):
                zeta = (mpmath.mpf(2 * i) / 64 + mpmath.mpf("0.4")) / mpmath.mpf("1.4")
                size = zeta ** (mpmath.mpf(350 - row) / 512) if "xpos" in recipe else mpmath.mpf(str(plan.magnitude))
                size = 1 / size if way == "inverse" else size
                angle = row * mpmath.mpf(str(plan.frequencies[i])) * (-1 if way == "inverse" else 1)
                c, s = size * mpmath.cos(angle), size * mpmath.sin(angle)
                a, b = (mpmath.mpf(float(x[0, 0, row, k])) for k in (i, i + 32))
                got = found[0, 0, row, [i, i + 32]].tolist()
                assert got == [nearest(a * c - b * s, "float32"), nearest(a * s + b * c, "float32")], (row, i)


def test_every_value_of_many_in_float64_is_rounded_once():
    x = RNG.normal(size=(2, 2, 1100, 64))
    found = applied("rope:dim=64", x, pairs="interleaved", start="7").read("q")
    with mpmath.workprec(400):
        for b, h, row in zip(RNG.integers(0, 2, 12), RNG.integers(0, 2, 12), RNG.integers(0, 1100, 12), strict=True):
            expected = [nearest(v, "float64") for v in turned(x[b, h, row], row + 7, 64, 10000, "interleaved")]
            assert found[b, h, row].tolist() == expected, (b, h, row)


def test_a_tie_is_rounded_to_even():
    x = np.array([[1 + 2.0**-8, 1 + 3 * 2.0**-8]], np.float32)  # midway between two bfloat16, turned by nothing
    found = widen(applied("rope:dim=2", x, pairs="half", dtype="bfloat16").read("q"), "bfloat16")
    assert found.tolist() == [[1.0, 1 + 2.0**-6]]


def test_halves_may_be_given_of_neighbours():
    x = RNG.normal(size=(1, 2, 5, 8))
    one = applied("rope:dim=8", x, pairs="interleaved").read("q")
    other = applied("rope:dim=8", x, pairs="interleaved:half").read("q")
    np.testing.assert_array_equal(other, np.concatenate([one[..., 0::2], one[..., 1::2]], -1))


@pytest.mark.parametrize("recipe", ["rope:dim=8", "rope:dim=8,scaling=yarn,factor=8,original-max=32"])
def test_undoing_a_rotation_gives_the_input_within_a_rounding(recipe):
    x = RNG.normal(size=(2, 3, 7, 8))
    there = applied(recipe, x, pairs="half").read("q")
    back = applied(recipe, there, pairs="half", way="inverse").read("q")
    np.testing.assert_allclose(back, x, rtol=0, atol=1e-15)
    assert abs(there - x).max() > 0.5


def test_a_gradient_is_transposed_and_keeps_the_magnitude():
    recipe = "rope:dim=8,scaling=yarn,factor=8,original-max=32"
    magnitude = float(Recipe.parse(recipe).plan.magnitude)
    x = RNG.normal(size=(6, 8))
    found = applied(recipe, x, pairs="half", way="gradient").read("q")
    undone = applied(recipe, x, pairs="half", way="inverse").read("q")
    np.testing.assert_allclose(found, undone * magnitude**2, rtol=1e-14)


def test_a_decoding_step_is_the_same_rows():
    x = RNG.normal(size=(1, 2, 9, 8)).astype(np.float32)
    whole = applied("rope:dim=8", x, pairs="half").read("q")
    step = applied("rope:dim=8", x[:, :, 4:6].copy(), pairs="half", start="4").read("q")
    np.testing.assert_array_equal(step, whole[:, :, 4:6])


def test_each_batch_may_have_positions_of_its_own():
    x = RNG.normal(size=(2, 2, 3, 8)).astype(np.float32)
    rows = np.array([[0, 1, 2], [7, 7, 1000]])
    found = applied("rope:dim=8", x, pairs="half", positions=rows).read("q")
    for batch in range(2):
        for s in range(3):
            one = applied("rope:dim=8", x[batch, :, s : s + 1], pairs="half", axes="bsd", start=str(rows[batch, s]))
            np.testing.assert_array_equal(found[batch, :, s : s + 1], one.read("q"))


def test_axes_are_what_they_are_said_to_be():
    x = RNG.normal(size=(2, 5, 3, 8)).astype(np.float32)
    found = applied("rope:dim=8", x, pairs="half", axes="bshd").read("q")
    other = applied("rope:dim=8", np.ascontiguousarray(x.swapaxes(1, 2)), pairs="half", axes="bhsd").read("q")
    np.testing.assert_array_equal(found, other.swapaxes(1, 2))


@pytest.mark.parametrize("text", ["rope:dim=8", "sinusoidal:dim=8"])
def test_a_vector_alone_is_one_row(text):
    x = RNG.normal(size=8)
    wish = {"start": "3", **({"pairs": "half"} if "rope" in text else {})}
    found, other = (applied(text, given, **wish).read("q") for given in (x, x[None]))
    np.testing.assert_array_equal(found, other[0])


def test_any_slice_equals_the_same_rows_of_the_whole():
    x = RNG.normal(size=(2, 3, 11, 8)).astype(np.float32)
    table = applied("rope:dim=8", x, pairs="half")
    whole = table.read("q").reshape(-1, 8)
    for start, stop in ((0, 1), (10, 12), (5, 60)):
        np.testing.assert_array_equal(table.read_rows(["q"], start, stop)["q"], whole[start:stop])


def test_a_stored_table_turns_with_its_own_values(tmp_path, pecli):
    pecli("generate", "rope", "--dim", "8", "--len", "5", "--layout", "half", "-q", "-o", "t.npz")
    x = RNG.normal(size=(5, 8)).astype(np.float32)
    np.save(tmp_path / "q.npy", x)
    done = pecli("apply", "t.npz", "q.npy", "-o", "o.npy")
    assert "pairs half, as the layout half has them" in done.stderr
    c, s = (np.load(tmp_path / "t.npz")[name][:, :4].astype(np.longdouble) for name in ("cos", "sin"))
    a, b = x[:, :4].astype(np.longdouble), x[:, 4:].astype(np.longdouble)
    expected = np.concatenate([a * c - b * s, a * s + b * c], -1).astype(np.float32)
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), expected)


def test_nan_stays_where_it_is():
    x = RNG.normal(size=(4, 8)).astype(np.float32)
    y = x.copy()
    y[2, 1] = np.nan
    clean, found = (applied("rope:dim=8", v, pairs="half").read("q") for v in (x, y))
    assert np.argwhere(np.isnan(found)).tolist() == [[2, 1], [2, 5]]
    np.testing.assert_array_equal(np.where(np.isnan(found), clean, found), clean)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_addition_is_correctly_rounded(dtype):
    x = RNG.normal(size=(2, 6, 8)).astype(dtype)
    found = applied("sinusoidal:dim=8", x, scale="sqrt").read("q")
    with mpmath.workprec(400):
        for batch in range(2):
            for p in range(6):
                for c in range(8):
                    angle = p * mpmath.power(10000, -mpmath.mpf(c // 2 * 2) / 8)
                    value = mpmath.sin(angle) if c % 2 == 0 else mpmath.cos(angle)
                    expected = mpmath.mpf(float(x[batch, p, c])) * mpmath.sqrt(8) + value
                    assert found[batch, p, c] == nearest(expected, dtype), (batch, p, c)


def test_an_addition_by_hand():
    x = np.array([[0.2, 0.5, 0.1, 0.3]])
    found = applied("sinusoidal:dim=4", x, start="1").read("q")  # sin 1, cos 1, sin 0.01, cos 0.01
    np.testing.assert_allclose(found, [[1.0414709848, 1.0403023059, 0.1099998333, 1.2999500004]], atol=1e-10)


def test_the_additions_by_hand_of_the_guides_come_out(tmp_path, pecli):
    """[0.2, 0.5, 0.1] + [0.1, 0.0, 0.3], and token 2345 of an embedding matrix at position 1: E[2345] + P[1]."""
    tokens = np.zeros((2400, 3))
    tokens[2345] = [0.5, -0.3, 0.8]
    np.save(tmp_path / "word.npy", [[0.2, 0.5, 0.1]])
    np.save(tmp_path / "place.npy", [[0.1, 0.0, 0.3]])
    np.save(tmp_path / "E.npy", tokens)
    np.save(tmp_path / "P.npy", [[0, 0, 0], [-0.1, 0.2, -0.05], [1, 1, 1]])
    for arguments, expected in (
        (("place.npy", "word.npy"), [0.3, 0.5, 0.4]),
        (("P.npy", "E.npy::[2345:2346]", "--start", "1"), [0.4, -0.1, 0.75]),
        (("P.npy", "E.npy::[2345:2346]", "--positions", "1"), [0.4, -0.1, 0.75]),
        (("P.npy::[1:2]", "E.npy::[2345:2346]"), [0.4, -0.1, 0.75]),
    ):
        done = pecli("apply", *arguments, "-o", "x.npy")
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(np.load(tmp_path / "x.npy"), [expected], rtol=0, atol=1e-15)


@pytest.mark.parametrize("wish", [{"start": "2"}, {"positions": np.array([[2, 3, 4], [9, 2, 2]])}])
def test_rows_of_a_file_are_added_at_the_positions_that_are_given(wish, tmp_path):
    rows, x = RNG.normal(size=(10, 4)), RNG.normal(size=(2, 3, 4))
    np.save(tmp_path / "p.npy", rows)
    expected = x + rows[wish.get("positions", np.array([[2, 3, 4]]))]
    for arithmetic in ("exact", "float32"):
        found = applied(str(tmp_path / "p.npy"), x, **wish, arithmetic=arithmetic).read("q")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15 if arithmetic == "exact" else 1e-6)
    pe = applied("sinusoidal:dim=4", x * 0, **wish).read("q")
    at = wish.get("positions", np.array([[2, 3, 4]] * 2))
    np.testing.assert_allclose(pe[..., 0], np.sin(at), rtol=1e-15)


def test_a_number_may_multiply_embeddings_first():
    x = RNG.normal(size=(3, 4))
    found = applied("integer:dim=4,max-len=3", x, scale=Decimal("0.5")).read("q")
    np.testing.assert_array_equal(found, x * 0.5 + np.array([0, 0.5, 1])[:, None])


@pytest.mark.parametrize(
    ("text", "values", "wish", "says"),
    [
        ("rope:dim=8", np.zeros((2, 8)), {}, ["does not say which columns", "half", "interleaved"]),
        ("rope:dim=8", np.zeros((2, 8)), {"pairs": "halves"}, ["pairs=halves", "half, interleaved or"]),
        ("rope:dim=16", np.zeros((2, 8)), {"pairs": "half"}, ["vectors of 8", "16 columns"]),
        ("sinusoidal:dim=16", np.zeros((2, 8)), {}, ["vectors of 8", "rows of 16"]),
        ("sinusoidal:dim=8", np.zeros((2, 8)), {"pairs": "half"}, ["pairs=half", "rotary"]),
        ("rope:dim=8", np.zeros((2, 8)), {"pairs": "half", "scale": "sqrt"}, ["scale", "embeddings"]),
        ("rope:dim=8", np.zeros((2, 8), np.int64), {"pairs": "half"}, ["int64"]),
        ("learned:dim=8,max-len=3", np.zeros((9, 8)), {}, ["larger max-len"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_in_one_sentence(text, values, wish, says):
    with pytest.raises(PecliError) as error:
        applied(text, values, **wish)
    for word in says:
        assert word in str(error.value)


def test_drawn_tensors_and_their_rotation_stand_in_one_file(tmp_path, pecli):
    done = pecli("apply", "rope:dim=8", "--random", "2x4x5x8", "--kv-heads", "2", "--pairs", "half", "-o", "g.npz")
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "g.npz")
    assert found["q"].shape == (2, 4, 5, 8)
    assert found["k"].shape == (2, 2, 5, 8)
    again = applied("rope:dim=8", found["q"], pairs="half").read("q")
    np.testing.assert_array_equal(found["q_rotated"], again)
    assert abs(float(found["q"].std()) - 1) < 0.1


def test_refusals_leave_nothing(refuses, tmp_path):
    np.save(tmp_path / "q.npy", np.zeros((2, 8), np.float32))
    refuses("apply", "rope:dim=8", "q.npy", "-o", "o.npy", says="--pairs half")
    refuses("apply", "rope:dim=8", "-o", "o.npy", "--pairs", "half", says="needs inputs")
    refuses("apply", "rope:dim=8", "--random", "2x3x4", "--pairs", "half", "-o", "o.npz", says="four sides")


@pytest.mark.parametrize("text", ["[[1, 2, 3, 4], [1, 0, 1, 0]]", "1,2,3,4\n1,0,1,0\n"], ids=["json", "csv"])
def test_whole_numbers_of_a_text_are_numbers(text, tmp_path, pecli):
    name = "x.json" if text.startswith("[") else "x.csv"
    (tmp_path / name).write_text(text)
    assert pecli("apply", "rope:dim=4", name, "--pairs", "half", "-o", "y.npy").returncode == 0
    turned = np.array([1, 2, 3, 4]), np.array([np.cos(1) - np.sin(1), 0, np.sin(1) + np.cos(1), 0])
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), turned, atol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("rope:dim=8", "objects.npy", "--pairs", "half"), "Python objects"),
        (("rope:dim=8", "cut.npy", "--pairs", "half"), "truncated"),
        (("rope:dim=4", "whole.npy", "--pairs", "half"), ["whole is of type int64"]),
        (("rope:dim=4", "five.npy", "--pairs", "half"), "--axes"),
        (("rope:dim=4", "none.npy", "--pairs", "half"), "no vectors"),
        (("rope:dim=8", "q.npy", "--pairs", "half", "--positions", "1,2"), "--positions has 2: give 3"),
        (("rope:dim=8", "q.npy", "--pairs", "half", "--axes", "bhsd"), "4 axes"),
        (("learned:dim=8,max-len=9", "q.npy", "--start", "-1"), ["position -1", "has positions 0 to 8"]),
        (("learned:dim=8,max-len=9", "q.npy", "--start", "8"), ["position 10", "larger max-len"]),
        (("rows.npy", "q.npy", "--start", "8"), ["position 10", "rows 0 to 8"]),
        (("rows.npy", "q.npy", "--start", "-1"), "position -1"),
        (("opt.npy", "q.npy", "--start", "0"), ["vectors of 8", "rows of 4"]),
        (("rows.npy", "q.npy", "--start", "0.5"), "start"),
        (("nowhere.npy", "q.npy"), "does not exist"),
    ],
)
def test_bad_input_is_refused_and_nothing_written(arguments, says, tmp_path, refuses):
    np.save(tmp_path / "q.npy", np.zeros((3, 8), np.float32))
    np.save(tmp_path / "rows.npy", np.zeros((9, 8), np.float32))
    np.save(tmp_path / "opt.npy", np.zeros((9, 4), np.float32))
    np.save(tmp_path / "objects.npy", np.array([None, 1], object))
    np.save(tmp_path / "whole.npy", np.arange(8).reshape(2, 4))
    np.save(tmp_path / "five.npy", np.zeros((1, 1, 1, 2, 4)))
    np.save(tmp_path / "none.npy", np.zeros((0, 4)))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "q.npy").read_bytes()[:-20])
    refuses("apply", *arguments, "-o", "o.npy", says=says)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_framework_rounds_every_step(dtype):
    from pecli.numbers.rounding import narrow

    x = RNG.normal(size=(1, 2, 50, 8)).astype(np.float32)
    made = application("rope:dim=8", x, pairs="half", arithmetic=dtype)
    table = Table.parse("rope:dim=8", length=50, dtype=dtype, arithmetic="float32")

    def r(values):
        return widen(narrow(values, None, dtype), dtype)

    cos, sin = (np.concatenate([widen(table.read(n), dtype)] * 2, -1) for n in ("cos", "sin"))
    wide = r(x.astype(np.float64))
    half = np.concatenate([-wide[..., 4:], wide[..., :4]], -1)
    expected = r(r(wide * cos) + r(half * sin))
    np.testing.assert_array_equal(made.outputs.read("q"), expected.astype(np.float32))
    exact = applied("rope:dim=8", x.astype(np.float64), pairs="half").read("q")
    norm = np.tile(np.hypot(exact[..., :4], exact[..., 4:]), 2)
    unit = 2.0 ** (np.floor(np.log2(norm)) - (7 if dtype == "bfloat16" else 23))
    assert made.worst() == (abs(expected - exact) / unit).max()
    assert 0.5 < made.worst() < 20


def test_what_stands_beside_drawn_tensors_is_what_turned_them(tmp_path, pecli):
    pecli("apply", "rope:dim=8", "--random", "2x4x5x8", "--start", "7", "--pairs", "half", "-o", "g.npz")
    found = np.load(tmp_path / "g.npz")
    assert found["positions"].tolist() == [7, 8, 9, 10, 11]
    np.testing.assert_allclose(found["cos"][:, 0], np.cos(np.arange(7, 12)), rtol=1e-7)
    np.testing.assert_allclose(found["sin"][:, 1], np.sin(np.arange(7, 12) / 10), rtol=1e-7)
    assert '"applied":"rope:dim=8,' in str(found["recipe"])


def test_a_vector_is_worked_through_number_by_number(pecli):
    done = pecli("apply", "rope:dim=4", "--vector", "1,2,-1,1", "--positions", "1", "--steps")
    assert done.returncode == 0, done.stderr
    # 1 cos 1 - 2 sin 1 and 1 sin 1 + 2 cos 1, then -cos 0.01 - sin 0.01 and -sin 0.01 + cos 0.01
    assert "[-1.1426, 1.9221, -1.0099, 0.9900]" in done.stdout
    assert "1 x 0.5403 - 2 x 0.8415 = -1.1426" in done.stdout
    assert "before 2.6458, after 2.6458" in done.stdout
    half = pecli("apply", "rope:dim=4", "--vector", "1,2,-1,1", "--positions", "1", "--pairs", "half", "--steps")
    assert "[1.3818, 1.9899, 0.3012, 1.0199]" in half.stdout  # 1 c + 1 s, 2 c' - s', s - c, 2 s' + c'


def test_an_addition_is_worked_through(pecli):
    arguments = ("--vector", "0.2,0.5,0.1,0.3", "--positions", "0,1", "--steps")
    done = pecli("apply", "sinusoidal:dim=4", *arguments)
    assert "position 0: [0.2000, 0.5000, 0.1000, 0.3000] + [0.0000, 1.0000, 0.0000, 1.0000]" in " ".join(
        done.stdout.split()
    )
    assert "[1.0415, 1.0403, 0.1100, 1.3000]" in " ".join(done.stdout.split())
    refused = pecli("apply", "alibi:heads=2", *arguments)
    assert refused.returncode == 2


def test_types_have_the_names_of_other_programs(pecli, tmp_path):
    """`--dtype bf16` was refused as a type of the queries, `nul` was an internal error, and the board showed bits."""
    words = ("apply", "sinusoidal:dim=4", "--vector", "1,2,3,4", "--steps", "--dtype")
    assert "[1.8438, 2.5469, 3.0156, 5.0000]" in pecli(*words, "bf16").stdout  # 1 + sin 1 is 1.8415
    refused = pecli(*words, "nul")
    assert refused.returncode == 2
    assert "unknown dtype 'nul': known: float16, bfloat16, float32, float64" in refused.stderr
    drawn = ("apply", "rope:dim=4", "--pairs", "half", "--random", "1x2x3x4", "-o", str(tmp_path / "o.h5"))
    done = pecli(*drawn, "--dtype", "bf16", "--arithmetic", "bf16")
    assert "q_rotated 1 x 2 x 3 x 4 bfloat16" in done.stderr
    assert "bfloat16 arithmetic errs by at most" in done.stderr
    assert pecli(*drawn, "--arithmetic", "float16").returncode == 2


def test_units_of_turned_values_are_those_of_their_pairs(tmp_path, pecli):
    """A kernel in float32 passes at a few units, though values that cancel are off by thousands of their own."""
    pecli("apply", "rope:dim=64", "--random", "1x2x100x64", "--pairs", "half", "-o", "golden.npz")
    golden = dict(np.load(tmp_path / "golden.npz"))
    cos, sin = (np.tile(golden[name], 2) for name in ("cos", "sin"))
    mine = {name: value for name, value in golden.items() if name != "recipe"}
    for name in "qk":
        x = golden[name]
        mine[f"{name}_rotated"] = x * cos + np.concatenate([-x[..., 32:], x[..., :32]], -1) * sin
    np.savez(tmp_path / "mine.npz", **mine)
    done = pecli("compare", "mine.npz", "golden.npz", "--ulp", "3")
    assert done.returncode == 0, done.stdout
    own = abs(mine["q_rotated"].view(np.int32) - golden["q_rotated"].view(np.int32)).max()
    assert own > 50
    for wrong in (np.roll(mine["q_rotated"], 1, axis=2), mine["q"]):
        np.savez(tmp_path / "bad.npz", **{**mine, "q_rotated": wrong})
        assert pecli("compare", "bad.npz", "golden.npz", "--ulp", "3").returncode == 1
    np.savez(tmp_path / "less.npz", **{name: value for name, value in mine.items() if name != "k_rotated"})
    less = pecli("compare", "less.npz", "golden.npz", "--ulp", "3")
    assert less.returncode == 1
    assert "k_rotated" in less.stdout


@pytest.mark.parametrize("pairs", [None, "half", "interleaved:half"])
@pytest.mark.parametrize("way", ["inverse", "gradient"])
@pytest.mark.parametrize("recipe", ["rope:dim=4", "rope:dim=4,scaling=yarn,factor=8,original-max=32"])
def test_the_way_back_is_worked_through_with_its_own_numbers(recipe, way, pairs, pecli):
    options = (
        "--vector",
        "1,2,-1,1",
        "--positions",
        "3",
        "--way",
        way,
        "--steps",
        *(("--pairs", pairs) if pairs else ()),
    )
    said = pecli("apply", recipe, *options).stdout
    products = [float(line.rpartition("= ")[2]) for line in said.partition("Step 3")[2].splitlines() if "= " in line]
    (together,) = (line for line in said.splitlines() if "together [" in line)
    assert sorted(products) == sorted(map(float, together.partition("[")[2].strip("]").split(", ")))


def test_the_board_of_a_config_has_the_pairs_of_its_model(tmp_path, pecli):
    facts = {"model_type": "cohere", "hidden_size": 32, "num_attention_heads": 8, "rope_theta": 10000}
    (tmp_path / "config.json").write_text(json.dumps(facts))
    said = pecli("apply", "config.json", "--vector", "1,2,-1,1", "--positions", "1", "--steps").stdout
    assert "pairs interleaved: columns (0, 1), (2, 3)" in said
    assert "1 x 0.5403 - 2 x 0.8415 = -1.1426" in said
    assert "together [-1.1426, 1.9221, -1.0099, 0.9900]" in said


@pytest.mark.parametrize(
    "words", [["q.npy"], ["--random", "1x1x4x4"], ["--seed", "3"], ["--axes", "sd"], ["--stack", "vllm"]]
)
def test_what_a_board_has_no_use_for_is_refused(words, refuses):
    refuses(
        "apply",
        "rope:dim=4",
        *words,
        "--vector",
        "1,2,-1,1",
        "--steps",
        says=["is for" if words != ["q.npy"] else "--vector"],
    )


@pytest.mark.parametrize("start", ["-3", "-1.5", "0", "2.5"])
@pytest.mark.parametrize("recipe", ["sinusoidal:dim=8", "sinusoidal:dim=8,base=100"])
def test_rows_before_position_0_are_added_as_they_are_elsewhere(recipe, start):
    x = np.random.default_rng(4).standard_normal((6, 8))
    angles = (np.arange(6) + float(start))[:, None] * (100.0 if "100" in recipe else 10000.0) ** -(np.arange(4) / 4)
    rows = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(6, 8)
    np.testing.assert_allclose(apply_values(recipe, x, start=start)["array"], x + rows, atol=1e-14)


def test_the_rows_of_a_file_are_found_by_their_positions_in_whatever_order(tmp_path, pecli):
    rows, x = np.arange(48.0).reshape(6, 8), np.ones((3, 8))
    lines = ["position," + ",".join(f"pe{i}" for i in range(8))]
    lines += [",".join(map(str, (position, *rows[position]))) for position in (5, 4, 0, 2, 1, 3)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "x.npy", x)
    assert pecli("apply", "t.csv", "x.npy", "--start", "2", "-o", "o.npy").returncode == 0
    assert (np.load(tmp_path / "o.npy") == x + rows[2:5]).all()
    refused = pecli("apply", "t.csv", "x.npy", "--start", "4", "-o", "p.npy")
    assert "it has 0 to 5" in refused.stderr


def test_another_way_is_no_gradient():
    with pytest.raises(PecliError, match="unknown way 'backward'"):
        apply_values("rope:dim=8", np.ones((2, 8)), pairs="half", way="backward")


def test_the_length_decides_the_factors_of_a_phi3_config(pecli, tmp_path):
    scaling = {"type": "longrope", "short_factor": [1.5] * 4, "long_factor": [3] * 4}
    config = {"model_type": "phi3", "hidden_size": 32, "num_attention_heads": 4, "max_position_embeddings": 64,
              "original_max_position_embeddings": 16, "rope_scaling": scaling}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    np.save(tmp_path / "q.npy", np.ones((1, 4, 9, 8)))
    made = {}
    for length in (9, 49):
        pecli("apply", "config.json", "q.npy", "--seq-len", str(length), "-o", f"{length}.npy")
        made[length] = np.load(tmp_path / f"{length}.npy")
    assert not np.array_equal(made[9], made[49])
    first = {n: np.arctan2(m[0, 0, 1, 4], m[0, 0, 1, 0]) - np.pi / 4 for n, m in made.items()}  # of pair 0, position 1
    assert first == pytest.approx({9: 1 / 1.5, 49: 1 / 3})
