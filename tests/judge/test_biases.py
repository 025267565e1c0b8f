"""Biases, indices, masks and codes as other programs keep them: a file in, what it is said to be out."""

import math
from itertools import islice

import numpy as np
import pytest

from pecli.judge.biases import identify_bias
from pecli.judge.identify import identify
from pecli.tables.foreign import table_of

DTYPES = {"f2": ",dtype=float16", "f4": "", "f8": ",dtype=float64"}


def told(values=None, **arrays):
    """What a file of these arrays is said to be."""
    return identify_bias(table_of({"array": values} if values is not None else arrays))


def distances(n, queries=None):
    """Key minus query; the queries are the last of the keys."""
    return np.arange(n) - np.arange(n - (queries or n), n)[:, None]


def slopes(heads, most=8):
    """The slopes of the authors' code."""
    whole = 2 ** int(math.log2(heads))
    first = [2.0 ** (-most * k / whole) for k in range(1, whole + 1)]
    return np.array(first + [2.0 ** (-most * k / (2 * whole)) for k in range(1, 2 * (heads - whole), 2)])


def alibi(heads=8, n=24, kind="f4", most=8, queries=None):
    return (-slopes(heads, most)[:, None, None] * np.abs(distances(n, queries))).astype(kind)


def bloom(heads, keys, batch=1):
    """Slopes as powers in float32 of a rounded first one, times the key's position, (batch heads, 1, keys)."""
    whole = 2 ** int(math.log2(heads))
    found = []
    for count, exponents in ((whole, range(1, whole + 1)), (2 * whole, range(1, 2 * (heads - whole), 2))):
        base = np.float32(2 ** (-(2 ** -(math.log2(count) - 3))))
        found += [np.power(base, np.float32(k)) for k in exponents]
    line = np.array(found, "f4")[:, None] * np.arange(keys, dtype="f4")
    return np.tile(line, (batch, 1))[:, None]


def hidden(bias, low=-np.inf):
    """Keys after the query hidden."""
    return np.where(distances(bias.shape[-1], bias.shape[-2]) > 0, low, bias).astype(bias.dtype)


def narrow(values):
    """Values rounded to bfloat16, in float32."""
    bits = np.asarray(values, "f4").view("u4").astype("u8")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype("u4").view("f4")


def t5(n, buckets=32, reach=128, *, both=True):
    """Buckets as transformers computes them, with logarithms in float32."""
    d, side = distances(n), buckets // 2 if both else buckets
    size, exact = np.abs(d) if both else np.maximum(-d, 0), side // 2
    steps = np.log(np.maximum(size, 1).astype("f4") / np.float32(exact)) / np.float32(math.log(reach / exact))
    far = exact + (steps * (side - exact)).astype(int)
    return np.where(size < exact, size, np.minimum(far, side - 1)) + (side * (d > 0) if both else 0)


def swin(height, width):
    y, x = np.divmod(np.arange(height * width), width)
    return (y[:, None] - y + height - 1) * (2 * width - 1) + x[:, None] - x + width - 1


def beit(height, width):
    entries = (2 * height - 1) * (2 * width - 1)
    found = np.full((height * width + 1,) * 2, entries + 1)
    found[0], found[0, 0], found[1:, 1:] = entries, entries + 2, swin(height, width)
    return found


def deberta(n, buckets=256, reach=512):
    d, middle = -distances(n), buckets // 2
    size = np.where(np.abs(d) < middle, middle - 1, np.abs(d)).astype("f4")
    steps = np.log(size / np.float32(middle)) / np.float32(math.log((reach - 1) / middle)) * (middle - 1)
    return np.where(size <= middle, d, (np.ceil(steps) + middle) * np.sign(d)).astype(int)


def coordinates(height, width, trained):
    y, x = np.meshgrid(np.arange(1 - height, height), np.arange(1 - width, width), indexing="ij")
    found = 8 * np.stack([y / (trained - 1), x / (trained - 1)], -1)
    return (np.sign(found) * np.log2(1 + np.abs(found)) / 3).astype("f4")[None]


