"""What three users met who had never seen the tool: a wrong sentence, a silence or a crash each."""

import json
from pathlib import Path

import numpy as np
import pytest

import pecli
from pecli.testing import assert_applied, assert_table


def frequencies(dim, base=1e4):
    return (1 / base ** (np.arange(0, dim, 2, dtype="f4") / np.float32(dim))).astype("f4")


def cache(positions, w):
    angles = np.asarray(positions, "f4")[:, None] * w
    both = np.concatenate([angles, angles], axis=1)
    return {"cos": np.cos(both), "sin": np.sin(both)}


def rotated(x, positions, w):
    angles, half = np.multiply.outer(positions, w), x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], axis=-1)


RIGHT = frequencies(128, 1e6)
ROPE = "rope:dim=128,base=1000000"


@pytest.mark.parametrize("names", [("cos_cached", "sin_cached"), ("cos", "sin"), ("rotary.cos", "rotary.sin")])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [(frequencies(128), "base 10000 where 1000000 was expected"), (2 * RIGHT, "every frequency is 2 times the expected"),
     (0 * RIGHT, "frequencies 0 to 63 are zero"),
     ((RIGHT.view("u4") + 0x8000 & 0xFFFF0000).view("f4"), "the frequencies were rounded to bfloat16")],
)  # fmt: skip
def test_wrong_frequencies_beside_a_right_cache_are_not_harmless(ask, names, wrong, said):
    made = dict(zip(names, cache(range(200), RIGHT).values(), strict=True))
    frequency = names[0].rpartition(".")[0] + "." * ("." in names[0]) + "inv_freq"
    np.savez("cache.npz", **made, **{frequency: wrong})
    ask("compare", "cache.npz", ROPE).ends(1).says(f"different: {frequency}: {said}").never("accepts it")
    with pytest.raises(AssertionError, match="inv_freq"):
        assert_table({**made, frequency: wrong}, ROPE, arithmetic="float32")
    np.savez("cache.npz", **made, **{frequency: RIGHT})
    ask("compare", "cache.npz", ROPE).says("different, but harmless")
    assert_table({**made, frequency: RIGHT}, ROPE, arithmetic="float32")


def test_identify_says_of_what_base_the_frequencies_beside_a_cache_are(ask):
    np.savez("cache.npz", **cache(range(200), frequencies(128)), inv_freq=RIGHT)
    ask("identify", "cache.npz").says("rope:dim=128,len=200", f"'inv_freq' is {ROPE}")


@pytest.mark.parametrize(
    ("made", "said"),
    [(RIGHT[::-1], "in reverse order"), (RIGHT / (2 * np.pi), "over 2 pi, as turns"),
     (2 * np.pi / RIGHT, "as wavelengths"), (np.tile(RIGHT, 2), "each stands twice (half-split)"),
     (RIGHT.repeat(2), "each stands twice (interleaved)")],
)  # fmt: skip
def test_a_list_of_frequencies_in_another_unit_or_order_is_named(ask, made, said):
    np.save("list.npy", made.astype("f4"))
    ask("identify", "list.npy").says(f"{ROPE} (sure", said).never("nearly")


def test_rows_of_one_position_are_those_of_it(ask):
    np.savez("step.npz", **cache([39, 39, 39], RIGHT))
    ask("compare", "step.npz", ROPE).ends(1).says("different: every row holds position 39").never("scaling")
    ask("identify", "step.npz").never("cyclic", "turn takes")


def test_the_right_divisors_of_a_gguf_are_right(ask):
    w = frequencies(128, 5e5).astype(float)
    turns = 8192 * w / (2 * np.pi)
    smooth = np.clip((turns - 1) / 3, 0, 1)
    np.save("rope_freqs.npy", (1 / ((1 - smooth) / 8 + smooth)).astype("f4"))
    recipe = "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192"
    ask("compare", "rope_freqs.npy", recipe).says(
        "the divisors of its frequencies (rope_freqs), and they are the expected"
    )


def test_bits_of_float16_are_not_called_bfloat16(ask):
    held = {name: values.astype("f2").view("u2") for name, values in cache(range(200), RIGHT).items()}
    np.savez("bits.npz", **held)
    ask("compare", "bits.npz", ROPE).says("the integers are the bits of float16 values").never("bfloat16")


