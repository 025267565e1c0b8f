"""Absolute tables of grids: values, row order, coordinates, identities between conventions, refusals."""

import mpmath
import numpy as np
import pytest

from pecli import Recipe, Table
from pecli.errors import PecliError
from tests.support.oracle import matches, power, waves


def table(recipe, **options):
    return Table.parse(recipe, dtype="float64", **options).read("pe")


def series(base, width, shift=0):
    """The frequencies of one axis of this width."""
    count = width // 2
    return [power(base, mpmath.mpf(-k) / (count - shift)) for k in range(count)]


def axis(function, coordinate, frequencies):
    return [(function, coordinate * w) for w in frequencies]


def test_two_dimensions_are_the_formula():
    with mpmath.workdps(60):
        w = series("10000", 6)
        rows = [
            axis("sin", x, w) + axis("cos", x, w) + axis("sin", y, w) + axis("cos", y, w)
            for y in range(3)
            for x in range(5)
        ]
        assert matches(table("sincos2d:dim=12,grid=3x5"), waves(rows))


@pytest.mark.parametrize("shift", [0, 1])
def test_the_sines_of_both_axes_may_stand_first(shift):
    with mpmath.workdps(60):
        w = series("100", 8, shift)
        rows = [
            axis("sin", y, w) + axis("sin", x, w) + axis("cos", y, w) + axis("cos", x, w)
            for y in range(4)
            for x in range(2)
        ]
        made = table(f"sincos2d:dim=16,grid=4x2,base=100,order=sin-sin,axis-order=yx,shift={shift}")
        assert matches(made, waves(rows))


def test_axes_in_the_other_order_are_the_columns_in_the_other_order():
    xy, yx = (table(f"sincos2d:dim=16,grid=4x7,axis-order={order}") for order in ("xy", "yx"))
    assert np.array_equal(xy[:, :8], yx[:, 8:])
    assert np.array_equal(xy[:, 8:], yx[:, :8])


def test_a_row_of_the_grid_is_the_sinusoid():
    line = table("sincos2d:dim=16,grid=1x9")
    assert np.array_equal(line[:, :8], table("sinusoidal:dim=8,order=sin-cos", length=9))


def test_coordinates_may_be_divided_and_run_up_to_a_base_size():
    with mpmath.workdps(60):
        w = series("10000", 4)
        rows = []
        for y in range(3):
            for x in range(4):
                here = [mpmath.mpf(x) * 16 / 4 / 2, mpmath.mpf(y) * 16 / 3 / mpmath.mpf("1.5")]
                rows.append([p for c in here for f in ("sin", "cos") for p in axis(f, c, w)])
        assert matches(table("sincos2d:dim=8,grid=3x4,base-size=16,grid-scale=1.5+2"), waves(rows))


def test_rows_before_the_grid_are_zero_and_shift_nothing():
    made = table("sincos2d:dim=8,grid=3x4,prefix=2")
    assert made.shape == (14, 8)
    assert not made[:2].any()
    assert np.array_equal(made[2:], table("sincos2d:dim=8,grid=3x4"))


WIDTHS = {  # (side, columns) in order, of 32 columns; sides 0 frame, 1 row, 2 column
    "quarter-rest": [(0, 8), (2, 12), (1, 12)],
    "half-quarters": [(0, 16), (1, 8), (2, 8)],
    "thirds": [(0, 12), (1, 12), (2, 12)],
}


@pytest.mark.parametrize("split", WIDTHS)
def test_three_dimensions_are_the_formula(split):
    with mpmath.workdps(60):
        rows = []
        for t in range(2):
            for y in range(3):
                for x in range(2):
                    row = [
                        p
                        for side, width in WIDTHS[split]
                        for f in ("sin", "cos")
                        for p in axis(f, (t, y, x)[side], series("10000", width))
                    ]
                    rows.append(row[:32])
        assert matches(table(f"sincos3d:dim=32,grid=2x3x2,split={split}"), waves(rows))


