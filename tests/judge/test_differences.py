"""The first sentence on a table that differs in one respect from what was expected, each table made with NumPy."""

import numpy as np
import pytest

import pecli
from pecli.judge.planes import rounded

ROWS, DIM = 32, 16
W = 1e4 ** (-np.arange(0, DIM, 2) / DIM)
ROPE, SINES, BIAS = f"rope:dim={DIM},len={ROWS}", f"sinusoidal:dim={DIM},len={ROWS}", f"alibi:heads=4,len={ROWS}"


def angles(rows=ROWS, base=1e4, start=0, step=1.0):
    return (start + step * np.arange(rows))[:, None] * base ** (-np.arange(0, DIM, 2) / DIM)


def f4(values):
    return np.asarray(values).astype(np.float32)


def pair(a):
    return {"cos": f4(np.cos(a)), "sin": f4(np.sin(a))}


def woven(a, b):
    return f4(np.stack([a, b], -1).reshape(len(a), -1))


def stacked(*tables):
    return {name: np.stack([table[name] for table in tables]) for name in tables[0]}


POSITION = np.arange(ROWS)[:, None]
C, S = np.cos(angles()), np.sin(angles())
OWN, OTHER = pair(angles()), pair(angles(base=500.0))
GAP = np.arange(ROWS) - POSITION
LINES = 2.0 ** (-2.0 * np.arange(1, 5))[:, None, None] * -np.abs(GAP)
CAUSAL = np.where(GAP > 0, -np.inf, LINES)
TURNS = np.exp(1j * angles()).astype(np.complex64)
NOISE = np.random.default_rng(0).standard_normal((ROWS, DIM))
PATCHES, EXACT = "sincos2d:dim=16,grid=4x8", pecli.table(SINES, dtype="float64")["pe"]
IMAGE = pecli.table(f"{PATCHES},prefix=1")["pe"]


def put(values, at, value):
    changed = np.array(values)
    changed[at] = value
    return changed


