"""What is printed of tables, configs, checkpoints, stacks, facts, purposes and resizing: where it is true alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pecli
from pecli import Table, write_table
from tests.inspect.test_inspect_checkpoint import frequencies, safetensors
from tests.judge.test_biases_identified import drawn, kerple, offsets
from tests.support.commands import printed
from tests.support.unknown_tables import bf16, by_rotations, torch_frequencies

SINES = "sinusoidal:dim=8,len=24"
LLAMA = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "rope_theta": 10000.0}
SCALED = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
CONFIGS = {
    **dict.fromkeys(("llama", "right", "pairs", "spoilt"), LLAMA),
    "llama3": {**LLAMA, "rope_scaling": SCALED, "max_position_embeddings": 131072},
    "yarn": {**LLAMA, "rope_scaling": {**YARN, "beta_fast": 0}, "max_position_embeddings": 16384},
    "layers": {"model_type": "gemma3_text", "hidden_size": 256, "num_attention_heads": 4, "head_dim": 64,
              "num_hidden_layers": 6, "layer_types": ["sliding_attention", "full_attention"] * 3,
              "rope_theta": 1e6, "rope_local_base_freq": 10000.0, "sliding_window": 64},
    "roberta": {"model_type": "roberta", "hidden_size": 8, "max_position_embeddings": 18, "pad_token_id": 1},
    "gpt2": {"model_type": "gpt2", "n_embd": 8, "n_positions": 16},
    "whisper": {"model_type": "whisper", "d_model": 8, "max_source_positions": 12, "max_target_positions": 6},
    "bloom": {"model_type": "bloom", "hidden_size": 64, "n_head": 4},
    "warned": {**LLAMA, "rope_scaling": {**YARN, "mscale": 0.707, "mscale_all_dim": 0},
               "max_position_embeddings": 8192},
    "attention": {**LLAMA, "rope_scaling": {**YARN, "attention_factor": 1.5}, "max_position_embeddings": 16384},
    "whole": {**LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 2}, "max_position_embeddings": 4096},
    "partial": {**LLAMA, "partial_rotary_factor": 0.5},
    "new": {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4,
            "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}},
    "mrope": {**LLAMA, "rope_scaling": {"rope_type": "mrope"}},
    "near": {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4,
             "rope_parameters": {"rope_type": "default", "rope_theta": 10050.0}},
    "empty": {"model_type": "whisper", "d_model": 8, "max_source_positions": 12, "max_target_positions": 6},
    "opt": {"model_type": "opt", "hidden_size": 8, "word_embed_proj_dim": 8, "max_position_embeddings": 16},
    "m2m": {"model_type": "m2m_100", "d_model": 8, "max_position_embeddings": 16},
    "many": {"model_type": "gemma3_text", "hidden_size": 256, "num_attention_heads": 4, "head_dim": 64,
             "num_hidden_layers": 6, "layer_types": ["sliding_attention", "full_attention", "chunked_attention"] * 2,
             "rope_parameters": {name: {"rope_type": "default", "rope_theta": base} for name, base in
                                 (("sliding_attention", 1e4), ("full_attention", 1e6), ("chunked_attention", 5e5))}},
    "t5model": {"model_type": "t5", "d_model": 64, "num_heads": 4, "relative_attention_num_buckets": 32},
}  # fmt: skip


def put(p, at, value):
    p = p.copy()
    p[at] = value
    return p


def framework(change=lambda w: w, kind=lambda p: p):
    angle = (np.arange(60, dtype="f4")[:, None] * change(torch_frequencies(10000.0, 8))).astype("f8")
    return {"cos": kind(np.cos(angle).astype("f4")), "sin": kind(np.sin(angle).astype("f4"))}


def bits(p):
    return (p.view("u4") & np.uint32(0xFFFF0000)).view("f4")


def twice(p):
    return bf16(p.astype("f2").astype("f4"))


def next_to(rng, share, dtype):
    """A rope of which so many values are the next number."""
    found = Table.parse(f"rope:dim=8,len=100,dtype={dtype}")
    parts = {name: np.array(found[name]) for name in ("cos", "sin")}
    return {k: np.where(rng.random(v.shape) < share, np.nextafter(v, v.dtype.type(9)), v) for k, v in parts.items()}


def fading():
    """Scales of xPos beside the cosines and sines that a framework computes."""
    pairs = framework()["cos"].shape[1]
    z = (np.arange(pairs) / pairs + 0.4) / 1.4
    return (z ** ((np.arange(60.0)[:, None] - 30) / 512)).astype("f4")


def tables():
    """What is identified: arrays by name of the case."""
    rng = np.random.default_rng(2)
    pe, rope = (Table.parse(recipe) for recipe in (SINES, "rope:dim=8,len=24"))
    p, both = np.array(pe["pe"]), {name: np.array(rope[name]) for name in ("cos", "sin")}
    alibi = np.array(Table.parse("alibi:heads=2,len=8,mask=causal")["bias"])
    slopes = np.array(Table.parse("alibi:heads=8,len=64")["bias"])
    t5 = np.array(Table.parse("t5:heads=2,buckets=8,max-distance=16,len=16")["bias"])
    normal = rng.standard_normal(40000) * 0.02
    g, exact = (np.array(Table.parse(f"sincos2d:dim=24,grid=12x12,dtype=float{k}")["pe"]) for k in (32, 64))
    vector = torch_frequencies(10000.0, 64)
    angle = np.outer(np.arange(60), 10000.0 ** (-np.arange(4) / 4))
    return {
        "right": p, "turned": p.T.copy(), "one value": put(p, (7, 3), 9), "one row": put(p, 7, 9),
        "rows": put(p, slice(7, 11), 9), "rows apart": put(p, [7, 12], 9), "NaN": put(p, (slice(7, 9), 3), np.nan),
        "between": {"cos": put(both["cos"], ([5, 9], 2), 3), "sin": put(both["sin"], ([5, 9, 13], 1), 3)},
        "column": {"cos": put(both["cos"], ([5, 9], 2), 3), "sin": put(both["sin"], ([5, 9, 13], 2), 3)},
        "sign of one": {**both, "cos": put(both["cos"], (slice(None), 2), -both["cos"][:, 2])},
        "columns exchanged": g[:, [0, 4, 2, 3, 1, *range(5, 24)]], "raised": g + np.float32(0.5), "opposite": -g,
        "rooted": g * np.sqrt(np.float32(24)), "tenth": (exact * 0.1).astype("f4"), "lost": np.delete(g, 7, 0),
        "twice a row": np.insert(g, 7, g[7], 0)[:-1], "lost and filled": np.delete(np.append(g, g[-1:], 0), 7, 0),
        "in halves": {"inv_freq": np.concatenate([vector, vector])}, "in turn": {"inv_freq": np.repeat(vector, 2)},
        "lost and more": np.delete(np.append(g, g[:1], 0), 7, 0),
        "units": {"inv_freq": put(vector, [5, 20], np.nextafter(vector[[5, 20]], np.float32(2)))},
        "cos alone": {"cos": both["cos"]}, "exchanged": {"cos": both["sin"], "sin": both["cos"]},
        "a vector": {"inv_freq": (10000.0 ** (-np.arange(4) / 4)).astype("f4")},
        "two heads": put(put(slopes, (1, 40, 3), 5), (3, 5, 1), 5),
        "masked": np.where(np.isinf(alibi), np.float32(-1e9), alibi), "half": p.astype("f2").astype("f4"),
        "two": {"pe": p, "other": rng.standard_normal((5, 7))}, "float32": framework(),
        "drawn kernel": kerple([0.7312345, 1.2345671], [0.1234567, 0.7654321]),
        "decay": 0.96875 ** np.maximum(np.subtract.outer(*[np.arange(24)] * 2), 0)[None] * np.tri(24)[None],
        "window": drawn(offsets(4, 6)), "flat": offsets(4, 6).reshape(-1),
        "many arrays": {"pe": p, **{f"weight{k}": rng.standard_normal((3, 4)) for k in range(5)}},
        "cut": framework(kind=bits),
        "a unit": framework(change=lambda w: np.nextafter(w, np.float32(2))),
        "twice": framework(kind=twice), "stray": put(t5, (1, 3, 4), 7), "one pair": p[:, :2].copy(),
        "spoiled": {**framework(), "cos": put(framework()["cos"], (7, 1), 0.5)},
        "next": next_to(rng, 0.01, "float32"), "often next": next_to(rng, 0.4, "float32"),
        "doubles": next_to(rng, 0.4, "float64"), "double": {"cos": np.cos(angle), "sin": np.sin(angle)},
        "after": {k: bf16(bf16(p) * np.float32(1.1386294)) for k, p in framework().items()},
        "fading": {**framework(), "scale": put(fading(), (7, 1), 0.5)},
        "image": np.array(Table.parse("detr:dim=8,grid=5x6")["pe"]).T.reshape(8, 5, 6).copy(),
        "other frequencies": {**framework(), "inv_freq": torch_frequencies(1000.0, 8)},
        "spoiled vector": {"inv_freq": put(torch_frequencies(10000.0, 64), [5, 20], 0.5)},
        "later": 3 * p,
        "loose": {"inv_freq": bf16(by_rotations(1771, 64, 32, 32768, 1, 4).astype("f4"))},
        "normal": normal[:1600].reshape(200, 8), "uniform": rng.uniform(-0.1, 0.1, (200, 8)),
        "padded": put(normal[:1600].reshape(200, 8), 0, 0),
        "truncated": normal[np.abs(normal) < 0.04][:32000].reshape(-1, 8),
    }  # fmt: skip


WAYS = ("linear", "cubic", "nearest", "tile", "hierarchical")
COMMANDS = {
    **{f"config {name}": f"inspect {name}/config.json --all" for name in CONFIGS},
    **{f"short {name}": f"inspect {name}/config.json" for name in ("llama", "layers", "yarn", "many", "warned")},
    **{
        f"folder {name}": f"inspect {name}"
        for name in ("llama", "llama3", "gpt2", "whisper", "t5model", "yarn", "pairs", "right", "empty", "spoilt")
    },
    **{f"stacks {name}": f"compare {name}/config.json --stacks" for name in CONFIGS},
    "verify plain": "inspect plain --verify --recipe sinusoidal:dim=8,base=-3",
    "frequencies": "inspect rope:dim=8 --frequencies",
    "frequencies of yarn": "inspect rope:dim=8,scaling=yarn,factor=4,original-max=64 --frequencies",
    "facts": "compare rope:dim=8 learned:dim=8,max-len=64 none:dim=8 alibi:heads=4",
    "facts of sines": "compare sinusoidal:dim=512 fire:heads=2 shaw:dim=4,clip=8 cpe",
    "facts of many": "compare learned:dim=4096,max-len=100000 sincos2d:dim=512,grid=1000x1000",
    **{
        f"for {purpose}": f"compare --for {purpose}"
        for purpose in ("language-modelling", "masked-lm", "long-context", "short", "vision", "research")
    },
    **{
        f"long {text}": f"compare {text} --for long-context"
        for text in (
            "rope:dim=8",
            "rope:dim=8,scaling=linear,factor=4",
            "alibi:heads=4",
            "t5:heads=2",
            "integer:dim=4,max-len=10",
            "learned:dim=8,max-len=64",
            "sincos2d:dim=8,grid=2x3",
        )
    },
    "further cpe": 'extrapolate cpe:content="learned:dim=4,max-len=512",channels=4 --train-len 8 --test-len 16',
    "further none": "extrapolate none:dim=4 --train-len 8 --test-len 16",
    "for lengths": "compare rope:dim=64 alibi:heads=8 learned:dim=8,max-len=64 --for long-context "
    "--train-len 64 --test-len 256",
    "cost": "compare rope:dim=64 learned:dim=64,max-len=128 --cost --dim 64 --heads 1 --layers 2",
    "steps": "inspect rope:dim=8 --steps",
    "matrix": "inspect rope:dim=8,len=20 --shift-matrix 1",
    "matrix of many": "inspect sinusoidal:dim=8,len=3000 --shift-matrix 1",
    "matrix of few": "inspect small.npy --shift-matrix 1",
    "similarity": "inspect good.npz --similarity cosine",
    **{f"extend {how}": f"extrapolate trained.npy --test-len 40 --extend {how} -o {how}.h5" for how in WAYS},
    **{f"extended {how}": f"inspect {how}.h5 --all" for how in WAYS},
    "extend grid": "extrapolate grid.npy --extend linear --grid 4x4 --prefix 1 --to-grid 6x6 -o grid.h5",
    "extended grid": "inspect grid.h5 --all",
    "extend smooth": "extrapolate trained.npy --extend cubic --grid 4x4 --to-grid 2x3 --antialias -o smooth.h5",
    "extended smooth": "inspect smooth.h5 --all",
    "extend small": "extrapolate trained.npy --extend linear --grid 4x4 --to-grid 2x3 --antialias -o small.h5",
    "extended small": "inspect small.h5 --all",
    "too far": "extrapolate trained.npy --test-len 4000 --extend hierarchical",
    "alike": "extrapolate trained.npy --test-len 40 --extend hierarchical --alpha 0.5",
    "prefix too long": "extrapolate trained.npy --test-len 40 --extend linear --prefix 16",
    "wrong grid": "extrapolate trained.npy --extend linear --grid 3x4 --to-grid 6x6",
    "another grid": "extrapolate trained.npy --extend linear --grid 5x5 --to-grid 6x6",
    "no grid": "extrapolate grid.npy --extend linear --grid 5x5 --prefix 2 --to-grid 6x6",
    "no prefix": "extrapolate grid.npy --extend linear --grid 4x4 --to-grid 6x6",
    "complex": "extrapolate complex.npy --test-len 40 --extend linear",
    "verify": "inspect good.npz --verify",
    "verify parts": "inspect parts --verify",
    "verify bad": "inspect bad.npz --verify",
    "verify twice": "inspect doubled --verify",
    "verify mixed": "inspect mixed --verify",
    "expect": "inspect good.npz --expect finite,unique,bounded,relative,smooth",
    "expect odd": "inspect odd.npy --expect finite,unique,bounded,relative,smooth",
    "expect bias": "inspect alibi:heads=2,len=12 --expect finite,bounded,relative",
    "expect uneven": "inspect uneven.npz --expect relative",
}


def files():
    """Write the files that the commands read."""
    from pathlib import Path

    for name, config in CONFIGS.items():
        Path(name).mkdir()
        Path(name, "config.json").write_text(json.dumps(config))
    rng = np.random.default_rng(3)
    for name, arrays in {
        "llama3": {"inv_freq": frequencies(10000.0)}, "right": {"inv_freq": frequencies(10000.0)},
        "pairs": {"inv_freq": frequencies(10000.0, 7)}, "spoilt": {"inv_freq": put(frequencies(10000.0), 3, np.nan)},
        "gpt2": {"wpe.weight": np.ones((16, 8), "f4")},
        "empty": {"model.encoder.embed_positions.weight": np.ones((0, 8), "f4")},
        "whisper": {"model.encoder.embed_positions.weight": np.ones((12, 8), "f4")},
        "t5model": {f"block.{k}.relative_attention_bias.weight": np.ones((32, 4), "f4") for k in range(2)},
    }.items():  # fmt: skip
        safetensors(Path(name, "model.safetensors"), **arrays)
    np.save("small.npy", rng.standard_normal((6, 8)))
    np.save("grid.npy", rng.standard_normal((17, 8)))
    np.save("complex.npy", np.ones((16, 4), complex))
    np.save("trained.npy", rng.standard_normal((16, 8)).astype("f4"))
    write_table(Table.parse(SINES), "good.npz")
    np.savez(
        "bad.npz", pe=np.zeros((4, 8), "f4"), recipe=np.array(json.dumps({"recipe": "sinusoidal:dim=8,len=4,base=-3"}))
    )
    odd = np.array(Table.parse(SINES)["pe"])
    odd[5] = odd[2]
    odd[7, 3] = np.nan
    np.save("odd.npy", odd)
    for folder, shards in (("parts", (0, 2)), ("doubled", (0, 1)), ("mixed", (0, 1))):
        Path(folder).mkdir()
        for k in shards:
            write_table(Table.parse(f"{SINES},shard={k}/3"), f"{folder}/{k}.npz")
    Path("plain").mkdir()
    for k in range(2):
        np.save(f"plain/{k}.npy", np.ones((12, 8), "f4"))
    write_table(Table.parse(f"{SINES},shard=1/3"), "doubled/other.npz")
    write_table(Table.parse(SINES), "mixed/whole.npz")
    write_table(Table.parse(f"{SINES},shard=1/4"), "mixed/z.npz")
    write_table(Table.parse("sinusoidal:dim=8,len=12,shard=1/3"), "mixed/zz.npz")
    bias = np.array(Table.parse("alibi:heads=2,len=12")["bias"])
    bias[1, 3, 4] = 5
    np.savez("uneven.npz", bias=bias)


ROWS = (  # a case, another case, and words that are printed for the first and not for the second
    ("NaN", "rows", "them NaN"),
    ("a unit", "float32", "1 unit"),
    ("a vector", "cos alone", "frequencies of its pairs"),
    ("after", "cut", "bfloat16 before"),
    ("alike", "extended linear", "between 0"),
    ("another grid", "no grid", "4x4 would"),
    ("another grid", "prefix too long", "16 rows"),
    ("between", "rows apart", "row 13"),
    ("column", "between", "column 2"),
    ("columns exchanged", "sign of one", "columns 1"),
    ("complex", "extended linear", "another array"),
    ("config layers", "config llama", "full_attention layers"),
    ("config llama", "frequencies", "llama, as transformers"),
    ("config m2m", "config gpt2", "first token"),
    ("config warned", "config yarn", "table follows", "Keys without"),
    ("cos alone", "exchanged", "cos alone"),
    ("cost", "facts of sines", "1 heads", "layers; projections"),
    ("cut", "twice", "cut, not rounded"),
    ("decay", "right", "decay says"),
    ("double", "float32", "computed in float64"),
    ("doubles", "often next", "two ways"),
    ("drawn kernel", "right", "values allow"),
    ("exchanged", "right", "sin are exchanged"),
    ("expect", "expect bias", "row 9", "rows 13", "first half"),
    ("expect", "expect odd", "24 rows"),
    ("expect", "expect uneven", "reach 1"),
    ("expect bias", "expect", "distances up"),
    ("expect bias", "expect uneven", "every diagonal"),
    ("expect odd", "expect", "2 again", "1 value"),
    ("expect uneven", "expect bias", "1, query"),
    ("extended cubic", "extended linear", "1981; interpolate"),
    ("extended cubic", "extended smooth", "4 rows"),
    ("extended hierarchical", "extended linear", "2020, kexue.fm/archives/7947"),
    ("extended linear", "extended grid", "--test-len 40"),
    ("extended linear", "extended nearest", "mode linear"),
    ("extended linear", "extended small", "between neighbours"),
    ("extended linear", "wrong grid", "source interpolate"),
    ("extended nearest", "extended linear", "mode nearest"),
    ("extended small", "extended smooth", "rows, a triangle"),
    ("extended smooth", "extended cubic", "wide, weights"),
    ("extended tile", "extended nearest", "al. 2020"),
    ("facts", "cost", "past its length"),
    ("facts", "facts of sines", "3 dim", "queries and keys"),
    (
        "facts of many",
        "cost",
        "distance of neighbours",
        "nearest two",
        "shift acts",
        "shift by 3",
        "values now",
        "per token",
    ),
    ("facts of many", "facts of sines", "512,000,000 values", "measured: fitting"),
    ("facts of sines", "facts of many", "additions after"),
    ("fading", "float32", "array 'scale"),
    ("flat", "window", "rows stand"),
    ("float32", "double", "angles rounded"),
    ("folder empty", "folder whisper", "compared: len=0"),
    ("folder gpt2", "folder t5model", "vector"),
    ("folder gpt2", "folder whisper", "config gives"),
    ("folder llama", "folder right", "positions is stored"),
    ("folder llama3", "folder right", "700 %"),
    ("folder pairs", "folder llama3", "7 float32"),
    ("folder right", "folder llama3", "config's, within"),
    ("folder spoilt", "folder right", "config's: 1"),
    ("folder t5model", "folder gpt2", "number for each distance"),
    ("folder yarn", "folder llama", "candle, exllamav2"),
    (
        "for language-modelling",
        "for vision",
        "position differently",
        "same everywhere",
        "several scales",
        "several positions",
    ),
    ("for lengths", "for long-context", "distance 255"),
    ("for lengths", "for short", "scaling: without"),
    ("for long-context", "facts", "these: needs", "needs nothing", "line of positions"),
    ("for research", "for language-modelling", "every position", "must be trained"),
    ("for research", "for vision", "longest position"),
    ("for short", "for language-modelling", "grows with the position", "stays"),
    ("for vision", "facts", "needs content"),
    ("for vision", "for language-modelling", "positions apart"),
    ("further cpe", "further none", "any length"),
    ("further none", "further cpe", "run out"),
    ("half", "right", "exact, rounded"),
    ("image", "turned", "before rows"),
    ("in halves", "in turn", "two halves"),
    ("in turn", "in halves", "stands there twice"),
    ("later", "after", "float32 before"),
    ("long alibi:heads=4", "long t5:heads=2", "distances get"),
    ("long integer:dim=4,max-len=10", "long alibi:heads=4", "values leave"),
    ("long learned:dim=8,max-len=64", "long t5:heads=2", "new positions"),
    ("long rope:dim=8", "long rope:dim=8,scaling=linear,factor=4", "bring phases"),
    ("long rope:dim=8,scaling=linear,factor=4", "long rope:dim=8", "longer contexts"),
    ("long sincos2d:dim=8,grid=2x3", "long rope:dim=8", "own parameters"),
    ("long t5:heads=2", "long alibi:heads=4", "distances share"),
    ("loose", "expect", "together"),
    ("loose", "right", "7 other", "together"),
    ("lost", "twice a row", "7 is missing"),
    ("lost and filled", "lost", "stands twice"),
    ("many arrays", "two", "'weight0', 'weight1"),
    ("masked", "right", "-1e+09 stands"),
    ("matrix", "expect", "value, measured"),
    ("matrix", "matrix of many", "20 rows"),
    ("matrix", "steps", "1 but"),
    ("matrix of few", "facts of sines", "10 rows"),
    ("matrix of many", "matrix", "3,000 rows"),
    ("no grid", "another grid", "15 after"),
    ("normal", "right", "found that gives", "largest size"),
    ("normal", "uniform", "normal distribution"),
    ("often next", "doubles", "float32 leave"),
    ("one pair", "right", "choice: sinusoidal"),
    ("one row", "one value", "192 values"),
    ("one row", "rows", "row 7"),
    ("one value", "one row", "[7, 3]"),
    ("opposite", "sign of one", "multiplied by -1"),
    ("other frequencies", "fading", "'inv_freq' holds"),
    ("padded", "normal", "row 0", "200 rows"),
    ("prefix too long", "extended linear", "below 16"),
    ("raised", "opposite", "been raised"),
    ("right", "normal", "base: any"),
    ("right", "one value", "gives these"),
    ("rooted", "tenth", "square root"),
    ("rows", "one row", "every row"),
    ("rows apart", "between", "first 7"),
    ("short llama", "config llama", "frequencies 32"),
    ("short many", "short layers", "1 more"),
    ("short many", "short llama", "1 more"),
    ("short warned", "short yarn", "1 more"),
    ("short yarn", "short llama", "cos and sin"),
    ("sign of one", "columns exchanged", "array 'cos"),
    ("sign of one", "opposite", "other sign"),
    ("similarity", "matrix", "cosine"),
    ("spoiled", "right", "480 values"),
    ("spoiled vector", "one value", "32 values"),
    ("stacks attention", "stacks llama", "any more"),
    ("stacks llama", "folder llama", '"read": the rules', "frequency, largest"),
    ("stacks llama", "stacks yarn", "table agree"),
    ("stacks mrope", "stacks llama", "config: unknown"),
    ("stacks new", "stacks llama", "mlx-lm differs", "times too high", "transformers 4"),
    ("stacks partial", "stacks llama", "16 pairs", "config makes"),
    ("stacks warned", "stacks llama", "instead"),
    ("stacks whole", "stacks llama", "maxtext, tensorrt-llm"),
    ("stacks yarn", "stacks llama", "table (ZeroDivisionError", "GenAI differs"),
    ("stray", "right", "512 values"),
    ("stray", "two heads", "2 heads"),
    ("tenth", "opposite", "936 values"),
    ("tenth", "raised", "multiplied"),
    ("too far", "extended linear", "16^2 +"),
    ("truncated", "normal", "truncated normal"),
    ("turned", "right", "columns are exchanged"),
    ("twice", "cut", "float16, then"),
    ("twice a row", "lost", "7 stands"),
    ("two", "many arrays", "array 'other"),
    ("two", "right", "array 'pe"),
    ("two heads", "rows apart", "40, 3]"),
    ("uniform", "normal", "uniform distribution"),
    ("units", "a vector", "float32 do"),
    ("verify bad", "verify", "computed: base=-3"),
    ("verify mixed", "verify twice", "part of sinusoidal", "whole table", "part 1/4", "does not belong"),
    ("verify parts", "verify", "part 1"),
    ("verify plain", "verify parts", "0/2: base=-3"),
    ("verify twice", "verify parts", "part 1/3"),
    ("window", "stray", "3 heads"),
)
CONFIDENCE = {  # how far each table is identified, and as what
    "right": "sure: sinusoidal",
    "turned": "sure: sinusoidal",
    "one value": "likely: sinusoidal",
    "one row": "likely: sinusoidal",
    "rows": "likely: sinusoidal",
    "rows apart": "likely: sinusoidal",
    "NaN": "likely: sinusoidal",
    "between": "likely: rope",
    "column": "likely: rope",
    "sign of one": "likely: rope",
    "columns exchanged": "likely: sincos2d",
    "raised": "likely: sincos2d",
    "opposite": "likely: sincos2d",
    "rooted": "likely: sincos2d",
    "tenth": "likely: sincos2d",
    "lost": "likely: sincos2d",
    "twice a row": "likely: sincos2d",
    "lost and filled": "likely: sincos2d",
    "in halves": "sure: rope",
    "in turn": "sure: rope",
    "lost and more": "likely: sincos2d",
    "units": "likely: rope",
    "cos alone": "sure: rope",
    "exchanged": "sure: rope",
    "a vector": "sure: rope",
    "two heads": "likely: alibi",
    "masked": "likely: alibi",
    "half": "sure: sinusoidal",
    "two": "likely: sinusoidal",
    "float32": "sure: rope",
    "drawn kernel": "likely: kerple",
    "decay": "likely: retnet",
    "window": "sure: window",
    "flat": "sure: window",
    "many arrays": "likely: sinusoidal",
    "cut": "sure: rope",
    "a unit": "sure: rope",
    "twice": "sure: rope",
    "stray": "likely: t5",
    "one pair": "likely: sinusoidal",
    "spoiled": "likely: rope",
    "next": "likely: rope",
    "often next": "likely: rope",
    "doubles": "likely: rope",
    "double": "sure: rope",
    "after": "sure: rope",
    "fading": "likely: xpos",
    "image": "sure: detr",
    "other frequencies": "likely: rope",
    "spoiled vector": "likely: rope",
    "later": "sure: sinusoidal",
    "loose": "likely: rope",
    "normal": "unknown",
    "uniform": "unknown",
    "padded": "unknown",
    "truncated": "unknown",
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """What is said of every table, and what every command prints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("known"))
        patch.setenv("COLUMNS", "400")
        files()
        found = {name: printed(words.split()) for name, words in COMMANDS.items()}
    found |= {name: repr(pecli.identify(table)) for name, table in tables().items()}
    return {name: " ".join(text.split()) for name, text in found.items()}


@pytest.mark.parametrize(("true", "near", "words"), [(true, near, words) for true, near, *words in ROWS])
def test_what_is_printed_is_true_and_not_printed_elsewhere(true, near, words, texts):
    assert [word for word in words if word not in texts[true]] == [], texts[true]
    assert [word for word in words if word in texts[near]] == [], texts[near]


@pytest.mark.parametrize("case", CONFIDENCE)
def test_a_table_is_identified(case, texts):
    assert texts[case].startswith(CONFIDENCE[case])
