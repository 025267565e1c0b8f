"""What must not be said of everyday tables, found by people who looked for false sentences, and what is said instead."""

import json

import numpy as np
import pytest

import pecli as library
from tests.judge.answers import angles, cache, frequencies, sinusoid


def bfloat16(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


def table(recipe):
    """Return the only array of a recipe's table."""
    ((_, values),) = library.table(recipe).items()
    return np.asarray(values)


TRAINED = np.random.default_rng(0).normal(0, 0.02, (49, 64)).astype("f4")
OTHER = np.random.default_rng(1).normal(0, 0.02, (49, 64)).astype("f4")
FALSE = ("bytes", "precision", "rotated", "decimals", "scale of each position", "adapter")


@pytest.mark.parametrize(
    "values",
    [
        bfloat16(OTHER),
        OTHER.astype("f2").astype("f4"),
        bfloat16(TRAINED * 1.01),
        bfloat16(TRAINED + 0.002),
        bfloat16(TRAINED + 0.0005),
        (TRAINED * 1.001).astype("f2").astype("f4"),
        bfloat16(TRAINED + np.random.default_rng(2).normal(0, 1e-4, TRAINED.shape)),
        np.where(np.arange(49)[:, None] == 5, bfloat16(OTHER), bfloat16(TRAINED)),
    ],
)
def test_a_trained_table_of_few_bits_is_not_read_as_bytes_nor_rotated(ask, values):
    np.save("have.npy", values)
    np.save("want.npy", TRAINED)
    ask("compare", "have.npy", "want.npy").ends(1).never(*FALSE)


def test_numbers_among_zeros_are_not_swapped_bytes(ask):
    zeros, mask = np.zeros((16, 16), "f4"), np.triu(np.full((16, 16), -np.inf, "f4"), 1)
    np.save("zeros.npy", zeros)
    np.save("mask.npy", mask)
    zeros[3, 4] = np.nan
    np.save("nan.npy", zeros)
    np.save("ones.npy", np.ones_like(mask))
    ask("compare", "nan.npy", "zeros.npy").ends(1).says("[3, 4] is nan, expected 0").never("bytes")
    ask("compare", "mask.npy", "zeros.npy").ends(1).says("a causal mask where none was expected").never("bytes")
    ask("compare", "ones.npy", "mask.npy").ends(1).says("all values are 1").never("bytes", "right")


def test_masks_without_a_visible_pair_or_with_padding_have_names(ask):
    mask = np.triu(np.full((16, 16), -np.inf, "f4"), 1)
    np.save("causal.npy", mask)
    np.save("hidden.npy", np.full_like(mask, -np.inf))
    np.save("padded.npy", np.where(np.arange(16)[:, None] < 12, mask, -np.inf).astype("f4"))
    np.save("numbers.npy", np.where(mask == 0, mask, np.nan))
    np.save("rows.npy", mask[8:])
    ask("compare", "hidden.npy", "causal.npy").ends(1).says("nowhere: every pair is masked").never("at least", "right")
    ask("compare", "padded.npy", "causal.npy").ends(1).says("except for", "queries 12 to 15").never("documents")
    ask("compare", "numbers.npy", "causal.npy").ends(1).says("nan").never("all other values are right")
    ask("compare", "rows.npy", "causal.npy").ends(1).never("grid", "crop")


def test_a_cosine_twice_is_no_batch(ask):
    cos, sin = (function(np.tile(angles(256, 64), 2)).astype("f4") for function in (np.cos, np.sin))
    np.save("cos.npy", np.stack([cos, cos]))
    np.save("sin.npy", np.stack([sin, sin]))
    ask("compare", "cos.npy", "rope:dim=64,len=256").ends(1).says("different: sin holds the values of cos")
    ask("compare", "sin.npy", "rope:dim=64,len=256").ends(1).says("different: cos holds the values of sin")


def test_a_cosine_and_a_sine_of_unlike_shapes_are_judged_one_by_one(ask):
    cos, sin = (function(np.tile(angles(256, 64), 2)).astype("f4") for function in (np.cos, np.sin))
    other = np.cos(np.tile(angles(200, 64, 500000.0), 2)).astype("f4")
    np.savez("rows.npz", cos=other, sin=sin)
    np.savez("columns.npz", cos=cos, sin=sin[:, :32])
    said = "cos: base 500000 where 10000 was expected", "cos: 200 rows where 256 were expected"
    ask("compare", "rows.npz", "rope:dim=64,len=256").ends(1).says(*said, "but sin (256, 64)").never("sin: ")
    ask("compare", "columns.npz", "rope:dim=64,len=256").ends(1).says("cos has the shape (256, 64), but sin (256, 32)")


def test_a_frame_that_stands_twice_is_told_by_its_rows(ask):
    table = np.asarray(library.table("sincos3d:dim=96,grid=3x4x6,convention=diffusers")["pe"]).reshape(3, 24, 96).copy()
    table[1] = table[0]
    np.save("t.npy", table)
    answer = ask("compare", "t.npy", "sincos3d:dim=96,grid=3x4x6,convention=diffusers").ends(1)
    answer.says("rows 24 to 47: coordinates start at 0 where 1 was expected").never("batch")


@pytest.mark.parametrize(("rows", "dim", "base"), [(20, 16, 9500.0), (40, 32, 9700.0), (20, 16, 9800.0)])
def test_another_base_of_few_digits_moves_no_coordinates(ask, rows, dim, base):
    np.save("t.npy", np.round(sinusoid(rows, dim, base), 3).astype("f4"))
    ask("compare", "t.npy", f"sinusoidal:dim={dim},len={rows}").ends(1).never("advance", "cyclic")


def test_rows_that_repeat_backwards_are_said_to(ask):
    np.save("t.npy", np.kaiser(50, 5)[:, None] * np.ones((1, 8)))
    ask("identify", "t.npy").says("rows 25 to 49 repeat rows 0 to 24 backwards")
    np.save("t.npy", np.arange(50)[:, None])
    ask("identify", "t.npy").says("whole numbers that count up from 0 to 49").never("begin again")


def test_values_that_were_clipped_are_told(ask):
    np.save("have.npy", TRAINED.clip(-0.03, 0.03))
    np.save("want.npy", TRAINED)
    said = "all values are clipped: none is below -0.03, none is above 0.03"
    ask("compare", "have.npy", "want.npy").ends(1).says(said)


def test_a_row_or_one_number_a_row_is_no_adapter(ask):
    for values in (TRAINED + np.arange(49)[:, None] * 1e-3, np.where(np.arange(49)[:, None] == 17, OTHER, TRAINED)):
        np.save("have.npy", values.astype("f4"))
        np.save("want.npy", TRAINED)
        ask("compare", "have.npy", "want.npy").ends(1).never("adapter")


def test_rows_with_the_short_factors_of_longrope_are_told(ask):
    short, long = 1 + np.arange(24) / 50, 1.05 + 0.9 * np.arange(24)
    rope = {"type": "longrope", "short_factor": short.tolist(), "long_factor": long.tolist()}
    config = {"model_type": "phi3", "hidden_size": 384, "num_attention_heads": 8, "rope_theta": 10000.0}
    config |= {"max_position_embeddings": 8192, "original_max_position_embeddings": 512, "rope_scaling": rope}
    with open("config.json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    first = np.arange(1024)[:, None] < 512
    w = frequencies(48)
    phases = (np.arange(1024, dtype="f4")[:, None] * np.where(first, w / short, w / long).astype("f4")).astype("f4")
    held = cache(phases, "half")
    size = np.sqrt(1 + np.log(16) / np.log(512))
    np.savez("t.npz", **{name: (values * size).astype("f4") for name, values in held.items()})
    said = "rows 1 to 511: the short factors are used where the long ones were expected"
    ask("compare", "t.npz", "config.json").ends(1).says(said)


def test_angles_at_other_places_are_told(ask):
    restarted = np.arange(512) % 256
    padded = np.maximum(np.arange(512) - 7, 1)
    for at, said in ((restarted, "rows from 256 on repeat the first 256"), (padded, "rows 0 to 8 all hold row 1")):
        np.save("t.npy", np.tile(np.outer(at, frequencies(64)), 2).astype("f4"))
        ask("compare", "t.npy", "rope:dim=64,len=512").ends(1).says(said, "the file holds angles: no cosine")


def test_frequencies_that_were_never_set_are_told(ask):
    np.savez("t.npz", **cache(np.outer(np.arange(128), np.random.default_rng(0).random(32) * 1e-17), "half"))
    said = "cos is 1 everywhere, as with frequencies (inv_freq) that were never set"
    ask("compare", "t.npz", "rope:dim=64,len=128").ends(1).says(said)
    ask("identify", "t.npz").says(said)


def test_base_and_exponent_exchanged_are_told(ask):
    w = (np.arange(32) / 32) ** 1e-4
    phases = np.outer(np.arange(48), w)
    np.save("t.npy", np.concatenate([np.sin(phases), np.cos(phases)], 1).astype("f4"))
    answer = ask("compare", "t.npy", "sinusoidal:dim=64,order=sin-cos,len=48").ends(1)
    answer.says("base and exponent are exchanged: (2i/d)^(1/base) where base^(-2i/d) was expected")


def test_other_decays_of_retnet_are_told(ask):
    made = {name: np.array(values) for name, values in library.table("retnet:dim=64,heads=4,len=50").items()}
    head = np.arange(4)[:, None]
    for gamma, said in (
        (1 - np.geomspace(1 / 32, 1 / 512, 4)[:, None], "1 - exp(linspace(ln 1/32, ln 1/512, heads))"),
        (1 - 2.0 ** (-6 - head), "1 - 2^(-5 - h) with h from 1"),
        (np.full((4, 1), 1 - 2.0**-5), "1 - 2^-5 in all heads"),
    ):
        np.savez("t.npz", **{**made, "decay": (gamma ** np.arange(50)).astype("f4")})
        answer = ask("compare", "t.npz", "retnet:dim=64,heads=4,len=50").ends(1)
        answer.says(f"different: decay: gamma is {said}").never("likely")


def test_numbers_that_lost_their_exponent_are_told(ask):
    held = cache(angles(100, 64, 1e6))
    mantissas = [[float(str(v).partition("e")[0]) for v in row] for row in held["sin"].tolist()]
    with open("t.json", "w", encoding="utf-8") as file:
        json.dump({"cos": held["cos"].tolist(), "sin": mantissas}, file)
    answer = ask("compare", "t.json", "rope:dim=64,base=1000000,len=100").ends(1)
    answer.says("below 0.0001 in size lost their exponent: 1.5 stands for 1.5e-06")


def test_columns_of_little_spread_may_be_standardised(ask):
    table = np.asarray(library.table("sincos2d:dim=48,grid=9x14,dtype=float64")["pe"])
    np.save("t.npy", ((table - table.mean(0)) / table.std(0)).astype("f4"))
    ask("compare", "t.npy", "sincos2d:dim=48,grid=9x14").ends(1).says("each column is standardised")


def test_another_clip_of_one_side_exchanges_no_axes(ask):
    distance = np.arange(150)[:, None] - np.arange(150)
    np.save("have.npy", distance.clip(-32, 31) + 32)
    np.save("want.npy", distance.clip(-32, 32) + 32)
    said = "distances above 0 end at 31 where they were expected to end at the clip"
    ask("compare", "have.npy", "want.npy").ends(1).says(f"different: {said}").never("exchanged")


def test_the_factor_of_a_gaussian_exponent_is_told_in_float64(ask):
    distance = np.arange(72)[:, None] - np.arange(72)
    np.save("t.npy", np.exp(-(distance**2) / 36))
    ask("compare", "t.npy", "gaussian:sigma=6,len=72").ends(1).says("the exponent is -D^2 / sigma^2")


def test_the_order_of_columns_is_told_beside_another_spacing(ask):
    phases = np.outer(np.arange(200), 10000.0 ** (-np.arange(48) / 47))
    np.save("have.npy", np.concatenate([np.sin(phases), np.cos(phases)], 1).astype("f4"))
    np.save("want.npy", sinusoid(200, 96))
    said = "sin and cos stand in two halves, sines first, where they were expected in neighbouring columns"
    ask("compare", "have.npy", "want.npy").ends(1).says("different: endpoint spacing", said)


def test_the_whole_head_turns_where_a_part_was_expected(ask):
    np.savez("t.npz", **cache(angles(128, 128)))
    said = "different: rotary width 128 where 64 was expected"
    ask("compare", "t.npz", "rope:dim=128,partial=0.5,len=128").ends(1).says(said).never("which is right")
    np.savez("t.npz", **cache(angles(256, 128, 1e6), "half"))
    said = "all 64 pairs turn, with exponents over 128, where 64 of 256 with exponents over 512 were expected"
    ask("compare", "t.npz", "rope:dim=512,scaling=proportional,partial=0.25,base=1000000,len=256").ends(1).says(said)


def test_points_in_the_reverse_order_are_told_with_an_extent(ask):
    matrix, points = np.random.default_rng(0).normal(size=(32, 2)), np.random.default_rng(1).uniform(0, 99, (40, 2))
    np.save("matrix.npy", matrix)
    np.save("points.npy", points)
    phases = 2 * np.pi * (2 * points[:, ::-1] / 100 - 1) @ matrix.T
    np.save("t.npy", np.concatenate([np.sin(phases), np.cos(phases)], 1).astype("f4"))
    recipe = "fourier:dim=64,matrix=matrix.npy,coordinates=given,points=points.npy,point-axes=2,extent=100+100"
    ask("compare", "t.npy", recipe).ends(1).says("the coordinates of each point are in the reverse order")


def test_one_array_of_a_window_differs(ask):
    made = {name: np.asarray(values) for name, values in library.table("window:version=2,grid=8x8").items()}
    np.savez(
        "t.npz", relative_coords_table=made["coordinates"].reshape(1, 15, 15, 2), relative_position_index=made["index"]
    )
    answer = ask("compare", "t.npz", "window:version=2,grid=8x8,pretrained=4x4").ends(1)
    answer.says("relative_coords_table: pretrained 4x4 is missing").never("heads")


def test_cosines_that_were_overwritten_are_told(ask):
    table, made = sinusoid(100, 64), np.zeros((100, 64), "f4")
    for i in range(32):
        made[:, i], made[:, i + 1] = table[:, 2 * i], table[:, 2 * i + 1]
    np.save("t.npy", made)
    said = "columns i and i + 1 were filled where 2i and 2i + 1 were expected"
    ask("compare", "t.npy", "sinusoidal:dim=64,len=100").ends(1).says(said)


def test_both_axes_of_scaled_coordinates_are_told(ask):
    rows, columns = np.divmod(np.arange(12 * 10.0), 10)
    w = 10000.0 ** (-np.arange(8) / 8)
    phases = np.concatenate([np.outer(rows * 2 / 3, w), np.outer(columns * 2 / 3 + 4, w)], 1)
    np.savez("t.npz", **cache(phases))
    answer = ask("compare", "t.npz", "rope2d:dim=32,grid=12x10").ends(1)
    answer.says(
        "height run from 0 to 7.333 where 0 to 11 was expected", "width run from 4 to 10 where 0 to 9 was expected"
    )


def test_a_csv_of_r_with_decimal_commas_and_named_rows_is_read(ask):
    table = sinusoid(60, 16, dtype="float64")
    lines = ['"";' + ";".join(f'"V{k + 1}"' for k in range(16))]
    lines += [f'"{k + 1}";' + ";".join(f"{v:.7f}".replace(".", ",") for v in row) for k, row in enumerate(table)]
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    np.save("want.npy", table)
    ask("compare", "t.csv", "want.npy").ends(1).says("all values are right, rounded to 7 decimals")
    ask("identify", "t.csv").says("sinusoidal:dim=16,len=60 (sure")


def test_rows_of_two_arrays_in_another_order_are_told_where_one_was_expected(ask):
    parts = np.concatenate([np.arange(32 * k, 32 * k + 32) for k in sorted(range(12), key=str)])
    np.savez("t.npz", **cache(angles(384, 32)[parts]))
    answer = ask("compare", "t.npz", "rope:dim=32,len=384,layout=concat").ends(1)
    answer.says(
        "12 parts of 32 rows stand in the order of their numbers as text", "where one array was expected (concat)"
    )
    answer.never("likely")


def test_a_width_of_a_gaussian_that_is_not_squared_is_told(ask):
    distance = np.arange(48)[:, None] - np.arange(48)
    np.save("t.npy", np.stack([np.exp(-(distance**2) / (2 * sigma)) for sigma in (1, 2, 4, 8)]).astype("f4"))
    answer = ask("compare", "t.npy", "gaussian:heads=4,sigma=1+2+4+8,len=48").ends(1)
    answer.says("sigma is not squared: the exponent is -D^2 / (2 sigma)")


def test_the_slip_of_loftr_is_told_of_its_own_width(ask):
    dim = 256
    y, x = (side.reshape(-1, 1) + 1.0 for side in np.divmod(np.arange(12 * 16), 16))
    w = np.exp(-2.0 * np.arange(dim // 4))
    table = np.stack([np.sin(x * w), np.cos(x * w), np.sin(y * w), np.cos(y * w)], -1).reshape(192, dim)
    np.save("t.npy", table.astype("f4"))
    answer = ask("compare", "t.npy", f"detr:dim={dim},grid=12x16,convention=loftr").ends(1)
    answer.says("frequencies are e^(-2k): the constant -ln(temperature) / d // 2 is rounded down to -1")


def test_a_layout_that_both_files_have_is_not_told(ask):
    def made(side):
        rows, columns = np.divmod(np.arange(1024.0), 32)
        w = 10000.0 ** (-np.arange(16) / 16)
        phases = np.concatenate([np.outer(rows, w), np.outer(columns, w)], 1) * side / 32
        return np.concatenate([np.repeat(np.sin(phases), 2, 1), np.repeat(np.cos(phases), 2, 1)], 1).astype("f4")

    np.save("have.npy", made(32))
    np.save("want.npy", made(16))
    ask("compare", "have.npy", "want.npy").ends(1).says("reference 16x16 is missing").never("(1024, 32)")


def test_a_trained_table_with_another_row_holds_no_sum(ask):
    table = np.random.default_rng(5).normal(0, 0.02, (512, 64)).astype("f4")
    np.save("want.npy", table)
    table[0] = np.random.default_rng(6).normal(0, 0.02, 64)
    np.save("have.npy", table)
    ask("compare", "have.npy", "want.npy").ends(1).says("array differs in row 0").never("added", "zero")


def test_a_trained_table_is_not_rotated(ask):
    np.save("want.npy", TRAINED)
    twice = TRAINED.copy()
    twice[3], twice[:, 7] = 2 * TRAINED[3], -twice[:, 7]
    for values in (-TRAINED[::-1], 2 * TRAINED[:, [1, 0, *range(2, 64)]], twice):
        np.save("have.npy", values)
        ask("compare", "have.npy", "want.npy").ends(1).never("rotat")


def test_other_arrays_of_a_cache_do_not_decide_what_is_expected(ask):
    held = cache(angles(40, 16), "half")
    ids = {"position_ids": np.arange(40), **held}
    narrow = {"inv_freq": frequencies(16).astype("f2"), **held}
    np.savez("ids.npz", **ids)
    np.savez("narrow.npz", **narrow)
    ask("compare", "ids.npz", "rope:dim=16,len=40").ends(0).says("1 other array not compared")
    answer = ask("compare", "narrow.npz", "rope:dim=16,len=40").ends(1)
    answer.says("inv_freq: the frequencies were rounded to float16").never("the expected values were rounded")


def test_trained_positions_of_a_config_have_no_values(ask):
    sizes = {"model_type": "bert", "hidden_size": 64, "max_position_embeddings": 49, "num_attention_heads": 2}
    with open("config.json", "w", encoding="utf-8") as file:
        json.dump({**sizes, "vocab_size": 50}, file)
    np.save("t.npy", TRAINED)
    said = "positions are trained: the expected values are an initial draw, not the model's"
    ask("compare", "t.npy", "config.json").ends(1).says(said)


def test_angles_of_other_frequencies_are_not_called_random(ask):
    w = np.pi * np.linspace(1, 5, 16)[::-1]
    np.save("t.npy", np.repeat(np.outer(np.arange(128), w), 2, 1).astype("f4"))
    answer = ask("compare", "t.npy", "rope:dim=32,len=128").ends(1)
    answer.says("other frequencies: 15.71 to 3.142 radians a row", "the file holds angles").never("random")


def test_a_cosine_and_a_sine_of_two_narrow_types_have_the_expected_frequencies(ask):
    held = cache(angles(20, 16), "half")
    np.savez("t.npz", cos=held["cos"].astype("f2"), sin=bfloat16(held["sin"]))
    ask("compare", "t.npz", "rope:dim=16,len=20").ends(1).never("decimals")


def test_a_missing_factor_is_told_where_pairs_turn_both_ways(ask):
    matrix = np.random.default_rng(0).normal(0, 1, (8, 1)) / 100
    np.save("matrix.npy", matrix)
    phases = np.arange(50)[:, None] @ matrix.T
    np.save("t.npy", np.concatenate([np.sin(phases), np.cos(phases)], 1))
    answer = ask("compare", "t.npy", "fourier:dim=16,matrix=matrix.npy,len=50").ends(1)
    answer.says("the factor 2 pi is missing|over 2 pi")


def test_other_frequencies_beside_a_cache_are_named(ask):
    held = cache(angles(40, 16), "half")
    for own, said in (
        (frequencies(16)[::-1], "'inv_freq' is rope:dim=16 in reverse order"),
        (frequencies(16) / 4, "'inv_freq' is rope:dim=16,scaling=linear,factor=4"),
    ):
        np.savez("t.npz", inv_freq=own.astype("f4"), **held)
        ask("identify", "t.npz").says("rope:dim=16,len=40,layout=half", said)
    np.savez("t.npz", inv_freq=frequencies(16).astype("f4"), **held)
    ask("identify", "t.npz").never("this describes")


def test_the_column_without_a_partner_is_compared(ask):
    odd, noise = sinusoid(12, 34)[:, :33].astype("f4"), np.random.default_rng(0).normal(size=12)
    for name, column in (("noise", noise), ("copy", odd[:, 31])):
        other = odd.copy()
        other[:, 32] = column
        np.save(f"{name}.npy", other)
        ask("identify", f"{name}.npy").never("sure", "all values equal")
        ask("compare", f"{name}.npy", "sinusoidal:dim=33,odd=round-up,len=12").ends(1).says("column 32")
    wide = np.c_[sinusoid(24, 16), np.arange(24)]
    np.save("wide.npy", wide)
    ask("compare", "wide.npy", "sinusoidal:dim=16,len=24").ends(1).says("column 16 is not among").never("but harmless")


def test_copies_that_differ_each_in_their_own_way_are_described_one_by_one(ask):
    one, other = (cache(angles(40, 32, base), "half") for base in (500000.0, 200000.0))
    np.savez("t.npz", **{name: np.stack([one[name], other[name]]) for name in one})
    said = "batch index 0: base 500000 where 10000", "batch index 1: base 200000 where 10000"
    ask("compare", "t.npz", "rope:dim=32,len=40").ends(1).says(*said).never("the rest differs")
    ask("identify", "t.npz").never("every row is the same", "sure")
    np.savez("t.npz", **{name: np.stack([one[name], 1.1 * one[name]]) for name in one})
    said = "different: base 500000 where 10000", "batch index 1: every value is multiplied by 1.1"
    ask("compare", "t.npz", "rope:dim=32,len=40").ends(1).says(*said)


def test_a_value_that_is_off_hides_no_other_first_position(ask):
    held = cache(angles(41, 32)[1:], "half")
    held["cos"][9, 9] = 7
    np.savez("t.npz", **held)
    ask("compare", "t.npz", "rope:dim=32,len=40").ends(1).says("different: positions start at 1", "cos[9, 9] is 7")


def test_rows_that_are_all_equal_and_tables_of_one_row_are_no_waves(ask):
    for name, values, recipe, said in (
        ("ones", np.ones((3, 2)), "sinusoidal:dim=2,len=3", "different: all values are 1"),
        (
            "rows",
            np.tile([0.5, 0.5, -0.5, 0.5], (20, 1)),
            "sinusoidal:dim=4,len=20",
            "different: every row is the same",
        ),
        ("row", np.ones((1, 4)), "sinusoidal:dim=4,len=1", "different: all values are 1"),
    ):
        np.save(f"{name}.npy", values.astype("f4"))
        ask("compare", f"{name}.npy", recipe).ends(1).says(said).never("transposed", "2 pi", "positions")
    np.savez("one.npz", cos=np.full((1, 4), 1.1, "f4"), sin=np.zeros((1, 4), "f4"))
    ask("compare", "one.npz", "rope:dim=4,len=1").ends(1).says("cos: all values are 1.1").never("positions", "pair")


def test_several_lists_of_frequencies_are_no_cache(ask):
    plain, local = (frequencies(32, base).astype("f4") for base in (10000.0, 1e6))
    np.savez("t.npz", inv_freq=plain, original_inv_freq=plain)
    ask("compare", "t.npz", "rope:dim=32,len=40").says("harmless|same").never("cos", "sin")
    np.savez("t.npz", full_attention_inv_freq=local, sliding_attention_inv_freq=plain)
    answer = ask("compare", "t.npz", "rope:dim=32").ends(1)
    answer.says("base 1000000 where 10000", "other arrays hold other values").never("cos", "sin")
    np.save("double.npy", plain.astype("f8"))
    ask("compare", "double.npy", "rope:dim=32").ends(1).says("but harmless: rounding alone").never("times")


def test_frequencies_of_a_model_with_two_lists_are_those_of_either(ask):
    factors = {"short_factor": [1.0] * 16, "long_factor": [1.0 + 0.25 * k for k in range(16)]}
    sizes = {"model_type": "phi3", "hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 2}
    lengths = {"max_position_embeddings": 131072, "original_max_position_embeddings": 4096}
    with open("config.json", "w", encoding="utf-8") as file:
        json.dump({**sizes, **lengths, "rope_theta": 10000.0, "rope_scaling": {"type": "longrope", **factors}}, file)
    for factor in factors.values():
        np.save("t.npy", (frequencies(32) / np.array(factor)).astype("f4"))
        ask("compare", "t.npy", "config.json").says("same|but harmless")


def test_float64_rounding_of_a_grid_is_harmless_and_no_printed_decimals(ask):
    x = np.linspace(-1, 1, 33)[:, None] * 2.0 ** np.arange(6) * np.pi
    np.save("t.npy", np.stack([np.sin(x), np.cos(x)], 2).reshape(33, 12).astype("f4"))
    ask("compare", "t.npy", "nerf:bands=6,grid=33").ends(1).says("but harmless: rounding").never("decimals")


def test_a_padded_picture_has_the_grid_of_its_valid_part(ask):
    np.save("t.npy", table("detr:dim=32,grid=5x6,normalize=true,valid=3x4"))
    said = "the first 3x4 cells hold the table of grid=3x4"
    ask("compare", "t.npy", "detr:dim=32,grid=5x6,normalize=true").ends(1).says(said).never("rounded")


def test_bands_that_are_switched_off_do_not_stop_identify(ask):
    x = np.linspace(-1, 1, 33)[:, None] * 2.0 ** np.arange(6) * np.pi
    values = np.stack([np.sin(x), np.cos(x)], 2).reshape(33, 12).astype("f4")
    values[:, 6:] = 0
    np.save("t.npy", values)
    ask("identify", "t.npy").ends(0).never("internal error")


def test_masks_that_were_added_or_cut_are_told_so(ask):
    causal = np.triu(np.full((16, 16), -1e9, "f4"), 1)
    padding = np.where(np.arange(16) < 12, 0, -1e9).astype("f4")
    np.save("causal.npy", causal)
    np.save("added.npy", causal + padding)
    answer = ask("compare", "added.npy", "causal.npy").ends(1)
    answer.says("except for keys 12 to 15", "-2e+09 to -1e+09").never("missing", "-inf")
    np.save("rows.npy", causal[:12])
    ask("compare", "rows.npy", "causal.npy").ends(1).says("queries 12 to 15 are missing").never("at least 4 before")
    ask("identify", "rows.npy").says("not after the query (causal)").never("at least 4 before")
    np.save("others.npy", 1 - np.eye(4))
    ask("identify", "others.npy").says("0 on the diagonal").never("identity")
    for row, column in ((1, 0), (4, 4)):
        hidden = np.triu(np.full((12, 12), -np.inf, "f4"), 1)
        hidden[row, column] = np.nan
        np.save("nan.npy", hidden)
        ask("identify", "nan.npy").ends(0).never("internal error")


def test_a_bias_without_a_key_has_no_exchanged_axes(ask):
    np.save("t.npy", table("alibi:heads=8,len=16")[:, :, 1:])
    ask("compare", "t.npy", "alibi:heads=8,len=16").ends(1).says("column 0 is missing").never("exchanged")


def test_few_pairs_of_queries_show_no_far_positions(ask):
    rng = np.random.default_rng(0)
    x, places = rng.normal(size=(3, 4)), np.arange(3)[:, None]

    def rotated(w):
        turns = (x[:, :2] + 1j * x[:, 2:]) * np.exp(1j * places * w)
        return np.concatenate([turns.real, turns.imag], 1).astype("f4")

    np.save("want.npy", rotated(np.array([1, 0.01])))
    for w in ([1, 0.1], [1, 0.00141], [0.5, 0.005]):
        np.save("have.npy", rotated(np.array(w)))
        ask("compare", "have.npy", "want.npy").ends(1).never("advance by", "sections", "-6911")


def test_a_first_position_besides_another_base_is_told(ask):
    x = np.random.default_rng(0).normal(size=(4, 20, 16)) + 1j * np.random.default_rng(1).normal(size=(4, 20, 16))

    def rotated(start, base):
        turns = x * np.exp(1j * angles(20 + start, 32, base)[start:])
        return np.concatenate([turns.real, turns.imag], -1).astype("f4")

    np.save("want.npy", rotated(0, 10000.0))
    np.save("have.npy", rotated(7, 500000.0))
    said = "base 500000 where 10000 was expected, and positions do not begin at 0"
    ask("compare", "have.npy", "want.npy").ends(1).says(said)
    later = np.concatenate([rotated(0, 10000.0)[:, :1], rotated(1, 10000.0)[:, 1:]], 1)
    np.save("have.npy", later)
    ask("compare", "have.npy", "want.npy").ends(1).says("from 1 on: positions are 1 later")


def test_a_csv_of_whole_numbers_under_the_numbers_of_pandas_has_no_such_row(ask):
    whole = np.rint(127 * sinusoid(24, 16)).astype(int)
    binary = (np.arange(16)[:, None] >> np.arange(4)) & 1
    for name, values in (("whole", whole), ("binary", binary), ("mask", np.tri(8, dtype=int))):
        lines = [",".join(map(str, row)) for row in [range(values.shape[1]), *values.tolist()]]
        with open(f"{name}.csv", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    ask("compare", "whole.csv", "sinusoidal:dim=16,len=24").ends(1).says("all values are 127 times the expected ones")
    ask("identify", "binary.csv").says("binary:dim=4,len=16 (sure")
    ask("identify", "mask.csv").says("a mask of two values, 0 and 1")
    distances = np.abs(np.arange(8)[:, None] - np.arange(8))
    np.savetxt("distances.csv", distances, "%d", ",")
    ask("inspect", "distances.csv").says("8, 8|8 x 8")


def test_columns_of_cosines_and_sines_are_one_array_where_a_layout_asks_for_it(ask):
    held = np.concatenate([np.cos(angles(32, 8)), np.sin(angles(32, 8))], 1)
    names = [f"{name}_{k}" for name in ("cos", "sin") for k in range(4)]
    np.savetxt("t.csv", held, "%.17g", ",", header=",".join(names), comments="")
    ask("compare", "t.csv", "rope:dim=8,len=32,layout=concat").says("same|harmless").never("two arrays")


def test_one_parameter_of_a_bias_or_of_a_scaled_rope_is_named(ask):
    for have, want, said in (
        ("gaussian:heads=1,sigma=2,len=32", "gaussian:heads=1,len=32", "sigma 2 where 1 was expected"),
        ("sandwich:heads=4,width=64,len=32", "sandwich:heads=4,len=32", "width 64 where 128 was expected"),
        ("rope:dim=64,base=500,scaling=yarn,factor=4,original-max=4096,layout=concat,len=300",
         "rope:dim=64,scaling=yarn,factor=4,original-max=4096,layout=concat,len=300", "base 500 where 10000"),
        ("sinusoidal:dim=64,len=200", "sinusoidal:dim=64,scale=2,len=200", "scale 1 where 2 was expected"),
        ("complex:dim=32,base=500,len=100", "complex:dim=32,len=100", "base 500 where 10000 was expected"),
    ):  # fmt: skip
        np.save("t.npy", table(have))
        ask("compare", "t.npy", want).ends(1).says(f"different: {said}")
    np.save("t.npy", table("rope:dim=64,scaling=yarn,factor=4,original-max=4096,layout=concat,len=300"))
    answer = ask("compare", "t.npy", "rope:dim=64,scaling=yarn,factor=4,original-max=4096,ramp=rotations,len=300")
    answer.ends(1).says("ramp").never("truncate true where true")


def test_a_draw_as_of_an_initialisation_is_named_beside_a_trained_table(ask):
    rng = np.random.default_rng(0)
    np.save("have.npy", rng.normal(0, 0.02, (128, 192)).astype("f4"))
    smooth = np.cumsum(rng.normal(0, 0.1, (128, 192)), 0).astype("f4")
    np.save("want.npy", smooth)
    said = "the values look drawn from a normal distribution of deviation 0.0199"
    ask("compare", "have.npy", "want.npy").ends(1).says(said)


def test_columns_in_turn_that_were_cut_in_halves_are_told(ask):
    table_in_turn = sinusoid(200, 64)
    np.savez("t.npz", sin=table_in_turn[:, :32], cos=table_in_turn[:, 32:])
    said = "columns of sin and cos in turn were cut in halves: sin holds pairs 0 to 15"
    ask("compare", "t.npz", "rope:dim=64,len=200").ends(1).says(said)


def test_padding_by_a_number_is_told_as_that_number(ask):
    held = np.concatenate([np.cos(angles(64, 32)), np.sin(angles(64, 32))], 1)
    held[:, :4], held[:, 16:20] = 1, 0
    np.save("want.npy", held)
    held[:, 16:20] = 1
    np.save("have.npy", held)
    ask("compare", "have.npy", "want.npy").ends(1).says("the values of columns 16 to 19 are 1").never("repeat")
