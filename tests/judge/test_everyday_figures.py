"""Everyday figures: numbers and reasons in an answer that must be true."""

import numpy as np
import pytest

import pecli
from tests.judge.answers import UNKNOWN, angles, cache, sinusoid


@pytest.mark.parametrize("recipe", ["sinusoidal:dim=32", "sinusoidal:dim=32,len=100"])
def test_one_nan_is_named_with_its_place(ask, recipe):
    values = sinusoid(100, 32)
    values[57, 7] = np.nan
    np.save("pe.npy", values)
    ask("compare", "pe.npy", recipe).ends(1).says("nan", "[57, 7]").never("inf", *UNKNOWN)
    ask("inspect", "pe.npy", "--verify", "--recipe", recipe).ends(1).says("nan", "[57, 7]").never(" inf")
    answer = ask("inspect", "pe.npy", "--identify").ends(0)
    answer.says("sinusoidal:dim=32", "nan", "[57, 7]").never("difference inf", "up to inf")


def test_nan_beside_another_difference_is_counted_and_the_figure_is_that_of_numbers(ask):
    values = sinusoid(100, 32)
    values[57, 7] = np.nan
    values[3, 1] += 0.25
    np.save("pe.npy", values)
    ask("compare", "pe.npy", "sinusoidal:dim=32").ends(1).says("nan", "0.25", "[57, 7]", "[3, 1]").never(" inf")
    answer = ask("inspect", "pe.npy", "--identify").ends(0)
    answer.says("[57, 7] is nan", "[3, 1] is -0.7399925", "-0.9899925").never("difference inf", "up to inf")


def test_nan_in_a_cache_is_named_with_its_place(ask):
    found = cache(angles(100, 32))
    found["sin"][11, 5] = np.nan
    np.savez("cache.npz", **found)
    ask("compare", "cache.npz", "rope:dim=32").ends(1).says("sin[11, 5]", "nan").never("inf")
    ask("inspect", "cache.npz", "--identify").ends(0).says("[11, 5]", "nan").never("difference inf", "up to inf")


@pytest.mark.parametrize(("first", "second"), [(0, 2), (3, 90)])
def test_a_row_of_each_array_is_counted_as_two_rows(ask, first, second):
    found = cache(angles(100, 32))
    found["cos"][first] += 5
    found["sin"][second] += 5
    np.savez("cache.npz", **found)
    answer = ask("inspect", "cache.npz", "--identify").ends(0)
    answer.says("rope:dim=32", f"row {first}|rows {first}", f"{second}").never("in 1 rows")
    answer = ask("compare", "cache.npz", "rope:dim=32").ends(1)
    answer.says(f"{first}", f"{second}").never("in 1 rows", *UNKNOWN)


@pytest.mark.parametrize("rows", [(0, 2), (5, 6, 7), (4, 50, 99), (17,)])
def test_rows_that_differ_are_counted_and_named(ask, rows):
    values = sinusoid(100, 32)
    values[list(rows)] += 5
    np.save("pe.npy", values)
    answer = ask("identify", "pe.npy").ends(0).never("in 1 rows")
    if len(rows) == 1:  # more than one row in a hundred is more than "likely" leaves unexplained
        answer.says(f"row {rows[0]}")


POSITION_0 = {  # tables that no recipe gives, whose row of position 0 is zero
    "roots": lambda: np.sqrt(np.arange(64))[:, None] * np.linspace(0.3, 1.7, 24) ** 1.3,
    "sines": lambda: np.sin(np.arange(64)[:, None] ** 0.7 * np.linspace(0.2, 1.9, 24) ** 1.7),
    "powers": lambda: (np.arange(64)[:, None] / 63) ** np.linspace(0.3, 2.1, 24),
}


@pytest.mark.parametrize("case", POSITION_0)
def test_the_row_of_position_0_is_not_called_padding(ask, case):
    np.save("pe.npy", POSITION_0[case]().astype("float32"))
    answer = ask("inspect", "pe.npy", "--identify").ends(0)
    answer.says("unknown").never("row 0 is all zeros, as padding is")


@pytest.mark.parametrize("row", [0, 1, 5])
def test_a_zero_row_of_a_trained_table_is_said_to_be_one(ask, row):
    values = np.random.default_rng(3).standard_normal((64, 24)).astype("float32")
    values[row] = 0
    np.save("learned.npy", values)
    ask("inspect", "learned.npy", "--identify").ends(0).says("unknown", f"row {row} is all zeros")


def float32_angles(rows, dim, base):
    inverse = (1 / np.float32(base) ** (np.arange(0, dim, 2, dtype="float32") / np.float32(dim))).astype("float32")
    return np.outer(np.arange(rows, dtype="float32"), inverse)


