"""What a kernel did instead of the expected rotation, and where: arrays in, findings out."""

import numpy as np
import pytest

import pecli
from pecli.judge.compare import explained
from pecli.judge.kernels import AppliedRotation, RotationSource, faults
from pecli.testing import assert_applied

B, H, N, D = 2, 4, 160, 64
RNG = np.random.default_rng(5)
X = RNG.standard_normal((B, H, N, D)).astype(np.float32)
P = np.arange(N)
ROPE = "rope:dim=64"


def rates(base=10000.0, width=D):
    return base ** (-np.arange(0, width, 2) / width)


def llama3(w, factor=8.0, original=64, low=1.0, high=4.0):
    smooth = np.clip((original / (2 * np.pi / w) - low) / (high - low), 0, 1)
    return (1 - smooth) * w / factor + smooth * w


def kernel(x=X, positions=P, w=None, pairs="half", size=1.0, sense=1, width=D):
    """Rotate in float32, from angles in float64; positions (n,) or any shape that broadcasts to x's vectors."""
    w = rates(width=width) if w is None else w
    angles = np.asarray(positions, np.float64)[..., None] * w
    c, s = (size * np.cos(angles)).astype(np.float32), (sense * size * np.sin(angles)).astype(np.float32)
    half = width // 2
    a, b = (slice(0, half), slice(half, width)) if pairs == "half" else (slice(0, width, 2), slice(1, width, 2))
    out = x.copy()
    out[..., a], out[..., b] = x[..., a] * c - x[..., b] * s, x[..., a] * s + x[..., b] * c
    return out


def formula(cosines, partner, negative):
    angles = P[:, None] * rates()
    c, s = np.cos(angles)[:, cosines].astype(np.float32), np.sin(angles)[:, cosines].astype(np.float32)
    return X * c + np.where(negative, -1, 1).astype(np.float32) * X[..., partner] * s


K, HALF = np.arange(D), D // 2
SWAPPED = (K + HALF) % D


def bfloat16(values):
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)


def narrow_phases():
    angles = bfloat16(bfloat16(P[:, None]) * bfloat16(rates()))
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([X[..., :HALF] * c - X[..., HALF:] * s, X[..., HALF:] * c + X[..., :HALF] * s], -1)


def overwritten():
    out = kernel()
    angles = P[:, None] * rates()
    out[..., HALF:] = X[..., HALF:] * np.cos(angles) + out[..., :HALF] * np.sin(angles)
    return out


