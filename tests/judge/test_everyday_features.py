"""Features of coordinates, tensors that were rotated, and other files that are no table of positions by themselves."""

from pathlib import Path

import numpy as np
import pytest

import pecli
from tests.judge.answers import sinusoid


def doubling(points, bands, scale=np.pi, order="by-frequency"):
    """Return NeRF's sines and cosines of points (n, k), without the points."""
    parts = [f(scale * 2.0**k * points) for k in range(bands) for f in (np.sin, np.cos)]
    return np.concatenate(parts, 1) if order == "by-frequency" else np.stack(parts, 2).reshape(len(points), -1)


@pytest.mark.parametrize(("order", "said"), [("by-frequency", "order=by-frequency"), ("in-turn", "points=FILE")])
def test_doubling_frequencies_of_any_points_are_named(ask, order, said):
    y, x = np.meshgrid(np.linspace(0, 1, 32), np.linspace(0, 1, 32), indexing="ij")
    points = np.stack([y.ravel(), x.ravel()], 1)
    np.save("pixels.npy", doubling(points, 6, order=order).astype("float32"))
    ask("identify", "pixels.npy").says("nerf:bands=6", "point-axes=2", said, "grid of 32x32 from 0 to 1, row first")


def test_pi_of_nerf_is_told_between_two_files(ask):
    points = np.random.default_rng(0).uniform(-1, 1, (200, 3)).astype("float32")
    for name, scale in (("mine.npy", np.pi), ("theirs.npy", 1.0)):
        np.save(name, np.concatenate([points, doubling(points, 8, scale)], 1).astype("float32"))
    ask("compare", "mine.npy", "theirs.npy").says("different: pi=true where pi=false was expected")
    ask("compare", "theirs.npy", "mine.npy").says("different: pi=false where pi=true was expected")


@pytest.mark.parametrize(("ends", "said"), [
    ((0, 1, False), "from 0 to 1 without its end, column first"), ((-1, 1, True), "coordinates=corners,grid=24x24"),
])  # fmt: skip
def test_fourier_features_of_a_grid_are_named_without_its_points(ask, ends, said):
    matrix = np.random.default_rng(0).normal(size=(64, 2)) * 10
    axis = np.linspace(*ends[:2], 24, endpoint=ends[2])
    points = np.stack(np.meshgrid(axis, axis), 2).reshape(-1, 2)
    turns = 2 * np.pi * points @ matrix.T
    np.savez("features.npz", B=matrix, mapped=np.concatenate([np.sin(turns), np.cos(turns)], 1))
    ask("identify", "features.npz").says("fourier:dim=128", "FILE::B", said)