UNITS = {
    "np.rad2deg": (np.rad2deg, "degrees instead of radians: every angle is 180/pi times the expected one"),
    "times 180/pi in float64": (lambda a: a.astype("float64") * (180 / np.pi), "every angle is 180/pi times"),
    "np.deg2rad": (np.deg2rad, "every angle is pi/180 times"),
    "times 2 pi": (
        lambda a: a * np.float32(2 * np.pi),
        "a factor of 2 pi too many: every angle is 2 pi times the expected one",
    ),
    "over 2 pi": (lambda a: a / np.float32(2 * np.pi), "every angle is the expected one over 2 pi"),
    "times pi": (lambda a: a * np.float32(np.pi), "a factor of pi too many: every angle is pi times the expected one"),
    "over pi": (lambda a: a / np.float32(np.pi), "every angle is the expected one over pi"),
}


@pytest.mark.parametrize(
    ("rows", "layout", "base"),
    [(512, "split", 10000), (512, "half", 500000), (2048, "interleaved", 10000), (4096, "split", 500000)],
)
@pytest.mark.parametrize("case", UNITS)
@pytest.mark.sample(3)
def test_a_unit_of_angles_explains_values_that_were_computed_in_float32(ask, case, rows, layout, base):
    change, word = UNITS[case]
    np.savez("cache.npz", **cache(change(float32_angles(rows, 64, base)), layout))
    ask("compare", "cache.npz", f"rope:dim=64,base={base}").ends(1).says(word, "float32").never(*UNKNOWN)


@pytest.mark.parametrize("recipe", ["sinusoidal:dim=16", "nerf:bands=2", "complex:dim=16", "sincos2d:dim=16,grid=4x4"])
def test_what_is_added_is_not_said_to_depend_on_the_distance_alone(ask, recipe):
    ask("inspect", recipe, "--properties").ends(0).says("norm").never("depends on m - n alone", "is rotated")
    if recipe.startswith("complex"):
        return  # complex numbers in a file may as well rotate
    np.savez("values.npz", pe=pecli.table(recipe if "grid" in recipe else f"{recipe},len=64")[recipe_array(recipe)])
    ask("inspect", "values.npz", "--properties").ends(0).never("depends on m - n alone", "is rotated")


def recipe_array(recipe):
    return pecli.table(recipe if "grid" in recipe else f"{recipe},len=4").arrays[0].name


@pytest.mark.parametrize("layout", ["split", "half", "concat", "complex"])
def test_what_is_rotated_depends_on_the_distance_alone(ask, layout):
    ask("inspect", f"rope:dim=32,layout={layout}", "--properties").ends(0).says("score depends on m - n alone yes")


def test_digits_that_the_file_shows_by_itself_are_those_of_the_option(ask):
    phases = np.outer(np.arange(100), 10000.0 ** (-np.arange(16) / 16))
    np.savetxt("t.csv", np.concatenate([np.cos(phases), np.sin(phases)], 1), fmt="%.6f", delimiter=",")
    own = ask("identify", "t.csv").ends(0).says("rope:dim=32,len=100,layout=concat", "sure: 6 decimals")
    assert ask("identify", "t.csv", "--digits", "6").out == own.out


