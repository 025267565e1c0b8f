"""What unknown tables are, found from their values: a set of 300 made without pecli, the frameworks' own, and traps."""

from collections import Counter

import numpy as np
import pytest

import pecli
from pecli import Table, open_table
from pecli.inspection.samples import take
from pecli.judge.identify import identify
from tests.support import campaign_tables, unknown_tables
from tests.support.golden_cases import values

EVERY = unknown_tables.every()
KINDS = sorted({unknown.kind for unknown in EVERY})


@pytest.fixture(scope="module", params=[5, pytest.param(1, marks=pytest.mark.exhaustive)], ids=["a fifth", "all"])
def results(request, tmp_path_factory):
    """The tables of the set, or a fifth of them, beside what was found: written as somebody would, read, identified."""
    folder = tmp_path_factory.mktemp("unknown")
    found = []
    for number, unknown in enumerate(EVERY[:: request.param]):
        with open_table(unknown_tables.save(unknown, folder, f"t{number}")) as table:
            found.append((unknown, identify(table)))
    return found


def identified(tmp_path, **arrays):
    """Identify arrays, one in an npy file, several in an npz."""
    with open_table(unknown_tables.save(unknown_tables.Unknown("", "", arrays), tmp_path, "table")) as table:
        return identify(table)


def planes_of(arrays):
    """Values of arrays as float64, complex ones in two, without axes of length 1."""
    found = []
    for array in arrays:
        parts = (array.real, array.imag) if np.iscomplexobj(array) else (array,)
        found += [np.squeeze(np.asarray(part, np.float64)) for part in parts]
    return found


def reproduces(recipe, unknown):
    """Whether the recipe's exact values are the table's, up to its type and to what a framework's arithmetic adds."""
    table = Table.parse(recipe, dtype="float64", arithmetic="exact")
    made = [plane.values for plane in take(table, 4096, unstack=False).planes]
    wanted = unknown.ideal or unknown.arrays
    theirs = planes_of(wanted.values())
    if len(made) == 2 and len(theirs) == 1:
        theirs = [theirs[0][0], theirs[0][1]]
    made = [np.squeeze(p) for p in made]
    grain = 2.0**-7 if "bfloat16" in unknown.text or "float16" in unknown.text else 2.0**-20
    if "falcon" in unknown.text:
        grain = 2.0**-20
    for p, q in zip(made, theirs, strict=True):
        p = p.reshape(q.shape) if p.size == q.size else p
        if p.shape != q.shape:
            return False
        finite = np.isfinite(q)
        if not np.array_equal(np.isfinite(p), finite):
            return False
        if np.abs(p[finite] - q[finite]).max(initial=0) > grain * max(1.0, np.abs(q[finite]).max(initial=0)):
            return False
    return True


def recovered(unknown, found):
    if not unknown.formula:
        return found.confidence == "unknown"
    if found.recipe is None or found.confidence == "unknown":
        return False
    return reproduces(found.recipe, unknown)


def test_of_300_tables_at_least_95_of_a_hundred_are_recovered(results):
    good = Counter(unknown.kind for unknown, found in results if recovered(unknown, found))
    total = Counter(unknown.kind for unknown, _ in results)
    report = ", ".join(f"{kind} {good[kind]}/{total[kind]}" for kind in KINDS)
    missed = [unknown.text for unknown, found in results if not recovered(unknown, found)]
    assert total.total() in (60, 300)
    assert good.total() >= 0.95 * total.total(), f"{report}; missed: {missed}"
    assert all(total[kind] - good[kind] <= max(2, total[kind] / 10) for kind in KINDS), f"{report}; missed: {missed}"


def test_no_table_is_named_wrongly_with_sure(results):
    wrong = [u.text for u, found in results if found.confidence == "sure" and not recovered(u, found)]
    assert wrong == []


