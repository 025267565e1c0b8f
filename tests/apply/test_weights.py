"""Query and key weights put in the order of the other pairing: scores stay, every other byte stays."""

import json

import numpy as np
import pytest

from pecli.formats import open_table, write_table
from pecli.spec.tabular import InMemory
from pecli.tables.table import Table

RNG = np.random.default_rng(5)
HEADS, KV, DIM, WIDE = 4, 2, 8, 12


def turned(x, pairs, rotary=DIM):
    """Turn (n, heads, d) at positions 0 .. n - 1."""
    table = Table.parse(f"rope:dim={rotary}", length=len(x), dtype="float64")
    cos, sin = (table.read(name)[:, None] for name in ("cos", "sin"))
    out = x.copy()
    half, neighbours = (slice(0, rotary // 2), slice(rotary // 2, rotary)), (slice(0, rotary, 2), slice(1, rotary, 2))
    a, b = half if pairs == "half" else neighbours
    out[..., a], out[..., b] = x[..., a] * cos - x[..., b] * sin, x[..., a] * sin + x[..., b] * cos
    return out


def scores(q, k, pairs, rotary=DIM):
    q, k = turned(q, pairs, rotary), turned(k, pairs, rotary)
    return np.einsum("qhd,khd->hqk", q, np.repeat(k, HEADS // KV, axis=1))


def checkpoint(path, prefix="model.layers.0.self_attn.", dtype=np.float32):
    weights = {
        f"{prefix}q_proj.weight": RNG.normal(size=(HEADS * DIM, WIDE)),
        f"{prefix}q_proj.bias": RNG.normal(size=HEADS * DIM),
        f"{prefix}k_proj.weight": RNG.normal(size=(KV * DIM, WIDE)),
        f"{prefix}v_proj.weight": RNG.normal(size=(KV * DIM, WIDE)),
        f"{prefix}o_proj.weight": RNG.normal(size=(WIDE, HEADS * DIM)),
        f"{prefix}k_norm.weight": RNG.normal(size=DIM),
        "lm_head.weight": RNG.normal(size=(9, WIDE)),
    }
    weights = {name: value.astype(dtype) for name, value in weights.items()}
    write_table(InMemory(weights), path)
    return weights


@pytest.mark.parametrize(("taken", "given"), [("interleaved", "half"), ("half", "interleaved")])
@pytest.mark.parametrize("rotary", [DIM, 4])
def test_scores_are_the_same_with_the_other_pairing(taken, given, rotary, tmp_path, pecli):
    before = checkpoint(tmp_path / "w.safetensors")
    done = pecli("convert", "w.safetensors", "--from-pairs", taken, "--to-pairs", given, "--heads", str(HEADS),
                 "--kv-heads", str(KV), "--rotary-dim", str(rotary), "-o", "o.safetensors")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "4 tensors" in done.stderr
    after = dict(open_table(tmp_path / "o.safetensors"))
    x = RNG.normal(size=(6, WIDE))

    def attention(weights, pairs):
        own = {name.rpartition("attn.")[2]: value.astype(np.float64) for name, value in weights.items()}
        q = (x @ own["q_proj.weight"].T + own["q_proj.bias"]).reshape(6, HEADS, DIM)
        k = (x @ own["k_proj.weight"].T).reshape(6, KV, DIM) * own["k_norm.weight"]
        return scores(q, k, pairs, rotary)

    np.testing.assert_allclose(attention(after, given), attention(before, taken), rtol=0, atol=1e-12)
    assert abs(attention(after, taken) - attention(before, taken)).max() > 0.1
    for name in before:
        same = np.array_equal(before[name], after[name])
        assert same == (not any(part in name for part in ("q_proj", "k_proj", "k_norm"))), name


def test_there_and_back_is_the_same_file(tmp_path, pecli):
    checkpoint(tmp_path / "w.safetensors")
    for a, b, source, target in (("half", "interleaved", "w", "x"), ("interleaved", "half", "x", "y")):
        pecli("convert", f"{source}.safetensors", "--from-pairs", a, "--to-pairs", b, "--heads", str(HEADS),
              "--kv-heads", str(KV), "-o", f"{target}.safetensors")  # fmt: skip
    assert (tmp_path / "y.safetensors").read_bytes() == (tmp_path / "w.safetensors").read_bytes()
    assert (tmp_path / "x.safetensors").read_bytes() != (tmp_path / "w.safetensors").read_bytes()


def test_a_folder_is_copied_with_its_shards_its_index_and_its_config(tmp_path, pecli):
    folder = tmp_path / "model"
    folder.mkdir()
    for layer in range(2):
        checkpoint(folder / f"model-{layer}.safetensors", f"model.layers.{layer}.self_attn.")
    config = {"model_type": "llama", "num_attention_heads": HEADS, "num_key_value_heads": KV, "hidden_size": 32}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {}}')
    done = pecli("convert", "model", "--to-pairs", "interleaved", "-o", "other", "--json")
    assert done.returncode == 0, done.stderr
    moved = json.loads(done.stdout)["moved"]
    assert len(moved) == 8
    assert moved["model.layers.1.self_attn.k_proj.weight"] == KV
    assert moved["model.layers.1.self_attn.k_norm.weight"] == 1
    for name in ("config.json", "model.safetensors.index.json"):
        assert (tmp_path / "other" / name).read_bytes() == (folder / name).read_bytes()
    weights = [dict(open_table(tmp_path / where / "model-1.safetensors")) for where in ("model", "other")]
    key = "model.layers.1.self_attn.q_proj.weight"
    old, new = (w[key].reshape(HEADS, DIM, WIDE) for w in weights)
    np.testing.assert_array_equal(new[:, 0::2], old[:, : DIM // 2])
    np.testing.assert_array_equal(new[:, 1::2], old[:, DIM // 2 :])
    again = pecli("convert", "model", "--to-pairs", "interleaved", "-o", "other")
    assert again.returncode == 2
    assert "exists" in again.stderr


def test_one_matrix_of_any_format(tmp_path, pecli):
    w = RNG.normal(size=(HEADS * DIM, WIDE))
    np.save(tmp_path / "w.npy", w)
    done = pecli("convert", "w.npy", "--from-pairs", "interleaved", "--to-pairs", "half", "--heads", "4", "-o", "o.npy")
    assert done.returncode == 0, done.stderr
    by_head = w.reshape(HEADS, DIM, WIDE)
    expected = np.concatenate([by_head[:, 0::2], by_head[:, 1::2]], 1).reshape(w.shape)
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), expected)


@pytest.mark.parametrize(
    ("names", "arguments", "says"),
    [
        ({"q_proj.weight": (32, 4)}, ["--heads", "5"], "do not fit"),
        ({"q_proj.weight": (32, 4)}, [], "heads"),
        ({"q_proj.weight": (32, 4)}, ["--heads", "4", "--rotary-dim", "16"], "at most 8"),
        ({"q_proj.weight": (8, 4), "v_proj.weight": (8, 4)}, ["--heads", "4", "--tensors", "proj"], "values or"),
        ({"query_key_value.weight": (96, 4), "x": (2, 2)}, ["--heads", "4"], "split it first"),
        ({"fc.weight": (32, 4), "fc2.weight": (4, 4)}, ["--heads", "4"], "--tensors REGEX"),
        ({"q_proj.weight": (32, 4)}, ["--heads", "4", "--dtype", "float16"], "for tables"),
    ],
)  # fmt: skip
def test_what_cannot_be_moved_is_refused(names, arguments, says, tmp_path, refuses):
    write_table(InMemory({n: np.ones(shape, np.float32) for n, shape in names.items()}), tmp_path / "w.safetensors")
    pairs = ("--from-pairs", "interleaved", "--to-pairs", "half")
    refuses("convert", "w.safetensors", *pairs, *arguments, "-o", "o.safetensors", says=says)


def test_packed_weights_are_refused(tmp_path, refuses):
    header = {
        "q_proj.weight": {"dtype": "F8_E4M3", "shape": [32, 4], "data_offsets": [0, 128]},
        "k_proj.weight": {"dtype": "U8", "shape": [32, 4], "data_offsets": [128, 256]},
    }
    for name, says in (("q_proj.weight", "type of its own"), ("k_proj.weight", "uint8")):
        one = {name: {**header[name], "data_offsets": [0, 128]}}
        one["fc.weight"] = {"dtype": "F32", "shape": [2, 2], "data_offsets": [128, 144]}
        text = json.dumps(one).encode()
        (tmp_path / "w.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(144))
        pairs = ("--from-pairs", "interleaved", "--to-pairs", "half", "--heads", "4")
        refuses("convert", "w.safetensors", *pairs, "-o", "o.safetensors", says=says)


def gpt2(path, tensors):
    """Write a checkpoint as others do, with a type that NumPy lacks; return its raw tensors."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (code, shape, raw) in tensors.items():
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [at, at + len(raw)]}
        at += len(raw)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(raw for _, _, raw in tensors.values()))
    return {name: raw for name, (_, _, raw) in tensors.items()}


def raw_tensors(path):
    data = path.read_bytes()
    head = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:head])
    assert header.pop("__metadata__") == {"format": "pt"}
    return {n: data[head:][slice(*entry["data_offsets"])] for n, entry in header.items()}, header


WPE = RNG.normal(size=(8, 6)).astype(np.float16)
TENSORS = {
    "a.weight": ("F8_E4M3", [5], bytes(range(5))),
    "wpe.weight": ("F16", [8, 6], WPE.tobytes()),
    "h.0.weight": ("BF16", [3, 2], bytes(range(12))),
}


@pytest.mark.parametrize("folder", [False, True])
def test_a_checkpoint_is_written_with_its_one_table_longer(folder, tmp_path, pecli):
    source = tmp_path / "in"
    source.mkdir()
    before = gpt2(source / "model-1.safetensors", TENSORS)
    gpt2(source / "model-2.safetensors", {"ln.weight": ("F32", [2], bytes(8))})
    (source / "config.json").write_text('{"n_positions": 8}')
    size = sum(map(len, before.values())) + 8
    index = {"metadata": {"total_size": size}, "weight_map": dict.fromkeys(before, "model-1.safetensors")}
    (source / "model.safetensors.index.json").write_text(json.dumps(index))
    name, out = ("in", "out") if folder else ("in/model-1.safetensors", "out.safetensors")
    rows = ("--test-len", "20", "--extend", "cubic")
    done = pecli("extrapolate", f"{name}::wpe.weight", *rows, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "wpe.weight extended by cubic to 20 rows" in done.stderr
    after, header = raw_tensors(tmp_path / "out" / "model-1.safetensors" if folder else tmp_path / out)
    assert {n: after[n] == before[n] for n in before} == {"a.weight": True, "wpe.weight": False, "h.0.weight": True}
    assert header["wpe.weight"]["shape"] == [20, 6]
    np.save(tmp_path / "wpe.npy", WPE)
    pecli("extrapolate", "wpe.npy", *rows, "-o", "alone.npy")
    alone = np.load(tmp_path / "alone.npy")
    assert after["wpe.weight"] == alone.tobytes()
    assert alone.dtype == np.float16
    if folder:
        for other in ("model-2.safetensors", "config.json"):
            assert (tmp_path / "out" / other).read_bytes() == (source / other).read_bytes()
        changed = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
        assert changed == {**index, "metadata": {"total_size": size + 12 * 6 * 2}}
        assert "config.json is unchanged" in done.stderr


def test_a_checkpoint_without_the_table_is_refused(tmp_path, refuses):
    gpt2(tmp_path / "w.safetensors", TENSORS)
    rows = ("--test-len", "20", "--extend", "cubic", "-o", "out.safetensors")
    refuses("extrapolate", "w.safetensors::wpe", *rows, says="wpe.weight")


@pytest.mark.parametrize(
    ("shape", "config", "says"),
    [
        ([8, 4], '{"model_type": ', "is not JSON"),
        ([8, 4], "[1]", "no object"),
        ([], "{}", "with 0 axes"),
        ([0, 4], '{"num_attention_heads": 0, "hidden_size": 64}', "do not fit"),
    ],
)
def test_broken_configs_and_shapes_are_refused(shape, config, says, tmp_path, refuses):
    folder = tmp_path / "model"
    folder.mkdir()
    size = 4 * int(np.prod(shape))
    header = json.dumps({"q_proj.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(size))
    (folder / "config.json").write_text(config)
    words = ["--from-pairs", "half", "--to-pairs", "interleaved", "--heads", "2"]
    refuses("convert", folder, *words, "-o", tmp_path / "out", says=says)
