"""The sinusoid's parameters and conventions, the integer and the binary encoding: values, identities, refusals."""

import mpmath
import numpy as np
import pytest

from pecli import Recipe, Table
from pecli.errors import PecliError
from tests.support.oracle import matches, power, waves


def table(recipe, **options):
    return Table.parse(recipe, dtype="float64", **options).read("pe")


def sinusoid(position, frequencies, order):
    """Rows of (function, angle) for one position."""
    pairs = [(f, position * w) for w in frequencies for f in ("sin", "cos")]
    if order == "interleaved":
        return pairs
    first, second = order.split("-")
    return [p for p in pairs if p[0] == first] + [p for p in pairs if p[0] == second]


@pytest.mark.parametrize("order", ["interleaved", "sin-cos", "cos-sin"])
@pytest.mark.parametrize(
    ("keys", "frequency"),
    [
        ("", lambda i: power("10000", f"{-i / 4}")),
        (",base=500000", lambda i: power("500000", f"{-i / 4}")),
        (",shift=1", lambda i: power("10000", mpmath.mpf(-i) / 3)),
        (",shift=0.5,base=100", lambda i: power("100", mpmath.mpf(-2 * i) / 7)),
        (",scale=0.001", lambda i: power("10000", f"{-i / 4}") / 1000),
        (",max-timescale=100,min-timescale=0.5", lambda i: mpmath.mpf("0.5") * power("200", mpmath.mpf(-i) / 3)),
        (",turns=true", lambda i: power("10000", f"{-i / 4}") * 2 * mpmath.pi),
    ],
)
def test_values_are_those_of_the_formula(order, keys, frequency):
    positions = [0, 1, 2, 777, 0.5]
    made = table(f"sinusoidal:dim=8,order={order}{keys}", positions=",".join(map(str, positions)))
    with mpmath.workdps(60):
        expected = waves([sinusoid(mpmath.mpf(p), [frequency(i) for i in range(4)], order) for p in positions])
    assert matches(made, expected)


def test_the_amplitude_multiplies_every_value():
    assert np.array_equal(table("sinusoidal:dim=8,amplitude=0.25", length=9), table("sinusoidal:dim=8", length=9) / 4)


def test_the_padded_row_is_that_of_its_position_wherever_the_table_begins():
    whole = table("sinusoidal:dim=8,pad-row=1", length=5)
    assert not whole[1].any()
    assert whole[0].any()
    assert np.array_equal(table("sinusoidal:dim=8,pad-row=1", length=3, start=2), whole[2:])
    assert table("sinusoidal:dim=8,pad-row=1", length=3, start=2).any(axis=1).all()


def test_an_odd_width_truncated_has_the_papers_exponents_and_no_last_cosine():
    with mpmath.workdps(60):
        frequencies = [power("10000", mpmath.mpf(-2 * i) / 7) for i in range(4)]
        expected = waves([sinusoid(p, frequencies, "interleaved")[:7] for p in range(3)])
    assert matches(table("sinusoidal:dim=7,odd=truncate", length=3), expected)
    halves = table("sinusoidal:dim=7,odd=truncate,order=sin-cos", length=3)
    assert np.array_equal(halves, table("sinusoidal:dim=7,odd=truncate", length=3)[:, [0, 2, 4, 6, 1, 3, 5]])


@pytest.mark.parametrize("order", ["interleaved", "sin-cos", "cos-sin"])
def test_an_odd_width_padded_is_the_even_one_below_and_a_zero_column(order):
    made = table(f"sinusoidal:dim=7,odd=pad,order={order},shift=1", length=5)
    assert np.array_equal(made[:, :6], table(f"sinusoidal:dim=6,order={order},shift=1", length=5))
    assert not made[:, 6].any()


@pytest.mark.parametrize("order", ["interleaved", "sin-cos", "cos-sin"])
def test_an_odd_width_rounded_up_is_the_even_one_above_cut(order):
    made = table(f"sinusoidal:dim=7,odd=round-up,order={order}", length=5)
    assert np.array_equal(made, table(f"sinusoidal:dim=8,order={order}", length=5)[:, :7])


@pytest.mark.parametrize(
    ("convention", "same"),
    [
        ("paper", ""),
        ("tensor2tensor", "min-timescale=1,max-timescale=10000,order=sin-cos,odd=pad"),
        ("fairseq", "shift=1,order=sin-cos,odd=pad,pad-row=1"),
        ("trocr", "shift=1,order=sin-cos,odd=pad,pad-row=1"),
        ("whisper", "spacing=endpoint,order=sin-cos"),
        ("marian", "order=sin-cos,odd=truncate"),
        ("pegasus", "convention=marian"),
        ("ctrl", "convention=marian"),
        ("xlm", "odd=truncate"),
        ("musicgen", "spacing=endpoint,order=cos-sin,odd=pad"),
        ("timesfm", "min-timescale=1,max-timescale=10000,order=sin-cos"),
        ("diffusers-function", "shift=1,order=sin-cos,odd=pad"),
        ("diffusers-unet", "shift=0,order=cos-sin,odd=pad"),
        ("diffusers-1d", ""),
    ],
)
def test_a_convention_is_a_word_for_parameters(convention, same):
    long = f"sinusoidal:dim=8,{same}" if same else "sinusoidal:dim=8"
    assert Recipe.parse(f"sinusoidal:dim=8,convention={convention}") == Recipe.parse(long)


