"""Embeddings and scores to which other positions were added than expected: two files of sums in, the cause out."""

import numpy as np
import pytest

import pecli
from tests.judge.answers import sinusoid

RNG = np.random.default_rng(3)
WORDS = 3 * RNG.normal(size=(4, 100, 64))
PE = sinusoid(101, 64, dtype="float64")
HALVES = np.concatenate([PE[:100, ::2], PE[:100, 1::2]], axis=1)
FAIRSEQ = np.arange(102)[:, None] * 10000.0 ** (-np.arange(32) / 31)
FAIRSEQ = np.concatenate([np.sin(FAIRSEQ), np.cos(FAIRSEQ)], axis=1)
LONGER = np.arange(100)[:, None] * 100000.0 ** (-np.arange(0, 64, 2) / 64)
LONGER = np.stack([np.sin(LONGER), np.cos(LONGER)], axis=2).reshape(100, 64)
EMBEDDINGS = {  # what is told, the positions that were added, and the expected ones
    "what was added: positions start at 1 where 0 was expected (judged with sinusoidal:dim=64)": (PE[1:], PE[:100]),
    "what was added: base 100000 where 10000 was expected": (LONGER, PE[:100]),
    "what was added: sin and cos stand in two halves, sines first, where they were expected in neighbouring columns":
        (HALVES, PE[:100]),
    "what was added: the rows are reversed": (PE[99::-1], PE[:100]),
    "what was added: positions start at 0 where 2 was expected": (FAIRSEQ[:100], FAIRSEQ[2:]),
    "the positions that were added are counted along axis 0: one for each batch": (PE[:4, None], PE[:100]),
}  # fmt: skip


def said_of(have, want, dtype="float32"):
    """Return what compare says first of two arrays."""
    found = pecli.compare({"x": have.astype(dtype)}, {"x": want.astype(dtype)})
    return found.findings[0].text.removeprefix("x: ") if found.findings else ""


@pytest.mark.parametrize("text", EMBEDDINGS)
def test_other_positions_that_were_added_to_embeddings_are_told(text):
    have, want = EMBEDDINGS[text]
    assert said_of(WORDS + have, WORDS + want).startswith(text)


def test_embeddings_that_were_not_scaled_before_the_sum_are_told():
    plain, scaled = WORDS + PE[:100], 8 * WORDS + PE[:100]
    text = "multiplied by 8 (the square root of the width) before positions were added (judged with sinusoidal:dim=64)"
    assert said_of(scaled, plain) == f"the embeddings were {text}"
    assert said_of(plain, scaled) == f"the embeddings were not {text}"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_positions_and_scales_are_told_in_narrow_types_and_of_printed_values(dtype):
    words = RNG.normal(size=(2, 40, 64))
    text = "the embeddings were not multiplied by 8 (the square root of the width)"
    assert said_of(words + PE[:40], 8 * words + PE[:40], dtype).startswith(text)
    doubled = np.arange(40)[:, None] * 10000.0 ** (-np.arange(0, 128, 4) / 64)
    doubled = np.stack([np.sin(doubled), np.cos(doubled)], axis=2).reshape(40, 64)
    have, want = ((words + table).round(6) for table in (doubled, PE[:40]))
    assert said_of(have, want, dtype).startswith("what was added: exponent 4i/d where 2i/d was expected")


def test_another_table_that_is_added_to_every_batch_is_told():
    words, table = RNG.normal(size=(3, 50, 32)), RNG.normal(size=(51, 32))
    text = "the difference is the same in each batch, as of other positions that were added"
    assert said_of(words + table[:50], words + table[1:]) == text
    assert "positions" not in said_of(words + table[0], words)


def test_numbers_that_are_no_positions_are_not_called_so():
    for change in (0.3 * RNG.uniform(-1, 1, WORDS.shape), 0.4, np.where(np.arange(64) < 8, 0.2, 0)):
        assert "added: " not in said_of(WORDS + PE[:100] + change, WORDS + PE[:100])