def trained(index, heads=4, kind="f4"):
    weights = np.random.default_rng(1).standard_normal((int(index.max()) + 1, heads))
    return weights[index].transpose(2, 0, 1).astype(kind)


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 8, 12, 16, 32, 56, 64, 71])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.sample(5)
def test_alibi_of_any_number_of_heads_and_type_is_sure(heads, kind):
    found = told(alibi(heads, 17, kind))
    assert (found.recipe, found.confidence) == (f"alibi:heads={heads},len=17{DTYPES[kind]}", "sure")


@pytest.mark.parametrize("heads", [12, 16, 40])
@pytest.mark.sample(2)
def test_float64_slopes_of_plain_numpy_are_float64_rounding(heads):
    found = told(alibi(heads, 40, "f8"))
    assert (found.confidence, found.arithmetic, found.count) == ("sure", "float64", heads * 1600)
    assert 0 < found.residual < 1e-13
    assert "ulp" in found.notes[0]


@pytest.mark.parametrize("heads", [3, 8, 12, 32, 56, 71])
@pytest.mark.parametrize("batch", [1, 2])
def test_bloom_is_named_with_its_float32_slopes(heads, batch):
    found = told(bloom(heads, 33, batch))
    assert found.recipe.startswith(f"alibi:heads={heads},bias=key-position")
    assert found.confidence == "sure"
    assert ("2 copies of it, as of a batch or of ranks" in found.notes) == (batch == 2)


@pytest.mark.parametrize("n", [2, 3, 5, 16, 64])
def test_alibi_of_any_length_is_named(n):
    assert told(alibi(8, n)).recipe == f"alibi:heads=8,len={n}"