def test_arithmetic_is_named(results):
    names = {"float32": "float32", "float32 exp": "float32", "bfloat16": "bfloat16", "float16": "float16"}
    for unknown, found in results:
        if unknown.kind == "arithmetic":
            kind = unknown.text.partition(" d=")[0]
            if kind == "rounded":
                assert found.arithmetic == "exact, rounded to bfloat16", unknown.text
            elif kind in names:
                assert found.arithmetic == names[kind], unknown.text


def test_noise_of_any_size_makes_a_table_unknown(tmp_path):
    rng = np.random.default_rng(1)
    exact = Table.parse("sinusoidal:dim=64,len=64").read("pe")
    for size in (1e-1, 1e-3, 1e-5):
        noisy = (exact + size * rng.standard_normal(exact.shape)).astype(np.float32)
        assert identified(tmp_path, array=noisy).confidence == "unknown", size


def test_random_values_of_any_kind_are_unknown(tmp_path):
    rng = np.random.default_rng(2)
    for table in (rng.standard_normal((64, 64)), rng.uniform(-1, 1, (128, 32)), rng.integers(0, 2, (64, 8)),
                  rng.standard_normal((8, 32, 32)), rng.standard_normal(16)):  # fmt: skip
        assert identified(tmp_path, array=table.astype(np.float32)).confidence == "unknown", table.shape


def test_zeros_are_no_positions_but_nobody_can_be_sure(tmp_path):
    found = identified(tmp_path, array=np.zeros((8, 4), np.float32))
    assert found.recipe.startswith("none:dim=4")
    assert found.confidence == "likely"


def test_a_linear_factor_of_two_is_a_step_of_one_half(tmp_path):
    arrays = {name: Table.parse("rope:dim=32,scaling=linear,factor=2,len=32").read(name) for name in ("cos", "sin")}
    found = identified(tmp_path, **arrays)
    assert found.confidence == "sure"
    made = Table.parse(found.recipe)
    assert all(np.array_equal(made.read(name), arrays[name]) for name in arrays)


def test_a_table_that_is_right_for_its_first_rows_only_is_not_sure(tmp_path):
    cos, sin = (Table.parse("rope:dim=16,len=2000").read(name) for name in ("cos", "sin"))
    cos[1500:], sin[1500:] = cos[:500], sin[:500]
    found = identified(tmp_path, cos=cos, sin=sin)
    assert found.confidence == "likely"
    assert any("every row from 1500 to 1999" in note for note in found.notes)


def test_exchanged_parts_are_said(tmp_path):
    table = Table.parse("rope:dim=32,len=40")
    found = identified(tmp_path, cos=table.read("sin"), sin=table.read("cos"))
    assert "cos and sin are exchanged" in found.notes


def test_positions_that_were_chosen_are_found_from_the_phases(tmp_path):
    table = Table.parse("rope:dim=64,positions=0+1+2+3+7+100+1000+4095+131071")
    found = identified(tmp_path, cos=table.read("cos"), sin=table.read("sin"))
    assert found.confidence == "sure"
    assert "positions=0+1+2+3+7+100+1000+4095+131071" in found.recipe


def test_a_first_position_far_out_is_found(tmp_path):
    for start in (1_000_000, 123_456_789):
        table = Table.parse(f"sinusoidal:dim=64,len=64,start={start},dtype=float64")
        found = identified(tmp_path, array=table.read("pe"))
        assert found.confidence == "sure"
        assert f"start={start}" in found.recipe


def test_sinusoids_of_the_frameworks_are_recovered(tmp_path):
    stored = {k: v for k, v in values("absolute").items() if k.startswith("sinusoid") and v.ndim == 2 and len(v) >= 16}
    assert len(stored) >= 5
    for name, array in stored.items():
        found = identified(tmp_path, array=array)
        assert found.confidence in ("sure", "likely"), name
        made = Table.parse(found.recipe, dtype="float64").read("pe")
        assert np.abs(made - array).max() < 2e-3, name  # float32 angles of up to some thousand radians