QUERY, KEY = np.indices((40, 40))
FAR = np.abs(QUERY - KEY)
SCORES = RNG.normal(size=(2, 8, 40, 40))
SLOPES = 2.0 ** -np.arange(1, 9)[:, None, None]
CAUSAL = np.where(KEY > QUERY, -np.inf, 0)
BUCKETS = RNG.normal(size=(8, 79))[:, 39 + KEY - QUERY]
BIASES = {  # what is told, and the bias that was added where that of ALiBi was expected
    "what was added: the sign of all values is changed (judged with alibi:heads=8)": SLOPES * FAR,
    "what was added: all values are 0.125 (1/sqrt(64)) times the expected ones": -SLOPES / 8 * FAR,
    "what was added: the heads are reversed": -SLOPES[::-1] * FAR,
    "what was added: heads from 4 on repeat the first 4": -np.tile(SLOPES[:4], (2, 1, 1)) * FAR,
    "what was added: the logarithm of 1 + the distance is taken": -SLOPES * np.log1p(FAR),
    "what was added: the distance is counted from 1": -SLOPES * (FAR + 1),
    "the expected values plus those of alibi:heads=8,len=40": -2 * SLOPES * FAR,
    "the values of alibi:heads=8,len=40 are not added": 0 * SLOPES * FAR,
    "another bias was added: the difference depends on head and distance alone": BUCKETS,
    "the scores of each query differ by one number: equal after a softmax": -SLOPES * FAR + QUERY % 7,
}


@pytest.mark.parametrize("text", BIASES)
def test_another_bias_in_scores_is_told(text):
    assert said_of(SCORES + BIASES[text], SCORES - SLOPES * FAR).startswith(text)


@pytest.mark.parametrize("text", [text for text in BIASES if "alibi:heads=8,len" not in text])
def test_another_bias_in_masked_scores_is_told(text):
    if "heads=8,len" not in text:
        assert said_of(SCORES + BIASES[text] + CAUSAL, SCORES - SLOPES * FAR + CAUSAL).startswith(text)


@pytest.mark.parametrize("queries", [1, 5])
def test_another_bias_of_the_last_queries_is_told(queries):
    scores, far = SCORES[:, :, -queries:], FAR[-queries:]
    masks = CAUSAL[-queries:]
    have, want = scores + SLOPES * far + masks, scores - SLOPES * far + masks
    assert said_of(have, want).startswith(
        "what was added: the sign of all values is changed (judged with alibi:heads=8)"
    )
    assert "added" not in said_of(scores + RNG.normal(size=scores.shape), scores)


@pytest.mark.parametrize("width", [1, 3, 63])
def test_embeddings_of_odd_widths_are_compared(width):
    words = RNG.normal(size=(40, width))
    assert said_of(words + RNG.uniform(-0.3, 0.3, words.shape), words)


def test_embeddings_as_wide_as_they_are_long_are_no_scores():
    words = RNG.normal(size=(4, 64, 64))
    assert said_of(words + PE[1:65], words + PE[:64]).startswith("what was added: positions start at 1 where 0")


def test_numbers_of_each_head_are_equal_after_a_softmax():
    text = "the scores of each query differ by one number: equal after a softmax"
    assert said_of(SCORES + RNG.normal(size=(8, 1, 1)), SCORES) == text
    counted = said_of(SCORES - SLOPES * (FAR + 1), SCORES - SLOPES * FAR)
    assert (
        counted == "what was added: the distance is counted from 1 (judged with alibi:heads=8): equal after a softmax"
    )


def test_slopes_of_an_odd_number_of_heads_are_told_in_scores():
    heads = np.arange(1, 13)
    paper, rule = 2.0 ** (-8 * heads / 12), np.concatenate([2.0 ** -np.arange(1, 9), 2.0 ** -np.arange(0.5, 4)])
    have, want = (SCORES[:, :1] - slopes[:, None, None] * FAR for slopes in (paper, rule))
    text = "what was added: slopes by the paper's formula 2^(-8h/H) where the frameworks' rule was expected"
    assert said_of(have, want).startswith(text)


