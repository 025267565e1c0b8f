"""What unseen tables of other people taught: each was silent or false once."""

from pathlib import Path

import h5py
import numpy as np
import pytest

import pecli
from pecli.judge.planes import rounded
from tests.judge.answers import UNKNOWN, angles, cache, frequencies, get_slopes, sinusoid


@pytest.mark.parametrize("part", ["cos", "sin"])
@pytest.mark.parametrize("rows", [256, 2048])
@pytest.mark.parametrize(
    "recipe",
    [
        "rope:dim=128,base=500000,scaling=llama3,original-max=8192,factor=8",
        "rope:dim=64,scaling=yarn,original-max=4096,factor=16",
    ],
)
def test_a_lone_component_of_a_scaled_cache_is_named(ask, recipe, rows, part):
    np.save(f"{part}.npy", np.asarray(pecli.table(f"{recipe},len={rows}")[part]))
    ask("identify", f"{part}.npy").says(f"{recipe},len={rows} (sure").never(*UNKNOWN)


def half_steps(width, kind):
    """Frequencies as the PyTorch tutorial gives them where every step is in a narrow type."""
    exponents = rounded(np.arange(0, width, 2) * rounded(np.array(-np.log(10000.0) / width), kind), kind)
    return rounded(np.exp(exponents), kind)


@pytest.mark.parametrize("width", [64, 128])
def test_a_tutorial_in_float16_throughout_is_told(ask, width):
    phases = rounded(np.outer(np.arange(1024), half_steps(width, "float16")), "float16")
    values = np.stack([np.sin(phases), np.cos(phases)], axis=2).reshape(1024, width).astype("float16")
    np.save("pe.npy", values)
    ask("identify", "pe.npy").says(f"sinusoidal:dim={width}", "angles computed in float16").never(*UNKNOWN)
    answer = ask("compare", "pe.npy", f"sinusoidal:dim={width}").ends(1)
    answer.says("phases were computed in float16", "first beyond rounding at position 1")


def test_a_base_that_was_rounded_to_bfloat16_is_no_other_base(ask):
    inverse = rounded(1 / rounded(9984.0 ** rounded(np.arange(32) / 32, "bfloat16"), "bfloat16"), "bfloat16")
    phases = np.outer(np.arange(512), inverse)
    np.savez("c.npz", cos=np.cos(phases).astype("float32"), sin=np.sin(phases).astype("float32"))
    ask("identify", "c.npz").says("rope:dim=64,len=512 (sure: frequencies computed in bfloat16)")
    ask("compare", "c.npz", "rope:dim=64").ends(1).says("frequencies (inv_freq) were computed in bfloat16")


def test_time_steps_in_any_order_are_named_with_their_positions(ask):
    steps = [999, 957, 901, 850, 777, 640, 512, 401, 333, 250, 128, 64, 21, 1]
    w = frequencies(256)
    exact = np.outer(steps, w)
    float32 = (np.array(steps, "float32")[:, None] * w.astype("float32")).astype(np.float64)
    for name, phases in (("exact", exact), ("float32", float32)):
        np.save(f"{name}.npy", np.concatenate([np.cos(phases), np.sin(phases)], axis=1).astype("float32"))
    listed = "positions=" + "+".join(map(str, steps))
    ask("identify", "exact.npy").says("sinusoidal:dim=256,order=cos-sin", listed, "(sure")
    ask("compare", "float32.npy", "exact.npy").ends(1).says("different, but harmless: rounding of float32 phases")
    answer = ask("compare", "exact.npy", "sinusoidal:dim=256,order=cos-sin").ends(1)
    answer.says("rows are at other positions: 999, 957, 901")


def test_sines_in_one_half_whose_cosines_lag_are_told(ask):
    j = np.arange(0, 128, 2) / 128
    p = np.arange(300)
    sines, cosines = (wave(np.outer(p, 10000.0**-e)) for wave, e in ((np.sin, j), (np.cos, j + 1 / 128)))
    np.save("pe.npy", np.concatenate([sines, cosines], axis=1).astype("float32"))
    said = "sine and cosine of a pair have different frequencies: exponents 2i/d and (2i + 1)/d"
    ask("identify", "pe.npy").says(f"nearly sinusoidal:dim=128,order=sin-cos: {said}")
    ask("compare", "pe.npy", "sinusoidal:dim=128,order=sin-cos").ends(1).says(said)


def test_a_doubled_exponent_is_told_of_its_base(ask):
    np.save("pe.npy", sinusoid(128, 64, base=1e8).astype("float32"))
    ask("identify", "pe.npy").says("base=1e8", "the same as base 10000 with every exponent doubled")


def test_columns_that_were_scaled_by_themselves_are_told(ask):
    values = sinusoid(128, 16)
    np.save("standard.npy", (values - values.mean(0)) / values.std(0))
    np.save("range.npy", (values - values.min(0)) / np.ptp(values, 0))
    ask("identify", "standard.npy").says("nearly sinusoidal:dim=16: each column is standardised")
    ask("compare", "range.npy", "sinusoidal:dim=16").ends(1).says("each column is scaled to 0 .. 1")


def test_row_numbers_before_a_table_are_left_out(ask):
    values = sinusoid(250, 24)
    np.save("pe.npy", np.column_stack([np.arange(250), values]).astype("float32"))
    ask("identify", "pe.npy").says("sinusoidal:dim=24,len=250 (sure", "column 0 numbers the rows and was left out")


