"""Everyday tables of waves: bases of many digits, other units, rows and arguments that were exchanged, figures."""

import numpy as np
import pytest

from tests.judge.answers import angles, cache, frequencies, sinusoid


@pytest.mark.parametrize(("base", "dim"), [(499999, 64), (31415, 16)])
def test_a_base_of_many_digits_comes_before_a_shorter_one_that_gives_fewer_values(ask, base, dim):
    np.save("t.npy", sinusoid(128, dim, base))
    ask("identify", "t.npy").says(f"base={base},len=128 (sure: all values equal)")
    ask("compare", "t.npy", f"sinusoidal:dim={dim}").says(f"base {base} where 10000").never("endpoint")


def test_a_logarithm_to_another_base_is_noted(ask):
    np.save("t.npy", sinusoid(512, 256, np.exp(np.log2(10000))))
    ask("identify", "t.npy").says("e^(log2(10000))", "base=589902.4").never("base=531735.85")


@pytest.mark.parametrize(("times", "step"), [(np.pi, "3.141592653589793"), (2 * np.pi, "6.283185307179586")])
def test_positions_in_half_turns_and_turns_are_a_step(ask, times, step):
    np.savez("c.npz", **cache(times * angles(128, 64)))
    ask("identify", "c.npz").says(f"rope:dim=64,len=128,step={step} (sure").never("no known rule")


@pytest.mark.parametrize("decimals", [5, 6, 7])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_decimals_of_the_exact_values_are_no_phases(ask, decimals, dtype):
    table = sinusoid(64, 16, dtype=dtype)
    for name, values in (("r", np.round(table, decimals)), ("c", np.trunc(table * 10.0**decimals) / 10.0**decimals)):
        np.save(f"{name}.npy", values.astype(dtype))
    recipe = f"sinusoidal:dim=16,len=64 (sure: {decimals} decimals)"
    which = "the exact one or a neighbour in float32," if dtype == "float32" else "the exact one"
    ask("identify", "r.npy").says(recipe, f"{which} to {decimals} decimals")
    ask("identify", "c.npy").says(recipe, f"{which} cut to {decimals} decimals")


def test_a_lone_part_that_is_transposed_lacks_nothing(ask):
    np.save("t.npy", np.cos(angles(32, 16)).astype("f4").T.copy())
    ask("compare", "t.npy", "rope:dim=16").ends(1).says("the table is transposed").never("missing")


def test_dynamic_ntk_without_its_last_term_is_named(ask):
    base = 10000.0 * (4 * 1024 / 256) ** (64 / 62)
    np.savez("c.npz", **cache(angles(1024, 64, base), "half"))
    ask("compare", "c.npz", "rope:dim=64,scaling=dynamic,factor=4,max-position=256,len=1024").ends(1).says(
        "the term - (factor - 1) is missing"
    )


def test_sines_and_cosines_by_rows_are_told(ask):
    angle = np.repeat(angles(128, 64), 2, 1)
    values = np.where(np.arange(128)[:, None] % 2, np.cos(angle), np.sin(angle))
    np.save("t.npy", values.astype("f4"))
    ask("compare", "t.npy", "sinusoidal:dim=64").ends(1).says("even rows hold sines in all columns")


def test_exchanged_arguments_of_polar_are_told(ask):
    np.save("t.npy", (angles(128, 64) * np.exp(1j)).astype("c8"))
    ask("compare", "t.npy", "rope:dim=64,layout=complex").ends(1).says("size and angle are exchanged")


def test_pairs_that_do_not_rotate_are_told(ask):
    w = np.where(np.arange(32), 0.0, 1.0)
    np.savez("c.npz", **cache(np.outer(np.arange(128), w), "half"))
    ask("compare", "c.npz", "rope:dim=64").ends(1).says("pairs 1 to 31 do not rotate", "overflowed")