def test_frequencies_of_the_frameworks_are_recovered(tmp_path):
    """64 rows of a module's own frequencies, by float32 angles: the recipe has those frequencies."""
    seen, missed = set(), []
    for name, array in values("configs").items():
        key = array.tobytes()
        if not name.endswith("/float32") or (array[1:] == 0).all() or key in seen:
            continue
        seen.add(key)
        if len(seen) % 3:  # one in three: the others are alike
            continue
        angles = np.arange(64, dtype=np.float32)[:, None] * array
        cos, sin = (f(angles.astype(np.float64)).astype(np.float32) for f in (np.cos, np.sin))
        found = identified(tmp_path, cos=np.concatenate([cos, cos], 1), sin=np.concatenate([sin, sin], 1))
        made = Table.parse(found.recipe).plan.frequencies if found.recipe else ()
        step = float(found.guess.table.get("step", 1)) if found.guess else 1.0
        near = len(made) == len(array) and np.allclose([float(w) * step for w in made], array, rtol=3e-6, atol=1e-9)
        if not near:
            missed.append(name)
    assert len(seen) >= 60
    assert len(missed) <= len(seen) // 60, missed


def test_the_command_prints_recipe_confidence_residual_and_arithmetic(pecli, tmp_path):
    np.save(tmp_path / "pe.npy", Table.parse("sinusoidal:dim=32,len=64,base=500,start=3").read("pe"))
    result = pecli("inspect", "pe.npy", "--identify", "--json")
    import json

    found = json.loads(result.stdout)
    assert result.returncode == 0
    assert found["confidence"] == "sure"
    assert found["residual"] == 0.0
    assert found["arithmetic"] == "exact"
    assert found["recipe"].startswith("sinusoidal:dim=32,base=500,")
    assert "unknown" not in pecli("inspect", "pe.npy", "--identify").stdout


def test_the_command_says_unknown_rather_than_guess(pecli, tmp_path):
    np.save(tmp_path / "w.npy", np.random.default_rng(3).standard_normal((64, 32)).astype(np.float32))
    result = pecli("inspect", "w.npy", "--identify")
    assert result.returncode == 0
    assert "unknown: no formula was found that gives these values" in result.stdout


def test_drawn_weights_are_told_by_their_statistics(tmp_path):
    rng = np.random.default_rng(5)
    table = (0.02 * rng.standard_normal((200, 32))).astype(np.float32)
    table[1] = 0
    found = identified(tmp_path, array=table)
    assert found.confidence == "unknown"
    assert "normal distribution" in found.notes[0]
    assert f"standard deviation {np.delete(table, 1, 0).std():.4g}" in found.notes[0]
    assert "row 1 is all zeros" in found.notes[1]
    flat = identified(tmp_path, array=rng.uniform(-0.1, 0.1, (200, 32)).astype(np.float32))
    assert "uniform" in flat.notes[0]
    assert "normal" not in flat.notes[0]


def test_a_table_on_its_side_is_named_and_said(tmp_path):
    table = Table.parse("sinusoidal:dim=32,len=100,base=10007").read("pe")
    found = identified(tmp_path, array=np.ascontiguousarray(table.T))
    assert "base=10007," in found.recipe
    assert "rows and columns are exchanged" in found.notes
    assert "rows and columns are exchanged" not in identified(tmp_path, array=table).notes


@pytest.mark.parametrize("part", ["cos", "sin"])
def test_a_part_alone_is_found_from_any_position(tmp_path, part):
    found = identified(tmp_path, array=Table.parse("rope:dim=64,len=100,start=50,base=54321").read(part))
    assert "base=54321," in found.recipe
    assert "start=50" in found.recipe
    assert f"the {part} alone of a rotary table" in found.notes