@pytest.mark.parametrize("values", [np.tile([0, 1], 32), np.repeat([1, 0], 32)])
def test_a_row_of_position_0_is_no_mask(ask, values):
    np.save("row.npy", values[None])
    ask("identify", "row.npy").says("unknown: 0 and 1 in", "the sines and cosines of position 0").never("mask")


def test_a_lone_column_says_that_it_stands_for_any_width(ask):
    np.save("column.npy", np.sin(np.arange(200)).astype("float32"))
    ask("identify", "column.npy").says("one column: the first of a table of any width and base")


@pytest.mark.parametrize(
    "values", [np.arange(4096).reshape(64, 64), np.outer(np.arange(64), np.arange(64)).astype("f4")]
)
def test_numbers_that_rise_are_no_angles_at_odd_positions(ask, values):
    np.save("a.npy", values)
    ask("identify", "a.npy").says("unknown").never("nearly", "positions start", "positions advance")


def test_heads_that_were_gathered_in_another_order_are_told(ask):
    slopes = get_slopes(32)
    rows = slopes[:, None, None] * (np.arange(128) - 127)
    np.save("bias.npy", np.concatenate([rows[16:], rows[:16]]).astype("float32"))
    ask("identify", "bias.npy").says("nearly alibi:heads=32,bias=last-key: the heads are shifted cyclically by 16")


def test_an_index_without_its_offset_is_told(ask):
    index = np.asarray(pecli.table("window:grid=8x8,form=index")["index"])
    np.save("index.npy", index - 112)
    ask("identify", "index.npy").says("nearly window:grid=8x8: 112 is subtracted from all values")


def test_slopes_in_a_column_are_slopes(ask):
    np.savetxt("slopes.csv", 0.5 ** np.arange(1, 8))
    answer = ask("compare", "slopes.csv", "alibi:heads=7").ends(1)
    answer.says("the slopes are the first 7 of those of 8 heads").never("form", "dense")


def test_one_value_beyond_the_printed_digits_is_listed_alone(ask):
    values = np.round(sinusoid(12, 8), 4)
    values[7, 2] = 0.6424
    np.savetxt("handout.csv", values, delimiter=",", fmt="%.4f")
    answer = ask("compare", "handout.csv", "sinusoidal:dim=8", "--digits", "4").ends(1)
    answer.says("different: array[7, 2] is 0.6424, expected 0.644").never("rows from 1 on")


def test_decimals_of_another_file_are_accepted_by_their_number(ask):
    values = sinusoid(100, 32).astype("float32")
    np.save("pe.npy", values)
    np.savetxt("pe.csv", values, delimiter=",", fmt="%.6f")
    ask("compare", "pe.csv", "pe.npy").ends(1).says("its values have 6 decimals; --digits 6 accepts it")
    ask("compare", "pe.csv", "pe.npy", "--digits", "6").ends(0)


def test_features_of_points_are_not_called_random(ask):
    points = np.random.default_rng(0).uniform(-1, 1, (200, 3)).round(6)
    np.savetxt("points.csv", points, delimiter=",", fmt="%.6f")
    waves = [wave(np.pi * 2**k * points) for k in range(6) for wave in (np.sin, np.cos)]
    np.save("enc.npy", np.concatenate([points, *waves], axis=1).astype("float32"))
    recipe = "nerf:bands=6,convention=code,coordinates=given,point-axes=3,points=points.csv"
    ask("compare", "enc.npy", recipe).ends(1).says("different: pi=true where pi=false was expected").never("random")


def test_coordinates_of_another_shape_are_compared_in_their_order(ask):
    values = np.asarray(pecli.table("window:grid=8x8,version=2")["coordinates"]).reshape(1, 15, 15, 2)
    np.save("table.npy", np.nextafter(values, np.float32(9), dtype="float32"))
    answer = ask("compare", "table.npy", "window:grid=8x8,version=2").ends(1)
    answer.says("the values are in the same order", "compared: coordinates alone").never("int64", "--ulp")


def test_arrays_in_a_group_are_compared_with_a_recipe(ask):
    with h5py.File("cache.h5", "w") as file:
        for name, values in cache(angles(64, 32)).items():
            file[f"rope/{name}"] = values.astype("float32")
    ask("compare", "cache.h5", "rope:dim=32").never("must be words").ends(0)


def test_unknown_weights_are_called_trained(ask):
    values = np.cumsum(np.random.default_rng(0).normal(0, 0.01, (64, 96)), axis=0).astype("float32")
    np.savez("wpe.npz", **{"wpe.weight": values})
    ask("identify", "wpe.npz").says("no known formula gives these values, and 'weight' names what was trained")
    ask("compare", "wpe.npz", "sinusoidal:dim=96").ends(1).says("no known formula gives these values")


def test_shuffled_rows_beside_their_positions_are_sorted(ask):
    order = np.random.default_rng(0).permutation(150)
    table = {f"pe_{k}": column for k, column in enumerate(sinusoid(150, 32, base=100)[order].T)}
    np.savetxt(
        "features.csv", np.column_stack([order, *table.values()]), delimiter=",", header=f"position,{','.join(table)}",
        comments="", fmt=["%d", *["%.9g"] * 32],
    )  # fmt: skip
    said = "the rows are not in the order of the positions that the file states"
    ask("identify", "features.csv").says("sinusoidal:dim=32,base=100,len=150 (sure", said)