CASES = [
    (woven(S, C).T, SINES, "rows and columns are exchanged: the table is transposed"),
    ({"cos": f4(angles()), "sin": f4(angles())}, ROPE,
     "cos and sin hold the angles: no cosine and no sine was taken"),
    ({"cos": f4(S), "sin": f4(S)}, ROPE, "cos holds the sines where the cosines were expected"),
    ({"cos": f4(C), "sin": f4(C)}, ROPE, "sin holds the cosines where the sines were expected"),
    (pair(POSITION * np.array([0.9, 0.7, 0.31, 0.29, 0.11, 0.05, 0.013, 0.0031])), ROPE,
     "other frequencies: about 0.9 to 0.0031 radians a row where 1 to 0.0003162 were expected"),
    (pair(POSITION * W * np.array([1, 1, 1, 1, 1.07, 1, 1.3, 1])), ROPE, "pairs 4 and 6 turn 1.07 to 1.3 times as fast"),
    (pair(angles() / (ROWS - 1)), ROPE,
     "positions are divided by 31, the last row's number: step 1/31 where 1 was expected"),
    ({"sin": f4(-S)}, ROPE, "every sine has the other sign"),
    (f4(np.concatenate([S, C], 1)), SINES,
     "sin and cos stand in two halves, sines first, where they were expected in neighbouring columns"),
    (woven(S, C), f"{SINES},order=sin-cos",
     "sin and cos stand in neighbouring columns, where they were expected in two halves (sin-cos)"),
    (f4(np.concatenate([C, S], 1)), f"{SINES},order=sin-cos", "sin and cos are exchanged: the cosines come first"),
    (woven(C, S), SINES, "sin and cos are exchanged: the cosines come first"),
    (f4(np.concatenate([S, C], 1)), f"{ROPE},layout=concat", "sin and cos are exchanged: the sines come first"),
    (f4(np.concatenate([C, S], 1)), f"{ROPE},layout=sin-cos", "sin and cos are exchanged: the cosines come first"),
    (f4(angles()), SINES, "the file holds the angles of the expected table: exact rounding, at most 4.5e-07"),
    (pair(angles()[::-1]), ROPE, "the rows are reversed: the last one stands first"),
    (stacked(OWN, OWN, OTHER, OWN), ROPE, "batch index 2 differs: base 500 where 10000 was expected"),
    (stacked(OWN, OTHER, OTHER, OWN, OWN), ROPE, "batch indices 1 and 2 differ: base 500 where 10000 was expected"),
    (woven(S, S), SINES, "every column holds sines: the cosines are missing"),
    ({name: -values for name, values in OWN.items()}, ROPE, "every value has the other sign"),
    (pair(angles(start=3, step=2)), ROPE, "positions advance by 2 where 1 was expected (step 2)"),
    (pair(angles(20, start=5)), ROPE, "20 rows where 32 were expected: rows 0 to 4 and 25 to 31 are missing"),
    (pair(angles(40)), ROPE, "40 rows where 32 were expected"),
    (f4(CAUSAL), BIAS, "a causal mask where none was expected"),
    (f4(LINES), f"{BIAS},mask=causal", "causal mask missing"),
    (f4(np.where((GAP > 0) | (GAP < -5), -np.inf, LINES)), f"{BIAS},mask=causal",
     ("another mask: it shows pairs at 0 to 5 keys before the query (a causal sliding window of 6); expected: where the "
      "key is not after the query (causal)")),
    (f4(np.where(np.abs(GAP) > 5, -np.inf, LINES)), BIAS,
     "a mask that shows pairs at distances of at most 5 (a sliding window of 11), where none was expected"),
    (f4(np.where(GAP > 0, -1e9, LINES)), f"{BIAS},mask=causal",
     "masked pairs hold -1e+09, where -inf was expected: equal after a softmax"),
    (f4(LINES[:, -1:]), f"{BIAS},queries=5", "1 query where 5 were expected"),
    (f4(LINES[:, :20, :20]), BIAS, "20 keys where 32 were expected"),
    (f4((LINES * 1.1).astype(np.float16)), BIAS, "all values are 1.1 times the expected ones"),
    (f4(np.stack([LINES] * 3)), BIAS, "3 equal copies of one table, as of a batch"),
    (f4(LINES[:, ROWS // 2 :]), f"{BIAS},queries=16,align=first",
     "the queries are the last of the keys, where the first were expected"),
    (f4(-LINES), BIAS, "the sign of all values is changed"),
    (pecli.table("t5:heads=2,len=32,form=index")["index"], "t5:heads=2,len=32,form=index,bidirectional=false",
     "bidirectional where causal was expected"),
    (f4(-CAUSAL), f"{BIAS},mask=causal", "the sign of all values is changed"),
    (put(TURNS, np.s_[5:7], TURNS[5:7].real), f"{ROPE},layout=complex", "array.imag: rows 5 and 6 are zero"),
    (put(TURNS, np.s_[:, 3:5], -TURNS[:, 3:5]), f"{ROPE},layout=complex",
     "the sign of the values of columns 3 and 4 is changed"),
    (TURNS + np.float32(0.5), f"{ROPE},layout=complex", "array.real: 0.5 is added to all values"),
    (put(TURNS, np.s_[7:9], np.nan), f"{ROPE},layout=complex", "array.real: rows 7 and 8 are NaN"),
    (put(np.stack([f4(C), f4(S)], -1), (5, 6, 1), 2), f"{ROPE},layout=pairs",
     "array[5, 6, 1] is 2, expected 0.0049999794"),
    (np.stack([woven(S, C), woven(S, C)[::-1], -woven(S, C)]), f"sinusoidal:dim={DIM}",
     "batch index 1 differs: the rows are reversed: the last one stands first"),
    ({name: rounded(values, "bfloat16") * 128**-0.5 for name, values in OWN.items()}, f"{ROPE},dtype=bfloat16",
     "all values are 0.0883883 (1/sqrt(128)) times the expected ones"),
    (EXACT * (1 + 1e-9), f"{SINES},dtype=float64", "all values are 1.000000001 times the expected ones"),
    (put(IMAGE, np.s_[20, :8], IMAGE[19, :8]), f"{PATCHES},prefix=1",
     "row 20: coordinates start at 2 where 3 was expected on the axis width"),
    (f4(np.maximum(LINES, -0.5)), BIAS, "all values are clipped: none is below -0.5"),
    (f4(LINES[:, ::2]), BIAS,
     "array differs by more than 0.12109375 in heads 0 to 2, by at most 4 at array[0, 0, 0] (1,183 values)"),
    ({"cos": f4(-C)}, ROPE, "every cosine has the other sign"),
]  # fmt: skip


@pytest.mark.parametrize(("actual", "expected", "said"), CASES)
def test_one_difference_is_said_first(actual, expected, said):
    assert pecli.compare(actual, expected).findings[0].text == said


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ((woven(S, C) + 0.001 * NOISE).astype(np.float16), f"{SINES},dtype=float16"),
        (pecli.table(PATCHES, dtype="float64")["pe"] + 1e-9 * NOISE, f"{PATCHES},dtype=float64"),
        (EXACT + 1e-6 * NOISE, f"{SINES},dtype=float64"),
        (LINES + 1e-5 * np.random.default_rng(0).standard_normal(LINES.shape), f"{BIAS},dtype=float64"),
    ],
)
def test_noise_is_no_rounding(actual, expected):
    assert "round" not in repr(pecli.compare(actual, expected))


