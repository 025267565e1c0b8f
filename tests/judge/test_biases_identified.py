"""Biases, indices and counts as other programs keep them, made with NumPy alone: what they are is told from values."""

import numpy as np
import pytest

import pecli
from tests.support import unknown_tables

N = 24


def cosines(n=128, pairs=8):
    angle = np.outer(np.arange(n), 10000.0 ** (-np.arange(pairs) / pairs))
    return {"cos": np.cos(angle).astype("f4"), "sin": np.sin(angle).astype("f4")}


def told(values=None, **arrays):
    """What a file of these arrays is said to be."""
    return pecli.identify({"array": values} if values is not None else arrays)


def put(values, at, number):
    values = values.copy()
    values[at] = number
    return values


def distances(n=N):
    return np.arange(n) - np.arange(n)[:, None]


def alibi(heads=8, n=N, kind="f4"):
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return (-slopes[:, None, None] * np.abs(distances(n))).astype(kind)


def buckets(n=64, count=32, reach=128, *, both=True):
    """T5's rule, as its paper has it."""
    d, side = distances(n), count // 2 if both else count
    size, exact = (np.abs(d) if both else np.maximum(-d, 0)), side // 2
    far = exact + np.log(np.maximum(size, 1) / exact + 1e-12) / np.log(reach / exact) * (side - exact)
    return np.where(size < exact, size, np.minimum(far.astype(int), side - 1)) + (d > 0) * side * both


def offsets(height, width, *, cls=False):
    """Swin's index, and BEiT's three rows for a class token."""
    y, x = (a.reshape(-1) for a in np.meshgrid(range(height), range(width), indexing="ij"))
    inner = (y[:, None] - y + height - 1) * (2 * width - 1) + x[:, None] - x + width - 1
    if not cls:
        return inner
    entries = (2 * height - 1) * (2 * width - 1)
    found = np.full((len(y) + 1,) * 2, entries + 1)
    found[0], found[0, 0], found[1:, 1:] = entries, entries + 2, inner
    return found


def drawn(index, heads=3, kind="f4"):
    weights = np.random.default_rng(7).standard_normal((int(index.max()) + 1, heads))
    return weights[index].transpose(2, 0, 1).astype(kind)


def coordinates(height, width, trained=8):
    """Swin v2's table, in rows and columns."""
    y, x = np.meshgrid(np.arange(1 - height, height), np.arange(1 - width, width), indexing="ij")
    found = 8 * np.stack([y, x], -1) / (trained - 1)
    return (np.sign(found) * np.log2(1 + np.abs(found)) / 3)[None]


def decay(heads=4, n=40):
    rate, d = 1 - 2.0 ** (-5 - np.arange(heads)), np.arange(n)[:, None] - np.arange(n)
    return np.where(d >= 0, rate[:, None, None] ** np.maximum(d, 0), 0)


def kerple(first, second, n=40, *, power=False):
    """-r1 ln(1 + r2 abs(D)), or a power, with later keys hidden."""
    d = np.abs(distances(n))
    r1, r2 = (np.array(numbers)[:, None, None] for numbers in (first, second))
    return np.where(distances(n) > 0, -np.inf, -r1 * (d**r2 if power else np.log1p(r2 * d))).astype("f4")


def cut_sinusoids(n=100, most=60):
    angle = np.outer(np.minimum(np.arange(n)[::-1], most), 10000.0 ** (-np.arange(8) / 8))
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype("f4")


@pytest.mark.parametrize("others", [("scale",), ("scale", "weight", "a", "b")])
def test_an_answer_that_does_not_speak_of_every_array_of_a_file_is_never_sure(others):
    rng = np.random.default_rng(1)
    assert told(**cosines()).confidence == "sure"
    found = told(**cosines(), **{name: rng.standard_normal((128, 8)) for name in others})
    assert found.recipe.startswith("rope:dim=16")
    assert found.confidence == "likely"
    assert "not compared" in found.notes[-1]
    assert all(f"'{name}'" in found.notes[-1] for name in others[:3])
    assert ("and 1 more" in found.notes[-1]) == (len(others) == 4)