def test_columns_of_sines_and_cosines_in_turn_are_a_sinusoid(ask):
    names = ",".join(f"sin{k},cos{k}" for k in range(4))
    np.savetxt("t.csv", sinusoid(30, 8), delimiter=",", header=names, comments="", fmt="%.6f")
    ask("identify", "t.csv").says("sinusoidal:dim=8,len=30 (sure: 6 decimals)").never("rope")


def test_positions_of_packed_sequences_are_told(ask):
    ids = np.concatenate([np.arange(100), np.arange(60), np.arange(96)])
    np.save("position_ids.npy", np.stack([ids, np.arange(256)]))
    ask("identify", "position_ids.npy").says("whole numbers that count up from 0 and begin again")


def test_one_array_against_two_of_its_shape_is_no_other_shape(ask):
    half, split = cache(angles(128, 64), "half"), cache(angles(128, 64))
    np.savez("two.npz", **{f"{name}_cached": values.astype("float32") for name, values in half.items()})
    np.savez("one.npz", cache=np.concatenate([split["cos"], split["sin"]], axis=1).astype("float32"))
    answer = ask("compare", "two.npz", "one.npz").ends(1)
    answer.says("cos and sin stand in two arrays", "the arrays differ").never("path::name", "the shapes differ")


def test_a_wider_head_is_compared_in_its_own_layout(ask):
    np.savez("cache.npz", **{name: v.astype("float32") for name, v in cache(angles(64, 160), "half").items()})
    ask("compare", "cache.npz", "rope:dim=128").ends(1).says(
        "dim 160 where 128 was expected", "64 x 160 against 64 x 128"
    )


def test_a_rounding_stays_a_rounding_under_a_tolerance(ask):
    phases = (np.arange(1024, dtype="float32")[:, None] * frequencies(64).astype("float32")).astype(np.float64)
    np.savez("c.npz", cos=np.cos(phases).astype("float32"), sin=np.sin(phases).astype("float32"))
    answer = ask("compare", "c.npz", "rope:dim=64", "--atol", "3.5e-5").ends(1)
    answer.says("different, but harmless: rounding of float32 phases").never("expected 0", "cos[")


def test_noise_on_rows_from_a_start_is_no_other_position(ask):
    noise = np.random.default_rng(0).normal(0, 1e-5, (64, 64))
    np.save("pe.npy", (sinusoid(164, 64)[100:] + noise).astype("float32"))
    ask("compare", "pe.npy", "sinusoidal:dim=64,start=100").ends(1).says("unrelated numbers").never("other positions")


def test_noise_and_quantisation_of_positions_are_named_by_identify(ask):
    exact = np.asarray(pecli.table("sinusoidal:dim=128,order=sin-cos,shift=1,len=200")["pe"])
    noise = np.random.default_rng(0).normal(0, 0.002, exact.shape)
    np.save("pe.npy", (exact + noise).astype("float32"))
    ask("identify", "pe.npy").says("nearly sinusoidal:dim=128,order=sin-cos,shift=1: the expected values plus", "0.002")
    step = np.abs(exact.reshape(-1, 32)).max(axis=1, keepdims=True) / 127
    np.save(
        "pe.npy",
        (np.rint(exact.reshape(-1, 32) / np.maximum(step, 1e-9)) * step).reshape(exact.shape).astype("float32"),
    )
    ask("identify", "pe.npy").says("nearly sinusoidal:dim=128,order=sin-cos,shift=1: quantised to 8 bits")


def test_frequencies_and_their_divisors_are_named_with_their_type(ask):
    plain = frequencies(128, 5e5)
    np.save("inv_freq.npy", rounded(plain, "bfloat16").astype("float32"))
    ask("identify", "inv_freq.npy").says("rope:dim=128,base=500000,dtype=bfloat16", "have the precision of bfloat16")
    recipe = (
        "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192,layout=angles,dtype=float64,start=1,len=1"
    )
    scaled = np.asarray(pecli.table(recipe)["angles"])[0, :64]
    np.save("rope_freqs.npy", (plain / scaled).round(12).astype("float32"))
    ask("identify", "rope_freqs.npy").says(
        "scaling=llama3,original-max=8192,factor=8", "the divisors of its frequencies"
    )


def test_points_beside_their_features_are_found(ask):
    points = np.random.default_rng(0).uniform(-1, 1, (200, 3)).astype("float32")
    parts = [f(np.float32(2.0**k) * points) for k in range(6) for f in (np.sin, np.cos)]
    np.save("embedded.npy", np.concatenate([points, *parts], axis=1))
    ask("identify", "embedded.npy").says(
        "nerf:bands=6", "pi=false,points=FILE (sure", "a file of columns 0 to 2 of this one"
    )


def test_a_period_of_hours_that_begins_again_is_measured_within_a_day(ask):
    hours = np.tile(np.arange(24), 3) / 23 * 2 * np.pi
    np.savez("hours.npz", sin=np.sin(hours), cos=np.cos(hours))
    ask("identify", "hours.npz").says(
        "cyclic features: sin and cos, one turn takes 23 rows, the angle jumps at rows 24 and 48"
    ).never("unknown")