def test_one_row_that_is_off_is_located():
    table = pecli.table(SINES)["pe"].copy()
    table[20] += np.float32(1e-6)
    (found,) = pecli.compare(table, SINES).findings
    assert found.text == "13 of 512 values differ by more than float32 rounding: row 20"


def test_the_size_of_noise_is_that_of_the_rows_that_have_it():
    table = pecli.table("sinusoidal:dim=64,len=128", dtype="float64")["pe"]
    table[64:] += 0.01 * np.random.default_rng(0).standard_normal((64, 64))
    assert pecli.compare(table, "sinusoidal:dim=64,dtype=float64").findings[0].text.endswith("deviation 0.01")


def test_a_float64_grid_by_numpy_is_within_a_rounding():
    y, x = np.divmod(np.arange(42), 7)
    angles = np.concatenate([at[:, None] * 1e4 ** (-np.arange(0, 8, 2) / 8) for at in (y, x)], axis=1)
    (found,) = pecli.compare({"cos": np.cos(angles), "sin": np.sin(angles)}, "rope2d:dim=16,grid=6x7").findings[:1]
    assert found.text.startswith("rounding alone, at most 1 ulp and ")


def test_cosines_and_sines_of_different_types_are_named_with_both():
    named = pecli.identify({"cos": C.astype(np.float16), "sin": f4(S)})
    assert "the arrays have different types: float16 and float32" in named.notes


def test_a_mask_of_a_trained_bias_is_noted():
    bias = pecli.table("t5:heads=2,buckets=16,bidirectional=false,len=32,mask=causal")["bias"]
    assert "a causal mask hides the keys after the query" in pecli.identify(bias).notes


def test_angles_that_were_rounded_are_harmless():
    rounded = f4(f4(POSITION) * f4(W) * np.float32(1.0000003))
    found, note = pecli.compare(rounded, f"{ROPE},layout=angles").findings
    assert note.text == "both hold angles in radians: no cosine and no sine was taken"
    assert found.text.startswith("rounding of float32 phases, at most 7 ulp")
    assert ": harmless; --ulp 7 or --atol 2e-05 accepts it" in found.text
