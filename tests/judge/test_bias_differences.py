"""Mistakes in biases, indices and codes: a file and the expected recipe in, the cause first."""

import math

import numpy as np
import pytest

import pecli
from pecli import compare
from pecli.judge.bias_differences import bias_differences
from pecli.judge.biases import PAST_HIDDEN
from pecli.tables.comparison import compare_tables
from pecli.tables.foreign import table_of
from pecli.tables.table import Table

from .test_biases import (
    alibi,
    beit,
    bloom,
    curves,
    deberta,
    distances,
    hidden,
    narrow,
    slopes,
    swin,
    t5,
    trained,
)  # fmt: skip

N = 32
D = distances(N)
M = slopes(8)[:, None, None]
A8 = alibi(8, N)
A12 = alibi(12, N)
Y, X = np.divmod(np.arange(24), 6)


def found(values, recipe):
    """What is said of a file where a recipe was expected, line by line; None where no cause is known."""
    both = table_of({"array": np.ascontiguousarray(values)}), Table.parse(recipe)
    said = bias_differences(*both, compare_tables(*both))
    return None if said is None else [one.text for one in said]


def buckets(far):
    """T5's buckets with another formula for the far ones."""
    size = np.abs(distances(100))
    return np.where(size < 8, size, np.minimum(far(size), 15)) + 16 * (distances(100) > 0)


def with_slopes(values):
    return (-np.asarray(values)[:, None, None] * np.abs(D)).astype("f4")