def test_three_dimensions_may_have_sines_and_cosines_in_turn():
    """As PositionalEncoding3D of positional-encodings 6.0 has them."""
    plain, made = (table(f"sincos3d:dim=30,grid=2x3x4,split=thirds{order}") for order in ("", ",order=interleaved"))
    columns = [start + part for start in (0, 10, 20) for k in range(5) for part in (k, 5 + k)]
    assert np.array_equal(made, plain[:, columns])
    for dim in (2, 8, 10):
        whole = table(f"sincos3d:dim={6 * -(-dim // 6)},grid=2x3x4,split=thirds,order=interleaved")
        assert np.array_equal(table(f"sincos3d:dim={dim},grid=2x3x4,split=thirds,order=interleaved"), whole[:, :dim])


@pytest.mark.parametrize("dim", [2, 4, 6, 8, 10, 100])
def test_thirds_are_cut_to_any_even_width(dim):
    made = table(f"sincos3d:dim={dim},grid=2x3x4,split=thirds")
    whole = table(f"sincos3d:dim={6 * -(-dim // 6)},grid=2x3x4,split=thirds")
    assert np.array_equal(made, whole[:, :dim])


def detr_row(coordinates, frequencies):
    return [p for c in coordinates for w in frequencies for p in (("sin", c * w), ("cos", c * w))]


@pytest.mark.parametrize(
    ("keys", "y", "x"),
    [
        ("", lambda i: i + 1, lambda j: j + 1),
        (
            ",normalize=true",
            lambda i: (i + 1) / (3 + mpmath.mpf("1e-6")) * 2 * mpmath.pi,
            lambda j: (j + 1) / (5 + mpmath.mpf("1e-6")) * 2 * mpmath.pi,
        ),
        (
            ",normalize=true,center=true,coordinate-scale=1.5",
            lambda i: (i + mpmath.mpf("0.5")) / (3 + mpmath.mpf("1e-6")) * mpmath.mpf("1.5"),
            lambda j: (j + mpmath.mpf("0.5")) / (5 + mpmath.mpf("1e-6")) * mpmath.mpf("1.5"),
        ),
    ],
)
def test_the_detectors_sine_is_the_formula(keys, y, x):
    with mpmath.workdps(60):
        w = series("20", 4)
        rows = [detr_row((y(i), x(j)), w) for i in range(3) for j in range(5)]
        assert matches(table(f"detr:dim=8,grid=3x5,temperature=20{keys}"), waves(rows))


def test_a_masked_border_keeps_the_count_and_a_masked_line_has_none():
    whole = table("detr:dim=8,grid=3x4,valid=2x3,normalize=true").reshape(3, 4, 8)
    inner = table("detr:dim=8,grid=2x3,normalize=true").reshape(2, 3, 8)
    assert np.array_equal(whole[:2, :3], inner)
    assert np.array_equal(whole[2, :3, :4], whole[1, :3, :4])  # below the image the row's count stays
    assert (whole[2, :, 4:] == [0, 1, 0, 1]).all()  # and no column is counted
    assert (whole[:, 3, :4] == [0, 1, 0, 1]).all()


def test_the_temperature_may_differ_by_axis():
    both = table("detr:dim=8,grid=3x4,temperature=20+10000")
    assert np.array_equal(both[:, :4], table("detr:dim=8,grid=3x4,temperature=20")[:, :4])
    assert np.array_equal(both[:, 4:], table("detr:dim=8,grid=3x4")[:, 4:])


