"""Fourier features, bands, NeRF and complex numbers: values, coordinates, drawn matrices, refusals."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pecli import Recipe, Table
from pecli.errors import PecliError
from pecli.numbers import random as seeded
from tests.support.oracle import matches, number, waves


def read(recipe, dtype="float64", **options):
    return Table.parse(recipe, dtype=dtype, **options).read("pe")


def line(n, word):
    """The coordinates of n places from -1 to 1."""
    if word == "centres":
        return [Fraction(2 * i + 1, n) - 1 for i in range(n)]
    return [Fraction(2 * i, max(1, n - 1)) - 1 for i in range(n)]


def expected(rows):
    """Rows of ("sin"|"cos", turns) and ("is", number), exactly."""
    with mpmath.workdps(60):
        functions = {"sin": lambda t: mpmath.sinpi(2 * t), "cos": lambda t: mpmath.cospi(2 * t), "is": lambda x: x}
        return [[functions[f](number(value)) for f, value in row] for row in rows]


@pytest.mark.parametrize("word", ["corners", "centres"])
def test_nerf_on_a_line_is_the_formula(word):
    rows = [[(f, x * 2**k / 2) for k in range(6) for f in ("sin", "cos")] for x in line(9, word)]
    assert matches(read(f"nerf:bands=6,coordinates={word}", length=9), expected(rows))


def test_nerf_of_given_positions_takes_them_as_they_are():
    rows = [[(f, Fraction(x) * 2**k / 2) for k in range(4) for f in ("sin", "cos")] for x in ("0.3", "-1", "7")]
    assert matches(read("nerf:bands=4,coordinates=given", positions="0.3,-1,7"), expected(rows))


def test_the_code_of_nerf_has_no_pi_and_goes_by_frequency():
    with mpmath.workdps(60):
        rows = []
        for y in line(2, "corners"):
            for x in line(3, "corners"):
                row = [("is", number(x)), ("is", number(y))]
                row += [(f, number(c) * 2**k) for k in range(3) for f in ("sin", "cos") for c in (x, y)]
                rows.append(row)
        assert matches(read("nerf:bands=3,grid=2x3,convention=code"), waves(rows))


def test_nerfstudio_has_two_pi_and_sines_first():
    rows = [[(f, x * 2**k) for f in ("sin", "cos") for k in range(5)] for x in line(7, "corners")]
    assert matches(read("nerf:bands=5,convention=nerfstudio", length=7), expected(rows))


def test_frequencies_of_nerf_may_be_spaced_evenly_and_end_anywhere():
    frequencies = [1 + Fraction(15 * k, 4) for k in range(5)]
    rows = [[(f, x * w / 2) for w in frequencies for f in ("sin", "cos")] for x in line(4, "corners")]
    assert matches(read("nerf:bands=5,max-exponent=4,spacing=linear", length=4), expected(rows))


@pytest.mark.parametrize(("include", "cut"), [("first", slice(2, None)), ("last", slice(0, -2))])
def test_coordinates_may_stand_before_or_after(include, cut):
    made = read(f"nerf:bands=3,grid=4x5,order=sin-cos,include-input={include}")
    plain = read("nerf:bands=3,grid=4x5,order=sin-cos")
    assert np.array_equal(made[:, cut], plain)
    x, y = (made[:, :2] if include == "first" else made[:, -2:]).T
    assert x.tolist() == [float(v) for _ in range(4) for v in line(5, "corners")]
    assert y.tolist() == [float(v) for v in line(4, "corners") for _ in range(5)]


def band_turns(count, rate):
    return [(1 + Fraction(k) * (Fraction(rate) / 2 - 1) / max(1, count - 1)) / 2 for k in range(count)]


def test_the_perceivers_bands_are_the_formula():
    rows = []
    for y in line(4, "corners"):
        for x in line(6, "corners"):
            row = [("is", y), ("is", x)]
            row += [(f, c * w) for f in ("sin", "cos") for c, n in ((y, 4), (x, 6)) for w in band_turns(5, n)]
            rows.append(row)
    assert matches(read("bands:bands=5,grid=4x6"), expected(rows))


def test_bands_by_axis_keep_each_coordinate_with_its_own():
    rows = [[*((f, x * w) for f in ("sin", "cos") for w in band_turns(3, 20)), ("is", x)] for x in line(6, "corners")]
    assert matches(read("bands:bands=3,grid=6,max-resolution=20,order=by-axis,include-input=last"), expected(rows))
    both = read("bands:bands=3,grid=2x6,max-resolution=20,order=by-axis,include-input=last")
    assert both.shape == (12, 14)
    assert np.array_equal(both[:6, 7:], read("bands:bands=3,grid=6,max-resolution=20,order=by-axis,include-input=last"))


def test_one_band_is_the_slowest_and_cosines_may_be_left_out():
    rows = [[("sin", x / 2)] for x in line(5, "corners")]
    assert matches(read("bands:bands=1,grid=5,sine-only=true,include-input=none"), expected(rows))


def test_logarithmic_bands_run_from_1_to_half_the_rate():
    rows = [[(f, x * w / 2) for f in ("sin", "cos") for w in (1, 4, 16, 64)] for x in line(5, "corners")]
    made = read("bands:bands=4,grid=5,max-resolution=128,spacing=log,include-input=none")
    assert matches(made, expected(rows))


def drawn(seed, rows, columns, sigma):
    """The matrix B as it is drawn: sigma times multiples of 2^-40."""
    z = seeded.normal(seeded.uniform(seeded.row_words(seed, np.arange(rows), columns)))
    return [[Fraction(round(float(v) * 2**40), 2**40) * Fraction(sigma) for v in row] for row in z]


def test_fourier_features_of_positions_are_the_formula_and_the_matrix_stands_beside():
    matrix = drawn(3, 4, 1, "2.5")
    positions = ["0", "1", "-7", "0.1", "1000000"]
    rows = [[(f, b[0] * Fraction(p)) for f in ("sin", "cos") for b in matrix] for p in positions]
    table = Table.parse("fourier:dim=8,seed=3,sigma=2.5", positions=",".join(positions), dtype="float64")
    assert matches(table.read("pe"), expected(rows))
    assert table.read("B").tolist() == [[float(b) for b in row] for row in matrix]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("grid", ["3x5", "2x3x4"])
def test_fourier_features_of_a_grid_sum_over_its_coordinates(grid, dtype):
    sides = [int(side) for side in grid.split("x")]
    matrix = drawn(0, 6, len(sides), "1")
    rows = []
    for place in np.ndindex(*sides):
        x = [line(n, "centres")[i] for n, i in zip(sides, place, strict=True)][::-1]  # the last side first
        turns = [sum(b * c for b, c in zip(row, x, strict=True)) for row in matrix]
        rows.append([(f, t) for f in ("sin", "cos") for t in turns])
    made = read(f"fourier:dim=12,coordinates=centres,grid={grid}", dtype)
    exact = expected(rows)
    if dtype == "float64":
        assert matches(made, exact, 0.5)
    else:
        assert np.array_equal(made, np.array([[float(v) for v in row] for row in exact]).astype(dtype))


def test_the_matrix_does_not_depend_on_how_many_rows_it_has():
    short = Table.parse("fourier:dim=8", length=1, dtype="float64").read("B")
    long = Table.parse("fourier:dim=800", length=1, dtype="float64").read("B")
    assert np.array_equal(long[:4], short)


def test_given_matrices_and_points_come_from_files(tmp_path):
    matrix = np.array([[0.5, 0.25], [1.0, -3.0]])
    points = np.array([[0.1, 0.2], [0.7, 0.9], [1.5, 3.0]], np.float32)
    np.save(tmp_path / "B.npy", matrix)
    np.save(tmp_path / "x.npy", points)
    table = Table.parse(f"fourier:dim=4,matrix={tmp_path}/B.npy,points={tmp_path}/x.npy,point-axes=2", dtype="float64")
    rows = []
    for point in points.tolist():
        turns = [sum(Fraction(b) * Fraction(x) for b, x in zip(row, point, strict=True)) for row in matrix.tolist()]
        rows.append([(f, t) for f in ("sin", "cos") for t in turns])
    assert matches(table.read("pe"), expected(rows))
    again = Table.parse(table.recipe)  # the numbers themselves stand in the recipe
    assert np.array_equal(again.read("pe"), table.read("pe"))


def test_points_may_be_given_in_pixels_of_their_space():
    made = read(
        "nerf:bands=2,coordinates=given,points=0+64+32+16,point-axes=2,extent=64+32,include-input=first,order=sin-cos"
    )
    assert made[:, :2].tolist() == [[-1, 3], [0, 0]]


def test_the_logarithm_is_taken_of_positions():
    matrix = drawn(0, 3, 1, "1")
    positions = ["1", "2", "0.001", "123456"]
    with mpmath.workdps(60):
        rows = [
            [(f, 2 * mpmath.pi * number(b[0]) * mpmath.log(number(p))) for f in ("sin", "cos") for b in matrix]
            for p in positions
        ]
        assert matches(read("fourier:dim=6,log=true", positions=",".join(positions)), waves(rows))


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("fourier:dim=64,coordinates=centres,grid=50x40", {}),
        ("fourier:dim=64,coordinates=corners,grid=9x16x11", {}),
        ("nerf:bands=5,grid=40x50,include-input=first", {}),
        ("bands:bands=5,grid=40x50", {}),
        ("fourier:dim=16,log=true,matrix=1+2+3+4+5+6+7+8", {"start": 1, "length": 2000}),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_any_rows_equal_those_of_the_whole(recipe, options, dtype):
    whole = read(recipe, dtype, **options)
    first = options.get("start", 0)
    rows = [7, 3, len(whole) - 1, 0, 3, 49, 50, 51]
    assert np.array_equal(read(recipe, dtype, positions=",".join(str(r + first) for r in rows)), whole[rows])
    assert np.array_equal(read(recipe, dtype, start=first + 33, length=100), whole[33:133])


@pytest.mark.parametrize(("dtype", "parts"), [("float32", "complex64"), ("float64", "complex128")])
def test_complex_rows_are_cosines_and_sines_of_the_sinusoid(dtype, parts):
    made = read("complex:dim=12", dtype, length=50)
    sinusoid = read("sinusoidal:dim=12", dtype, length=50)
    assert made.dtype == parts
    assert made.shape == (50, 6)
    assert np.array_equal(made.real, sinusoid[:, 1::2])
    assert np.array_equal(made.imag, sinusoid[:, 0::2])


@pytest.mark.parametrize(
    ("recipe", "options", "says"),
    [
        ("fourier:dim=7", {"length": 4}, ["dim=7", "even"]),
        ("fourier:dim=8,sigma=0", {"length": 4}, ["sigma=0", "above 0"]),
        ("fourier:dim=8,matrix=1+2+3", {"length": 4}, ["3 numbers", "must be 4", "dim/2 = 4"]),
        ("fourier:dim=8,matrix=1+2+3+4,seed=1", {"length": 4}, ["seed=1", "matrix"]),
        ("fourier:dim=8,log=true", {"length": 4}, ["position 0", "above 0"]),
        ("fourier:dim=8,log=true,coordinates=corners", {"length": 4}, ["log=true", "coordinates=corners"]),
        ("fourier:dim=8,log=true,points=1+2", {"length": 2}, ["log=true", "points="]),
        ("fourier:dim=8,grid=4x4", {}, ["grid=4x4", "coordinates=given"]),
        ("fourier:dim=8,points=1+2+3,point-axes=2", {}, ["3 numbers", "point-axes=2"]),
        ("nerf:bands=4,points=1+2", {}, ["points=1+2", "coordinates=corners"]),
        ("nerf:bands=4,coordinates=given,extent=2", {"length": 4}, ["extent=2", "points"]),
        ("nerf:bands=4,coordinates=given,points=1+2+3,extent=2+3", {}, ["extent=2+3"]),
        ("nerf:bands=0", {"length": 4}, ["bands=0"]),
        ("nerf:bands=4,grid=4x4x4x4", {}, ["grid=4x4x4x4"]),
        ("nerf:bands=4,grid=8", {"length": 9}, ["len=9", "must be 8"]),
        ("nerf:bands=4,coordinates=given,points=no-such-file", {}, ["no-such-file", "does not exist"]),
        ("bands:bands=4,coordinates=given", {"length": 4}, ["max-resolution"]),
        ("bands:bands=4,grid=4x4,max-resolution=1+2+3", {}, ["max-resolution=1+2+3"]),
        ("complex:dim=7", {"length": 4}, ["dim=7", "even"]),
        ("complex:dim=8", {"length": 4, "dtype": "bfloat16"}, ["dtype=bfloat16", "complex"]),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(recipe, options, says):
    with pytest.raises(PecliError) as error:
        Table.parse(recipe, **options)
    message = str(error.value)
    assert "\n" not in message
    for word in says:
        assert word in message, message


def test_a_recipe_names_the_generator_of_its_matrix():
    text = str(Recipe.parse("fourier:dim=8,seed=5"))
    assert "seed=5" in text
    assert "generator=philox4x64-10+as241" in text


@pytest.mark.parametrize("more", ["", ",pi=false,scale=1e9"])
def test_the_fastest_frequency_that_nerf_takes_is_exact_too(more):
    with mpmath.workdps(120):
        factor = mpmath.mpf(10) ** 9 if more else mpmath.pi
        expected_rows = [
            [f(number(x) * 2**k * factor) for k in range(96) for f in (mpmath.sin, mpmath.cos)]
            for x in (Fraction(1, 10), Fraction(1234567890123456, 1000))
        ]
        assert matches(read(f"nerf:bands=96,coordinates=given{more}", positions="0.1,1234567890123.456"), expected_rows)