def test_the_places_of_a_bias_come_before_its_rounding(ask):
    slopes = (2.0 ** -np.arange(0.5, 8.5, 0.5)).astype("f4").astype(float)
    query, key = np.arange(4)[:, None], np.arange(32)
    np.save("bias.npy", -slopes[:, None, None] * np.abs(key - query))
    answer = ask("compare", "bias.npy", "alibi:heads=16").ends(1)
    answer.says("different: the queries are the first of the keys, where the last were expected")


def test_frequencies_by_a_running_product_are_rounding(ask):
    ratio, w = np.float32(1e6) ** np.float32(-2 / 128), [np.float32(1)]
    for _ in range(63):
        w.append(np.float32(w[-1] * ratio))
    np.savez("cache.npz", **cache(range(4096), np.array(w)))
    ask("compare", "cache.npz", ROPE).says("different, but harmless: rounding of float32 phases")
    ask("identify", "cache.npz").says(f"{ROPE},len=4096")


@pytest.mark.parametrize("axes", ["bshd", "bs(hd)"])
def test_heads_side_by_side_are_judged_as_heads_apart(axes):
    x = np.random.default_rng(0).normal(size=(1, 24, 4, 64)).astype("f4")
    made = rotated(x.swapaxes(1, 2), np.arange(24), frequencies(64)).swapaxes(1, 2).astype("f4")
    shape = x.shape if axes == "bshd" else (1, 24, 256)
    with pytest.raises(AssertionError, match="base 10000 where 500000 was expected"):
        assert_applied(x.reshape(shape), made.reshape(shape), "rope:dim=64,base=500000", pairs="half", axes=axes)


def test_a_config_with_positions_of_each_batch_is_followed():
    config = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4,
              "rope_theta": 500000.0, "max_position_embeddings": 4096}  # fmt: skip
    x, places = np.random.default_rng(0).normal(size=(2, 4, 24, 64)).astype("f4"), np.add.outer([3, 7], np.arange(24))
    w = frequencies(64, 5e5)
    right = np.stack([rotated(one, at, w) for one, at in zip(x, places, strict=True)]).astype("f4")
    assert_applied(x, right, config, pairs="half", positions=places, axes="bhsd")
    with pytest.raises(AssertionError, match="every batch has the positions of the first one"):
        assert_applied(x, rotated(x, places[0], w).astype("f4"), config, pairs="half", positions=places, axes="bhsd")


@pytest.mark.parametrize(
    ("after", "said"),
    [(lambda x, y, rng: y / np.linalg.norm(y, axis=-1, keepdims=True), "each vector has another length"),
     (lambda x, y, rng: y * rng.uniform(0.5, 2, 64), "each column is multiplied by a number of its own"),
     (lambda x, y, rng: y + rng.normal(size=64), "one vector is added to all outputs"),
     (lambda x, y, rng: np.concatenate([y[..., :32], x[..., 32:]], -1), "columns 32 to 63 are those of the inputs")],
)  # fmt: skip
def test_what_was_done_after_a_rotation_is_named(after, said):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 4, 24, 64)).astype("f4")
    made = after(x, rotated(x, np.arange(24), frequencies(64)), rng).astype("f4")
    with pytest.raises(AssertionError, match=said):
        assert_applied(x, made, "rope:dim=64", pairs="half")


@pytest.mark.parametrize(("used", "wanted"), [(30, 0), (7, 40), (1057, 1000)])
def test_the_position_of_a_single_token_is_told(used, wanted):
    x = np.random.default_rng(0).normal(size=(1, 4, 1, 64)).astype("f4")
    made = rotated(x, np.array([used]), frequencies(64)).astype("f4")
    with pytest.raises(AssertionError, match=f"position {used} was used where {wanted} was expected"):
        assert_applied(x, made, "rope:dim=64", pairs="half", start=wanted)