WHOLE = {  # values, how the recipe begins
    "window": (offsets(4, 6), "window:grid=4x6,version=1,cls=false"),
    "window with a class token": (offsets(4, 6, cls=True), "window:grid=4x6,version=1,cls=true"),
    "flat window": (offsets(4, 6).reshape(-1), "window:grid=4x6"),
    "bias of a window": (drawn(offsets(4, 6)), "window:grid=4x6"),
    "bias of a window in float16": (drawn(offsets(4, 6, cls=True), kind="f2"), "window:grid=4x6,version=1,cls=true"),
    "coordinates": (coordinates(8, 8).astype("f4"), "window:grid=8x8,version=2"),
    "coordinates of another training": (coordinates(5, 9).astype("f2"), "window:grid=5x9,version=2,pretrained=8x8"),
    "T5": (buckets(), "t5:buckets=32,max-distance=128,bidirectional=true"),
    "T5 of 320 buckets": (buckets(600, 320, 800), "t5:buckets=320,max-distance=800,bidirectional=true"),
    "bias of T5": (drawn(buckets(200, both=False)), "t5:buckets=32,max-distance=128,bidirectional=false"),
    "positions": (np.arange(5, 305, 3)[None], "integer:dim=1,raw=true,len=100,start=5,step=3"),
    "decay of RetNet": (decay().astype("f2"), "retnet:dim=2,heads=4,base=10000,decay=dense"),
    "KERPLE with drawn numbers": (
        kerple([0.7312345, 1.2345671], [0.1234567, 0.7654321]),
        ("kerple:heads=2,kind=log,r1=0.7312345+1.2345671,r2=0.1234567+0.7654321"),
    ),
    "powers of KERPLE": (kerple([0.75], [0.4], power=True), "kerple:heads=1,kind=power,r1=0.75,r2=0.4"),
    "Transformer-XL cut": (cut_sinusoids(), "transformer-xl:dim=16,base=10000,span=past,order=sin-cos,clamp=60"),
    "Shaw": (np.clip(distances(), -5, 5) + 5, "shaw:dim=1,clip=5,right=5"),
    "SAM": (N - 1 - distances(), "decomposed:grid=24x24"),
    "one head's keys": (-(2.0**-8) * (N - 1 - np.arange(N))[None, None], "alibi:heads=1,"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_other_programs_keep_is_named(name):
    values, recipe = WHOLE[name]
    found = told(values)
    assert found.recipe is not None, name
    assert found.recipe.startswith(recipe)
    assert found.confidence == "sure" or found.ranges or name.startswith("KERPLE")
    assert ("its rows stand one after the other" in found.notes) == (name == "flat window")
    assert ("the decay says nothing of the width of rotations" in found.notes) == name.startswith("decay")
    shortest = "each number is the shortest that the values allow" in found.notes
    assert shortest == name.startswith("KERPLE")
    trained = [note for note in found.notes if note.startswith("one trained number for each of 3 heads and ")]
    assert len(trained) == name.startswith("bias")


@pytest.mark.parametrize("name", ["window with a class token", "T5", "Shaw"])
def test_a_transposed_index_is_named(name):
    values, recipe = WHOLE[name]
    found = told(put(values, (3, 0), values[3, 0]).T.copy())
    assert found.recipe is not None
    assert found.recipe.startswith(recipe) != ("exchanged" not in found.notes[0] if found.notes else name != "Shaw")


NOISE = np.random.default_rng(3).integers(-9, 9, (24, 4)).T
FAULTS = {
    "one value": lambda p: put(p, (..., 7, 3), p[..., 7, 3] + 3),
    "a row of zeros": lambda p: put(p, (..., 7, slice(None)), 0),
    "noise at the end": lambda p: put(p, (..., slice(20, 24), slice(None)), NOISE),
    "zeros at the end": lambda p: put(p, (..., slice(20, 24), slice(None)), 0),
    "two columns exchanged": lambda p: put(put(p, (..., 7), p[..., 9]), (..., 9), p[..., 7]),
    "a column's sign": lambda p: put(p, (..., 7), -p[..., 7]),
}
SPOILED = {
    "KERPLE": (kerple([0.7312345, 1.2345671], [0.1234567, 0.7654321], 24), ("kerple:heads=2,kind=log,"
        "r1=0.7312345+1.2345671,r2=0.1234567+0.7654321")),
    "alibi": (alibi(), "alibi:heads=8,slopes=frameworks,bias-max=8,bias=symmetric"),
    "narrow alibi": (alibi(kind="f2"), "alibi:heads=8,slopes=frameworks,bias-max=8,bias=symmetric"),
    "window": WHOLE["window"], "bias of a window": WHOLE["bias of a window"], "Shaw": WHOLE["Shaw"],
    "SAM": WHOLE["SAM"], "T5": (buckets(24, 16, 20), "t5:buckets=16,max-distance=20"),
    "bias of T5": (drawn(buckets(24, 16, 20)), "t5:buckets=16,max-distance=20"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_bias_is_named_with_the_values_that_differ(name, fault):
    values, recipe = SPOILED[name]
    spoiled = FAULTS[fault](values)
    wrong, found = int((spoiled != values).sum()), told(spoiled)
    assert found.confidence == "likely", found
    assert found.recipe.startswith(recipe)
    if name.startswith("bias"):  # a bucket or an offset that the spoiled rows alone have cannot be counted
        counted = int(found.notes[-1].split()[0])
        assert wrong / 2 < counted <= wrong
        assert f"of {values.size} values differ from the others of their bucket, the first at [0, " in found.notes[-1]
    elif wrong == 1:
        assert "one value differs, at [7, 3]" in "\n".join(found.notes)
    else:
        assert f"{wrong} of {values.size} values differ" in "\n".join(found.notes)


@pytest.mark.parametrize("name", ["alibi", "window", "Shaw"])
def test_what_no_rule_gives_is_not_named(name):
    rng = np.random.default_rng(5)
    values = SPOILED[name][0]
    assert told(rng.permutation(values.reshape(-1)).reshape(values.shape)).recipe is None


def test_any_bias_of_the_distance_follows_a_window_and_is_not_called_one():
    assert told(drawn(distances() + N)).recipe is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("log", [False, True])
def test_the_widths_of_kernels_are_told_by_all_distances(dtype, log):
    d = np.abs(unknown_tables.distances(64)).astype(float)
    exponents = np.stack([-(d**2) / (2 * s * s) for s in (10, 7.7, 5, 2.53)])
    found = told(unknown_tables.narrow(exponents if log else np.exp(exponents), dtype))
    assert f"sigma=10+7.7+5+2.53,apply={'log' if log else 'multiply'}," in found.recipe
    assert found.equal == 1.0 or dtype == "float64"


@pytest.mark.parametrize("lead", [0, 2])
@pytest.mark.parametrize("heads", [1, 3])
def test_a_decay_may_have_leading_axes_of_length_1(lead, heads):
    angle = np.outer(np.arange(40), 10000.0 ** (-np.arange(8) / 7))
    arrays = {"cos": np.cos(angle), "sin": np.sin(angle), "decay": decay(heads)}
    found = told(**{name: values.reshape(*[1] * lead, *values.shape) for name, values in arrays.items()})
    assert found.recipe.startswith(f"retnet:dim=16,heads={heads},base=10000,decay=dense,max-len=40,apply=multiply")


@pytest.mark.parametrize(("rows", "narrow"), [(1192, True), (17, False)])
def test_the_scale_base_is_told_by_most_scales(rows, narrow):
    p, z = np.arange(rows)[:, None], (np.arange(16) / 16 + 0.4) / 1.4
    arrays = cosines(rows, 16) | {"scale": z ** ((p - rows // 2) / 512)}
    if narrow:
        arrays = {name: unknown_tables.bf16(values).astype("f2") for name, values in arrays.items()}
    arrays["scale"][[0, 5], [0, 3]] = np.nan
    found = told(**arrays)
    assert f"xpos:dim=32,base=10000,scale-base=512,centre=floor,max-len={rows}" in found.recipe
    assert any("NaN" in note or "nan" in note for note in found.notes)


def fire(c, threshold, n=40):
    j = np.arange(n)
    return np.log1p(c * np.abs(distances(n))) / (np.log1p(c * np.maximum(threshold, j[:, None])) + 1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("c", "threshold"), [(0.1, 512), (0.5, 10), (1, 64), (0.3, 128)])
def test_a_ratio_of_logarithms_is_told_by_all_distances(dtype, c, threshold):
    values = unknown_tables.narrow(fire(c, threshold), dtype)
    for infinite in ((7, 3), (0, 5)):
        found = told(put(values, infinite, np.inf))
        assert found.recipe.startswith(f"fire:c={c},threshold={threshold},")
        assert any(f"at [{infinite[0]}, {infinite[1]}]: inf" in note for note in found.notes) or dtype == "float64"


def test_slopes_of_no_rule_are_said_one_by_one():
    for slope, said in ((0.37, "0.37"), (0.088281, "0.088281")):
        found = told((-np.float32(slope) * np.abs(distances())).astype("f4"))
        assert f"bias=symmetric,mask=none,slope-dtype=float32,slope-values={said}," in found.recipe
        assert (found.equal, found.aliases) == (1.0, ())


def test_an_index_of_which_the_last_rows_are_zeros_is_told_by_the_others():
    values = buckets(64, both=False)
    values[40:] = 0
    found = told(values)
    assert "buckets=32,max-distance=128,bidirectional=false" in found.recipe
    assert any(note.endswith("in every row from 40 to 63") for note in found.notes)


def test_a_decay_without_a_number_is_no_decay():
    assert told(**cosines(40), decay=np.full((2, 40, 40), np.nan)).confidence in ("likely", "unknown")