@pytest.mark.parametrize(
    "recipe", ["sincos2d:dim=16,grid=40x50", "sincos3d:dim=16,grid=5x16x9", "detr:dim=16,grid=40x50"]
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_any_rows_of_a_grid_equal_those_of_the_whole(recipe, dtype):
    def read(**options):
        return Table.parse(recipe, dtype=dtype, **options).read("pe")

    whole = read()
    rows = [7, 3, len(whole) - 1, 0, 3, 49, 50, 51]
    assert np.array_equal(read(positions=",".join(map(str, rows))), whole[rows])
    assert np.array_equal(read(start=33, length=100), whole[33:133])
    assert np.array_equal(read(start=33), whole[33:])
    assert np.array_equal(read(start=5, step=7), whole[5::7])
    assert np.array_equal(np.concatenate([read(shard=f"{k}/3") for k in range(3)]), whole)


def test_a_grid_too_large_to_keep_all_coordinates_is_the_same():
    made = table("sincos2d:dim=8,grid=3x400000", positions="0,399999,400000,1199999")
    assert np.array_equal(made[1, :4], table("sinusoidal:dim=4,order=sin-cos", positions="399999")[0])
    block = Table.parse("sincos2d:dim=8,grid=3x400000", dtype="float64").read_rows(["pe"], 399_990, 400_010)["pe"]
    assert np.array_equal(block[9:11], made[1:3])


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("sincos2d:dim=30,grid=4x4", ["dim=30", "multiple of 4", "28 or 32"]),
        ("sincos2d:dim=2,grid=4x4", ["dim=2", "use 4"]),
        ("sincos2d:dim=4,grid=4x4,shift=1", ["shift=1", "dim=4"]),
        ("sincos2d:dim=8,grid=4", ["grid=4", "2 numbers", "'x'"]),
        ("sincos2d:dim=8,grid=4x4x4", ["grid=4x4x4", "2 numbers"]),
        ("sincos2d:dim=8,grid=0x4", ["grid=0x4", "from 1 to"]),
        ("sincos2d:dim=8,grid=4xa", ["grid=a", "whole number"]),
        ("sincos2d:dim=8", ["needs grid=HxW"]),
        ("sincos2d:dim=8,grid=4x4,grid-scale=1+2+3", ["grid-scale=1+2+3"]),
        ("sincos3d:dim=24,grid=2x4x4", ["dim=24", "multiple of 16", "16 or 32"]),
        ("sincos3d:dim=12,grid=2x4x4,split=half-quarters", ["dim=12", "multiple of 8"]),
        ("sincos3d:dim=7,grid=2x4x4,split=thirds", ["dim=7", "multiple of 2"]),
        ("sincos3d:dim=16,grid=4x4", ["grid=4x4", "3 numbers"]),
        ("detr:dim=6,grid=4x4", ["dim=6", "multiple of 4"]),
        ("detr:dim=8,grid=4x4,center=true", ["center=true", "normalize=false"]),
        ("detr:dim=8,grid=4x4,coordinate-scale=2", ["coordinate-scale=2", "normalize=false"]),
        ("detr:dim=8,grid=4x4,valid=5x4", ["valid=5x4", "grid=4x4"]),
        ("detr:dim=8,grid=16777216x16777216,temperature=1+2+3", ["temperature=1+2+3"]),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(recipe, says):
    with pytest.raises(PecliError) as error:
        Recipe.parse(recipe)
    message = str(error.value)
    assert "\n" not in message
    for word in says:
        assert word in message, message


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"length": 15}, ["len=15", "must be 16", "grid=4x4"]),
        ({"length": 17}, ["len=17", "must be 16"]),
        ({"positions": "16"}, ["position 16", "grid=4x4", "0 to 15"]),
        ({"positions": "-1"}, ["position -1"]),
        ({"positions": "0.5"}, ["whole numbers"]),
        ({"start": 10, "length": 7}, ["position 16"]),
    ],
)
def test_rows_that_a_grid_has_not_are_refused(options, says):
    with pytest.raises(PecliError) as error:
        Table.parse("sincos2d:dim=8,grid=4x4", **options)
    for word in says:
        assert word in str(error.value)


def test_detr_with_alternating_pairs_is_the_table_of_loftr():
    d, height, width = 24, 5, 7
    w = np.exp(np.arange(0, d // 2, 2) * (-np.log(10000.0) / (d // 2)))[:, None, None]
    y, x = np.indices((height, width)) + 1.0
    expected = np.zeros((d, height, width))
    expected[0::4], expected[1::4], expected[2::4], expected[3::4] = (
        np.sin(x * w),
        np.cos(x * w),
        np.sin(y * w),
        np.cos(y * w),
    )
    made = table(f"detr:dim={d},grid={height}x{width},convention=loftr")
    assert np.abs(made.T.reshape(expected.shape) - expected).max() < 1e-13