def bfloat16_bits(values):
    """The bits of the nearest bfloat16 values, as uint16."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def float32_cache(dim, base, rows):
    """Cos and sin as float32 code computes them, from powers that are rounded once, each value rounded once."""
    exponents = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    w = np.float32(1) / (float(base) ** exponents.astype(np.float64)).astype(np.float32)
    angles = np.tile(np.arange(rows, dtype=np.float32)[:, None] * w, 2).astype(np.float64)
    return {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize(("dim", "base", "rows"), [(64, 10000, 275), (128, 10000000, 222), (96, 500000, 700)])
def test_narrow_caches_are_those_of_float32_arithmetic_to_the_bit(kind, dim, base, rows):
    made = float32_cache(dim, base, rows)
    narrow = {k: bfloat16_bits(v) if kind == "bfloat16" else v.astype(np.float16) for k, v in made.items()}
    found = pecli.identify(narrow)
    assert (found.arithmetic, found.equal, found.confidence) == ("float32", 1.0, "sure"), found
    assert f"all {2 * dim * rows:,} values are equal to what float32 phases give, rounded to {kind}" in str(found)


@pytest.mark.parametrize(("heads", "queries", "keys"), [(10, 4, 37), (12, 3, 45), (20, 5, 60)])
def test_the_arithmetic_of_an_alibi_is_that_of_its_recipe(heads, queries, keys):
    whole = 1 << (heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * k / whole) for k in range(1, whole + 1)]
    slopes += [2.0 ** (-4 * k / whole) for k in range(1, 2 * (heads - whole), 2)]
    distance = -np.abs(np.arange(keys) - np.arange(keys - queries, keys)[:, None]).astype(np.float32)
    found = pecli.identify({"bias": np.array(slopes, np.float32)[:, None, None] * distance})
    assert ("arithmetic=float32" in found.recipe) == (found.arithmetic == "float32")
    assert found.arithmetic == "float32" or heads != 10


@pytest.mark.parametrize("shapes", [((4, 6), (4, 3)), ((5, 7), (5, 2)), ((9, 3), (9, 8)), ((3, 3), (3, 4))])
def test_arrays_of_one_value_each_are_no_matrix_of_query_and_key(shapes):
    said = str(
        pecli.identify({name: np.full(shape, k) for k, (name, shape) in enumerate(zip("ab", shapes, strict=True))})
    )
    assert "query" not in said and "a: all values are 0" in said and "b: all values are 1" in said


@pytest.mark.parametrize(
    ("values", "word"), [([-np.inf], "infinity"), ([np.nan], "NaN"), ([np.nan, np.inf], "NaN and infinity")]
)
def test_statistics_say_which_values_they_leave_out(values, word):
    drawn = np.random.default_rng(0).normal(size=(30, 6))
    assert "without" not in str(pecli.identify(drawn))
    drawn[3 : 3 + len(values), 2] = values
    assert f"without {word}" in str(pecli.identify(drawn))


@pytest.mark.parametrize("value", [1, 2 - 3j])
def test_statistics_of_complex_values_are_those_of_each_part(value):
    said = str(pecli.identify(np.full((3, 5), value, np.complex64)))
    real, imag = np.real(value), np.imag(value)
    assert f"array.real: all values are {real:g}" in said and f"array.imag: all values are {imag:g}" in said


@pytest.mark.parametrize("decimals", [4, 5, 6])
def test_a_half_way_value_is_not_called_the_exact_one(decimals):
    exact = np.exp(1j * np.arange(60)[:, None] * 10000.0 ** -(np.arange(8) / 8)).view(np.float64)
    exact = exact.reshape(60, 8, 2)[..., ::-1].reshape(60, 16)
    printed = np.array([[float(f"{v:.{decimals}f}") for v in row] for row in exact])
    assert f"every value is the exact one to {decimals} decimals" in str(pecli.identify(printed))
    half = np.abs(np.abs(exact - printed) * 10**decimals - 0.5)
    at = np.unravel_index(half.argmin(), half.shape)
    printed[at] += np.sign(exact[at] - printed[at]) * 10.0**-decimals
    said = str(pecli.identify(np.round(printed, decimals)))
    assert "the exact one to" not in said, (said, half.min())


@pytest.mark.parametrize("width", [16, 64, 128])
def test_position_0_alone_has_no_width(width):
    said = str(pecli.identify({"cos": np.ones((1, width), np.float32), "sin": np.zeros((1, width), np.float32)}))
    assert f"dim={2 * width}" in said and f"dim={width} with layout=half" in said


@pytest.mark.parametrize("size", [32, 64, 200])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_cosine_transform_is_evenly_spaced_though_its_first_row_is_smaller(size, kind):
    rows, columns = np.arange(size)[:, None], np.arange(size)
    basis = np.sqrt(2 / size) * np.cos(np.pi * (columns + 0.5) * rows / size)
    basis[0] /= np.sqrt(2)
    first, last = np.pi * (size - 0.5) / size, np.pi / 2 / size
    said = str(pecli.identify(basis.astype(kind)))
    assert f"{size} frequencies, in one array, magnitude {np.sqrt(2 / size):.4g}" in said
    assert f"evenly spaced: about {first:.4g} to {last:.4g} radians" in said


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("table", ["rope:dim=64,layout=half,len=64", "sinusoidal:dim=32,len=50", "rope:dim=16,len=20"])
def test_bits_of_the_other_16_bit_type_are_named(kind, table, wide):
    """`kind` is the type that the file has; its bits are those of the other one."""
    read = {}
    for name, values in pecli.table(table, dtype="float64").items():
        bits = bfloat16_bits(values) if kind == "float16" else np.asarray(values).astype(np.float16).view(np.uint16)
        read[name] = bits.view(np.float16) if kind == "float16" else bits
        if wide:
            read[name] = (
                (bits.astype(np.uint32) << 16).view(np.float32) if kind != "float16" else read[name].astype("f4")
            )
    said = f"the bytes are those of {'b' * (kind == 'float16')}float16 values, read as {kind}"
    if not wide:
        found = pecli.identify(read)
        assert found.recipe and found.recipe.startswith(table.split(",")[0]) and said in str(found)
    said = f"{'b' * (kind == 'float16')}float16 whose bits were read as {kind}"
    assert said in pecli.compare(read, table).findings[0].text


def test_near_ratios_of_frequencies_are_told_apart():
    for ratio, word in ((1.00002, "1.00002"), (0.5, "0.5"), (1 - 1e-5, "0.99999")):
        w = 10000.0 ** -(np.arange(32) / 32)
        w[4:6] *= ratio
        angles = np.arange(4000)[:, None] * w
        found = pecli.compare({"cos": np.cos(angles), "sin": np.sin(angles)}, "rope:dim=64,dtype=float64").findings
        assert f"pairs 4 and 5 turn {word} times as fast" in found[0].text, found