def test_zeros_for_hidden_keys_are_said_and_are_no_buckets(tmp_path):
    dense = Table.parse("alibi:heads=4,len=40").read("bias")
    found = identified(tmp_path, bias=np.tril(dense))
    assert found.recipe.startswith("alibi:heads=4")
    assert found.confidence == "likely"
    assert "0 stands where keys are hidden, and the recipe has minus infinity" in found.notes


def test_numbers_that_the_values_leave_open_have_a_range_that_holds_what_was_chosen(tmp_path):
    base = 54321
    w = unknown_tables.powers(base, 32, 32)
    found = identified(tmp_path, inv_freq=unknown_tables.bf16(w.astype(np.float32)), other=np.zeros(3, np.float32))
    low, high = map(float, found.ranges["base"])
    assert found.confidence == "likely"
    assert low <= base <= high
    for inside, whether in ((low * 1.00001, True), (high * 0.99999, True), (low * 0.999, False), (high * 1.001, False)):
        made = unknown_tables.bf16(unknown_tables.powers(inside, 32, 32).astype(np.float32))
        assert np.array_equal(made, unknown_tables.bf16(w.astype(np.float32))) is whether, inside


def test_spoiled_rows_of_counts_bits_and_grids_are_counted(tmp_path):
    counts = np.repeat(np.arange(200.0)[:, None] / 199, 4, 1).astype(np.float32)
    counts[150:] = 7
    found = identified(tmp_path, array=counts)
    assert found.recipe.startswith("integer:dim=4,max-len=200")
    assert any("200 of 800 values differ, in every row from 150 to 199" in note for note in found.notes)
    grid = Table.parse("sincos2d:dim=32,grid=6x8").read("pe")
    grid[17, 3] = np.nan
    assert any("one value differs, at [17, 3]" in note for note in identified(tmp_path, array=grid).notes)


@pytest.mark.parametrize(
    ("part", "rows", "start", "base"), [(0, 24, 50, 500000), (0, 385, 0, 54321), (1, 257, 0, 333), (1, 100, 1, 8888)]
)
def test_eight_bits_of_one_part_tell_the_base(tmp_path, part, rows, start, base):
    p = start + np.arange(rows, dtype=np.float64)
    values = campaign_tables.exact(unknown_tables.powers(base, 32, 32), p)[part]
    found = identified(tmp_path, array=unknown_tables.bf16(values.astype(np.float32)))
    assert f"base={base}," in found.recipe
    assert found.equal == 1.0


def in_pairs(w, p, how):
    cos, sin = campaign_tables.computed(w, p, how)
    return {"cos": cos, "sin": sin}


@pytest.mark.parametrize(
    ("how", "pairs", "rows", "base"),
    [("bfloat16 positions", 64, 1024, 10000), ("bfloat16", 2, 257, 2.5e7), ("float16", 4, 1000, 100)],
)
def test_roundings_that_show_in_later_rows_are_named(tmp_path, how, pairs, rows, base):
    """Early positions are exact in any type, and few pairs may follow many rules."""
    w = unknown_tables.powers(base, max(pairs, 8), pairs)
    w = np.concatenate([w, np.zeros(8 - pairs if pairs < 8 else 0)])
    found = identified(tmp_path, **in_pairs(w, np.arange(rows, dtype=np.float64), how))
    assert found.equal == 1.0
    assert any(f"rounded to {how.split()[0]}" in note for note in found.notes)
    low, high = map(float, found.ranges["base"])
    assert low <= base <= high
    assert f"base={base:.0f}," in found.recipe