def test_what_stands_beside_a_convention_wins():
    assert Recipe.parse("sinusoidal:dim=8,convention=whisper,base=500") == Recipe.parse(
        "sinusoidal:dim=8,shift=1,order=sin-cos,base=500"
    )
    assert Recipe.parse("sinusoidal:dim=8,convention=fairseq,pad-row=0").values["pad_row"] == 0


def test_tensor2tensor_and_whisper_are_one_table():
    assert np.array_equal(
        table("sinusoidal:dim=64,convention=tensor2tensor", length=50),
        table("sinusoidal:dim=64,convention=whisper", length=50),
    )


def test_the_endpoint_is_no_permutation_of_the_paper():
    paper = np.sort(table("sinusoidal:dim=512", length=512), axis=1)
    endpoint = np.sort(table("sinusoidal:dim=512,spacing=endpoint", length=512), axis=1)
    assert np.abs(paper - endpoint).max() > 0.01
    same = table("sinusoidal:dim=512,order=sin-cos", length=512)
    other = table("sinusoidal:dim=512,order=sin-cos,spacing=endpoint", length=512)
    assert round(np.abs(same - other).max(), 2) == 0.71


def test_the_longest_wavelength_of_512_columns():
    slowest = float(Recipe.parse("sinusoidal:dim=512").plan.frequencies[-1])
    assert round(2 * np.pi / slowest) == 60611


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("sinusoidal:dim=7", ["dim=7", "6 or 8", "odd=truncate"]),
        ("sinusoidal:dim=2,shift=1", ["shift=1", "1 - 1 = 0", "dim=2"]),
        ("sinusoidal:dim=3,convention=fairseq", ["shift=1", "dim=3"]),
        ("sinusoidal:dim=4,shift=3", ["shift=3", "below 2", "dim=4"]),
        ("sinusoidal:dim=8,max-timescale=100,base=5", ["base=5", "max-timescale=100"]),
        ("sinusoidal:dim=8,max-timescale=100,shift=1", ["shift=1", "max-timescale=100"]),
        ("sinusoidal:dim=8,min-timescale=2", ["min-timescale=2", "max-timescale"]),
        ("sinusoidal:dim=8,order=sin-sin", ["sin-sin"]),
        ("sinusoidal:dim=8,convention=whispr", ["whispr", "'whisper'"]),
        ("sinusoidal:dim=8,scale=0", ["scale=0"]),
        ("sinusoidal:dim=8,amplitude=0", ["amplitude=0"]),
        ("sinusoidal:dim=0", ["dim=0"]),
        ("integer:dim=1,scales=2,max-len=9", ["dim=1", "scales="]),
        ("integer:dim=4,max-len=1", ["max-len=1"]),
        ("integer:dim=4,raw=true,max-len=9", ["max-len=9", "raw=true"]),
        ("binary:dim=4,code=grey", ["grey", "'gray'"]),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(recipe, says):
    with pytest.raises(PecliError) as error:
        Recipe.parse(recipe)
    message = str(error.value)
    assert "\n" not in message
    for word in says:
        assert word in message


@pytest.mark.parametrize(
    ("positions", "says"), [("16", ["position 16", "2^4 - 1"]), ("-1", ["position -1"]), ("0.5", ["whole numbers"])]
)
def test_a_position_that_bits_do_not_hold_is_refused(positions, says):
    with pytest.raises(PecliError) as error:
        Table.parse("binary:dim=4", positions=positions)
    for word in says:
        assert word in str(error.value)


def test_an_integer_table_of_one_row_is_refused():
    with pytest.raises(PecliError, match="at least 2"):
        Table.parse("integer:dim=4", length=1)


def test_neighbours_of_the_gray_code_differ_in_one_bit():
    bits = table("binary:dim=8,code=gray", length=256)
    assert (np.abs(np.diff(bits, axis=0)).sum(axis=1) == 1).all()
    assert len(np.unique(bits, axis=0)) == 256


def test_signed_bits_are_minus_one_and_one_and_the_most_significant_may_come_first():
    assert table("binary:dim=4,signed=true", positions="5").tolist() == [[1, -1, 1, -1]]
    assert table("binary:dim=4,msb=true", positions="4").tolist() == [[0, 1, 0, 0]]


def test_wide_binary_rows_are_zero_beyond_the_positions():
    made = table("binary:dim=100", positions=str(2**53 - 1))
    assert made[0, :53].all()
    assert not made[0, 53:].any()


def test_the_integer_scales_its_columns_by_powers():
    made = table("integer:dim=5,max-len=11,scales=2", positions="10")
    assert made.tolist() == [[0, 1 / 16, 1 / 4, 9 / 16, 1]]
    assert table("integer:dim=2,raw=true", positions="-3,0.5").tolist() == [[-3, -3], [0.5, 0.5]]