def test_one_wrong_value_of_a_worked_example_is_found(ask):
    values = sinusoid(5, 4).round(3)
    values[2, 1] *= -1
    np.savetxt("worked.csv", values, fmt="%.3f", delimiter=",")
    ask("identify", "worked.csv").says("nearly sinusoidal:dim=4: array[2, 1] is 0.416, expected -0.416")
    np.savetxt("worked.csv", sinusoid(6, 4), fmt="%.3f", delimiter=",")
    ask("identify", "worked.csv").says("sinusoidal:dim=4,len=6 (sure: 3 decimals)")


def test_words_before_decimals_are_a_row_and_no_headings(ask):
    rows = [f"word{k}," + ",".join(f"{v:.4f}" for v in row) for k, row in enumerate(sinusoid(9, 8, start=1))]
    with open("words.csv", "w") as file:
        file.write("\n".join([*rows, ""]))
    ask("identify", "words.csv").says("sinusoidal:dim=8,len=9,start=1")


def test_positions_along_the_batch_are_told(ask):
    np.save("pe.npy", np.repeat(sinusoid(8, 64)[:, None], 20, axis=1).astype("float32"))
    ask("identify", "pe.npy").says("sinusoidal:dim=64,len=8", "axis 1 repeats each row")
    ask("compare", "pe.npy", "sinusoidal:dim=64").says("different: positions run along axis 0").never("interpolation")


def test_rows_of_two_parts_are_no_single_shift(ask):
    rows = np.r_[128:256, 768:896]
    np.savez("rank.npz", **{name: values[rows] for name, values in cache(angles(1024, 64), "half").items()})
    ask("identify", "rank.npz").says(
        "rows 0 to 127 hold", "rows 128 to 255 hold what was expected at rows 768 to 895"
    ).never("and so on")


def test_one_damaged_value_of_cosines_alone_is_found(ask):
    values = cache(angles(500, 96), "half")["cos"].copy()
    values[300, 17] = 1e-20
    np.save("cos_cached.npy", values)
    ask("identify", "cos_cached.npy").says("nearly rope:dim=96", "[300, 17] is 1e-20")


def test_cosines_and_sines_with_exchanged_axes_are_one_table(ask):
    np.savez("rope.npz", **{name: values.T for name, values in cache(angles(300, 64, 5e5)).items()})
    ask("identify", "rope.npz").says("rope:dim=64,base=500000,len=300 (sure", "rows and columns are exchanged")


def cyclic(path, turns):
    """Write sine and cosine of some turns as two columns."""
    angles = 2 * np.pi * np.asarray(turns)
    lines = [f"{sin!r},{cos!r}" for sin, cos in zip(np.sin(angles).tolist(), np.cos(angles).tolist(), strict=True)]
    Path(path).write_text("\n".join(["day_sin,day_cos", *lines]) + "\n")


@pytest.mark.parametrize(("turns", "said"), [
    (np.arange(1, 367) / 365, "different: day_sin and day_cos: one turn takes 365 rows where 365.25 were expected"),
    (np.arange(11, 377) / 365.25, "every angle is ahead by 10 rows (0.172 radians)"),
    (np.arange(0, 366) / 365.25, "every angle is behind by 1 row (0.0172 radians)"),
    (np.arange(1, 367) / 365.25, "same"),
    (np.round(np.arange(1, 367) + 0.3 * np.sin(np.arange(366) * 99), 2) / 365.25, "angles are off by up to 0.0052 radians (0.3"),
])  # fmt: skip
def test_another_period_or_start_of_a_day_is_told(ask, turns, said):
    cyclic("have.csv", turns)
    cyclic("want.csv", np.arange(1, 367) / 365.25)
    ask("compare", "have.csv", "want.csv").says(said)


def test_one_turn_of_a_pair_is_told_in_rows(ask):
    cyclic("hours.csv", np.arange(24) / 23)
    ask("identify", "hours.csv").says("one turn takes 23 rows")
    angles = 15.0 * np.arange(24)
    np.save("degrees.npy", np.stack([np.sin(angles), np.cos(angles)], 1).round(6))
    ask("identify", "degrees.npy").says("15 radians a row, as of 15 degrees that were taken for radians")


@pytest.mark.parametrize(("times", "own"), [(1, "i"), (2, "2i")])
def test_an_exponent_of_each_column_of_detr_is_named(ask, times, own):
    n, (y, x) = 32, np.indices((12, 10)) + 1
    w = 10000.0 ** (-times * np.arange(n) / n)
    parts = [at[..., None] / (side + 1e-6) * 2 * np.pi * w for at, side in ((y, 12), (x, 10))]
    for part in parts:
        part[..., ::2], part[..., 1::2] = np.sin(part[..., ::2]), np.cos(part[..., 1::2])
    np.save("pos.npy", np.concatenate(parts, -1).reshape(120, 64).astype("float32"))
    said = f"sine and cosine of a pair have different frequencies: temperature^({own}/n) in column i"
    ask("compare", "pos.npy", "detr:dim=64,grid=12x10,normalize=true").says(said)