@pytest.mark.parametrize(
    ("dtype", "rows", "base"), [("float16", 2049, 1e6), ("float16", 2049, 10000), ("bfloat16", 4097, 1e6)]
)
def test_units_of_a_frequency_that_later_rows_of_a_narrow_type_show_are_no_other_base(tmp_path, dtype, rows, base):
    """Exponentials in float32: told as shift=1 of 649381.9, or as base 10000.002, whose values were off by as much."""
    cos, sin = campaign_tables.computed(unknown_tables.powers(base, 32, 32), np.arange(float(rows)), "exponential")
    found = identified(tmp_path, array=unknown_tables.narrow(np.concatenate([cos, sin], 1), dtype))
    assert f"base={base:.0f}," in found.recipe
    assert "shift=0" in found.recipe
    assert found.equal > 0.9994
    assert any("rounded to float32" in note for note in found.notes)


@pytest.mark.parametrize(
    ("w", "rows", "how", "dtype", "said"),
    [
        (unknown_tables.yarn(10007, 64, 4, 32768), 33, "float32", "bfloat16",
         "base=10007,scaling=ntk-by-parts,factor=4,"),
        (unknown_tables.powers(10000 * 2.5 ** (48 / 47), 48, 48), 97, "exponential", "bfloat16",
         "base=10000,scaling=ntk,factor=2.5,"),
        (np.r_[unknown_tables.powers(100, 64, 16), np.zeros(48)], 20, "float32", "float32",
         "partial=0.25,base=100,scaling=proportional,"),
    ],
)  # fmt: skip
def test_few_rows_far_from_position_0_tell_by_the_turns_since_then(tmp_path, w, rows, how, dtype, said):
    made = in_pairs(w, 4096 + np.arange(float(rows)), how)
    found = identified(tmp_path, **{name: unknown_tables.narrow(v, dtype) for name, v in made.items()})
    assert said in found.recipe
    assert "start=4096," in found.recipe
    assert found.equal == 1.0


@pytest.mark.parametrize(
    ("w", "start", "rows", "how", "said"),
    [
        (np.r_[unknown_tables.powers(10000, 64, 16), np.zeros(48)], 100, 47, "bfloat16",
         "partial=0.25,base=10000,scaling=proportional,"),
        (unknown_tables.by_rotations(5e6, 128, 16, 4096, 1, 4), 0, 1023, "float16",
         "base=5000000,scaling=llama3,factor=16,original-max=4096,"),
        (unknown_tables.yarn(5e6, 16, 4, 32768), 4096, 127, "cut", "base=5000000,scaling=ntk-by-parts,factor=4,"),
    ],
)  # fmt: skip
def test_scaled_frequencies_are_found_through_narrow_phases(tmp_path, w, start, rows, how, said):
    """Fast pairs whose turns no slow one counts; pairs that float16 holds at rest; a ramp with one pair on it."""
    found = identified(tmp_path, **in_pairs(w, start + np.arange(float(rows)), how))
    assert said in found.recipe
    assert found.equal == 1.0


def test_a_vector_whose_ramp_holds_one_pair_leaves_a_range_of_its_factors(tmp_path):
    """Told as factor 4 within 32000 alone: eight bits of one slowed pair leave many a factor and length."""
    w = unknown_tables.by_rotations(1771, 64, 32, 32768, 1, 4)
    found = identified(tmp_path, inv_freq=unknown_tables.bf16(w.astype(np.float32)))
    assert found.confidence == "likely"
    assert any("other choices, such as rope:" in note for note in found.notes)
    for name, number in (("base", 1771), ("factor", 32)):
        low, high = map(float, found.ranges[name])
        assert low <= number <= high
    assert "original-max=32768," in found.recipe
    assert any("together they have base from" in note for note in found.notes)


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (9, 5)])
def test_a_grid_of_eight_bits_tells_a_base_that_is_not_usual(tmp_path, rows, columns):
    """A slow cosine stays 1 along a side, and only its sine moves."""
    y, x = np.divmod(np.arange(rows * columns), columns)
    halves = [unknown_tables.sin_cos(v + 1, 48, 54321.0) for v in (y, x)]
    table = np.concatenate([np.stack([v[:, :24], v[:, 24:]], 2).reshape(len(v), -1) for v in halves], 1)
    found = identified(tmp_path, array=unknown_tables.narrow(table, "bfloat16"))
    assert found.recipe.startswith(f"detr:dim=96,grid={rows}x{columns},")
    low, high = map(float, found.ranges["temperature"])
    assert low <= 54321 <= high