def test_a_bias_whose_queries_and_keys_are_exchanged_is_told():
    have, want = SCORES + BUCKETS.swapaxes(1, 2), SCORES + BUCKETS
    assert said_of(have, want) == "queries and keys are exchanged in the bias that was added: it is transposed"


def test_scaled_slopes_are_told_in_float16():
    have, want = SCORES - SLOPES / 8 * FAR, SCORES - SLOPES * FAR
    assert said_of(have, want, "float16").startswith("what was added: all values are 0.125 (1/sqrt(64)) times")


def test_exchanged_offsets_of_windows_are_told():
    down, across = (place[:, None] - place + 4 for place in np.divmod(np.arange(25), 5))
    table, scores = RNG.normal(size=(4, 9, 9)), RNG.normal(size=(3, 4, 25, 25))
    text = "row and column offsets are exchanged in the bias that was added"
    assert said_of(scores + table[:, across, down], scores + table[:, down, across]) == text
    text = "another bias was added: the difference depends on head and offset in a window of 5 x 5 alone"
    assert said_of(scores + table[:, down, across], scores) == text
    assert "was added" not in said_of(table[:, down, across], table[:, across, down])  # a bias is no sum


def test_other_buckets_of_t5_are_told():
    n, weights = 80, RNG.normal(size=(6, 32))
    size = np.arange(n)

    def bucket(exact, most):
        far = exact + np.log(np.maximum(size, 1) / exact) / np.log(128 / exact) * (most - exact)
        return np.where(size < exact, size, np.minimum(far.astype(int), most - 1))

    query, key = np.indices((n, n))
    scores, hidden = RNG.normal(size=(1, 6, n, n)), np.where(key > query, -np.inf, 0)
    have, want = (scores + weights[:, part[np.abs(query - key)]] + hidden for part in (bucket(8, 16), bucket(16, 32)))
    assert said_of(have, want) == "what was added: bidirectional where causal was expected (of T5's buckets)"


def test_products_that_were_divided_beside_an_equal_bias_are_told():
    bias = np.random.default_rng(0).normal(size=(8, 79))[:, 39 + KEY - QUERY]
    text = "the products of queries and keys are {} by 8 (the square root of the head's width)"
    assert said_of(SCORES + bias, 8 * SCORES + bias).startswith(text.format("divided"))
    assert said_of(8 * SCORES + bias, SCORES + bias).startswith(text.format("not divided"))


def test_windows_of_masks_are_told_in_float16():
    seen = [(QUERY >= KEY) & (width > QUERY - KEY) for width in (17, 16)]
    have, want = (np.where(one, SCORES, -np.inf) for one in seen)
    assert said_of(have, want).startswith("pairs are seen at 0 to 16 keys before the query")
    assert (
        pecli.compare({"x": have.astype("float16")}, {"x": want})
        .findings[0]
        .text.startswith("pairs are seen at 0 to 16")
    )


def test_roundings_of_scores_beside_another_number_of_masked_pairs_are_harmless(ask):
    q, k = RNG.normal(size=(2, 2, 4, 32, 80)).astype("float32")
    before, after = (q * np.float32(80**-0.5)) @ k.swapaxes(2, 3), (q @ k.swapaxes(2, 3)) * np.float32(80**-0.5)
    hidden = np.triu(np.ones((32, 32), bool), 1)
    np.save("low.npy", np.where(hidden, np.finfo("float32").min, before))
    np.save("inf.npy", np.where(hidden, -np.inf, after).astype("float32"))
    answer = ask("compare", "low.npy", "inf.npy").ends(1)
    answer.says("no more than rounding may leave: harmless", "where -inf was expected: equal after a softmax")