@pytest.mark.parametrize(("coordinates", "factor", "extent", "said"), [
    (lambda x: x, 1, "", "the factor 2 pi is missing"),
    (lambda x: x, np.pi, "", "the angles are pi B x"),
    (lambda x: 2 * x - 1, 2 * np.pi, "", "the coordinates were moved from 0 .. 1 to -1 .. 1"),
    (lambda x: x, 2 * np.pi, ",extent=1", "coordinates lie in 0 .. 1 where -1 .. 1 was expected"),
    (lambda x: 4 * x, 2 * np.pi, ",extent=4", "coordinates are not divided by the extent"),
])  # fmt: skip
def test_features_of_points_with_another_factor_are_told(ask, coordinates, factor, extent, said):
    rng = np.random.default_rng(1)
    b, x = rng.normal(0, 2, (16, 2)).round(6), rng.uniform(0, 1, (40, 2)).round(6)
    np.save("b.npy", b)
    np.save("x.npy", x * float(extent[-1:] or 1))
    angles = factor * coordinates(x) @ b.T
    np.save("features.npy", np.concatenate([np.sin(angles), np.cos(angles)], 1).astype("float32"))
    recipe = f"fourier:dim=32,matrix=b.npy,points=x.npy,point-axes=2{extent}"
    ask("compare", "features.npy", recipe).says(f"different: {said}")


def test_reciprocals_of_frequencies_are_named_with_their_scaling(ask):
    np.save("freqs.npy", (500000.0 ** (np.arange(32) / 32)).astype("float32"))
    ask("identify", "freqs.npy").says("rope:dim=64,base=500000 (sure", "the reciprocals of its frequencies")


def test_frequencies_of_which_some_are_other_numbers_are_found(ask):
    w = (1e6 ** (-np.arange(64) / 64)).astype("float32")
    w[40:] = np.float32(2.0) ** np.random.default_rng(0).integers(-100, 90, 24)
    np.save("inv_freq.npy", w)
    ask("identify", "inv_freq.npy").says("nearly rope:dim=128,base=1000000: frequencies 40 to 63 hold other numbers")
    ask("compare", "inv_freq.npy", "rope:dim=128,base=1000000").says("different: frequencies 40 to 63 hold other")


def test_negative_frequencies_are_called_so(ask):
    w = 1.1 * 10000.0 ** (-np.arange(32) / 31)
    w[30:] *= -1
    np.save("inv_freq.npy", w)
    ask("compare", "inv_freq.npy", "rope:dim=64").says("different: frequencies 30 and 31 are negative")


def test_slopes_times_a_factor_are_found(ask):
    slopes = 2.0 ** (-8 * np.arange(1, 33) / 32)
    np.save("decay.npy", (0.7 * slopes).astype("float32").reshape(32, 1, 1))
    ask("identify", "decay.npy").says("nearly alibi:heads=32: all values are 0.7 times the expected ones")


def test_sines_and_cosines_along_the_second_axis_are_read(ask):
    a = np.outer(np.arange(200), 10000.0 ** (-np.arange(16) / 16))
    a = np.concatenate([a, a], 1)
    np.save("positions.npy", np.stack([np.sin(a), np.cos(a)], 1).astype("float32"))
    said = "axis 1 holds the sines, then the cosines"
    ask("identify", "positions.npy").says("rope:dim=32,len=200,layout=half", said)
    ask("compare", "positions.npy", "rope:dim=32,base=500000").says(f"different: {said}", "base 10000 where 500000")


def test_two_caches_in_one_file_are_both_named(ask):
    both = {}
    for name, base in (("local", 10000.0), ("global", 1e6)):
        a = np.outer(np.arange(64), base ** (-np.arange(16) / 16))
        both |= {f"cos_{name}": np.cos(a).astype("float32"), f"sin_{name}": np.sin(a).astype("float32")}
    np.savez("both.npz", **both)
    said = "this describes 'cos_local' and 'sin_local'; 'cos_global' and 'sin_global' are rope:dim=32,base=1000000"
    ask("identify", "both.npz").says("rope:dim=32,len=64 (sure", said)