def test_a_base_two_digits_shorter_tells_a_shift(tmp_path):
    """Told as 2254.24 without one: any range holds a number of six digits, and few hold one of four."""
    w, p = unknown_tables.powers(1771, 31, 32), 0.5 * np.arange(192)
    cos, sin = campaign_tables.computed(w, p, "float32")
    table = unknown_tables.bf16(np.concatenate([cos, sin], 1))
    table[112:] = 0
    found = identified(tmp_path, array=table)
    assert "base=1771,order=cos-sin,shift=1," in found.recipe
    assert any("5120 of 12288 values differ" in note for note in found.notes)


@pytest.mark.parametrize(
    ("rows", "columns", "prefix", "later"), [(14, 16, 1, 125), (6, 8, 0, 25)], ids=["repeated", "noise"]
)
def test_the_first_half_of_a_grid_shows_what_the_rest_should_be(tmp_path, rows, columns, prefix, later):
    table = Table.parse(f"sincos2d:dim=32,base=100,grid={rows}x{columns},prefix={prefix}").read("pe")
    table[later:] = table[: len(table) - later] if prefix else np.random.default_rng(1).uniform(-1, 1, (48 - later, 32))
    found = identified(tmp_path, array=table)
    assert f"grid={rows}x{columns},base=100," in found.recipe
    assert found.confidence == "likely"
    assert any(f"in every row from {later} to {len(table) - 1}" in note for note in found.notes)


def test_rows_of_zeros_do_not_make_halves_equal(tmp_path):
    """Told as interleaved with 30 % of the values: in the rows of zeros any columns are the same."""
    w = unknown_tables.by_rotations(333, 80, 40, 8192, 1, 4)
    made = {name: unknown_tables.bf16(v.astype(np.float32)) for name, v in in_pairs(w, np.arange(257.0), "").items()}
    for part in made.values():
        part[150:] = 0
    found = identified(tmp_path, **made)
    assert "dim=80," in found.recipe
    assert "layout" not in found.recipe
    assert any("8560 of 20560 values differ" in note or "in every row from 150" in note for note in found.notes)


def test_doubles_that_repeat_are_counted(tmp_path):
    """What two ways to compute a double leave in some rows is looked for in all."""
    cos, sin = campaign_tables.exact(unknown_tables.powers(100, 127, 128), 2 + np.arange(1000.0))
    table = 0.02 * np.stack([sin, cos], 2).reshape(1000, 256)
    table[678:] = table[:322]
    found = identified(tmp_path, array=table)
    assert "dim=256,base=100,order=interleaved,shift=1," in found.recipe
    assert any("82432 of 256000 values differ, between row 678 and row 999" in note for note in found.notes)


def test_narrow_positions_show_in_later_rows_of_a_table_that_is_spoiled(tmp_path):
    w = unknown_tables.powers(500000, 48, 48) / 40
    made = in_pairs(w, np.arange(600.0), "bfloat16 positions")
    for part in made.values():
        part[384:] = part[:216]
    found = identified(tmp_path, **made)
    assert "base=500000,scaling=linear,factor=40," in found.recipe
    assert any("positions rounded to bfloat16" in note for note in found.notes)