A, B = "alibi:heads=8,len=32", "alibi:heads=12,len=32"
MASKED = "alibi:heads=8,mask=causal,len=32"
KEYS = "the key-position form m j where the distance's form -m abs(j - i) was expected: equal after a causal softmax"
MISTAKES = {
    "other heads": (A8, "alibi:heads=16,len=32", "slopes of 8 heads where 16 were expected"),
    "a rank's heads": (alibi(16, N)[:8], "alibi:heads=16,len=32", "8 of 16 heads: heads 0 to 7 (a rank's slice)"),
    "the second rank's": (A12[6:], B, "6 of 12 heads: heads 6 to 11 (a rank's slice)"),
    "one head": (A8[0], A, "this is head 0 of 8"),
    "another head": (A8[3:4], A, "this is head 3 of 8"),
    "bias-max": (alibi(8, N, most=16), A, "bias-max 16 where 8 was expected"),
    "no mask": (A8, MASKED, "causal mask missing"),
    "a mask": (hidden(A8), A, "a causal mask where none was expected"),
    "zeros": (np.where(D > 0, 0, A8), MASKED, "causal mask missing: keys after the query hold 0"),
    "minus 10000 added": ((A8 + np.where(D > 0, -1e4, 0)).astype("f4"), MASKED,
                          "masked pairs hold -10015.5 to -10000, where -inf was expected: equal after a softmax"),
    "a strict mask": (np.where(D >= 0, -np.inf, A8), MASKED,
                      ("another mask: it shows pairs where the key is before the query (strictly causal); "
                      "expected: where the key is not after the query (causal)")),
    "a window": (np.where((D <= 0) & (D > -8), A8, -np.inf), MASKED,
                 ("another mask: it shows pairs at 0 to 7 keys before the query (a causal sliding window of 8); "
                 "expected: where the key is not after the query (causal)")),
    "t5 from 1": (t5(100) + 1, "t5:len=100,form=index", "1 is added to all values"),
    "t5 without the other side": (np.where(distances(100) > 0, t5(100) - 16, t5(100)), "t5:len=100,form=index",
                                  "16 is subtracted from the values of keys after the query"),
    "minus 1e9 of bfloat16": (hidden(A8, -998244352.0), MASKED, "masked pairs hold -9.98244e+08, where -inf was expected: equal after a softmax"),
    "a mask of one head": (np.where((np.arange(8) == 3)[:, None, None] & (D == -2), -np.inf, A8), A,
                           "30 of 8,192 values do not fit, all of them in head 3; the first is -inf at [3, 2, 0], expected -0.125"),
    "last-key from -1": ((M * np.arange(-N, 0)).astype("f4"), "alibi:heads=8,bias=last-key,queries=1,len=32",
                         "positions of the keys end at -1 where 0 was expected"),
    "t5 under a mask": (hidden(trained(t5(100))), "t5:heads=4,len=100",
                        "a causal mask hides the keys after the query, where none was expected"),
    "minus 10000": (hidden(A8, -1e4), MASKED, "masked pairs hold -10000, where -inf was expected: equal after a softmax"),
    "the other side": (np.where(D < 0, -np.inf, A8), MASKED, PAST_HIDDEN),
    "sign": (-A8, A, "the sign of all values is changed"),
    "sign under a mask": (hidden(-A8), MASKED,
                          "the sign of all values is changed, except infinite ones"),
    "signed": ((M * D).astype("f4"), A, "the distance keeps its sign: keys after the query have a bonus for it"),
    "signed otherwise": ((-M * D).astype("f4"), A,
                         "the sign of the values of keys before the query is changed"),
    "key-position": (bloom(8, N), A, KEYS),
    "key-position for each query": (np.broadcast_to(M * np.arange(N), (8, N, N)).astype("f4"), A, KEYS),
    "last-key": ((M * np.arange(1 - N, 1)).astype("f4"), "alibi:heads=8,bias=key-position,queries=1,len=32",
                 "the last-key form m (j - last) where the key-position form m j was expected: equal after a softmax"),
    "paper": (with_slopes(2.0 ** (-8 * np.arange(1, 13) / 12)), B,
              "slopes by the paper's formula 2^(-8h/H) where the frameworks' rule was expected"),
    "bfloat16 slopes": (with_slopes(narrow(slopes(12))), B, "slopes rounded to bfloat16"),
    "bfloat16": (narrow(A12), B, "the values are rounded to bfloat16"),
    "float16": (alibi(12, N, "f2"), B, "the values are rounded to float16"),
    "reversed": (A8[::-1], A, "the heads are reversed"),
    "sorted": (np.sort(A12, 0), B, "the slopes are sorted, the largest first"),
    "first of 16": (alibi(16, N)[:12], B, "the slopes are the first 12 of those of 16 heads"),
    "squared": ((-M * D**2).astype("f4"), A, "the distance is squared"),
    "from 1": ((-M * (np.abs(D) + 1)).astype("f4"), A, "the distance is counted from 1"),
    "a factor": (A8 * np.float32(math.log2(math.e)), A, "all values are 1.442695 (log2(e)) times the expected ones"),
    "over a root": ((A8 / 8).astype("f4"), A, "all values are 0.125 (1/sqrt(64)) times the expected ones"),
    "powers of e": (with_slopes(np.exp(-np.arange(1, 9))), A, "powers of e taken where powers of 2 were expected"),
    "from 2^0": (with_slopes(2.0 ** -np.arange(8)), A, "the slopes count heads from 0: the first slope is 1"),
    "one slope": (np.broadcast_to(A8[:1], A8.shape), A, "heads 1 to 7 repeat head 0"),
    "clipped": ((-M * np.minimum(np.abs(D), 16)).astype("f4"), A, "distances beyond 16 count as 16"),
    "fewer keys": (alibi(8, 16), A, "16 keys where 32 were expected"),
    "heads last": (A8.transpose(1, 2, 0), A, "the heads are the last axis"),
    "slopes alone": (slopes(8).astype("f4"), A, "form slopes where dense was expected"),
    "slopes of a rank": (slopes(16)[4:8], "alibi:heads=16,form=slopes", "4 of 16 heads: heads 4 to 7 (a rank's slice)"),
    "first query": (A8[:, :1], "alibi:heads=8,len=32,queries=1",
                    "the queries are the first of the keys, where the last were expected"),
    "t5 buckets": (t5(100, 64), "t5:len=100,form=index", "64 buckets where 32 were expected"),
    "t5 reach": (t5(300, 32, 256), "t5:len=300,form=index", "max-distance 256 where 128 was expected"),
    "t5 causal": (t5(100, both=False), "t5:len=100,form=index", "causal where bidirectional was expected"),
    "t5 bidirectional": (t5(100), "t5:bidirectional=false,len=100,form=index", "bidirectional where causal was expected"),
    "t5 transposed": (t5(100).T, "t5:len=100,form=index", "query and key axes are exchanged"),
    "t5 trained": (trained(t5(100, 64)), "t5:heads=4,len=100", "64 buckets where 32 were expected"),
    "t5 trained causal": (trained(t5(100, both=False)), "t5:heads=4,len=100", "causal where bidirectional was expected"),
    "t5 other numbers": (trained(t5(100)), "t5:heads=4,len=100",
                         "the places that share a number are those of the expected index, and the trained numbers are others"),
    "t5 rounded up": (buckets(lambda s: np.ceil(8 + 2 * np.log2(np.maximum(s, 1) / 8) - 1e-9).astype(int)),
                      "t5:len=100,form=index", "buckets of far distances are rounded up where they should be cut"),
    "swin columns first": ((X[:, None] - X + 5) * 7 + Y[:, None] - Y + 3, "window:grid=4x6,form=index",
                           "the index has row stride 1 and column stride 7 where 11 and 1 were expected"),
    "swin height": ((Y[:, None] - Y + 3) * 7 + X[:, None] - X + 5, "window:grid=4x6,form=index",
                    "the index has row stride 7 where 11 was expected: 2h - 1 instead of 2w - 1"),
    "swin stride": ((Y[:, None] - Y + 3) * 10 + X[:, None] - X + 5, "window:grid=4x6,form=index",
                    "the index has row stride 10 where 11 was expected"),
    "swin stride of columns": ((Y[:, None] - Y + 3) * 11 + 2 * (X[:, None] - X + 5), "window:grid=4x6,form=index",
                               "the index has row stride 11 and column stride 2 where 11 and 1 were expected"),
    "swin grid": (swin(6, 4), "window:grid=4x6,form=index", "grid 6x4 where 4x6 was expected"),
    "beit for swin": (beit(4, 6), "window:grid=4x6,form=index", "cls=true where cls=false was expected"),
    "swin for beit": (swin(4, 6), "window:grid=4x6,cls=true,form=index", "cls=false where cls=true was expected"),
    "shaw clip": (np.clip(distances(60), -8, 8) + 8, "shaw:dim=4,clip=16,form=index,len=60", "clip 8 where 16 was expected"),
    "shaw backward": (16 - np.clip(distances(60), -16, 16), "shaw:dim=4,clip=16,form=index,len=60",
                      "query and key axes are exchanged"),
    "shaw around": ((distances(60) + 16) % 33, "shaw:dim=4,clip=16,form=index,len=60",
                    "distances go around where they should be clipped: the index is (key - query + clip) modulo 33"),
    "deberta buckets": (deberta(300, 64, 512), "deberta:len=300,form=index", "64 buckets where 256 were expected"),
    "deberta shifted": (np.clip(deberta(300, 32, 128) + 32, 0, 63),
                        "deberta:buckets=32,max-distance=128,len=300,form=index", "shifted=true where shifted=false was expected"),
    "gaussian without 2": (curves("f4", lambda d, s: np.exp(-d * d / s / s), ((1,), (2,))),
                           "gaussian:heads=2,sigma=1+2,len=40",
                           "the exponent is -D^2 / sigma^2, where -D^2 / (2 sigma^2) was expected"),
    "over the length": (np.tile(np.arange(50.0)[:, None] / 50, (1, 4)), "integer:dim=4,len=50",
                        "the position is divided by the length, 50, where the last position, 49, was expected"),
    "positions from 1": (np.tile(np.arange(1, 51.0)[:, None] / 49, (1, 4)), "integer:dim=4,len=50",
                         "0.020408 is added to all values"),
    "a mask alone": (np.tril(np.ones((N, N))), A,
                     "not alibi: a mask of two values, 0 and 1: 1 where the key is not after the query (causal)"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.sample(3)
def test_the_cause_is_said_first(name):
    values, recipe, said = MISTAKES[name]
    assert found(values, recipe)[0] == said


def test_heads_that_are_missing_or_zero_are_said_as_places():
    found = compare(np.delete(A12, 5, 0), B).findings
    assert found[0].text == "head 5 is missing, later heads have moved up by 1"
    assert [one.text for one in compare(np.concatenate([A8[:7], 0 * A8[7:]]), A).findings] == ["head 7 is zero"]


def test_several_parameters_are_a_line_each():
    assert found(alibi(8, N, most=16), MASKED) == ["bias-max 16 where 8 was expected", "causal mask missing"]
    assert found(t5(300, 64, 256), "t5:len=300,form=index") == [
        "64 buckets where 32 were expected", "max-distance 256 where 128 was expected",
    ]  # fmt: skip


def test_a_spoiled_value_is_located_behind_the_cause():
    values = alibi(8, N, most=16)
    values[2, 5, 7] = 9
    first, second = found(values, A)
    assert first == "bias-max 16 where 8 was expected"
    assert second.startswith("1 of 8,192 values do not fit, all of them in head 2; the first is 9 at [2, 5, 7]")


def test_roundings_are_harmless_and_say_what_accepts_them():
    plain = alibi(12, N, "f8")
    (said,) = found(plain, "alibi:heads=12,len=32,dtype=float64")
    assert said == "float64 rounding, at most 1 ulp and 3.6e-15: harmless; --ulp 1 or --atol 4e-15 accepts it"
    exact = Table.parse("alibi:heads=12,len=32,dtype=float64")["bias"]
    assert np.abs(plain - exact).max() <= 4e-15
    (said,) = found(plain, "alibi:heads=12,len=32")
    assert said.startswith("float64 values where float32 was expected")
    (said,) = found(bloom(71, N), "alibi:heads=71,bias=key-position,queries=1,len=32")
    assert said.startswith("float32 rounding")
    assert "harmless; --ulp" in said


def test_equal_values_leave_nothing_to_say():
    assert found(A8, A) == []
    assert found(hidden(A8), MASKED) == []
    assert found(t5(64), "t5:len=64,form=index") == []


def test_what_no_cause_explains_is_left_to_others():
    noise = np.random.default_rng(1).standard_normal((8, N, N)).astype("f4")
    assert found(noise, A) is None
    assert found(noise[0], "rope:dim=32,len=32") is None


def test_a_row_of_zeros_is_no_number_that_was_added():
    bias = np.array(pecli.table("alibi:heads=8,len=32")["bias"])
    bias[:, 3] = 0
    assert pecli.compare(bias, "alibi:heads=8,len=32").findings[0].text == "row 3 is zero"


@pytest.mark.parametrize("length", [300, 420])
def test_clipped_distances_are_no_buckets(length):
    distance = np.arange(length)[:, None] - np.arange(length)
    (found,) = pecli.compare(np.clip(distance, -256, 255), f"deberta:len={length}").findings
    assert found.text.startswith("distances are clipped to -256 .. 255, where far ones were expected in buckets")