def test_lost_decimal_points_are_found(ask):
    table = sinusoid(20, 6).round(3)
    lines = [[f"{value:.3f}" for value in row] for row in table]
    for row, column in [(1, 0), (4, 0), (9, 1), *((row, 5) for row in range(10, 16))]:
        lines[row][column] = f"{round(1000 * table[row, column])}"
    Path("table.csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    said = "9 values lack their decimal point, such as 841 in row 1, column 0 for 0.841"
    ask("identify", "table.csv").says(f"nearly sinusoidal:dim=6: {said}")
    ask("compare", "table.csv", "sinusoidal:dim=6").says(f"different: {said}")


def test_evenly_spaced_bands_are_recognised(ask):
    x = np.linspace(-1, 1, 60)
    parts = [f(k * x) for k in np.linspace(1, 32, 6) for f in (np.sin, np.cos)]
    np.save("features.npy", np.stack([x, *parts], 1).astype("float32"))
    ask("identify", "features.npy").says("nerf:bands=6,grid=60,include-input=first,pi=false,spacing=linear (sure")


def test_exponents_over_the_turning_columns_are_told(ask):
    w = np.zeros(64)
    w[:16] = 10000.0 ** (-np.arange(16) / 16)
    a = np.outer(np.arange(100), w)
    np.savez("cache.npz", cos=np.cos(a).astype("float32"), sin=np.sin(a).astype("float32"))
    said = "different: exponents over the 32 columns that turn where 128 was expected: as base"
    ask("compare", "cache.npz", "rope:dim=128,scaling=proportional,partial=0.25").says(said)


def test_a_rotary_cache_quantised_to_int8_is_found(ask):
    a = np.outer(np.arange(256), 500000.0 ** (-np.arange(32) / 32))
    np.savez(
        "cache.npz", **{k: (np.rint(f(a) * 127) / 127).astype("float32") for k, f in (("cos", np.cos), ("sin", np.sin))}
    )
    ask("identify", "cache.npz").says("nearly rope:dim=64,base=500000: quantised to 8 bits")


def test_columns_that_agree_within_rounding_are_not_said_to_differ(ask):
    changed = (sinusoid(100, 64) + 4e-8).astype("float32")
    changed[:, 1::2] = np.cos(np.arange(100)[:, None] * np.linspace(0.9, 0.3, 32) ** 3)
    np.save("table.npy", changed)
    ask("compare", "table.npy", "sinusoidal:dim=64").says("every second column from column 1 on")


@pytest.mark.parametrize(("layout", "said"), [
    ("half", "the second half of the columns does not repeat the first, which is right"),
    ("interleaved", "the first column of each pair does not repeat the second, which is right"),
])  # fmt: skip
def test_half_of_a_cache_that_follows_other_positions_is_told(ask, layout, said):
    right = {name: np.asarray(array) for name, array in pecli.table(f"rope:dim=32,len=60,layout={layout}").items()}
    np.savez("right.npz", **right)
    part = np.s_[20:50, 16:] if layout == "half" else np.s_[20:50, ::2]
    for name, values in right.items():
        right[name] = values.copy()
        right[name][part] = np.random.default_rng(0).permuted(values[part], axis=0)
    np.savez("wrong.npz", **right)
    ask("compare", "wrong.npz", "right.npz").says(f"different: {said}")


def test_printed_slopes_counted_from_0_are_told(ask):
    np.savetxt("slopes.csv", 2.0 ** (-np.arange(16) / 2), fmt="%.9g")
    ask("compare", "slopes.csv", "alibi:heads=16").says(
        "different: the slopes count heads from 0: the first slope is 1"
    )


def test_rows_that_end_with_a_repeat_have_no_later_rows(ask):
    a = np.outer([*range(64), *range(32, 64)], 10000.0 ** (-np.arange(16) / 16))
    np.savez("used.npz", cos=np.cos(a).astype("float32"), sin=np.sin(a).astype("float32"))
    said = "rows 64 to 95 repeat rows 32 to 63"
    ask("identify", "used.npz").says(f"nearly rope:dim=32,len=96: {said}").never("later rows")
    ask("compare", "used.npz", "rope:dim=32").says(f"different: {said}").never("later rows")


@pytest.mark.parametrize(("rows", "width", "decimals"), [(3, 4, 3), (4, 4, 3), (3, 6, 4), (5, 4, 2), (4, 8, 5)])
def test_a_worked_example_of_few_digits_is_named(ask, rows, width, decimals):
    np.savetxt("board.csv", sinusoid(rows, width), fmt=f"%.{decimals}f", delimiter=",")
    ask("identify", "board.csv").says(f"sinusoidal:dim={width},len={rows} (", f"{decimals} decimals)")


def test_printed_features_with_their_points_are_one_table(ask):
    x = np.linspace(-1, 1, 41)
    columns = {"x": x} | {
        f"{name}{2**k}x": f(2**k * x) for k in range(4) for name, f in (("sin", np.sin), ("cos", np.cos))
    }
    np.savetxt(
        "f.csv", np.stack([*columns.values()], 1), fmt="%.7f", delimiter=",", header=",".join(columns), comments=""
    )
    ask("identify", "f.csv").says("nerf:bands=4,grid=41,include-input=first,pi=false")


def test_printed_rows_behind_their_numbers_are_named(ask):
    np.save("loaded.npy", np.concatenate([np.arange(50.0)[:, None], sinusoid(50, 16).astype(float).round(8)], 1))
    ask("identify", "loaded.npy").says("sinusoidal:dim=16,len=50 (sure: 8 decimals)", "column 0 numbers the rows")


@pytest.mark.parametrize("keys", ["", ",msb=true", ",code=gray"])
def test_bits_of_positions_are_named(ask, keys):
    bits = np.asarray(pecli.table(f"binary:dim=4{keys},len=16")["pe"]).astype(int)
    np.savetxt("bits.csv", bits, fmt="%d", delimiter=",", header="b3,b2,b1,b0", comments="")
    ask("identify", "bits.csv").says("binary:dim=4", "(sure").never("mask")


@pytest.mark.parametrize(("factor", "said"), [(2 * np.pi, "(sure"), (1, "the factor 2 pi is missing")])
def test_features_beside_their_points_and_matrix_are_named(ask, factor, said):
    rng = np.random.default_rng(3)
    b, x = rng.normal(0, 3, (8, 2)), rng.uniform(0, 1, (50, 2))
    angles = factor * x @ b.T
    features = np.concatenate([np.sin(angles), np.cos(angles)], 1)
    np.savez("f.npz", coords=x, B=b, features=features.astype("float32"))
    ask("identify", "f.npz").says("fourier:dim=16,matrix=", "FILE::B", "FILE::coords", said)


def test_a_missing_row_is_no_other_step(ask):
    np.savez("c.npz", **cache(angles(5, 64), "split"))
    short = {name: np.delete(values, 2, 0) for name, values in np.load("c.npz").items()}
    np.savez("short.npz", **short)
    ask("compare", "short.npz", "rope:dim=64").says("different: row 2 is missing").never("step")


@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_a_zero_column_is_no_pair_at_rest(ask, kind):
    a = angles(100, 64)
    table = np.concatenate([np.sin(a), np.cos(a)], 1).astype(kind)
    table[:, 19] = 0
    np.save("pe.npy", table)
    ask("compare", "pe.npy", "sinusoidal:dim=64,order=sin-cos").says("different: column 19 is zero").never("rotate")


@pytest.mark.parametrize("factor", [1.1, 1.3, 0.9])
def test_a_factor_in_a_narrow_type_is_the_nearest_number(ask, factor):
    np.save("pe.npy", (factor * sinusoid(64, 64)).astype("float16"))
    ask("compare", "pe.npy", "sinusoidal:dim=64,dtype=float16").says(f"every value is multiplied by {factor}")


def test_another_array_is_no_part_of_a_printed_one(ask):
    a = angles(5, 32)
    np.savez("c.npz", cos=np.cos(a).round(3), sin=np.random.default_rng(0).normal(size=a.shape).round(3))
    ask("identify", "c.npz").never("rope:", "every value agrees")


@pytest.mark.parametrize(("added", "said"), [
    (0.01, "0.01 is added to every frequency"),
    (0.001 * np.random.default_rng(0).normal(size=32), "unrelated numbers, such as noise, are added to the frequencies"),
])  # fmt: skip
def test_what_is_added_to_frequencies_is_told(ask, added, said):
    np.save("inv_freq.npy", (10000.0 ** (-np.arange(32) / 32) + added).astype("float32"))
    ask("compare", "inv_freq.npy", "rope:dim=64").says(f"different: {said}")


def test_other_parameters_of_a_scaling_are_no_noise(ask):
    np.save("w.npy", np.asarray(pecli.table("rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=131072,"
                                            "layout=angles,len=1,start=1")["angles"])[0])  # fmt: skip
    recipe = "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192"
    ask("compare", "w.npy", recipe).says("different: original-max 131072 where 8192 was expected")


def test_empty_cells_are_listed_together(ask):
    table = sinusoid(30, 8).astype(float).round(5)
    for row, column in ((3, 1), (3, 2), (11, 5), (20, 0), (27, 7)):
        table[row, column] = np.nan
    np.savetxt("gaps.csv", table, fmt="%.5f", delimiter=",")
    ask("identify", "gaps.csv").says("nearly sinusoidal:dim=8: 5 values are nan:", "[27, 7]").never("more reasons")


def test_a_period_of_months_that_begin_again_is_told(ask):
    months = np.tile(np.arange(1, 13), 3)
    cyclic("mine.csv", months / 11)
    cyclic("theirs.csv", months / 12)
    ask("compare", "mine.csv", "theirs.csv").says(
        "different: day_sin and day_cos: one turn takes 11 rows where 12 were expected"
    )


def test_values_that_went_through_a_picture_or_float8_are_quantised(ask):
    np.save("picture.npy", (np.rint((sinusoid(128, 64) + 1) * 127.5) / 127.5 - 1).astype("float32"))
    said = "quantised to 8 bits: the values of the array are 256 numbers, 0.007843 apart"
    ask("compare", "picture.npy", "sinusoidal:dim=64,len=128").says(f"different: {said}")
    exact = cache(angles(512, 128, 500000.0))
    step = {name: 2.0 ** np.maximum(np.floor(np.log2(np.abs(v) + 1e-30)) - 3, -9) for name, v in exact.items()}
    np.savez("c.npz", **{name: (np.rint(v / step[name]) * step[name]).astype("float16") for name, v in exact.items()})
    said = "the values were rounded to float8 (e4m3), which has 4 significant bits"
    ask("compare", "c.npz", "rope:dim=128,base=500000,len=512").says(f"different: {said}")


def test_sections_in_another_order_are_told_in_bfloat16(ask):
    recipe = "mrope:dim=128,base=5000000,sections=24+20+20,sequence=4+1x6x8+8"
    ask("generate", f"{recipe},layout=half,dtype=bfloat16", "-o", "c.safetensors").ends(0)
    answer = ask("compare", "c.safetensors", f"{recipe},section-order=interleaved")
    answer.says("different: section-order chunked where interleaved was expected").never("repeat")


def hours(at):
    return np.stack([np.sin(2 * np.pi * np.array(at) / 24), np.cos(2 * np.pi * np.array(at) / 24)], axis=1)


def test_hours_are_told_as_near_as_their_days_allow(ask):
    np.save("summer.npy", hours([*range(2), *range(3, 49)]))
    np.save("text.npy", hours(sorted(range(24), key=str)))
    recipe = "sinusoidal:dim=2,scale=0.26179938779914943,len="
    ask("compare", "summer.npy", f"{recipe}48").says("different: rows 2 to 47: every angle is ahead by 1 row")
    said = "different: the rows are in the order of numbers sorted as text: 0, 1, 10, 11, .."
    ask("compare", "text.npy", f"{recipe}24").says(said)


@pytest.mark.parametrize(("at", "said"), [
    (np.arange(36) + 1, "every angle is ahead by 1 row (0.5236 radians)"),
    ([*range(26), *range(27, 37)], "rows 26 to 35: every angle is ahead by 1 row"),
    (np.arange(36) * 12 / 11, "one turn takes 11 rows where 12 were expected"),
])  # fmt: skip
def test_months_are_told_in_rows_whatever_their_digits(ask, at, said):
    turns = 2 * np.pi * np.array(at) / 12
    values = np.stack([np.sin(turns), np.cos(turns)], axis=1)
    for name, own in {"printed": values.round(5), "single": values.astype("float32"), "exact": values}.items():
        np.save(f"{name}.npy", own)
        answer = ask("compare", f"{name}.npy", "sinusoidal:dim=2,scale=0.5235987755982988,len=36")
        answer.says(f"different: {said}").never("as if", "quarter turn")


def test_rows_that_were_skipped_are_missing(ask):
    values = np.asarray(pecli.table("mrope:dim=128,base=1000000,sections=16+24+24,sequence=6+1x4x4+32")["cos"])
    np.save("c.npy", np.concatenate([values[:22], values[34:54]]))
    np.save("expected.npy", values[:42])
    answer = ask("compare", "c.npy", "expected.npy").says("different: rows 22 to 33 are missing")
    answer.says("later rows have moved up by 12").never("hold what was expected at rows 0 to 41")


def test_parts_in_another_order_are_told_as_parts(ask):
    table = sinusoid(512, 32)
    np.save("ranks.npy", np.concatenate([table[64 * k : 64 * k + 64] for k in (0, 7, 1, 6, 2, 5, 3, 4)]))
    said = "different: parts of 64 rows stand in the order 0, 7, 1, 6, 2, 5, 3, 4"
    ask("compare", "ranks.npy", "sinusoidal:dim=32,len=512").says(said)
    cube = np.asarray(pecli.table("sincos3d:dim=64,grid=4x6x8")["pe"]).reshape(4, 6, 8, 64)
    np.save("cube.npy", cube.swapaxes(0, 1).reshape(192, 64))
    said = "different: the parts of 8 rows are those of a grid of 4 x 6 whose axes are exchanged"
    ask("compare", "cube.npy", "sincos3d:dim=64,grid=4x6x8").says(said)
    np.save("frames.npy", cube.swapaxes(1, 2).reshape(192, 64))
    said = "different: in each part of 48 rows, the rows are those of a grid of 6 x 8 whose axes are exchanged"
    ask("compare", "frames.npy", "sincos3d:dim=64,grid=4x6x8").says(said)


def test_features_of_coordinates_that_were_made_otherwise_are_told(ask):
    matrix, points = np.random.default_rng(0).normal(size=(16, 2)), np.random.default_rng(1).random((50, 2)).round(5)
    for name, values in {"B": matrix, "points": points}.items():
        np.save(f"{name}.npy", values)

    def features(at):
        return np.concatenate([f(2 * np.pi * at @ matrix.T) for f in (np.sin, np.cos)], axis=1)

    np.save("right.npy", features(points))
    np.save("turned.npy", features(points[:, ::-1]))
    recipe = "fourier:dim=32,matrix=B.npy,coordinates=given,points=points.npy,point-axes=2"
    ask("compare", "right.npy", recipe).says("but harmless: rounding of float64 phases")
    ask("compare", "turned.npy", recipe).says("different: the coordinates of each point are in the reverse order")
    corners = np.stack(np.meshgrid(*[np.linspace(-1, 1, 12)] * 2), axis=-1).reshape(-1, 2)
    np.save("map.npy", features(corners).T.reshape(1, 32, 12, 12).astype("float32"))
    answer = ask("compare", "map.npy", "fourier:dim=32,matrix=B.npy,grid=12x12,coordinates=centres")
    answer.says("the channels come before the grid", "coordinates corners where centres was expected")


def test_bands_up_to_the_resolution_are_told(ask):
    y, x = np.meshgrid(np.linspace(-1, 1, 12), np.linspace(-1, 1, 16), indexing="ij")
    at = np.stack([y, x], axis=-1).reshape(-1, 2)
    bands = [np.pi * at[:, k : k + 1] * np.linspace(1, side, 8) for k, side in enumerate((12, 16))]
    np.save("p.npy", np.concatenate([at, *map(np.sin, bands), *map(np.cos, bands)], axis=1).astype("float32"))
    said = "different: frequencies run up to the resolution R where R / 2 was expected"
    ask("compare", "p.npy", "bands:bands=8,grid=12x16").says(said)


def test_attention_factors_below_one_are_told(ask):
    np.save("f.npy", (np.log(np.arange(1, 4097)) / np.log(2048)).astype("float32"))
    said = "different: factors below 1 stand where 1 was expected: the maximum with 1 is missing"
    ask("compare", "f.npy", "query-scale:kind=log-n,length=2048,len=4096").says(said)


def test_a_flattened_cache_has_one_shape(ask):
    phases = angles(256, 64)
    np.save("c.npy", np.stack([np.cos(phases), np.sin(phases)], axis=-1).reshape(1, -1).astype("float32"))
    answer = ask("compare", "c.npy", "rope:dim=64,len=256,layout=pairs")
    answer.says("different: the array is flattened: 256 rows of 64 values", "harmless").never("the shape is")