def test_numbers_that_nobody_would_choose_come_last(tmp_path):
    """A step of 0.9996, a length of 2010 and a base of a shift were told, which gave the same or fewer values."""
    cos, sin = campaign_tables.computed(unknown_tables.powers(10000, 31, 32), 2 + np.arange(191.0), "bfloat16")
    found = identified(tmp_path, array=unknown_tables.bf16(8 * np.concatenate([sin, cos], 1)))
    assert "step=" not in found.recipe
    w = unknown_tables.by_rotations(100, 64, 2.5, 2048, 1, 4)
    cos, sin = campaign_tables.computed(w, 1 + np.arange(100.0), "bfloat16 frequencies")
    assert "factor=2.5,original-max=2048," in identified(tmp_path, cos=cos, sin=sin).recipe
    made = in_pairs(unknown_tables.powers(123456.7, 32, 32) / 40, 100 + np.arange(95.0), "twice")
    found = identified(tmp_path, **{name: v.astype(np.float32) for name, v in made.items()})
    low, high = map(float, found.ranges["base"])
    assert "scaling=linear,factor=40," in found.recipe
    assert low <= 123456.7 <= high


def test_a_square_root_is_told_where_narrow_phases_blur_the_size(tmp_path):
    cos, sin = campaign_tables.computed(unknown_tables.powers(500000, 64, 64), np.arange(48.0), "bfloat16")
    found = identified(tmp_path, array=128**0.5 * np.concatenate([sin, cos], 1))
    assert "amplitude=11.3137084989847604," in found.recipe
    assert found.equal == 1.0


def test_a_base_that_explains_all_is_better_than_a_shorter_one_that_does_not(tmp_path):
    """Told as 148707.33 with shift=0 and 21 values open: the base of d - 2 explained them all."""
    w, p = unknown_tables.powers(123456.7, 63, 64), 1000 + 10 * np.arange(383.0)
    cos, sin = (0.02 * v for v in campaign_tables.computed(w, p, "float32"))
    found = identified(tmp_path, array=unknown_tables.bf16(np.stack([sin, cos], 2).reshape(383, 128)))
    assert "base=123456.7,order=interleaved,shift=1," in found.recipe
    assert found.equal == 1.0


def test_frequencies_over_a_factor_are_positions_over_it(tmp_path):
    w = unknown_tables.powers(1e6, 64, 64) / np.longdouble(2.5)
    found = identified(tmp_path, **in_pairs(w, 7 + np.arange(48.0), "exponential"))
    assert "base=1000000," in found.recipe
    assert found.arithmetic == "float32"


@pytest.mark.parametrize(
    ("base", "start", "rows", "how", "dtype"),
    [(1278804039.399741, 100, 193, "float32", "bfloat16"), (87745.99837557, 100, 193, "exact", "bfloat16"),
     (500000.0, 0, 33, "exponential", "float16")],
)  # fmt: skip
def test_a_base_of_many_digits_is_one_of_a_range(tmp_path, base, start, rows, how, dtype):
    """What only eight or eleven bits show may come from float32 angles too, and no long number is sure."""
    made = in_pairs(unknown_tables.powers(base, 16, 16), start + np.arange(rows, dtype=np.float64), how)
    found = identified(tmp_path, **{name: unknown_tables.narrow(v, dtype) for name, v in made.items()})
    low, high = map(float, found.ranges["base"])
    assert low <= base <= high or low <= base ** (30 / 32) <= high  # over d - 2, as retnet has it
    assert found.confidence == "likely" or base == 500000.0
    assert "base=500000," in found.recipe or base != 500000.0


def test_the_ends_of_a_range_give_the_same_values_and_what_lies_beyond_does_not(tmp_path):
    p, w = 100 + np.arange(193.0), unknown_tables.powers(87746, 16, 16)
    made = in_pairs(w, p, "bfloat16 positions")
    found = identified(tmp_path, **{name: unknown_tables.bf16(v) for name, v in made.items()})
    low, high = map(float, found.ranges["base"])
    width = (high - low) / low
    for base, same in ((low, True), (high, True), (low * (1 - width), False), (high * (1 + width), False)):
        again = in_pairs(unknown_tables.powers(base, 16, 16), p, "bfloat16 positions")
        assert all(np.array_equal(unknown_tables.bf16(again[k]), unknown_tables.bf16(made[k])) for k in made) is same