def test_dot_products_of_rows_are_those_of_a_sinusoid(ask):
    rows = sinusoid(50, 128).astype("float32")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.save("products.npy", rows @ rows.T)
    np.save("similar.npy", (rows / lengths) @ (rows / lengths).T)
    ask("identify", "products.npy").says("unknown: the dot products of all rows of sinusoidal:dim=128,len=50")
    ask("identify", "similar.npy").says("unknown: the cosine similarities of all rows of sinusoidal:dim=128")


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("rotary", [64, 32])
def test_a_rotation_is_read_off_queries_before_and_after(ask, pairing, rotary):
    draw, kept = np.random.default_rng(0), {}
    angles = np.outer(np.arange(48), 500000.0 ** (-np.arange(rotary // 2) / (rotary // 2)))
    a = np.arange(rotary // 2) * (1 if pairing == "half" else 2)
    b = a + (rotary // 2 if pairing == "half" else 1)
    for name, heads in (("q", 8), ("k", 2)):
        x = draw.normal(size=(1, heads, 48, 64))
        z, y = (x[..., a] + 1j * x[..., b]) * np.exp(1j * angles), x.copy()
        y[..., a], y[..., b] = z.real, z.imag
        kept |= {name: x.astype("float32"), f"{name}_rot": y.astype("float32")}
    np.savez("dump.npz", **kept)
    ask("identify", "dump.npz").says(
        f"rope:dim={rotary},base=500000", f"layout={pairing}", "'q_rot' is 'q' rotated", "'k_rot' is 'k' rotated"
    ).never("'q' is 'q_rot'", "random")


def test_two_lists_of_frequencies_in_a_file_are_both_named(ask):
    faster, slower = (base ** (-np.arange(64) / 64) for base in (1e4, 1e6))
    np.savez("buffers.npz", local=faster.astype("float32"), full=slower.astype("float32"))
    ask("identify", "buffers.npz").says("rope:dim=128", "'full' is rope:dim=128,base=1000000")


def test_random_features_of_a_grid_are_told_without_their_matrix(ask):
    matrix, axis = np.random.default_rng(0).normal(size=(64, 2)) * 10, np.arange(64) / 64
    turns = 2 * np.pi * np.stack(np.meshgrid(axis, axis), 2) @ matrix.T
    np.save("mapped.npy", np.concatenate([np.sin(turns), np.cos(turns)], 2).astype("float32"))
    ask("identify", "mapped.npy").says("nearly fourier:dim=128: the matrix B is not in the file", "a grid of 64x64")


@pytest.mark.parametrize("by", ["position", "channel"])
def test_a_row_for_each_value_is_a_table(ask, by):
    values, (rows, columns) = sinusoid(64, 32).astype("float32"), np.indices((64, 32))
    order = "C" if by == "position" else "F"
    named = {"row": rows, "channel": columns, "value": values}
    lines = [",".join(f"{v:.7g}" for v in line) for line in zip(*(a.ravel(order) for a in named.values()), strict=True)]
    with open("long.csv", "w") as file:
        file.write("\n".join(["row,channel,value", *lines, ""]))
    ask("identify", "long.csv").says("sinusoidal:dim=32,len=64", "one row for each value")


def test_any_usual_base_is_tried_at_given_positions(ask):
    days = np.cumsum(np.random.default_rng(0).choice([5, 10], 61)) - 5
    np.save("dates.npy", sinusoid(700, 16, base=1000)[days].astype("float32"))
    np.savetxt("days.txt", days, fmt="%d")
    ask("identify", "dates.npy", "--positions", "@days.txt").says("sinusoidal:dim=16,base=1000", "that were given")


def test_positions_that_collide_in_a_narrow_type_are_told(ask):
    times = 1_700_000_000 + 60 * np.arange(500)
    w = 10000.0 ** (-np.arange(8) / 8)
    exact, rough = np.outer(times, w), np.outer(times.astype("float32"), w.astype("float32"))
    for name, angles in (("theirs", exact), ("mine", rough)):
        np.save(f"{name}.npy", np.concatenate([np.sin(angles), np.cos(angles)], 1).astype("float32"))
    ask("compare", "mine.npy", "theirs.npy").says("265 of 500 rows repeat the row before, which no expected row does")


def test_a_spoilt_sample_of_a_batch_is_told(ask):
    batch = np.stack([sinusoid(128, 64)] * 32).astype("float32")
    np.save("equal.npy", batch)
    ask("identify", "equal.npy").says("sinusoidal:dim=64,len=128 (sure", "32 equal copies")
    for name, index, value in (("zero.npy", np.s_[7], 0), ("value.npy", np.s_[7, 5, 5], 9)):
        spoilt = batch.copy()
        spoilt[index] = value
        np.save(name, spoilt)
        ask("identify", name).says("sinusoidal:dim=64", "batch index 7 differs").never("sure", "all values equal")


def test_a_column_that_numbers_the_rows_is_told(ask):
    rows = sinusoid(100, 32)
    np.save("numbered.npy", np.column_stack([np.arange(100), rows]))
    ask("compare", "numbered.npy", "sinusoidal:dim=32").says("column 0 numbers the rows").never("accepts it")
    np.save("doubled.npy", np.column_stack([np.arange(100), 2 * rows]))
    ask("compare", "doubled.npy", "sinusoidal:dim=32").says("column 0 numbers the rows", "multiplied by 2")


def test_a_map_that_is_upside_down_is_told(ask):
    north = np.random.default_rng(0).normal(size=(20, 30, 3))
    np.save("north.npy", north)
    np.save("south.npy", north[::-1])
    ask("compare", "south.npy", "north.npy").says("the axis-0 indices are reversed")


@pytest.mark.parametrize(("mine", "theirs", "said"), [
    ("added", "words", "different: the expected values plus those of sinusoidal:dim=64,len=60"),
    ("words", "added", "different: the values of sinusoidal:dim=64,len=60 are not added"),
    ("scaled", "words", "the expected values times 8 (the square root of the width) plus those of sinusoidal:dim=64"),
    ("words", "scaled", "values are not multiplied by 8 (the square root of the width), and those of sinusoidal:dim=64"),
])  # fmt: skip
def test_positions_that_were_added_to_embeddings_are_told(ask, mine, theirs, said):
    words = np.random.default_rng(0).normal(size=(60, 64)).astype("float32")
    made = {"words": words, "added": words + sinusoid(60, 64), "scaled": 8 * words + sinusoid(60, 64)}
    for name in (mine, theirs):
        np.save(f"{name}.npy", made[name].astype("float32"))
    ask("compare", f"{mine}.npy", f"{theirs}.npy").says(said)


@pytest.mark.parametrize(("change", "said"), [
    (lambda x: np.rint((x + 1) * 127.5).astype("uint8"), "became whole numbers from 0 to 255"),
    (lambda x: x - x.mean(0), "the mean of each column is subtracted"), (lambda x: x[:, :63], "column 63 is missing"),
])  # fmt: skip
def test_a_table_that_was_remade_is_told(ask, change, said):
    np.save("mine.npy", change(sinusoid(200, 64)))
    ask("compare", "mine.npy", "sinusoidal:dim=64").says(f"different: {said}" if "became" not in said else said)


def test_each_table_of_a_file_is_named(ask):
    np.savez("three.npz", a=sinusoid(20, 16), b=sinusoid(30, 32), c=np.arange(5))
    ask("identify", "three.npz").says("this describes 'a'; 'b' is sinusoidal:dim=32,len=30", "not compared: 'c'")


def test_positions_that_fall_are_taken_as_they_are(ask):
    steps = np.arange(951, 0, -50)
    np.save("steps.npy", sinusoid(1000, 64)[steps].astype("float16"))
    given = "rows are at the positions that were given"
    ask("identify", "steps.npy", "--positions", ",".join(map(str, steps))).says(
        "sinusoidal:dim=64,dtype=float16 (sure", given
    )
    np.save(
        "times.npy",
        np.stack(
            [f(np.array([0, 5, 9.5, 20, 31.5]) * w) for w in 10000.0 ** (-np.arange(8) / 8) for f in (np.sin, np.cos)],
            1,
        ),
    )
    ask("identify", "times.npy", "--positions", "0,5,9.5,20,31.5").says("sinusoidal:dim=16", given).never("positions=")


def test_two_grids_of_a_file_are_both_named(ask):
    made = {f"pe{dim}": np.asarray(pecli.table(f"sincos2d:dim={dim},grid=6x8,prefix=1")["pe"]) for dim in (64, 32)}
    np.savez("grids.npz", **made)
    ask("identify", "grids.npz").says("this describes 'pe64'; 'pe32' is sincos2d:dim=32,grid=6x8,prefix=1")


def test_a_batch_of_equal_grids_is_one(ask):
    grid = np.asarray(pecli.table("sincos2d:dim=32,grid=8x12,axis-order=yx,order=interleaved")["pe"])
    np.save("batch.npy", np.stack([grid.reshape(8, 12, 32)] * 2))
    ask("identify", "batch.npy").says("sincos2d:dim=32,grid=8x12,axis-order=yx,order=interleaved", "2 equal copies")


def test_position_ids_count_up(ask):
    np.save("ids.npy", np.stack([np.r_[[1] * 7, :17], np.arange(24)]))
    ask("identify", "ids.npy").says("rows count up by 1, as position ids do").never("sure")


def test_an_array_that_is_not_compared_is_named_where_the_other_is_the_same(ask):
    table = np.asarray(pecli.table("sinusoidal:dim=16,len=20")["pe"])
    np.savez("two.npz", a=table, b=np.ones((4, 4)))
    ask("compare", "two.npz", "sinusoidal:dim=16").says("same: 320 values", "compared: a alone, not 'b'").ends(0)


def test_drawn_numbers_are_told_at_once(ask):
    np.save("learned.npy", (np.random.default_rng(0).normal(size=(512, 768)) * 0.02).astype("float32"))
    ask("identify", "learned.npy").says("drawn from a normal distribution of deviation 0.02").never("sure")


def test_a_mask_that_hides_the_diagonal_is_told(ask):
    keys = np.arange(128) - np.arange(128)[:, None]
    np.save("mine.npy", np.where(keys < 0, 0, -np.inf).astype("float32"))
    np.save("theirs.npy", np.where(keys <= 0, 0, -np.inf).astype("float32"))
    ask("compare", "mine.npy", "theirs.npy").says("seen where the key is before the query (strictly causal)")
    ask("identify", "mine.npy").says("0 where the key is before the query (strictly causal)")


def test_a_grid_whose_rows_are_flat_is_in_the_same_order(ask):
    rows = np.random.default_rng(0).normal(size=(240, 16))
    np.save("flat.npy", rows)
    np.save("grid.npy", rows.reshape(12, 20, 16))
    ask("compare", "grid.npy", "flat.npy").says("the values are in the same order").never("random")


def test_positions_that_are_a_thousandth_are_no_share_of_the_rows(ask):
    np.save("theirs.npy", sinusoid(1001, 64)[::10].astype("float32"))
    angles = np.outer(np.arange(101) / 100, 10000.0 ** (-np.arange(32) / 32))
    np.save("mine.npy", np.stack([np.sin(angles), np.cos(angles)], 2).reshape(101, 64).astype("float32"))
    ask("compare", "mine.npy", "theirs.npy").says("every position is 0.001 times the expected one").never("number")


@pytest.mark.parametrize("kind", ["pair", "complex"])
def test_a_spoilt_copy_of_a_rotary_cache_has_its_number(ask, kind):
    angles = np.outer(np.arange(40), 10000.0 ** (-np.arange(16) / 16))
    cos, sin = (np.stack([f(angles)] * 4) for f in (np.cos, np.sin))
    for name, value in (("equal", None), ("spoilt", 9)):
        own = sin.copy()
        if value:
            own[2, 3, 3] = value
        pair = {"cos": cos.astype("float32"), "sin": own.astype("float32")}
        np.savez(f"{name}.npz", **(pair if kind == "pair" else {"cis": (cos + 1j * own).astype("complex64")}))
    ask("identify", "equal.npz").says("rope:dim=32", "4 equal copies").never("alone")
    ask("identify", "spoilt.npz").says("rope:dim=32", "batch index 2 differs in few values").never("sure", "alone")


def test_empty_and_complex_arrays_are_no_crash(ask):
    np.savez("empty.npz", a=np.zeros(0, int), b=np.zeros(0))
    ask("identify", "empty.npz").ends(0)
    draw = np.random.default_rng(0)
    for name in ("mine.npy", "theirs.npy"):
        np.save(name, draw.normal(size=(8, 5, 4)) + 1j * draw.normal(size=(8, 5, 4)))
    ask("compare", "mine.npy", "theirs.npy").ends(1)


@pytest.mark.parametrize(("bands", "rate", "spaced"), [(6, 10, np.linspace), (8, 96, np.geomspace)])
def test_the_sampling_rate_of_evenly_spaced_bands_is_measured(ask, bands, rate, spaced):
    x = np.linspace(-1, 1, 400)[:, None]
    turns = np.pi * spaced(1, rate / 2, bands) * x
    np.save("frames.npy", np.concatenate([np.sin(turns), np.cos(turns), x], 1).astype("float32"))
    spacing = ",spacing=log" if spaced is np.geomspace else ""
    said = f"bands:bands={bands},grid=400,include-input=last,max-resolution={rate}{spacing} (sure"
    ask("identify", "frames.npy").says(said)


def test_a_flattened_cache_is_named(ask):
    turns = np.outer(np.arange(512), 1e6 ** (-np.arange(64) / 64))
    np.save("engine.npy", np.stack([np.cos(turns), np.sin(turns)], 2).astype("float32").reshape(1, -1))
    ask("identify", "engine.npy").says(
        "rope:dim=128,base=1000000,len=512,layout=pairs", "the array is flattened: 512 rows of 128 values"
    )
    np.save("pe.npy", sinusoid(300, 32).ravel())
    ask("identify", "pe.npy").says("sinusoidal:dim=32,len=300", "the array is flattened: 300 rows of 32 values")


def test_a_cache_of_bfloat16_bits_read_as_float16_is_told_of_float32_phases(ask):
    turns = np.outer(np.arange(2048, dtype="float32"), (1e6 ** (-np.arange(64) / 64)).astype("float32"))
    both = np.concatenate([np.cos(turns), np.sin(turns)], 1).astype("float32")
    bits = (both.view("uint32") + 0x7FFF + (both.view("uint32") >> 16 & 1) >> 16).astype("uint16")
    np.save("cache.npy", bits.view("float16"))
    ask("compare", "cache.npy", "rope:dim=128,base=1000000,layout=concat").says(
        "different: the bytes are those of bfloat16 values, read as float16"
    )


@pytest.mark.parametrize("decimals", [3, 4, 6])
@pytest.mark.parametrize(("layout", "recipe"), [
    ("pairs", "rope:dim=128,base=1000000,layout=pairs,len=64"), ("cos", "rope:dim=128,base=1000000,layout=half,len=64"),
])  # fmt: skip
def test_printed_caches_of_large_bases_are_named(ask, decimals, layout, recipe):
    turns = np.outer(np.arange(64), 1e6 ** (-np.arange(64) / 64))
    pairs = np.stack([np.cos(turns), np.sin(turns)], 2).reshape(64, 128)
    values = pairs if layout == "pairs" else np.concatenate([np.cos(turns)] * 2, 1)
    np.savetxt("printed.csv", values, fmt=f"%.{decimals}f", delimiter=",")
    for options in ((), ("--digits", str(decimals))):
        said = ask("identify", "printed.csv", *options).out
        assert set(recipe.split(",")) <= set(said.split(" ")[0].split(",")), said


def test_digits_do_not_hide_what_a_table_surely_is(ask):
    np.save("pe.npy", sinusoid(64, 32).astype("float32"))
    ask("identify", "pe.npy", "--digits", "12").says("sinusoidal:dim=32,len=64 (sure")


def test_products_of_a_factor_are_named_though_they_were_printed(ask):
    theta, factor = np.arange(64, dtype="float32"), np.float32(1e6) ** np.float32(-2 / 128)
    columns = []
    for _ in range(64):
        columns += [np.cos(theta), np.sin(theta)]
        theta = theta * factor
    np.savetxt("ggml.csv", np.stack(columns, 1), fmt="%.6f", delimiter=",")
    recipe = "rope:dim=128,base=1000000,layout=pairs,len=64 (likely"
    ask("identify", "ggml.csv", "--digits", "6").says(recipe, "float32 phases (within their rounding) to 6 decimals")


@pytest.mark.parametrize("merge", [2, 3])
def test_blocks_of_patches_are_named(ask, merge):
    y, x = np.indices((12, 18)).reshape(2, -1)
    rows = np.concatenate([np.outer(c, 1e4 ** (-np.arange(20) / 20)) for c in (y, x)], 1)
    places = np.arange(12 * 18).reshape(12 // merge, merge, 18 // merge, merge).swapaxes(1, 2).ravel()
    np.save("plain.npy", np.cos(rows).astype("float32"))
    np.save("merged.npy", np.cos(rows[places]).astype("float32"))
    block = f"{merge} x {merge}"
    ask("compare", "plain.npy", "merged.npy").says(f"12 x 18 row by row, where blocks of {block} were expected")
    ask("compare", "merged.npy", "plain.npy").says(f"12 x 18 in blocks of {block}, where it was expected row by row")


def test_a_bias_of_key_minus_query_is_equal_to_blooms_after_a_softmax(ask):
    slopes = 2.0 ** (-np.arange(1, 17) / 2)
    key = np.arange(96)
    np.save("fused.npy", (slopes[:, None, None] * (key - key[:, None])).astype("float32"))
    recipe = "alibi:heads=16,bias=key-position"
    ask("compare", "fused.npy", recipe).says("equal after a softmax, as each row differs by one number")
    np.save("other.npy", (1.5 * slopes[:, None, None] * (key - key[:, None])).astype("float32"))
    assert "softmax" not in ask("compare", "other.npy", recipe).out


def test_a_printed_sheet_with_positions_across_is_named(ask):
    sheet = np.column_stack([np.arange(16), sinusoid(50, 16, dtype="float64").T])
    head = ",".join(["dim\\pos", *map(str, range(50))])
    np.savetxt("sheet.csv", sheet, fmt=["%d", *["%.3f"] * 50], delimiter=",", header=head, comments="")
    ask("identify", "sheet.csv").says("sinusoidal:dim=16,len=50 (likely", "rows and columns are exchanged")


def test_random_fourier_features_with_channels_first_are_named(ask):
    matrix = np.random.default_rng(1).normal(size=(2, 64))
    y, x = ((np.indices((32, 32)) + 0.5) / 32 * 2 - 1).reshape(2, -1)
    turns = 2 * np.pi * np.stack([x, y], 1) @ matrix
    features = np.concatenate([np.sin(turns), np.cos(turns)], 1).astype("float32")
    np.save("image_pe.npy", features.T.reshape(1, 128, 32, 32))
    ask("identify", "image_pe.npy").says(
        "nearly fourier:dim=128", "the points are a grid of 32x32", "the channels come before the grid"
    )


def test_two_nerf_tables_of_one_file_each_are_compared_without_a_recipe(ask):
    points = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    for name, top in (("mine.npy", 10.0), ("nerf.npy", 9.0)):
        turns = [f(2.0**k * points) for k in np.linspace(0, top, 10) for f in (np.sin, np.cos)]
        np.save(name, np.concatenate([points, *turns], 1).astype("float32"))
    ask("compare", "mine.npy", "nerf.npy").ends(1).says("different: array differs in columns from 9 on")


def test_rows_at_the_joints_of_parts_that_repeat_are_named(ask):
    parts = [sinusoid(2049, 32)[k : k + 513] for k in range(0, 2048, 512)]
    np.save("joined.npy", np.concatenate(parts))
    said = "rows 513, 1026 and 1539 repeat the row before, and later rows have moved down"
    ask("compare", "joined.npy", "sinusoidal:dim=32").says(f"different: {said}")


@pytest.mark.parametrize("first", [0, 1])
def test_parts_in_the_order_of_their_names_are_named(ask, first):
    table = sinusoid(12 * 64, 32)
    parts = {f"part_{first + k}": table[64 * k : 64 * k + 64] for k in range(12)}
    np.save("all.npy", np.concatenate([parts[name] for name in sorted(parts)]))
    names = "0, 1, 10, 11" if first == 0 else "1, 10, 11, 12"
    said = f"12 parts of 64 rows stand in the order of their numbers as text: {names}, .."
    ask("compare", "all.npy", "sinusoidal:dim=32").says(f"different: {said}")


def test_features_with_channels_first_are_named_beside_their_matrix(ask):
    matrix = 32 * np.random.default_rng(1).normal(size=(2, 64))
    y, x = ((np.indices((32, 32)) + 0.5) / 32 * 2 - 1).reshape(2, -1)
    turns = 2 * np.pi * np.stack([x, y], 1) @ matrix
    features = np.concatenate([np.sin(turns), np.cos(turns)], 1).astype("float32")
    np.savez("sam.npz", image_pe=features.T.reshape(128, 32, 32), gaussian=matrix.astype("float32"))
    ask("identify", "sam.npz").says("fourier:dim=128", "grid=32x32", "the channels come before the grid")


def test_features_of_float64_code_are_no_float32_arithmetic(ask):
    axis = np.linspace(-1, 1, 32)
    y, x = (one.ravel() for one in np.meshgrid(axis, axis, indexing="ij"))
    columns = [f(2.0**k * np.pi * c) for k in range(6) for f in (np.sin, np.cos) for c in (y, x)]
    np.save("coords.npy", np.stack(columns, 1).astype("float32"))
    ask("identify", "coords.npy").says("nerf:bands=6,grid=32x32", "of the values equal").never("float32 arithmetic")


def test_a_shorter_transposed_table_is_right_where_both_have_values(ask):
    np.save("columns.npy", sinusoid(100, 64).T)
    ask("compare", "columns.npy", "sinusoidal:dim=64").says("transposed", "otherwise all values are right")
    short = ask("compare", "columns.npy", "sinusoidal:dim=64,len=200")
    short.says("transposed").never("otherwise all values are right")


def test_coordinates_that_moved_are_told_of_two_maps(ask):
    matrix = np.random.default_rng(7).normal(size=(2, 16))
    rows = (np.indices((24, 24)) / 24 * 2 - 1).reshape(2, -1).T  # the corners of the pixels, not their centres
    for name, shift in (("corners.npy", 0.0), ("centres.npy", 1 / 24)):
        turns = 2 * np.pi * (rows + shift) @ matrix
        np.save(name, np.concatenate([np.sin(turns), np.cos(turns)], 1).T.reshape(1, 32, 24, 24).astype("float32"))
    said = ask("compare", "corners.npy", "centres.npy").ends(1)
    said.says("different: the angle of each pair is off by a constant, the same at all places")
    turns = 2 * np.pi * ((rows + 1) / 2) @ matrix  # from 0 to 1, not from -1 to 1
    np.save("unit.npy", np.concatenate([np.sin(turns), np.cos(turns)], 1).T.reshape(1, 32, 24, 24).astype("float32"))
    said = "coordinates advance by 0.5 times the expected step, along every axis"
    ask("compare", "unit.npy", "corners.npy").ends(1).says(f"different: {said}")


def test_a_trained_bias_is_no_index(ask):
    offsets = np.arange(40)[None] - np.arange(40)[:, None]
    numbers = np.random.default_rng(2).normal(size=(8, 32))
    np.save("bias.npy", numbers[:, pecli.table("t5:len=40,form=index")["index"].reshape(offsets.shape)])
    said = "the file holds other values: trained numbers, by the index of t5:len=40"
    ask("compare", "bias.npy", "alibi:heads=8").ends(1).says(f"different: {said}")


def test_slopes_of_a_rank_are_told_beside_those_of_too_few_heads(ask):
    slopes = {heads: 2.0 ** (-8 * np.arange(1, heads + 1) / heads) for heads in (16, 32)}
    np.savetxt("rank.csv", slopes[16], fmt="%.9g")
    np.savetxt("rank_expected.csv", slopes[32][16:], fmt="%.9g")
    said = ask("compare", "rank.csv", "rank_expected.csv").ends(1)
    said.says("different: the slopes of 16 heads where slopes of heads 16 to 31 of 32 were expected")


def test_tokens_that_were_rotated_by_one_position_more_are_told(ask):
    k = np.random.default_rng(3).normal(size=(1, 2, 40, 64)).astype("float32")

    def rotated(positions):
        angles = np.tile(np.outer(positions, 1e6 ** (-np.arange(0, 64, 2) / 64)), 2)
        return (k * np.cos(angles) + np.concatenate([-k[..., 32:], k[..., :32]], -1) * np.sin(angles)).astype("float32")

    at = np.arange(40)
    np.savez("decoded.npz", k=k, k_rotated=rotated(at + (at >= 32)))
    np.savez("reference.npz", k=k, k_rotated=rotated(at))
    said = ask("compare", "decoded.npz", "reference.npz").ends(1).never("base 500000", "cos:")
    said.says("k_rotated: axis 2, indices from 32 on: positions are 1 later")


def stacked(cos, sin):
    return {"first.npy": np.stack([cos, sin]), "last.npy": np.stack([cos, sin], -1)}


@pytest.mark.parametrize("name", ["first.npy", "last.npy"])
def test_cosines_and_sines_in_one_array_are_no_copies(ask, name):
    angles = np.tile(np.outer(np.arange(64), 5e5 ** (-np.arange(0, 128, 2) / 128)), 2)
    np.save(name, stacked(np.cos(angles), np.sin(angles))[name].astype("float32"))
    ask("identify", name).says("rope:dim=128,base=500000,len=64,layout=half (sure")
    ask("compare", name, "rope:dim=128,base=500000").never("copies", "where")
    ask("compare", name, "rope:dim=128").ends(1).says("base 500000 where 10000 was expected")


def test_columns_of_a_wider_table_are_the_pairs_that_they_are(ask):
    table = sinusoid(100, 64)
    for first, last in ((0, 32), (32, 64), (16, 48)):
        np.save("part.npy", table[:, first:last])
        pairs = "the first 16 pairs" if not first else f"pairs {first // 2} to {last // 2 - 1}"
        ask("identify", "part.npy").says(f"the same as {pairs} of dim=64 with base 10000")
    np.save("part.npy", table[:, 32:])
    np.save("longer.npy", sinusoid(128, 64))
    said = ask("compare", "part.npy", "longer.npy").ends(1).never("base", "divided by")
    said.says("rows 100 to 127 are missing", "pairs 0 to 15 are missing")
    np.save("first.npy", table[:, :32])
    ask("compare", "longer.npy", "first.npy").ends(1).says("columns 32 to 63 are not expected").never(
        "base 10000 where"
    )


def test_one_of_cosines_and_sines_has_another_base(ask):
    own, other = (np.outer(np.arange(128), base ** (-np.arange(0, 64, 2) / 64)) for base in (1e4, 5e5))
    np.savez("mixed.npz", cos=np.cos(own), sin=np.sin(other))
    ask("compare", "mixed.npz", "rope:dim=64").ends(1).says("different: sin: base 500000 where 10000 was expected")


def rotated(x, angles, sign=1):
    angles = np.tile(angles, 2)
    turned_half = np.concatenate([-x[..., 32:], x[..., :32]], -1)
    return (x * np.cos(angles) + sign * turned_half * np.sin(angles)).astype("float32")


def test_what_is_no_rotation_is_not_called_one(ask):
    q = np.random.default_rng(5).normal(size=(2, 4, 32, 64)).astype("float32")
    angles = np.outer(np.arange(32), 1e4 ** (-np.arange(0, 64, 2) / 64))
    np.savez("cosines.npz", q=q, q_rot=(q * np.cos(np.tile(angles, 2))).astype("float32"))
    ask("identify", "cosines.npz").says("unknown").never("rotated")
    np.savez("exchanged.npz", q=q, q_rot=rotated(q, np.pi / 2 - angles))
    ask("identify", "exchanged.npz").says("every angle is a quarter turn less")
    by_head = rotated(q.swapaxes(1, 2), angles[:4]).swapaxes(1, 2)
    np.savez("heads.npz", q=q, q_rot=by_head)
    ask("identify", "heads.npz").says("len=4", "by the places along axis 1")
    part = np.concatenate([rotated(q, angles)[:, :1], q[:, 1:]], 1)
    for name, tensor in (("part.npy", part), ("right.npy", rotated(q, angles)), ("minus.npy", rotated(q, angles, 0))):
        np.save(name, tensor)
    ask("compare", "part.npy", "right.npy").ends(1).says("heads 1 to 3: not rotated at all")
    ask("compare", "right.npy", "minus.npy").ends(1).says("of the expected tensor: the sine is missing")


def test_a_batch_with_padding_on_the_left_is_told_by_sample(ask):
    angles = np.tile(np.outer(np.arange(20), 5e5 ** (-np.arange(0, 128, 2) / 128)), 2)
    at = [np.maximum(np.arange(20) - pad, 0) for pad in (5, 0, 9)]
    np.savez("batch.npz", cos=np.cos(angles)[at].astype("float32"), sin=np.sin(angles)[at].astype("float32"))
    said = "batch index 0 differs: left padding by 5", "batch index 2 differs: left padding by 9"
    ask("compare", "batch.npz", "rope:dim=128,base=500000").ends(1).says(*said)
    ask("identify", "batch.npz").says("nearly rope:dim=128,base=500000", *said)


@pytest.mark.parametrize(("first", "start"), [(0, 0), (1, 0), (1, 1), (5, 5), (5, 0)])
def test_row_numbers_without_a_name_may_count_from_one(ask, first, start):
    rows = sinusoid(20 + start, 8)[start:]
    np.savetxt("rows.csv", np.column_stack([np.arange(20) + first, rows]), "%d" + ",%.5f" * 8)
    ask("compare", "rows.csv", "sinusoidal:dim=8").ends(1).says("all values are right, rounded to 5 decimals")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.00%,100.00%\n84.15%,54.03%\n0.00%,100.00%", "percentages such as"),
        ('"0,00","1,00","0,00"\n"0,84","0,54","0,10"', "decimal commas such as 0,00"),
        ("A title\n\n0.0,1.0,0.0,1.0\n0.84,0.54,0.1,0.99", "line 3 has"),
        ("0.0,1.0\n#N/A,0.54", "in line 2, column 0"),
        ("<!DOCTYPE html>", "a web page"),
        ("version https://git-lfs.github.com/spec/v1", "run git lfs pull"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_its_reason(ask, text, said):
    Path("file.csv").write_text(text)
    assert said in ask("identify", "file.csv").ends(2).err


def test_a_comma_at_the_end_of_each_line_is_no_column(ask):
    np.savetxt("t.csv", sinusoid(20, 8), "%.4f," * 8)
    ask("identify", "t.csv").says("sinusoidal:dim=8,len=20 (sure: 4 decimals)")


def test_frequencies_among_weights_are_named(ask):
    rng = np.random.default_rng(0)
    weights = {f"model.layers.{k}.q_proj.weight": rng.normal(size=(64, 64)).astype("float32") for k in range(2)}
    inv_freq = (5e5 ** (-np.arange(0, 128, 2) / 128)).astype("float32")
    np.savez("model.npz", **{"model.rotary_emb.inv_freq": inv_freq}, **weights)
    ask("identify", "model.npz").says(
        "rope:dim=128,base=500000 (sure", "this describes 'model.rotary_emb.inv_freq'", "2 other arrays not compared"
    )


def test_a_bonus_for_later_keys_is_nearly_alibi(ask):
    slopes, at = 2.0 ** -np.arange(1, 9), np.arange(16)
    np.save("bias.npy", slopes[:, None, None] * (at[None] - at[:, None]))
    ask("identify", "bias.npy").says("nearly alibi:heads=8: the distance keeps its sign")


def test_other_kinds_of_features_are_no_sinusoid(ask):
    hours = np.arange(336)
    turns = hours / 24, hours // 24 / 7, hours // 24 / 30
    cycles = [f(2 * np.pi * one) for one in turns for f in (np.sin, np.cos)]
    np.save("calendar.npy", np.stack(cycles, 1).astype("float32"))
    ask("compare", "calendar.npy", "sinusoidal:dim=6").ends(1).says("the file holds cyclic features", "24 rows")
    np.save("graph.npy", np.linalg.qr(np.random.default_rng(4).normal(size=(60, 8)))[0])
    ask("compare", "graph.npy", "sinusoidal:dim=8").ends(1).says("the columns are orthonormal")
    ask("identify", "graph.npy").says("unknown", "the columns are orthonormal")


def test_a_factor_is_told_beside_the_same_matrix(ask):
    matrix = np.random.default_rng(0).normal(size=(32, 2)).astype("float32") * 4
    at = (np.indices((16, 16)) + 0.5).reshape(2, -1).T[:, ::-1] / 16
    for name, factor in (("ours.npz", 1), ("reference.npz", 2 * np.pi)):
        angles = factor * at @ matrix.T.astype(float)
        features = np.concatenate([np.sin(angles), np.cos(angles)], 1).astype("float32")
        np.savez(name, B=matrix, features=features)
    ask("compare", "ours.npz", "reference.npz").ends(1).says("different: the factor 2 pi is missing")


def test_reciprocals_of_frequencies_are_told(ask):
    np.save("freqs.npy", (5e5 ** (np.arange(0, 64, 2) / 64)).astype("float32"))
    said = "the file holds 1/frequency, by which MLX divides"
    ask("compare", "freqs.npy", "rope:dim=64,base=500000").ends(1).says(said)


def test_distances_without_the_first_are_compared_with_the_vectors(ask):
    distances = np.arange(127, -128, -1)
    angles = np.outer(distances, 1e4 ** (-np.arange(0, 64, 2) / 64))
    np.save("pos_emb.npy", np.concatenate([np.sin(angles), np.cos(angles)], 1).astype("float32"))
    ask("compare", "pos_emb.npy", "transformer-xl:dim=64,convention=xlnet").ends(1).says("row 0 is missing").never(
        "int64"
    )


def test_pixel_frequencies_of_timm_are_no_nerf(ask):
    bands = 2 ** np.linspace(0, np.log2(112), 16) * np.pi
    at = np.stack(np.meshgrid(*[np.linspace(-1, 1, 14)] * 2, indexing="ij"), -1).reshape(-1, 2)
    angles = np.repeat((at[:, :, None] * bands).reshape(196, -1), 2, 1)
    np.save("timm.npy", np.concatenate([np.sin(angles), np.cos(angles)], 1).astype("float32"))
    ask("identify", "timm.npy").says("rope2d:dim=64,grid=14x14,series=pixel-log").never("nerf")
    np.savez("timm.npz", cos=np.cos(angles).astype("float32"), sin=np.sin(angles).astype("float32"))
    answer = ask("compare", "timm.npz", "rope2d:dim=64,grid=14x14,convention=eva")
    answer.says("series pixel-log where half was expected").never("half-split")  # a layout that the recipe leaves open


@pytest.fixture
def model():
    table, rng = sinusoid(512, 64).astype("float32"), np.random.default_rng(1)
    weights = {f"layers.{k}.fc.weight": rng.normal(size=(64, 64)).astype("float32") for k in range(3)}
    np.savez("model.npz", **{"embed.weight": weights["layers.0.fc.weight"], "pos.pe": table[None], **weights})


def test_positions_are_found_among_the_weights_of_a_model(ask, model):
    ask("identify", "model.npz").says(
        "sinusoidal:dim=64,len=512 (sure", "this describes 'pos.pe'", "4 other arrays not compared"
    )
    ask("compare", "model.npz", "sinusoidal:dim=64").ends(0).says("4 other arrays not compared")
    ask("compare", "model.npz", "sinusoidal:dim=64,base=1000").ends(1).says("base 10000 where 1000 was expected")


def test_a_bias_that_was_gathered_from_a_table_is_told(ask):
    numbers = np.random.default_rng(2).normal(size=(32, 4)).astype("float32")
    index = pecli.table("t5:len=24,form=index")["index"]
    np.save("bias.npy", np.moveaxis(numbers[index], -1, 0)[None])
    np.save("table.npy", numbers)
    ask("compare", "bias.npy", "table.npy").ends(1).says("the bias is gathered from the expected table", "t5:len=24")


def test_copies_in_the_expected_file_are_told(ask):
    angles = np.outer(np.arange(64), 1e4 ** (-np.arange(0, 32, 2) / 32))
    one = {"cos": np.cos(angles).astype("float32"), "sin": np.sin(angles).astype("float32")}
    np.savez("one.npz", **one)
    np.savez("batch.npz", **{name: np.stack([values] * 4) for name, values in one.items()})
    said = "different: the expected values are 4 equal copies of one table (a batch), the file holds one"
    ask("compare", "one.npz", "batch.npz").ends(1).says(said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x: x[:, :48], "columns 48 to 63 are missing"),
        (lambda x: np.pad(x, ((0, 0), (0, 64))), "columns 64 to 127 are zero"),
        (lambda x: x / np.linalg.norm(x, axis=1, keepdims=True).clip(1e-9), "each row is divided by its length"),
        (lambda x: x + np.linspace(0, 1, 64), "one row of numbers is added to every row"),
    ],
)
def test_both_arrays_of_a_cache_were_changed_alike(ask, change, said):
    angles = np.tile(np.outer(np.arange(128), 1e4 ** (-np.arange(0, 64, 2) / 64)), 2)
    np.savez("cache.npz", cos=change(np.cos(angles)).astype("f4"), sin=change(np.sin(angles)).astype("f4"))
    ask("compare", "cache.npz", "rope:dim=64").ends(1).says(f"different: {said}")


def test_a_rounded_expected_file_is_told_before_phases(ask):
    angles = np.outer(np.arange(256, dtype="f4"), (1e4 ** (-np.arange(0, 64, 2) / 64)).astype("f4"))
    np.savez("full.npz", cos=np.cos(angles), sin=np.sin(angles))
    np.savez("half.npz", cos=np.cos(angles).astype("f2"), sin=np.sin(angles).astype("f2"))
    ask("compare", "full.npz", "half.npz").says("the expected values were rounded to float16").never("phases")


def test_values_that_fit_by_chance_are_not_listed(ask):
    angles = np.arange(512)[:, None].astype("f4") * np.exp(np.arange(0, 64, 2) * np.float32(-np.log(1e4) / 64))
    waves = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(512, 64).astype("f4")
    np.save("shifted.npy", np.vstack([np.zeros((1, 64), "f4"), waves]))
    ask("compare", "shifted.npy", "sinusoidal:dim=64").ends(1).says("later rows have moved down by 1").never("array[")


def test_zero_rows_are_named_beside_a_factor(ask):
    table = 1.25 * sinusoid(512, 64)
    table[9::50] = 0
    np.save("dropped.npy", table.astype("float32"))
    ask("compare", "dropped.npy", "sinusoidal:dim=64").ends(1).says("values are zero: rows 9, 59, 109 and 8 more")


def test_a_config_of_diffusers_is_refused(ask):
    Path("config.json").write_text(
        '{"_class_name": "FluxTransformer2DModel", "_diffusers_version": "0.3", "a": [1, 2]}'
    )
    assert "diffusers' config of FluxTransformer2DModel" in ask("identify", "config.json").ends(2).err


def test_layers_with_other_frequencies_are_not_the_same(ask):
    own, other = (base ** (-np.arange(0, 64, 2) / 64) for base in (1e4, 5e5))
    layers = {f"model.layers.{k}.rotary_emb.inv_freq": (own, own, other)[k].astype("float32") for k in range(3)}
    np.savez("layers.npz", **layers, **{"lm_head.weight": np.ones((8, 8), "float32")})
    said = "other arrays hold other values: 'model.layers.2.rotary_emb.inv_freq'"
    ask("compare", "layers.npz", "rope:dim=64").ends(1).says(f"different: {said}")
    ask("identify", "layers.npz").says("rope:dim=64 (likely", said)
    np.savez("alike.npz", **{name: own.astype("float32") for name in layers})
    ask("compare", "alike.npz", "rope:dim=64,base=500000").ends(1).says("base 10000 where 500000 was expected")


def test_names_that_only_contain_a_word_hold_no_positions(ask):
    table = sinusoid(64, 32).astype("float32")
    np.savez("m.npz", **{"business.weight": np.ones((4, 4)), "cost.bias": np.ones(4), "decoder.wpe.weight": table})
    ask("identify", "m.npz").says("this describes 'decoder.wpe.weight'", "2 other arrays not compared")


def test_a_map_with_its_sides_exchanged_is_told(ask):
    values = pecli.table("detr:dim=64,grid=18x30,convention=detr")["pe"].reshape(18, 30, 64)
    np.save("map.npy", values.transpose(2, 1, 0)[None])
    said = "height and width are exchanged: the map is 30 x 18 where 18 x 30 was expected"
    ask("compare", "map.npy", "detr:dim=64,grid=18x30,convention=detr").ends(1).says(f"different: {said}")


def test_turns_of_whole_rows_are_cyclic(ask):
    hours = np.arange(336)
    np.save("c.npy", np.stack([f(2 * np.pi * hours / n) for n in (24, 168) for f in (np.sin, np.cos)], 1).astype("f4"))
    ask("identify", "c.npy").says("cyclic features: columns 0 and 1, one turn takes 24 rows", "168 rows")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(16.0).reshape(2, 4, 2) % 2, np.arange(8.0).reshape(4, 2) % 2),
        (np.zeros((4, 0, 3)), np.zeros((4, 4))),
        (np.full((16, 0, 2), 1.0), np.ones((16, 8))),
        (np.zeros((64, 2, 32)), np.ones((64, 32))),
        (np.array(1.0), np.ones((4, 4))),
    ],
)
def test_odd_arrays_get_an_answer(ask, one, other):
    np.save("one.npy", one)
    np.save("other.npy", other)
    for command in (("identify", "one.npy"), ("compare", "one.npy", "other.npy"), ("compare", "one.npy", "rope:dim=8")):
        assert ask(*command).never("gathered", "positions run").status < 3


@pytest.mark.parametrize("error", [0.003, 0.01, 0.02])
def test_one_wrong_cell_of_a_printed_sheet_is_told(ask, error):
    sheet = np.round(sinusoid(10, 6), 3)
    sheet[1, 0] += error
    np.savetxt("sheet.csv", sheet, "%.3f", delimiter=",")
    cell = f"array[1, 0] is {0.841 + error:.3f}".rstrip("0") + ", expected 0.841"
    ask("verify", "sheet.csv", "sinusoidal:dim=6").ends(1).says(
        f"different: {cell}", "all others are right, rounded to 3"
    )
    ask("identify", "sheet.csv").says(f"nearly sinusoidal:dim=6: {cell}").never("constant", "cyclic", "longrope")


def test_a_right_sheet_is_verified_by_its_digits(ask):
    angles = np.outer(np.arange(10), 1e4 ** (-np.arange(0, 8, 2) / 8))
    sheet = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(10, 8)
    np.savetxt("sheet.csv", sheet, "%.4f", delimiter=",")
    ask("verify", "sheet.csv", "sinusoidal:dim=8", "--digits", "4").ends(0).says(
        "verified", "within 4 printed decimals"
    )
    ask("verify", "sheet.csv", "sinusoidal:dim=8,base=1000", "--digits", "4").ends(1).says("base 10000 where 1000")


@pytest.mark.parametrize(("rows", "start", "base"), [(10, 1, 1e4), (12, 1, 1e4), (9, 0, 500), (5, 0, 2000)])
def test_few_printed_rows_have_the_plain_base_that_gives_them(ask, rows, start, base):
    w = base ** (-np.arange(0, 6, 2) / 6)
    angles = np.outer(np.arange(start, start + rows), w)
    np.savetxt("t.csv", np.stack([np.sin(angles), np.cos(angles)], -1).reshape(rows, 6), "%.4f", delimiter=",")
    keys = f",base={base:g}" * (base != 1e4) + f",len={rows}" + f",start={start}" * start
    ask("identify", "t.csv").says(f"sinusoidal:dim=6{keys} (sure: 4 decimals)")


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("header", [True, False])
def test_decimal_commas_are_read_between_semicolons_and_tabs(ask, separator, header):
    rows = [[str(k), *(f"{v:.4f}".replace(".", ",") for v in row)] for k, row in enumerate(sinusoid(12, 6))]
    rows = [["Pos", *(f"d{k}" for k in range(6))]] * header + rows
    Path("t.csv").write_text("\n".join(map(separator.join, rows)) + "\n")
    ask("identify", "t.csv").says("sinusoidal:dim=6,len=12 (sure: 4 decimals)")


def test_a_minus_of_a_word_processor_is_read(ask):
    text = "\n".join(",".join(f"{v:.4f}".replace("-", "\N{MINUS SIGN}") for v in row) for row in sinusoid(12, 6))
    Path("t.csv").write_text(text)
    ask("identify", "t.csv").says("sinusoidal:dim=6,len=12 (sure: 4 decimals)")
    Path("latin.csv").write_bytes("Größe;a\n1;2\n".encode("cp1252"))
    assert "is text that is not in UTF-8" in ask("identify", "latin.csv").ends(2).err


def test_reversed_distances_are_as_many_as_expected(ask):
    angles = np.outer(np.arange(-29, 31), 1e4 ** (-np.arange(0, 64, 2) / 64))
    np.save("r.npy", np.concatenate([np.sin(angles), np.cos(angles)], 1).astype("float32"))
    said = ask("compare", "r.npy", "transformer-xl:dim=64,convention=xlnet").ends(1).never("60 rows where")
    said.says("the rows are reversed: the last one stands first")


def test_another_draw_has_nothing_to_do_with_the_expected_one(ask):
    for seed in (1, 2):
        np.save(f"draw{seed}.npy", np.random.default_rng(seed).normal(size=(2, 128)).astype("float32"))
    said = "the values are unrelated to the expected ones, though both are spread alike: another draw"
    ask("compare", "draw1.npy", "draw2.npy").ends(1).says(f"different: {said}")


def test_a_bias_in_bfloat16_is_not_harmless_far_away(ask):
    positions, slopes = np.arange(1024, dtype="float32"), (2.0 ** (-np.arange(1, 17) / 2)).astype("float32")

    def bf16(values):
        return (values.astype("float32").view("u4") + 0x7FFF + (values.view("u4") >> 16 & 1) & 0xFFFF0000).view("f4")

    np.save("bias.npy", bf16(bf16(slopes)[:, None, None] * bf16(positions)[None, None]))
    said = ask("compare", "bias.npy", "alibi:heads=16,convention=bloom").ends(1).never("harmless")
    said.says("bfloat16 values where float32 was expected", "which a softmax shows")


def test_a_missing_pi_at_given_points_is_told(ask):
    points = np.random.default_rng(0).uniform(-1, 1, (64, 3))
    np.save("points.npy", points)
    turns = points[:, None] * 2.0 ** np.arange(6)[:, None]
    np.save("t.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=2).reshape(64, 36).astype("float32"))
    answer = ask("compare", "t.npy", "nerf:bands=6,order=by-frequency,coordinates=given,point-axes=3,points=points.npy")
    answer.ends(1).says("different: pi is missing: every angle is the expected one over pi")