ROW, HEAD, BATCH = P, np.arange(H)[:, None], np.arange(B)[:, None, None]
KERNELS = {
    "base 500000 where 10000 was expected": kernel(w=rates(500000.0)),
    "base 100000 where 10000 was expected": kernel(w=rates(100000.0)),
    "linear scaling (factor 4) where none was expected": kernel(w=rates() / 4),
    "positions advance by 2/3 where 1 was expected (step 2/3)": kernel(positions=P / 1.5),
    "interleaved pairs were rotated where half-split ones were expected": kernel(pairs="interleaved"),
    "the rotation goes the other way: the sine has the wrong sign": kernel(sense=-1),
    "not rotated at all: the outputs are the inputs": X,
    "it was rotated twice": kernel(kernel()),
    "positions are off by one: each is 1 larger than expected": kernel(positions=P + 1),
    "positions start at 37 where 0 was expected": kernel(positions=P + 37),
    "positions run along the heads: a vector of head h has position h": kernel(positions=HEAD + 0 * ROW),
    "positions run along the batch: a vector of batch b has position b": kernel(positions=BATCH + 0 * ROW),
    "positions are not reset for each batch: they go on where the last one ended": kernel(positions=P + N * BATCH),
    "positions run backwards": kernel(positions=P[::-1]),
    "positions from 80 on repeat the first 80: position 80 is position 0 again": kernel(positions=P % 80),
    "the cosines are repeated pair by pair (interleaved) and used with rotate_half": formula(K // 2, SWAPPED, K < HALF),
    "the cosines are doubled by halves and used with neighbouring": formula(K % HALF, K ^ 1, K % 2 == 0),
    "the minus sign of the first members is missing: x1 cos + x2 sin": formula(K % HALF, SWAPPED, K < 0),
    "the second members have a minus sign: x2 cos - x1 sin": formula(K % HALF, SWAPPED, K >= 0),
    "the partner of column i is i + 16": formula(K % HALF, K // HALF * HALF + (K + 16) % HALF, K % HALF < 16),
    "the first members were overwritten before the second ones were computed": overwritten(),
    "it is 0.125 (1/sqrt(64)) times as long as expected": kernel(size=0.125),
    "it is 1.1 times as long as expected": kernel(size=1.1),
    "phases were computed in bfloat16 (frequencies and angles rounded to bfloat16)": narrow_phases(),
    "frequencies (inv_freq) were rounded to bfloat16": kernel(w=bfloat16(rates()).astype(np.float64)),
    "32 columns were rotated, and 64 were expected": kernel(width=32),
    "the pairs take the frequencies in reverse order": kernel(w=rates()[::-1]),
}


def exchanged():
    angles = P[:, None] * rates()
    c, s = np.sin(angles).astype(np.float32), np.cos(angles).astype(np.float32)
    return np.concatenate([X[..., :HALF] * c - X[..., HALF:] * s, X[..., HALF:] * c + X[..., :HALF] * s], -1)


KERNELS["cos and sin are exchanged"] = exchanged()


def said(output, recipe=ROPE, x=X, **options):
    with pytest.raises(AssertionError) as raised:
        assert_applied(x, output, recipe, pairs="half", **options)
    return [line.strip().removeprefix("array").removeprefix(": ").strip() for line in str(raised.value).split("\n")[1:]]


@pytest.mark.parametrize("text", KERNELS)
@pytest.mark.sample(3)
def test_a_wrong_kernel_is_named(text):
    (found,) = said(np.asarray(KERNELS[text], np.float32))
    assert found.startswith(text)


OTHERS = {
    "scaling llama3 is missing (factor 8, original-max 64): the frequencies are unscaled": (
        "rope:dim=64,base=500000,scaling=llama3,factor=8,original-max=64",
        kernel(w=rates(5e5)),
    ),
    "base 10000 where 500000 was expected": (
        "rope:dim=64,base=500000,scaling=llama3,factor=8,original-max=64",
        kernel(w=llama3(rates())),
    ),
    "plain base 10000 where base 500000 with llama3 scaling (factor 8, original-max 64) was expected": (
        "rope:dim=64,base=500000,scaling=llama3,factor=8,original-max=64",
        kernel(),
    ),
    "64 columns, the whole head, were rotated, and 32 were expected": ("rope:dim=64,rotary-dim=32", kernel()),
    "the last 24 columns were rotated, and the first 24 were expected": (
        "rope:dim=64,rotary-dim=24",
        np.concatenate([X[..., :40], kernel(X[..., 40:], width=24)], -1),
    ),
    "64 columns, the whole head, were rotated, and 16 were expected": ("rope:dim=64,partial=0.25", kernel()),
    "the partner of column i is i + 32, of the head, where i + 12 was expected": (
        "rope:dim=64,rotary-dim=24",
        kernel(w=np.append(rates(width=24), np.zeros(20))),
    ),
    "exponent over the head's width 64 where the rotary width 32 was expected, or base 100 where 10000 was expected": (
        "rope:dim=64,rotary-dim=32",
        kernel(w=rates()[:16], width=32),
    ),
}


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.sample(2)
def test_a_recipe_that_was_not_followed_is_named(text):
    recipe, output = OTHERS[text]
    assert said(output, recipe) == [text]


def put(index, value):
    out = kernel()
    out[index] = value
    return out


PLACES = {"[1, 2, 17, 40] is 9": put((1, 2, 17, 40), 9), "[0, 3, 5, 1] is NaN": put((0, 3, 5, 1), np.nan)}


def test_the_place_of_a_fault_is_said():
    wrong = kernel(sense=-1)
    out = kernel()
    out[:, 1:, 1:] = wrong[:, 1:, 1:]
    assert said(out)[0].startswith("all of heads 1 to 3: the rotation goes the other way")
    out = kernel()
    out[:, :, 128:] = kernel(X[:, :, 128:], P[:32])
    assert said(out)[0].startswith("positions from 128 on repeat the first 32: position 128 is position 0 again")
    out = kernel(positions=P + 5)
    out[1] = X[1]
    assert said(out, start=5) == ["all of batch 1: not rotated at all: the outputs are the inputs"]


@pytest.mark.parametrize("text", PLACES)
def test_the_place_of_a_value_is_said(text):
    assert said(PLACES[text])[0].startswith(text)


def test_other_axes_keep_their_places():
    out = np.ascontiguousarray(kernel().transpose(0, 2, 1, 3))
    out[1, 17, 2, 40] = 9
    (text,) = said(out, x=np.ascontiguousarray(X.transpose(0, 2, 1, 3)), axes="bshd")
    assert text.startswith("[1, 17, 2, 40] is 9")


def test_keys_that_were_not_rotated_are_named_and_queries_are_not():
    with pytest.raises(AssertionError) as raised:
        assert_applied({"q": X, "k": X[:, :2]}, {"q": kernel(), "k": X[:, :2]}, ROPE, pairs="half")
    assert str(raised.value).split("\n")[1:] == ["  k: not rotated at all: the outputs are the inputs"]


def test_a_magnitude_that_is_missing_is_named():
    recipe = "rope:dim=64,scaling=yarn,factor=8,original-max=64"
    from pecli import table

    made = table(f"{recipe},len={N}", dtype="float64", layout="split")
    c, s = made["cos"], made["sin"]
    size = float(np.hypot(c[0, 0], s[0, 0]))
    w = np.arctan2(s[1], c[1])
    assert said(kernel(w=w), recipe) == [f"the magnitude (attention factor {size:.6g}) is missing"]
    assert said(kernel(w=w, size=size**2), recipe) == [f"the magnitude (attention factor {size:.6g}) is squared"]


def test_a_right_rotation_in_float32_is_said_to_be_right():
    x = RNG.standard_normal((1, 4, 64, 64)).astype(np.float32)
    exact = np.float64(x)
    angles = np.arange(64)[:, None] * rates()
    c, s = np.cos(angles), np.sin(angles)
    a, b = exact[..., :HALF], exact[..., HALF:]
    right = np.concatenate([a * c - b * s, b * c + a * s], -1)
    y = np.float64(kernel(x, np.arange(64)))
    source = RotationSource(("rope", {"dim": "64"}))
    applied = AppliedRotation(x=exact, y=y, right=right, positions=np.arange(64), pairs=("half", "half"), rotary=64,
                      dtype="float32", source=source)  # fmt: skip
    (finding,) = faults(applied, "q", explained)
    assert finding.kind == "rounding"
    assert "the rotation is right" in finding.text


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types_of_tensors(dtype):
    x = X.astype(dtype)
    output = kernel(x.astype(np.float64), w=rates(500000.0)).astype(dtype)
    assert said(output, x=x) == ["base 500000 where 10000 was expected"]


TABLE = np.stack([np.sin(P[:, None] * rates()), np.cos(P[:, None] * rates())], -1).reshape(N, D)
WORDS = X[:, 0]
ADDED = {
    "it was added twice": WORDS + 2 * TABLE,
    "positions run along the batch: every row of batch b has position b": WORDS + TABLE[:B, None],
    "what was added: the rows are shifted cyclically by -9": WORDS + np.roll(TABLE, -9, 0),
    "what was added: every value is multiplied by 8": WORDS + 8 * TABLE,
    "what was added: the rows are reversed": WORDS + TABLE[::-1],
    "dropout was applied, p = 0.4": (WORDS + TABLE) * (RNG.random(WORDS.shape) > 0.4) / 0.6,
}


@pytest.mark.parametrize("text", ADDED)
def test_what_was_added_instead_is_named(text):
    with pytest.raises(AssertionError, match=text):
        assert_applied(WORDS, np.asarray(ADDED[text], np.float32), "sinusoidal:dim=64")


def test_a_fault_of_one_batch_is_said_of_no_other():
    output = WORDS + TABLE
    output[1] = WORDS[1] + TABLE[:, ::-1]
    with pytest.raises(AssertionError, match="array differs in axis-0 index 1, ") as raised:
        assert_applied(WORDS, np.asarray(output, np.float32), "sinusoidal:dim=64")
    assert "what was added" not in str(raised.value)


@pytest.mark.parametrize("further", [(), ("cos",), ("cos", "sin")])
def test_what_is_equal_or_stands_in_one_file_hides_no_cause(further):
    right, angle = kernel(), P[:, None] * rates()
    expected = {"q": X, "q_rotated": right} | {part: getattr(np, part)(angle) for part in further}
    found = pecli.compare({"q": X, "q_rotated": kernel(w=rates(500000.0))}, expected)
    assert found.findings[0].text == "q_rotated: base 500000 where 10000 was expected"


@pytest.mark.parametrize(("first", "said"), [(0, "positions are 37 earlier"), (74, "positions are 37 later")])
def test_other_positions_are_earlier_or_later(first, said):
    found = pecli.compare({"q": kernel(positions=P + first)}, {"q": kernel(positions=P + 37)})
    assert found.findings[0].text.startswith(f"q: {said}")


def test_the_other_way_is_no_later_position_where_both_begin_late():
    found = pecli.compare({"q": kernel(positions=P + 100, sense=-1)}, {"q": kernel(positions=P + 100)})
    assert found.findings[0].text.startswith(
        "q: the sign of sin is changed: the rotation goes the other way, if both begin"
    )


def test_queries_and_keys_are_each_told_where_they_differ_in_other_ways():
    want = {"q": kernel(), "k": kernel(X[::-1])}
    both = pecli.compare({"q": kernel(sense=-1), "k": kernel(X[::-1], sense=-1)}, want)
    assert both.findings[0].text.startswith("the rotation goes the other way")
    each = pecli.compare({"q": kernel(sense=-1), "k": kernel(X[::-1], positions=P + 1)}, want)
    assert [one.text.partition(":")[0] for one in each.findings[:2]] == ["q", "k"]


def test_exchanged_queries_and_keys_are_told():
    k = X[::-1].copy()
    for outputs, said in (
        ({"q": kernel(k), "k": kernel()}, ["q holds what was expected of k", "k holds what was expected of q"]),
        ({"q": kernel(), "k": kernel()}, ["k holds what was expected of q"]),
    ):
        with pytest.raises(AssertionError) as raised:
            assert_applied({"q": X, "k": k}, outputs, ROPE, pairs="half", start=0)
        assert [line.strip() for line in str(raised.value).splitlines()[1:]] == said


def test_a_bias_before_the_rotation_is_told():
    with pytest.raises(AssertionError, match="one vector is added to all inputs, as a bias before the rotation"):
        assert_applied(X, kernel(X + RNG.normal(size=D).astype("float32")), ROPE, pairs="half", start=0)


def ends(x, width, w=None):
    """Rotate the last columns, as of the rotary part behind a part without positions."""
    return np.concatenate([x[..., :-width], kernel(x[..., -width:], w=w, width=width)], -1)


PARTS = {  # of 64 columns: what two tensors show of the part that each rotates
    "64 columns, the whole head, were rotated, and 16 were expected": (kernel(), kernel(width=16)),
    "16 columns were rotated, and 64 were expected": (kernel(width=16), kernel()),
    "base 500000 where 10000 was expected": (kernel(w=rates(5e5, 24), width=24), kernel(w=rates(width=24), width=24)),
    "the first 16 columns were rotated where the last 16 were expected": (kernel(width=16), ends(X, 16)),
    "the last 16 columns were rotated where the first 16 were expected": (ends(X, 16), kernel(width=16)),
    "columns 48 to 63: base 500000 where 10000 was expected": (ends(X, 16, rates(5e5, 16)), ends(X, 16)),
}  # fmt: skip


@pytest.mark.parametrize("text", PARTS)
def test_the_part_that_two_tensors_rotate_is_told(text):
    output, expected = PARTS[text]
    assert pecli.compare({"q": output}, {"q": expected}).findings[0].text.removeprefix("q: ").startswith(text)


LATE, CLAMPED, PART = P + 4000, np.minimum(P, 150), np.where(P < 150, P, 0)
WIDE = rates(1e6)


def test_left_padding_that_was_not_taken_out_is_told():
    positions = np.stack([P, np.maximum(P - 5, 0)])[:, None]
    found = pecli.compare({"q": kernel()}, {"q": kernel(positions=positions)})
    assert "batch 1: left padding by 5 was not taken out of the positions" in found.findings[0].text


def test_noise_is_no_rotation_and_a_rounding_of_late_angles_is_harmless():
    noisy = kernel() + RNG.normal(0, 5e-4, X.shape).astype("float32")
    assert "noise" in pecli.compare({"q": noisy}, {"q": kernel()}).findings[0].text
    slow = np.outer(LATE.astype("float32"), rates().astype("float32")).astype("float32")
    rough = rotated_by(X, np.cos(slow), np.sin(slow)).astype("float32")
    assert "harmless" in pecli.compare({"q": rough}, {"q": kernel(positions=LATE)}).findings[0].text


def rotated_by(x, c, s):
    a, b = x[..., :HALF], x[..., HALF:]
    return np.concatenate([a * c - b * s, a * s + b * c], -1)


IMAGE = np.r_[np.zeros(24, int), np.arange(24) // 6, np.arange(24) % 6].reshape(3, 24) + 6
SEQUENCE = np.concatenate([np.arange(6) + np.zeros((3, 1), int), IMAGE, np.arange(12, 142) + np.zeros((3, 1), int)], 1)
OWN = SEQUENCE[np.repeat(np.arange(3), [8, 12, 12])].T  # a position for each row and pair
GRID = np.stack(np.divmod(np.arange(N), 16))
CELLS = GRID[np.repeat([0, 1], 16)].T
STREAM = np.array([1 if k % 3 == 1 else 2 if k % 3 == 2 else 0 for k in range(32)])  # of 8, 12 and 12 pairs
IN_TURN = SEQUENCE[STREAM].T
TENS = np.stack(np.divmod(np.arange(N), 10))[np.repeat([0, 1], 16)].T
BLOCKS = CELLS[P.reshape(-1, 2, 8, 2).swapaxes(1, 2).ravel()]
JUMPS = np.where(P < 7, P, np.where(P % 2, P + 1, P - 1))
SECTIONS = {  # what two tensors show of pairs with positions of their own
    "all pairs are at the token's position where sections of pairs, from 0, 8 and 20 on, were expected at their own":
        (P[:, None] * WIDE, OWN * WIDE),
    "sections of pairs, from 0, 8 and 20 on, are at positions of their own, as of mRoPE, where the token's was":
        (OWN * WIDE, P[:, None] * WIDE),
    "rows and columns are exchanged: each half of the pairs is at the positions of the other one":
        (CELLS[:, ::-1] * np.tile(rates(width=32), 2), CELLS * np.tile(rates(width=32), 2)),
    "the pairs from 8 on are at the positions of those from 20 on, and these at theirs: rows for columns":
        (OWN[:, np.r_[:8, 20:32, 8:20]] * WIDE, OWN * WIDE),
    "the sections are chunked where interleaved ones were expected": (OWN * WIDE, IN_TURN * WIDE),
    "the sections are interleaved where chunked ones were expected": (IN_TURN * WIDE, OWN * WIDE),
    "the grid is counted as 10 columns wide where 16 was expected":
        (TENS * np.tile(rates(width=32), 2), CELLS * np.tile(rates(width=32), 2)),
    "the rows are those of a grid row by row, where blocks of 2 x 2 were expected":
        (CELLS * np.tile(rates(width=32), 2), BLOCKS * np.tile(rates(width=32), 2)),
    "positions were rounded to bfloat16, if the first one is 1000":
        (bfloat16(P + 1000)[:, None].astype(float) * rates(), (P + 1000)[:, None] * rates()),
    "positions are, from index 7 on, 8, 7, 10, 9, 12, 11 and so on where 7, 8, 9, 10, 11, 12 were expected":
        (JUMPS[:, None] * rates(), P[:, None] * rates()),
    "positions run on at indices 40 and 100 where they should begin again, as of packed documents":
        (P[:, None] * rates(), np.r_[:40, :60, :60][:, None] * rates()),
    "positions begin again at indices 40 and 100 where they should run on":
        (np.r_[:40, :60, :60][:, None] * rates(), P[:, None] * rates()),
}  # fmt: skip


@pytest.mark.parametrize("text", SECTIONS)
def test_positions_of_sections_and_documents_are_told(text):
    output, expected = (rotated_by(X, np.cos(angles), np.sin(angles)).astype("float32") for angles in SECTIONS[text])
    assert pecli.compare({"q": output}, {"q": expected}).findings[0].text.removeprefix("q: ").startswith(text)


def test_exchanged_rows_and_columns_are_told_in_float16_on_either_side():
    have, want = (rotated_by(X, np.cos(a * WIDE), np.sin(a * WIDE)) for a in (OWN[:, np.r_[:8, 20:32, 8:20]], OWN))
    text = "the pairs from 8 on are at the positions of those from 20 on, and these at theirs: rows for columns"
    assert (
        pecli.compare({"q": have.astype("float16")}, {"q": want.astype("float32")})
        .findings[0]
        .text.startswith(f"q: {text}")
    )
    assert (
        pecli.compare({"q": want.astype("float32")}, {"q": have.astype("float16")})
        .findings[0]
        .text.startswith(f"q: {text}")
    )


def test_heads_side_by_side_are_another_layout():
    flat = X.transpose(0, 2, 1, 3).reshape(B * N, H * D)
    found = pecli.compare({"q": flat}, {"q": X}).findings[0].text
    assert found.startswith(
        "the axes are in the order (0, 2, 1, 3), some of them in one: shape (320, 256) where (2, 4,"
    )


def test_two_parameters_are_told_in_bfloat16():
    have, want = (bfloat16(kernel(w=w)) for w in (rates(), rates(1e6) / 8))
    found = pecli.compare({"q": have}, {"q": want}).findings[0].text
    assert found == "q: plain base 10000 where base 1000000 with linear scaling (factor 8) was expected"


def test_vectors_that_were_reshaped_before_the_rotation_are_told():
    reshaped = X.transpose(0, 2, 1, 3).reshape(X.shape)
    found = pecli.compare({"q": kernel(reshaped)}, {"q": kernel()})
    assert found.findings[0].text.startswith("q: before the rotation, reshaped instead of transposed")


def test_halves_that_are_rotated_across_heads_are_told():
    flat = X[0].transpose(1, 0, 2).reshape(N, -1)
    c, s = (np.tile(part(P[:, None] * rates()), 2 * H) for part in (np.cos, np.sin))
    wrong = flat * c + np.concatenate([-flat[:, H * HALF :], flat[:, : H * HALF]], 1) * s
    right = kernel()[0].transpose(1, 0, 2).reshape(N, -1)
    found = pecli.compare({"q": wrong.astype("float32")}, {"q": right})
    text = f"the halves of all {H * D} columns are rotated with each other, not those of each head of 64 columns"
    assert found.findings[0].text.startswith(f"q: {text}")


def test_positions_that_begin_again_in_each_chunk_are_told():
    found = pecli.compare({"q": kernel(positions=P % 32)}, {"q": kernel()})
    assert found.findings[0].text.startswith("q: positions begin again every 32 indices")


def test_another_pairing_beside_another_base_is_told():
    found = pecli.compare({"q": kernel(pairs="interleaved")}, {"q": kernel(w=rates(1e6))})
    said = (
        "interleaved pairs were rotated where half-split ones were expected, and base 10000 where 1000000 was expected"
    )
    assert found.findings[0].text == f"q: {said}"


def ramped(w, factor, original, base):
    """YaRN's frequencies: those of fast pairs as they are, of slow ones over the factor."""
    ends = [len(w) * np.log(original / (turns * 2 * np.pi)) / np.log(base) for turns in (32, 1)]
    ramp = np.clip((np.arange(len(w)) - np.floor(ends[0])) / (np.ceil(ends[1]) - np.floor(ends[0])), 0, 1)
    return w * (1 - ramp + ramp / factor)


TURNS = {  # what two tensors show of positions and frequencies, wherever both begin
    "axis 2, indices from 150 on: not rotated, if index 0 is at position 0": (kernel(positions=PART), kernel()),
    "axis 2, indices from 151 on: all at the position of index 150": (kernel(positions=CLAMPED), kernel()),
    "base 1000000 where 10000 was expected": (kernel(positions=LATE, w=WIDE), kernel(positions=LATE)),
    "scaling ntk is missing (factor 4): the frequencies are unscaled (judged with base 10000)":
        (kernel(positions=LATE), kernel(positions=LATE, w=rates(1e4 * 4 ** (64 / 62)))),
    "scaling yarn is missing (factor 4, original-max 32768): the frequencies are unscaled (judged with base 1000000)":
        (kernel(positions=LATE, w=WIDE), kernel(positions=LATE, w=ramped(WIDE, 4, 32768, 1e6), size=1.13863)),
    "llama3 scaling (factor 8, original-max 8192) where none was expected":
        (kernel(positions=LATE, w=llama3(rates(5e5), original=8192)), kernel(positions=LATE, w=rates(5e5))),
    "frequencies (inv_freq) were rounded to bfloat16": (kernel(w=bfloat16(rates())), kernel()),
    "positions run backwards": (kernel(positions=P[::-1]), kernel()),
    "all pairs of columns have the expected lengths: some pairs are rotated by other angles":
        (kernel(w=rates() * RNG.uniform(0.5, 1, D // 2)), kernel()),
}  # fmt: skip


@pytest.mark.parametrize("text", TURNS)
def test_what_turns_two_tensors_from_each_other_is_told(text):
    output, expected = TURNS[text]
    assert pecli.compare({"q": output}, {"q": expected}).findings[0].text.removeprefix("q: ").startswith(text)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (kernel(positions=P + 1), "positions are 1 later"),
        (kernel(pairs="interleaved"), "interleaved pairs were rotated"),
    ],
)
def test_heads_that_stand_side_by_side_are_told_apart(output, said):
    flat = [values[0].transpose(1, 0, 2).reshape(N, -1) for values in (output, kernel())]
    assert f"in heads of 64 columns, {said}" in pecli.compare({"q": flat[0]}, {"q": flat[1]}).findings[0].text


@pytest.mark.parametrize(
    ("power", "said"),
    [
        (2, "the scale of each position, as xPos has it, is inverted: queries are scaled as keys, or keys as queries"),
        (1, "one has the scale of each position, as xPos has it, and the other has not"),
    ],
)
def test_other_scales_of_positions_are_told(power, said):
    scale = ((np.arange(0, D, 2) + 0.4 * D) / (1.4 * D)) ** ((P[:, None] - N // 2) / 512 * power)
    found = pecli.compare({"k": (kernel() * np.tile(scale, 2)).astype("float32")}, {"k": kernel()})
    assert found.findings[0].text == f"k: {said}"


def test_a_tensor_that_the_file_holds_unrotated_as_well_was_not_rotated():
    found = pecli.compare({"k": X, "k_rotated": X}, {"k": X, "k_rotated": kernel()})
    assert found.findings[0].text == "k_rotated: not rotated at all (judged with base 10000)"
    found = pecli.compare({"k_rotated": X}, {"k_rotated": kernel()})
    assert "or the expected one is rotated twice" in found.findings[0].text


def test_a_scale_of_xpos_that_is_not_counted_from_the_middle_is_told():
    recipe = "xpos:dim=32,len=200"
    cos, sin = (part(np.arange(200)[:, None] * rates(width=32)) for part in (np.cos, np.sin))
    scale = ((np.arange(0, 32, 2) + 0.4 * 32) / (1.4 * 32)) ** (np.arange(200)[:, None] / 512)
    table = {name: values.astype("float32") for name, values in (("cos", cos), ("sin", sin), ("scale", scale))}
    said = "scale: 1 at position 0, not in the middle: half the length is not subtracted"
    assert pecli.compare(table, recipe).findings[0].text == said