@pytest.mark.parametrize(
    ("places", "base", "said"),
    [([5, 9, 100, 7], 1e4, "base 10000 where 1000000 was expected"), ([6, 10, 101, 8], 1e6, "1 too large"),
     ([0, 1, 2, 3], 1e6, "whatever positions were given"), ([1.25, 2.25, 25, 1.75], 1e6, "factor 4")],
)  # fmt: skip
def test_mistakes_at_uneven_positions_are_told(ask, places, base, said):
    np.savez("cache.npz", **cache(places, frequencies(128, base)))
    ask("compare", "cache.npz", f"{ROPE},positions=5+9+100+7").ends(1).says(said)


def test_matrices_of_pairs_are_compared(ask):
    angles = np.outer(np.arange(100), RIGHT)
    c, s = np.cos(angles), np.sin(angles)
    np.save("pairs.npy", np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2).astype("f4"))
    ask("compare", "pairs.npy", ROPE).says("different: each pair is a rotation matrix of 2 x 2", "rounding")


def test_two_rows_of_cosines_off_by_one_unit_are_harmless(ask):
    np.save("rows.npy", cache([0, 1], frequencies(64, 1e6))["cos"] * np.float32(1 + 2**-23))
    ask("compare", "rows.npy", "rope:dim=64,base=1000000").says("harmless").never("expected 0.")