def test_positions_that_were_divided_as_integers_are_told(ask):
    np.savez("c.npz", **cache(np.outer(np.arange(400) // 4, frequencies(64)), "half"))
    ask("compare", "c.npz", "rope:dim=64,scaling=linear,factor=4").ends(1).says(
        "numbers of rows are rounded down to multiples of 4"
    )


def test_a_rotation_in_bfloat16_is_told(ask):
    rng, angle = np.random.default_rng(0), angles(32, 64)
    a, b = rng.standard_normal((2, 1, 4, 32, 32))
    cos, sin, x, y = (narrow(v) for v in (np.cos(angle), np.sin(angle), a, b))
    made = [narrow(narrow(x * cos) - narrow(y * sin)), narrow(narrow(y * cos) + narrow(x * sin))]
    np.save("have.npy", np.concatenate(made, -1).astype("f4"))
    exact = [x * np.cos(angle) - y * np.sin(angle), y * np.cos(angle) + x * np.sin(angle)]
    np.save("want.npy", np.concatenate(exact, -1).astype("f4"))
    ask("compare", "have.npy", "want.npy").ends(1).says("values have the precision of bfloat16")


def narrow(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


def test_a_row_that_was_computed_exactly_is_no_difference(ask):
    w = np.exp(np.arange(64, dtype="f4") * np.float32(-np.log(10000) / 63)).astype("f4")
    angle = np.arange(1026, dtype="f4")[:, None] * w
    table = np.concatenate([np.sin(angle), np.cos(angle)], 1)
    exact = 10000.0 ** (-np.arange(64) / 63)
    table[1] = np.concatenate([np.sin(exact), np.cos(exact)])
    np.save("t.npy", table)
    ask("compare", "t.npy", "sinusoidal:dim=128,convention=fairseq").ends(1).says("pad-row 1 is missing").never(
        "more than float32 rounding"
    )


def test_values_that_are_equal_are_not_called_near(ask):
    table = sinusoid(128, 64, dtype="float16")
    table[40:42, :20] = 2
    np.save("t.npy", table)
    ask("identify", "t.npy").says("8,152 values are equal to the exact ones, rounded to float16")


def test_a_cache_that_is_filled_further_has_no_more_rows(ask):
    whole = cache(angles(64, 64), "half")
    np.savez("full.npz", **whole)
    np.savez("part.npz", **{name: np.where(np.arange(64)[:, None] < 56, v, 0) for name, v in whole.items()})
    ask("compare", "full.npz", "part.npz").ends(1).never("56 were expected")


def test_two_tables_are_no_rotated_tensors(ask):
    angle = angles(100, 128).astype("f4")
    for name, times in (("a", 1), ("b", 1000)):
        both = [f(np.float32(times) * angle) for f in (np.cos, np.sin)]
        np.save(f"{name}.npy", np.concatenate(both, 1).astype("f4"))
    ask("compare", "a.npy", "b.npy").ends(1).never("judged with base", "998")
    np.save("c.npy", np.exp(1j * angle).astype("c8"))
    np.save("d.npy", np.exp(-1j * angle).astype("c8"))
    ask("compare", "d.npy", "c.npy").ends(1).says("the sign of sin is changed")


def test_frequencies_of_two_files_without_a_rule_are_compared(ask):
    w = frequencies(48)
    for name, factors in (("short", np.linspace(1.1, 3, 24)), ("long", np.linspace(1.2, 60, 24) ** 1.1)):
        phases = np.outer(np.arange(128), w / factors)
        np.savez(f"{name}.npz", cos=np.cos(phases).astype("f4"), sin=np.sin(phases).astype("f4"))
    ask("compare", "short.npz", "long.npz").ends(1).says("other frequencies: about 0.9091 to", "where 0.8183 to")


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_sines_first_in_pairs_are_noted(ask, dtype):
    phases = angles(100, 64)
    np.save("t.npy", np.stack([np.sin(phases), np.cos(phases)], -1).astype(dtype))
    ask("identify", "t.npy").says("layout=pairs", "sin and cos are exchanged: the sines come first")


def test_a_cache_of_two_bases_has_no_other_series(ask):
    phases = np.where(np.arange(1024)[:, None] < 640, angles(1024, 64), angles(1024, 64, 1e6))
    np.savez("c.npz", **{name: v.astype("f4") for name, v in cache(phases, "half").items()})
    ask("compare", "c.npz", "rope:dim=64,base=1000000,layout=half").ends(1).says("rows 1 to 639").never("series")


def test_a_stack_of_cosines_and_sines_has_its_rows_behind_axes_of_length_1(ask):
    phases = angles(40, 16)
    np.save("t.npy", np.stack([np.cos(phases), np.sin(phases)])[:, None].astype("f4"))
    ask("compare", "t.npy", "rope:dim=16").ends(0).says("same")


@pytest.mark.parametrize(("times", "words"), [(0.5, "half the width: they lie half as far"), (2, "twice as far")])
@pytest.mark.parametrize(("dim", "base", "original", "factor"), [(128, 1e6, 32768, 4), (64, 10000, 4096, 8)])
def test_the_ends_of_a_ramp_over_another_width_are_told_in_tables_and_lists(
    ask, times, words, dim, base, original, factor
):
    low, high = (times * dim * np.log(original / (b * 2 * np.pi)) / (2 * np.log(base)) for b in (32, 1))
    low, high = max(np.floor(low), 0), min(np.ceil(high), dim - 1)
    ramp = np.clip((np.arange(dim // 2) - low) / (high - low), 0, 1)
    w = frequencies(dim, base) * (1 - ramp + ramp / factor)
    recipe = f"rope:dim={dim},base={base:.0f},scaling=yarn,factor={factor},original-max={original}"
    angle, size = np.arange(300)[:, None] * w, 0.1 * np.log(factor) + 1
    np.savez("c.npz", cos=size * np.cos(angle), sin=size * np.sin(angle))
    np.save("w.npy", w.astype("f4"))
    for file in ("c.npz", "w.npy"):
        ask("compare", file, recipe).ends(1).says(words).never("original-max", "missing")


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("layout", ["half", "interleaved", "concat", "sin-cos", "pairs"])
@pytest.mark.parametrize("order", ["neighbouring columns", "two halves"])
def test_one_array_in_another_layout_is_told_in_every_type(ask, kind, layout, order):
    cos, sin = np.cos(angles(200, 64)), np.sin(angles(200, 64))
    table = np.stack([cos, sin], 2).reshape(200, 64) if order[0] == "n" else np.concatenate([cos, sin], 1)
    table = table.astype("f4" if kind == "bfloat16" else kind)
    if kind == "bfloat16":
        bits = table.view("u4") + 0x7FFF + ((table.view("u4") >> 16) & 1)
        table = (bits & np.uint32(0xFFFF0000)).view("f4")
    np.save("t.npy", table)
    answer = ask("compare", "t.npy", f"rope:dim=64,len=200,layout={layout}")
    if (order[0] == "n") == (layout == "pairs") and layout not in ("half", "interleaved"):
        answer.never("neighbouring", "at most 2 off")
    else:
        answer.ends(1).says(f"sin and cos stand in {order}").never("at most 2 off", "at most 1.5 off")


@pytest.mark.parametrize("start", [1000, 5000])
@pytest.mark.parametrize("steps", ["positions", "angles", "frequencies"])
def test_narrow_steps_far_from_position_0_are_told(ask, start, steps):
    def low(values, here):
        bits = np.ascontiguousarray(values, "f4").view("u4")
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view("f4")
        return rounded if here == steps else np.asarray(values, "f4")

    p, w = low(np.arange(start, start + 200), "positions"), low(frequencies(64), "frequencies")
    np.savez("c.npz", **cache(low(p[:, None] * w, "angles")))
    answer = ask("compare", "c.npz", f"rope:dim=64,len=200,start={start}").ends(1)
    answer.says(steps, "rounded to bfloat16").never("positions start")


def test_missing_pairs_are_told_in_tables_and_lists(ask):
    np.savez("c.npz", **cache(angles(200, 64)[:, :20], "half"))
    np.save("w.npy", frequencies(64)[:20])
    for file in ("c.npz", "w.npy"):
        ask("compare", file, "rope:dim=64").ends(1).says("pairs 20 to 31 are missing").never("base")
    np.savez("c.npz", **cache(np.arange(200)[:, None] * frequencies(128, 1e6)[:16], "half"))
    recipe = "rope:dim=128,base=1000000,scaling=proportional,partial=0.25"
    ask("compare", "c.npz", recipe).ends(1).says("pairs 16 to 63 are missing, which do not rotate").never("base 3")


@pytest.mark.parametrize(
    ("original", "confidence"), [(24576, "likely"), (12288, "likely"), (32768, "sure"), (4096, "sure")]
)
def test_a_length_that_others_give_as_well_is_likely(ask, original, confidence):
    low, high = (96 * np.log(original / (beta * 2 * np.pi)) / (2 * np.log(1e6)) for beta in (32, 1))
    ramp = np.clip((np.arange(48) - np.floor(low)) / (np.ceil(high) - np.floor(low)), 0, 1)
    w = 1e6 ** (-np.arange(0, 96, 2) / 96)
    angle, magnitude = np.outer(np.arange(512), w * (1 - ramp) + w / 4 * ramp), 1 + 0.1 * np.log(4)
    np.savez("c.npz", **{f.__name__: (f(angle) * magnitude).astype("f4") for f in (np.cos, np.sin)})
    ask("identify", "c.npz").says(f"original-max={original}", f"({confidence}")


def test_a_long_cache_of_numpys_own_cosines_is_sure(ask):
    for name, base in (("ours.npy", 5e5), ("theirs.npy", 1e4)):
        w = (1 / base ** (np.arange(0, 16, 2, dtype="f4") / np.float32(16))).astype("f4")
        np.save(name, np.cos(np.outer(np.arange(131072, dtype="f4"), w)))
    ask("identify", "ours.npy").says("rope:dim=16,base=500000,len=131072", "sure")
    ask("compare", "ours.npy", "theirs.npy").says("different: base 500000 where 10000 was expected")