def test_half_of_a_short_table_shows_what_the_rest_should_be(tmp_path):
    table = Table.parse("sinusoidal:dim=32,len=33,base=10007").read("pe")
    table[25:] = table[:8]
    found = identified(tmp_path, array=table)
    assert found.confidence == "likely"
    assert any("in every row from 25 to 32" in note for note in found.notes)


def test_slopes_are_proportions_in_double_precision_too(tmp_path):
    m = np.array(unknown_tables.alibi_slopes(20))
    found = identified(tmp_path, bias=-m[:, None] * np.abs(np.arange(-63, 64)))
    assert found.recipe.startswith("alibi:heads=20,slopes=frameworks,bias-max=8")


@pytest.mark.parametrize("length", [200, 512])
def test_values_that_a_narrow_type_would_hold_too_are_not_said_to_be_rounded_to_it(length, tmp_path):
    """Slopes of eight heads are powers of two; a KERPLE like the first two heads was said to be the same as all."""
    away = np.abs(np.subtract.outer(*[np.arange(length)] * 2))
    made = -np.array(unknown_tables.alibi_slopes(8))[:, None, None] * away
    found = identified(tmp_path, bias=made.astype(np.float32))
    assert (found.confidence, found.arithmetic) == ("sure", "exact")
    low, high = map(float, found.ranges["bias-max"])
    assert 8 - 1e-6 < low < 8 < high < 8 + 1e-6
    for other in found.aliases:
        assert (Table.parse(other).read("bias") == made).all()
    two = identified(tmp_path, bias=made[:2].astype(np.float32))
    assert two.recipe.startswith("alibi:heads=2,")
    assert not any(other.startswith("kerple") for other in two.aliases)  # an exponent of 1 says what ALiBi is


def test_places_over_several_heads_are_those_of_the_first_and_the_last_value():
    bias = np.array(Table.parse("alibi:heads=8,len=64")["bias"])
    bias[1, 2, 3] = bias[1, 40, 3] = bias[3, 5, 1] = 5
    assert "3 of 32768 values differ, the first at [1, 2, 3], the last at [3, 5, 1]" in pecli.identify(bias).notes


def test_statistics_say_which_rows_they_are_of():
    values = np.random.default_rng(0).standard_normal((5000, 8)).astype(np.float32)
    assert pecli.identify(values).notes[0].endswith("measured on 4,096 of 5,000 rows")
    values = values[:100]
    assert "rows" not in pecli.identify(values).notes[0]
    values[7, 3], values[7, 4] = np.nan, 1000
    assert pecli.identify(values).notes[0].endswith("measured on 99 of 100 rows")


def test_a_range_of_bases_that_float32_told_holds_no_base_of_bfloat16():
    w = (1 / np.float32(10000) ** (np.arange(0, 16, 2, dtype=np.float32) / np.float32(16))).astype(np.float32)
    angle = (np.arange(300, dtype=np.float32)[:, None] * w).astype(float)
    found = pecli.identify({"cos": np.cos(angle).astype(np.float32), "sin": np.sin(angle).astype(np.float32)})
    low, high = map(float, found.ranges["base"])
    assert 9999.99 < low < 10000 < high < 10000.01
    assert not any("gives these values" in note for note in found.notes)


def test_values_that_were_multiplied_later_are_not_said_to_be_computed_in_float64():
    values = np.array(Table.parse("sinusoidal:dim=16,len=200")["pe"])
    assert pecli.identify(values * np.float32(3)).notes == ("values rounded to float32 before they were multiplied",)
    huge = pecli.identify(values * np.float32(1e30))
    assert "amplitude=1e30" in huge.recipe
    said = pecli.compare(values * np.float32(1e30), "sinusoidal:dim=16").findings
    assert not any("(sure)" in finding.text for finding in said)