@pytest.mark.parametrize("dim", [20, 24, 32, 50, 100])
@pytest.mark.parametrize("rows", [50, 60])
def test_a_forgotten_minus_is_told_of_every_width(ask, dim, rows):
    angles = np.outer(np.arange(rows), 1e4 ** (2 * np.arange(dim // 2) / dim))
    np.save("pe.npy", np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(rows, dim))
    ask("compare", "pe.npy", f"sinusoidal:dim={dim}").ends(1).says("different: exponent 2i/d where -2i/d was expected")


def test_the_same_numbers_are_no_other_draw(ask):
    trained = np.random.default_rng(0).normal(0, 0.02, (128, 32)).astype("f4")
    np.save("theirs.npy", trained)
    np.save("ours.npy", trained.reshape(32, 128).T)
    ask("compare", "ours.npy", "theirs.npy").says("reshaped to (32, 128) and then transposed").never("draw")
    np.save("ours.npy", np.sort(trained, axis=1))
    ask("compare", "ours.npy", "theirs.npy").says("the values are the expected ones, in another order").never("draw")
    mixed = trained.copy()
    mixed[:, [0, 15]] = np.linspace(0, 100, 256).reshape(128, 2)
    np.save("ours.npy", mixed)
    ask("compare", "ours.npy", "theirs.npy").never("unrelated", "nothing to do")


def test_few_slow_frequencies_are_no_repeated_rows(ask):
    angles = np.arange(60)[:, None] / 1e4 * (np.arange(0, 32, 2) / 32)
    np.save("pe.npy", np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(60, 32))
    ask("compare", "pe.npy", "sinusoidal:dim=32").ends(1).says("other frequencies").never("repeat")
    ask("identify", "pe.npy").never("repeat")


def hours(rows, period=24.0):
    return np.stack([part(2 * np.pi * rows / period) for part in (np.sin, np.cos)], axis=1)


def test_an_hour_that_is_missing_is_told_of_any_length(ask):
    np.save("theirs.npy", hours(np.arange(720)))
    np.save("ours.npy", hours(np.delete(np.arange(720), 200)))
    ask("compare", "ours.npy", "theirs.npy").says("row 200 is missing, later rows have moved up by 1")
    np.save("ours.npy", hours(np.delete(np.arange(720), range(300, 310))))
    ask("compare", "ours.npy", "theirs.npy").says("rows 300 to 309 are missing, later rows have moved up by 10")


def csv(name, columns):
    np.savetxt(name, np.stack(list(columns.values()), axis=1), fmt="%.6f", delimiter=",", header=",".join(columns),
               comments="")  # fmt: skip


def test_milliseconds_for_seconds_are_one_factor(ask):
    for name, times in (("ours.csv", 1000), ("theirs.csv", 1)):
        day, year = (hours(times * np.arange(2000), period) for period in (24, 8765.82))
        csv(name, {"day_sin": day[:, 0], "day_cos": day[:, 1], "year_sin": year[:, 0], "year_cos": year[:, 1]})
    ask("compare", "ours.csv", "theirs.csv").ends(1).says("both pairs turn 1000 times as fast")
    ask("identify", "ours.csv").ends(0).says("cyclic features")


def test_a_month_that_does_not_change_hides_no_hours(ask):
    rows = np.arange(24 * 14)
    day, month = hours(rows), hours(0 * rows + 1, 12)
    csv("jan.csv", {"hour_sin": day[:, 0], "hour_cos": day[:, 1], "month_sin": month[:, 0], "month_cos": month[:, 1]})
    ask("identify", "jan.csv").says("hour_sin and hour_cos, one turn takes 24 rows", "the angle does not change")


def test_months_from_zero_on_are_a_cycle(ask):
    year = hours(np.arange(12), 12)
    csv("months.csv", {"month": np.arange(1, 13), "sin": year[:, 0], "cos": year[:, 1]})
    ask("identify", "months.csv").says("cyclic features: sin and cos, one turn takes 12 rows").never("nearly")


def test_axes_and_layout_of_a_rotary_grid_are_both_told(ask):
    y, x = np.divmod(np.arange(12 * 20), 20)
    angles = np.concatenate([np.outer(p, 1e4 ** (-np.arange(16) / 16)) for p in (x, y)], axis=1)
    np.savez("grid.npz", cos=np.cos(angles).repeat(2, 1), sin=np.sin(angles).repeat(2, 1))
    answer = ask("compare", "grid.npz", "rope2d:grid=12x20,dim=64,layout=half").ends(1)
    answer.says("height and width are exchanged", "the columns are interleaved where half-split ones were expected")


def test_an_array_of_a_file_may_end_a_recipe(ask):
    points = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    angles = points[:, None] * 2.0 ** np.arange(4)[:, None]
    both = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(50, -1)
    np.savez("points.npz", points=points, encoded=np.concatenate([points, both], axis=1))
    recipe = "nerf:bands=4,coordinates=given,point-axes=3,order=by-frequency,include-input=first,pi=false"
    ask("compare", "points.npz::encoded", f"{recipe},points=points.npz::points").never("choose it with")


def test_grouped_keys_have_the_heads_that_their_rows_give(ask):
    rng = np.random.default_rng(0)
    weights = {"q_proj.weight": rng.normal(size=(256, 64)), "k_proj.weight": rng.normal(size=(64, 64))}
    moved = {}
    for name, values in weights.items():
        heads = values.reshape(-1, 32, 64)
        moved[name] = np.concatenate([heads[:, ::2], heads[:, 1::2]], axis=1).reshape(values.shape)
    np.savez("theirs.npz", **weights)
    np.savez("ours.npz", **moved)
    ask("compare", "ours.npz", "theirs.npz", "--heads", "8").says("rows permuted: half against interleaved")


def test_numbers_of_columns_above_decimal_commas_are_no_row(ask):
    rows = cache(range(8), frequencies(32))["cos"]
    lines = [";".join(map(str, range(32))), *(";".join(f"{v:.3f}".replace(".", ",") for v in row) for row in rows)]
    with open("table.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    ask("compare", "table.csv", "rope:dim=32").says("all values are right, rounded to 3 decimals")


def test_time2vec_has_a_straight_line_and_may_lack_its_phase(ask):
    rng = np.random.default_rng(0)
    w, phase = rng.uniform(0, 1, (2, 16))
    for name, own in (("ours.npy", 0), ("theirs.npy", phase)):
        table = np.sin(np.arange(200)[:, None] * w + own)
        table[:, 0] = np.arange(200) * w[0] + np.broadcast_to(own, 16)[0]
        np.save(name, table.astype("f4"))
    ask("identify", "theirs.npy").says("column 0 is a straight line")
    ask("compare", "ours.npy", "theirs.npy").ends(1).never("internal error")


def test_positions_that_are_no_steps_are_said_to_be_uneven(ask):
    places = np.log(np.geomspace(0.002, 80, 50)) / 4
    angles = np.outer(places, 1e4 ** (-np.arange(64) / 64))
    np.save("noise.npy", np.concatenate([np.sin(angles), np.cos(angles)], axis=1)[np.argsort(places**2)])
    assert "radians a row" not in str(pecli.identify(np.load("noise.npy")).measured)


def test_words_for_columns_of_the_input_and_falling_positions(ask):
    x = np.linspace(-1, 1, 64)
    angles = x[:, None] * 2.0 ** np.arange(10)
    both = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(64, 20)
    np.save("ours.npy", both)
    np.save("theirs.npy", np.concatenate([x[:, None], both], axis=1))
    ask("compare", "ours.npy", "theirs.npy").says("the input columns are missing")
    np.save("times.npy", pecli.table("sinusoidal:dim=128,len=50,start=999,step=-20")["pe"])
    said = "positions fall by 20 where they were expected to rise by 20"
    ask("compare", "times.npy", "sinusoidal:dim=128,len=50,step=20").says(said)


def test_a_conversion_that_was_done_twice_is_told(ask):
    w = frequencies(128)
    half = cache(range(300), w)["cos"]
    np.savez("ours.npz", **{k: np.concatenate([v[:, ::2], v[:, 1::2]], 1) for k, v in cache(range(300), w).items()})
    said = "the columns were put from interleaved into half-split order once more"
    ask("compare", "ours.npz", "rope:dim=128,layout=half").ends(1).says(said).never("were expected")
    np.save("cos.npy", np.concatenate([half[:, ::2], half[:, 1::2]], 1))
    ask("compare", "cos.npy", "rope:dim=128,layout=half").says(said)


def test_a_cache_filled_up_with_ones_and_zeros_is_no_wider_table(ask):
    angles = np.arange(300, dtype="f4")[:, None] * frequencies(128)
    np.savez("cache.npz", cos=np.concatenate([np.cos(angles), np.ones_like(angles)], 1),
             sin=np.concatenate([np.sin(angles), np.zeros_like(angles)], 1))  # fmt: skip
    answer = ask("compare", "cache.npz", "rope:dim=128").ends(1)
    answer.says("columns from 64 on are 1", "columns 64 to 127 are zero").never("128 where 128")


def test_rounded_positions_are_first_seen_where_they_are_rounded(ask):
    bits = np.arange(1000, dtype="f4").view("u4")
    rounded = (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).view("f4")  # to nearest, ties to even
    own = cache(rounded, pecli.table("rope:dim=128,scaling=yarn,factor=4,original-max=4096,len=2,start=0,"
                                     "layout=angles,dtype=float64")["angles"][1].astype("f4"))  # fmt: skip
    np.savez("cache.npz", **{k: v * np.float32(0.1 * np.log(4) + 1) for k, v in own.items()})
    said = "positions were rounded to bfloat16: first beyond rounding at position 257"
    ask("compare", "cache.npz", "rope:dim=128,scaling=yarn,factor=4,original-max=4096").ends(1).says(said)


@pytest.mark.parametrize("rows", [777, 2048, 4096])
def test_linspace_with_its_end_is_told(ask, rows):
    np.savez("cache.npz", **cache(np.linspace(0, rows, rows), frequencies(128)))
    said = f"advance by {rows}/{rows - 1} where 1 was expected: the last of {rows:,} rows stands at {rows}"
    ask("compare", "cache.npz", "rope:dim=128").ends(1).says(said)


def test_the_scale_of_xpos_is_judged_beside_right_cosines(ask):
    made = pecli.table("xpos:dim=64,max-len=512,len=512")
    held = {name: np.asarray(values) for name, values in made.items()}
    powers, at = np.arange(32), (np.arange(512)[:, None] - 256) / 512
    for own, said in (
        (1 / held["scale"], "all values are the reciprocals of the expected ones"),
        (held["scale"] ** 2, "scale-base 256 where 512 was expected"),
        (((powers / 64 + 0.4) / 1.4) ** at, "each pair fades by (i/dim + 0.4) / 1.4"),
        ((powers / 32 + 0.4) ** at, "each pair fades by 2i/dim + 0.4"),
        (((powers / 31 + 0.4) / 1.4) ** at, "each pair fades by (2i/(dim - 2) + 0.4) / 1.4"),
    ):
        np.savez("xpos.npz", **{**held, "scale": own})
        answer = ask("compare", "xpos.npz", "xpos:dim=64,max-len=512,len=512").ends(1)
        answer.says(f"scale: {said}").never("likely")


def test_frequencies_of_a_narrow_buffer_are_not_the_same(ask):
    np.save("inv_freq.npy", RIGHT.astype("f2"))
    ask("compare", "inv_freq.npy", ROPE).ends(1).says("the frequencies were rounded to float16")
    ask("identify", "inv_freq.npy").says("too coarse for angles")


def test_degrees_are_not_called_radians(ask):
    np.save("angles.npy", np.rad2deg(np.arange(400)[:, None] * frequencies(128)).astype("f4"))
    ask("identify", "angles.npy").says("degrees instead of radians").never("angles in radians")


def test_a_slip_in_a_row_of_a_worked_example_is_found(ask):
    rows = [f"{np.sin(p):.3f},{np.cos(p):.3f},{np.sin(p / 100):.3f},{np.cos(p / 100):.3f}" for p in range(4)]
    rows[3] = f"{np.sin(3):.3f},{np.cos(3):.3f},{np.sin(0.3):.3f},{np.cos(0.3):.3f}"
    with open("sheet.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")
    ask("compare", "sheet.csv", "sinusoidal:dim=4").says("[3, 2] is 0.296, expected 0.03", "all others are right")


def test_waves_of_drawn_frequencies_are_other_frequencies(ask):
    drawn = np.random.default_rng(0).normal(0, 16, 64)
    angles = np.linspace(0, 1, 200)[:, None] * drawn
    np.save("features.npy", np.concatenate([np.sin(angles), np.cos(angles)], 1).astype("f4"))
    ask("compare", "features.npy", "sinusoidal:dim=128,order=sin-cos").ends(1).says("different: other frequencies")


def test_a_base_that_ntk_made_is_named_so_in_float16(ask):
    base = 1e4 * 4 ** (128 / 126)
    w = (1.0 / base ** (np.arange(0, 128, 2) / 128)).astype("f4")
    np.savez("cache.npz", **{name: values.astype("f2") for name, values in cache(range(512), w).items()})
    ask("identify", "cache.npz").says("rope:dim=128,scaling=ntk,factor=4,len=512")


LOWEST = float(np.finfo("f4").min)


def trained_bias(seed=0):
    table = np.random.default_rng(seed).normal(size=(127, 12)).astype("f4")
    return table[np.arange(64)[:, None] - np.arange(64) + 63].transpose(2, 0, 1)


@pytest.mark.parametrize("low", [-1e4, -1e9, LOWEST])
def test_a_finite_mask_hides_no_difference(ask, low):
    mask, own = np.triu(np.full((64, 64), low, "f4"), 1), trained_bias()
    np.save("theirs.npy", own + mask)
    for made, said in ((own / 8, "0.125"), (own[::-1], "reversed"), (-own, "the sign of all values is changed")):
        np.save("ours.npy", made + mask)
        ask("compare", "ours.npy", "theirs.npy").ends(1).says(said).never("harmless", "quantised")
    np.save("ours.npy", np.random.default_rng(1).normal(size=own.shape).astype("f4") + mask)
    ask("compare", "ours.npy", "theirs.npy").ends(1).never("harmless", "quantised", "bytes")


def test_another_number_for_masked_pairs_is_all_that_differs(ask):
    own = trained_bias()
    np.save("theirs.npy", own + np.triu(np.full((64, 64), LOWEST, "f4"), 1))
    np.save("ours.npy", np.where(np.triu(np.ones((64, 64), bool), 1), np.float32(-1e4), own))
    said = "different: masked pairs hold -10000 where -3.40282e+38 was expected: equal after a softmax"
    ask("compare", "ours.npy", "theirs.npy").says(said).never("times")


def test_a_mask_that_is_missing_is_told_and_nothing_else(ask):
    own, later = trained_bias(), np.triu(np.ones((64, 64), bool), 1)
    np.save("plain.npy", own)
    for low, text in ((-1e4, "-10000"), (-np.inf, "-inf")):
        np.save("masked.npy", np.where(later, np.float32(low), own))
        if low == -1e4:
            ask("compare", "plain.npy", "masked.npy").says(f"different: the mask of {text} is missing")
            ask("compare", "masked.npy", "plain.npy").says(f"different: a mask of {text} where none was expected")
        np.save("other.npy", np.where(later, np.float32(-1e9), own))
        ask("compare", "masked.npy", "other.npy").says(f"masked pairs hold {text} where -1e+09 was expected")


def test_a_trained_bias_is_compared_with_its_weights(ask):
    weights = np.random.default_rng(0).normal(size=(32, 4)).astype("f4")
    np.save("weights.npy", weights)
    made = np.asarray(pecli.table("t5:weights=weights.npy,len=48")["bias"])
    for own, said in ((made[[0, 2, 1, 3]], "heads 1 and 2 are exchanged"), (made / 8, "0.125"), (-made, "sign")):
        np.save("bias.npy", own)
        ask("compare", "bias.npy", "t5:weights=weights.npy").ends(1).says(said).never("std", "numbers are others")


def test_a_bias_beside_its_slopes_is_compared(ask):
    slopes = 2.0 ** -np.arange(1, 9)
    distance = np.abs(np.arange(32)[:, None] - np.arange(32))
    np.savez("alibi.npz", slopes=slopes.astype("f4"), bias=(slopes[:, None, None] * distance).astype("f4"))
    ask("compare", "alibi.npz", "alibi:heads=8").ends(1).never("same:")


def test_padding_of_a_key_position_bias_is_not_rounding(ask):
    slopes = (2.0 ** -np.arange(1, 9))[:, None, None]
    np.save("bias.npy", (slopes * np.maximum(np.arange(48) - 10, 0)).astype("f4"))
    answer = ask("compare", "bias.npy", "alibi:heads=8,convention=bloom").ends(1)
    answer.says("padding at position 0: the first 10 of 48 keys").never("accepts it")


def test_a_bfloat16_mask_ends_in_no_loop(ask):
    weights = np.random.default_rng(0).normal(size=(32, 4)).astype("f4")
    np.save("weights.npy", weights)
    bias = np.asarray(pecli.table("t5:weights=weights.npy,len=40")["bias"])
    both = np.stack([bias, np.where(np.arange(40) < 30, bias, LOWEST)])
    np.save("bias.npy", ((both.astype("f4").view("u4") + 0x8000) >> 16).astype("u2"))
    ask("compare", "bias.npy", "t5:weights=weights.npy").ends(1).never("internal error")


@pytest.mark.parametrize("by", [-0.5, 0.5, 1])
def test_coordinates_of_corners_for_centres_are_a_shift(ask, by):
    drawn = np.random.default_rng(0).normal(size=(2, 32))
    maps = []
    for shift in (by, 0):
        y, x = np.mgrid[:16, :16] + 0.5 + shift
        angles = 2 * np.pi * (np.stack([x, y], -1) / 8 - 1) @ drawn
        maps.append(np.concatenate([np.sin(angles), np.cos(angles)], -1).transpose(2, 0, 1).astype("f4"))
    np.save("ours.npy", maps[0])
    np.save("theirs.npy", maps[1])
    ask("compare", "ours.npy", "theirs.npy").ends(1).says(f"coordinates are shifted by {by:g} steps")


def test_a_cache_of_one_long_row_is_compared(ask):
    angles = np.arange(256, dtype="f4")[:, None] * frequencies(128, 5e5)
    np.save("flat.npy", np.stack([np.cos(angles), np.sin(angles)], -1).reshape(1, -1))
    said = "the array is flattened: 256 rows of 128 values", "sin and cos stand in neighbouring columns"
    ask("compare", "flat.npy", "rope:dim=128,base=500000,len=256").ends(1).says(*said)


def test_a_bias_is_not_called_slopes(ask):
    slopes = 2.0 ** -np.arange(0.5, 8.5, 0.5)
    np.save("theirs.npy", (slopes[8:, None, None] * np.arange(128)).astype("f4"))
    np.save("ours.npy", (2.0 ** -np.arange(1, 9)[:, None, None] * np.arange(128)).astype("f4"))
    ask("compare", "ours.npy", "theirs.npy").says("the expected values are a bias with slopes of heads 8 to 15 of 16")


def test_features_of_times_with_their_factors_are_fourier_features(ask):
    w, t = np.random.default_rng(0).normal(0, 16, 64).astype("f4"), np.linspace(0.01, 1, 100, dtype="f4")
    angles = np.float32(2 * np.pi) * t[:, None] * w
    np.savez("levels.npz", W=w, t=t, emb=np.concatenate([np.sin(angles), np.cos(angles)], 1))
    ask("identify", "levels.npz").says("fourier:dim=128", "'emb' the table").never("unknown")


def test_features_of_other_coordinates_say_between_which_numbers_they_run(ask):
    x = np.linspace(0, 1, 96)
    angles = x[:, None] * 2.0 ** np.arange(8)
    both = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(96, 16)
    np.save("features.npy", np.concatenate([x[:, None], both], 1).astype("f4"))
    said = "different: coordinates run from 0 to 1 where -1 to 1 was expected"
    ask("compare", "features.npy", "nerf:bands=8,grid=96,convention=code").ends(1).says(said)


def test_a_forgotten_permute_behind_a_class_token_is_told(ask):
    trained = np.random.default_rng(0).normal(0, 0.02, (82, 64)).astype("f4")
    np.save("theirs.npy", trained[None])
    np.save("ours.npy", np.concatenate([trained[:1], trained[1:].T.reshape(81, 64)])[None])
    ask("compare", "ours.npy", "theirs.npy").says("behind row 0, the values were reshaped instead of transposed")


def test_pairs_that_a_mask_shows_too_many_are_counted_and_placed(ask):
    images = np.zeros(18, int)
    images[2:6], images[9:13] = 1, 2
    same = (images[:, None] == images) & (images > 0)
    either = (images[:, None] > 0) & (images > 0)
    causal = np.tril(np.ones((18, 18), bool))
    for low in (LOWEST, -np.inf):
        for name, seen in (("all.npy", causal | either), ("own.npy", causal | same)):
            np.save(name, np.where(seen, np.float32(0), np.float32(low)))
        block = "queries 2 to 5, keys 9 to 12; all other values are right"
        text = f"different: 16 pairs are seen that should be masked: {block}"
        ask("compare", "all.npy", "own.npy").says(text).never("values are -inf")
        ask("compare", "own.npy", "all.npy").says(f"different: 16 pairs are masked that should be seen: {block}")
    np.save("causal.npy", np.where(causal, np.float32(0), np.float32(-np.inf)))
    causal[3, 9] = True
    np.save("one.npy", np.where(causal, np.float32(0), np.float32(-np.inf)))
    said = "different: 1 pair is seen that should be masked: query 3, key 9; all other values are right"
    ask("compare", "one.npy", "causal.npy").says(said)


def test_equal_halves_of_columns_are_no_heads_to_which_a_vector_was_added(ask):
    half = np.cumsum(np.random.default_rng(0).normal(size=(560, 16)), 0).astype("f4") * np.float32(0.05)
    np.save("theirs.npy", np.tile(half, 2))
    np.save("ours.npy", np.tile(half + np.random.default_rng(1).normal(size=half.shape).astype("f4") * 0.02, 2))
    ask("compare", "ours.npy", "theirs.npy").ends(1).never("added", "rotated")


def test_slopes_of_the_papers_formula_are_told_of_few_digits(ask):
    slopes = 2.0 ** (-8 * np.arange(1, 13) / 12)
    distances = np.abs(np.arange(60)[:, None] - np.arange(60))
    Path("bias.json").write_text(json.dumps(np.round(-slopes[:, None, None] * distances, 7).tolist()))
    ask("compare", "bias.json", "alibi:heads=12,len=60").says("slopes by the paper's formula 2^(-8h/H)")


def test_exponents_that_were_divided_as_whole_numbers_leave_two_frequencies(ask):
    columns = np.arange(64)
    angles = np.arange(80)[:, None] / 1e4 ** (2 * columns // 64)
    np.save("python2.npy", np.where(columns % 2, np.cos(angles), np.sin(angles)))
    text = "the pairs have two frequencies alone, 1 and 0.0001, as of exponents that are cut to whole numbers"
    ask("compare", "python2.npy", "sinusoidal:dim=64,len=80").says(text)