TABLES = {
    "mpt": (slopes(8)[:, None, None] * np.arange(-31, 1), "alibi:heads=8,bias=last-key,len=32,dtype=float64,queries=1"),
    "mpt32": ((slopes(32)[:, None, None] * np.arange(-31, 1)).astype("f4")[None],
              "alibi:heads=32,bias=last-key,len=32,queries=1"),
    "batch": (np.tile(alibi(8, 16)[None], (3, 1, 1, 1)), "alibi:heads=8,len=16"),
    "causal": (hidden(alibi(12)), "alibi:heads=12,mask=causal,len=24"),
    "minimum": (hidden(alibi(12), np.finfo("f4").min), "alibi:heads=12,mask=causal,len=24"),
    "causal mask added": ((alibi(8, 40) + np.where(distances(40) > 0, -1e4, 0)).astype("f4"),
                          "alibi:heads=8,mask=causal,len=40"),
    "t5 bias under a mask": (hidden(trained(t5(200, both=False))), "t5:bidirectional=false,len=200,form=index"),
    "decoding": (alibi(12, 64, queries=5), "alibi:heads=12,len=64,queries=5"),
    "bias-max": (alibi(12, 20, most=16), "alibi:heads=12,bias-max=16,len=20"),
    "slopes": (slopes(12).astype("f4"), "alibi:heads=12,form=slopes"),
    "slopes of four axes": (slopes(12).reshape(1, -1, 1, 1), "alibi:heads=12,dtype=float64,form=slopes"),
    "by distance": ((-slopes(12)[:, None] * np.abs(np.arange(-20, 21))).astype("f4"),
                    "alibi:heads=12,len=21,form=distance"),
    "heads last": (alibi(12, 20).transpose(1, 2, 0), "alibi:heads=12,len=20"),
    "falcon": (narrow(narrow(slopes(12))[:, None] * narrow(np.arange(300)))[:, None],
               "alibi:heads=12,bias=key-position,arithmetic=bfloat16,len=300,queries=1"),
    "paper": ((-(2.0 ** (-8 * np.arange(1, 13) / 12))[:, None, None] * np.abs(distances(20))).astype("f4"),
              "alibi:heads=12,slopes=paper,len=20"),
    "t5": (t5(100), "t5:len=100,form=index"),
    "t5 causal": (t5(100, both=False), "t5:bidirectional=false,len=100,form=index"),
    "t5 of 64": (t5(300, 64, 256), "t5:buckets=64,max-distance=256,len=300,form=index"),
    "t5 of 1000": (t5(300, 16, 1000), "t5:buckets=16,max-distance=1000,len=300,form=index"),
    "t5 of 20": (t5(64, 32, 20), "t5:max-distance=20,len=64,form=index"),
    "t5 transposed": (t5(100).T, "t5:len=100,form=index"),
    "t5 bias": (trained(t5(100)), "t5:len=100,form=index"),
    "t5 bias causal": (trained(t5(100, both=False))[None], "t5:bidirectional=false,len=100,form=index"),
    "t5 bias heads last": (trained(t5(100)).transpose(1, 2, 0), "t5:len=100,form=index"),
    "swin": (swin(7, 7), "window:grid=7x7,len=49,form=index"),
    "swin flat": (swin(4, 6).reshape(-1), "window:grid=4x6,len=24,form=index"),
    "swin bias": (trained(swin(4, 6)), "window:grid=4x6,len=24,form=index"),
    "beit": (beit(7, 7), "window:grid=7x7,cls=true,len=50,form=index"),
    "beit bias": (trained(beit(6, 6)), "window:grid=6x6,cls=true,len=37,form=index"),
    "swin 2": (coordinates(8, 8, 8), "window:grid=8x8,version=2,len=64"),
    "swin 2 larger": (coordinates(16, 16, 8), "window:grid=16x16,version=2,pretrained=8x8,len=256"),
    "swin 2 flat": (coordinates(6, 6, 6).reshape(-1, 2), "window:grid=6x6,version=2,len=36"),
    "deberta": (deberta(600), "deberta:len=600,form=index"),
    "deberta 64": (deberta(300, 64, 128), "deberta:buckets=64,max-distance=128,len=300,form=index"),
    "deberta 1": (np.clip(64 - distances(100), 0, 127), "deberta:buckets=0,max-distance=64,len=100,form=index"),
    "shaw": (np.clip(distances(100), -16, 16) + 16, "shaw:dim=1,clip=16,len=100,form=index"),
    "shaw uneven": (np.clip(distances(100), -64, 8) + 64, "shaw:dim=1,clip=64,right=8,len=100,form=index"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_tables_as_programs_keep_them_are_sure(name):
    values, recipe = TABLES[name]
    found = told(np.ascontiguousarray(values))
    assert (found.recipe, found.confidence) == (recipe, "sure")
    assert any("dim stands for any" in note for note in found.notes) == name.startswith("shaw")


def curves(kind, function, numbers):
    return np.stack([function(np.abs(distances(40)).astype("f8"), *pair) for pair in numbers]).astype(kind)


def test_kernels_of_free_numbers_are_unknown_with_what_was_measured():
    pairs = np.random.default_rng(1).uniform(0.1, 2, (4, 2))
    found = told(curves("f4", lambda d, a, b: -a * np.log1p(b * d), pairs))
    assert found.confidence == "unknown"
    assert found.measured == ("a bias of 4 heads that depends on key minus query alone; no recipe was found",)


@pytest.mark.parametrize("n", [3, 5, 7])
def test_one_head_of_a_bias_says_of_which_whole_it_may_be(n):
    found = told(alibi(8, n)[2])
    assert (found.recipe, found.confidence) == (f"alibi:heads=1,slope-values=0.125,len={n}", "sure")
    assert "the slope of head 2 of 8" in found.notes


def test_a_short_index_says_what_it_leaves_open():
    found = told(t5(20, both=False, reach=300))
    assert found.confidence == "likely"
    assert any("give the same 39 distances" in note for note in found.notes)
    assert told(deberta(64)).confidence == "likely"
    assert told(np.clip(distances(10), -16, 16) + 16).confidence == "likely"


def test_a_part_of_the_heads_is_named_so():
    found = told(alibi(8, 16)[:4])
    assert found.recipe == "alibi:heads=4,bias-max=4,len=16"
    assert "the same as slopes of heads 0 to 3 of 8" in found.notes
    assert "slopes of heads 8 to 15 of 16" in told(alibi(16, 16)[8:]).notes


def test_spoiled_values_are_counted_and_located():
    values = alibi(8, 64)
    values[3, 40, 7] = 5
    found = told(values)
    assert (found.recipe, found.confidence) == ("alibi:heads=8,len=64", "likely")
    assert "1 of 32,768 values do not fit, all of them in head 3; the first is 5 at [3, 40, 7]" in found.notes[0]


MASKS = {
    "causal": (np.tril(np.ones((6, 6))), "1 where the key is not after the query (causal)"),
    "infinite": (np.where(np.tril(np.ones((6, 6))) > 0, 0, -np.inf).astype("f4")[None, None],
                 "0 where the key is not after the query (causal)"),
    "minimum": (np.where(np.tril(np.ones((6, 6))) > 0, 0, np.finfo("f4").min).astype("f4"), "(causal)"),
    "strict": (np.tril(np.ones((6, 6)), -1), "1 where the key is before the query"),
    "identity": (np.eye(5), "on the diagonal (an identity)"),
    "boolean": (np.triu(np.ones((6, 6)), 1).astype(bool), "0 where the key is not after the query (causal)"),
    "window": (np.abs(distances(12)) <= 2, "1 at distances of at most 2 (a sliding window of 5)"),
    "causal window": ((distances(12) <= 0) & (distances(12) > -4), "a causal sliding window of 4"),
    "padding": (np.tile(np.arange(8) < 5, (8, 1)), "1 at 5 of 8 keys, the same for every query"),
    "decoding": (distances(12, 4) <= 0, "1 where the key is not after the query (causal)"),
    "any": (np.random.default_rng(1).random((8, 8)) < 0.3, "entries"),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_two_values_are_a_mask(name):
    values, said = MASKS[name]
    found = told(values)
    assert (found.recipe, found.confidence) == (None, "unknown")
    assert found.measured[0].startswith(("a mask of two values, ", "two values, "))
    assert said in found.measured[0]


def test_constants_and_ramps_are_unknown_with_what_was_measured():
    assert told(np.full((3, 4), 0.5)).measured == ("every value is 0.5",)
    assert told(np.full((3, 4), np.nan)).measured == ("every value is NaN",)
    assert told(np.zeros((0, 4))).measured == ("the array is empty",)
    assert told(np.float32([7])).measured == ("a single number, 7",)
    assert told(np.arange(8)).measured == ("8 numbers from 0 to 7 in steps of 1: positions, not an encoding of them",)
    assert told(np.linspace(0, 1, 5)).measured == ("5 numbers from 0 to 1 in steps of 0.25",)
    assert told(distances(8)).measured == ("the distance, key minus query, for each pair",)
    (measured,) = told(np.zeros((5, 4), "f4")).measured
    assert measured.startswith("every value is 0, as in a model without a position table")


def small_arrays():
    """Matrices of 0, 1, constants, ramps, one NaN, whole numbers and booleans, of many shapes."""
    rng = np.random.default_rng(0)
    shapes = (
        (0,),
        (0, 4),
        (1,),
        (2,),
        (3,),
        (1, 1),
        (2, 2),
        (3, 3),
        (5, 5),
        (1, 7),
        (4, 6),
        (6, 4),
        (2, 3, 3),
        (1, 1, 4, 4),
        (),
    )
    for shape in shapes:
        count = int(np.prod(shape))
        ramp = np.arange(count).reshape(shape)
        for values in (np.zeros(shape), np.ones(shape), np.full(shape, 0.5), ramp, -0.25 * ramp,
                       np.linspace(0, 1, count).reshape(shape), rng.standard_normal(shape)):  # fmt: skip
            for kind in ("f2", "f4", "f8", "i8", "u1", "?"):
                yield values.astype(kind)
    for n in (1, 2, 3, 4, 8):
        spoiled = np.zeros((n, n), "f4")
        spoiled[-1, 0] = np.nan
        signalling = np.full(n, 0x7FA00000, "u4").view("f4")
        yield from (spoiled, signalling, np.full((n, n), np.finfo("f8").max), np.full((n, 3), np.inf))
        yield from (rng.standard_normal((2, n, n)), rng.permutation(n), np.arange(n) ** 2.0, 0.5 ** np.arange(n))
        yield from (1 / (1 + np.add.outer(np.arange(n), np.arange(n))), rng.integers(-(2**62), 2**62, (n, n)))


def test_no_small_array_is_called_an_encoding():
    answers = {}
    for values in islice(small_arrays(), 0, None, 3):
        found = told(values)
        if found is not None and found.recipe:
            answers[found.recipe.partition(":")[0]] = found.confidence
    assert answers == {}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("text", [
    "alibi:heads=12,len=33", "alibi:heads=12,mask=causal,len=33", "t5:heads=3,len=200", "window:grid=4x5,heads=2",
])  # fmt: skip
def test_its_own_tables_are_sure(text, dtype):
    import pecli

    table = pecli.table(text, dtype=dtype)
    found = identify_bias(table)
    assert found.confidence == "sure"
    name, _ = found.recipe.split(":", 1)
    assert name == text.split(":")[0]
    assert found.arrays[0] in table


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_alibi_without_the_absolute_value_says_so(batches):
    signed = slopes(8)[:, None, None] * distances(24)
    found = told(np.stack([signed] * batches) if batches else signed)
    assert (found.recipe, found.measured[0][:69]) == (
        None, "a bias of 8 heads: 0.5, 0.25, 0.125, 0.0625 .. times key minus query",
    )  # fmt: skip


def test_what_is_constant_beyond_a_window_alone_is_no_t5():
    """Without two distances of one bucket before the farthest ones, nothing shows the buckets."""
    distance = np.arange(32)[:, None] - np.arange(32)
    kernel = [np.exp(-(distance**2) / (2 * sigma**2)).astype(np.float32) for sigma in (1, 1, 1, 1)]
    found = identify_bias(table_of(np.stack(kernel)))
    assert found is None or found.recipe is None, found


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize("heads", [8, 12, 16])
@pytest.mark.parametrize(
    ("masks", "words"),
    [
        ([[1] * 30 + [0] * 10], "the last 10 of 40 keys"),
        ([[0] * 7 + [1] * 43], "the first 7 of 50 keys"),
        ([[0] * 3 + [1] * 30 + [0] * 2], "the first 3 and the last 2 of 35 keys"),
        (
            [[1] * 50, [0] * 20 + [1] * 30, [1] * 10 + [0] * 40],
            "the first 20 of 50 keys of batch index 1, the last 40 of 50 keys of batch index 2",
        ),
    ],
)
def test_bloom_with_padded_keys_is_no_rotary_table(kind, heads, masks, words):
    positions = (np.cumsum(masks, axis=-1) - 1) * masks
    bias = (bloom(heads, 2).reshape(1, heads, 2)[:, :, 1:] * positions[:, None, :].astype("f4")).astype(kind)
    found = identify(table_of({"bias": bias.reshape(-1, 1, len(masks[0]))}))
    assert found.recipe is None
    text = found.measured[0]
    assert text.startswith(f"nearly alibi:heads={heads},bias=key-position"), text
    assert text.endswith(words) or (words in text and len(masks) > 1), text


def test_a_bias_by_the_key_is_no_batch(ask) -> None:
    slopes = 2.0 ** -np.arange(1, 9)
    np.save("bias.npy", np.broadcast_to(slopes[:, None, None] * np.arange(26), (8, 26, 26)).astype("float32"))
    ask("compare", "bias.npy", "alibi:heads=8").says("different: the key-position form m j").never("batch")


def test_exchanged_numbers_of_kerple_and_its_other_kernel_are_told(ask):
    first, second = (np.array(numbers)[:, None, None] for numbers in ([1.5, 0.8, 2, 0.5], [0.25, 0.6, 0.1, 0.9]))
    far = np.abs(distances(70))
    np.save("log.npy", (-second * np.log1p(first * far)).astype("f4"))
    np.save("power.npy", (-first * far**second).astype("f4"))
    recipe = "kerple:heads=4,r1=1.5+0.8+2+0.5,r2=0.25+0.6+0.1+0.9,len=70"
    ask("compare", "log.npy", recipe).says("different: r1 and r2 are exchanged")
    ask("compare", "power.npy", recipe).says("different: kind power where log was expected")
