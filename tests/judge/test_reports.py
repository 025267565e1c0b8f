"""Every sentence of what a table is, of configs, checkpoints, stacks, facts, purposes and resizing, as elsewhere."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pecli
from pecli import Table, write_table
from tests.inspect.test_inspect_checkpoint import frequencies, safetensors
from tests.judge.test_biases_identified import drawn, kerple, offsets
from tests.judge.test_sentences_measured import printed
from tests.support.sentences import said, sentences
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


ROWS = {  # a sentence, where it is printed and true, where it must not be
    "\"read\": the rules of that stack were read from its source, its code was not run":
        ("stacks llama", "folder llama"),
    "({} differ{} too)": ("stacks new", "stacks llama"),
    ", all of these: {}": ("for long-context", "facts"),
    ", magnitude {} on cos and sin": ("frequencies of yarn", "frequencies"),
    ", the first token at {}": ("config m2m", "config gpt2"),
    ", which is not the model's own any more: {}": ("stacks attention", "stacks llama"),
    ", {} after the prefix": ("no grid", "another grid"),
    ", {} of them": ("folder t5model", "folder gpt2"),
    ", {} of them NaN": ("NaN", "rows"),
    "--test-len {}": ("extended linear", "extended grid"),
    "3 dim multiplications and additions": ("facts", "facts of sines"),
    "A model of width {}, {} heads, {} layers; {}": ("cost", "facts of sines"),
    "All {} stacks that are known to make this table agree.": ("stacks llama", "stacks yarn"),
    "Beltagy et al. 2020, arXiv:2004.05150, section 5": ("extended tile", "extended nearest"),
    "Faults of the stack that this table follows": ("config warned", "config yarn"),
    "Keys 1981; interpolate of PyTorch, mode bicubic": ("extended cubic", "extended linear"),
    "Keys without effect": ("config warned", "config yarn"),
    "Layers: {}; largest relative difference of a frequency, largest of a value": ("stacks llama", "folder llama"),
    "M takes row p to row p + 1 but for {} of the largest value at most, at row {}": ("expect", "expect bias"),
    "No table of positions is stored.": ("folder llama", "folder right"),
    "M takes row p of {} to row p + {} but for {} of": ("matrix", "steps"),
    "the largest value, measured on {}": ("matrix", "expect"),
    "the first {} of {} rows": ("matrix of many", "matrix"),
    "all {} rows": ("matrix", "matrix of many"),
    "Su Jianlin 2020, kexue.fm/archives/7947": ("extended hierarchical", "extended linear"),
    "Work is that of a sequence of all positions in all layers; projections by trained weights are not counted.":
        ("cost", "facts of sines"),
    "a frequency {} times too high": ("stacks new", "stacks llama"),
    "a frequency {} % off": ("stacks near", "stacks llama"),
    "as part {}: {}": ("verify plain", "verify parts"),
    "cannot be compared: {}": ("folder empty", "folder whisper"),
    "transformers makes no table of this config: {}": ("stacks mrope", "stacks llama"),
    "values rounded to {} before they were multiplied": ("after", "cut"),
    "values rounded to float32 before they were multiplied": ("later", "after"),
    "a number for each distance": ("folder t5model", "folder gpt2"),
    "a shift acts on each position differently": ("for language-modelling", "for vision"),
    "a shift acts the same everywhere": ("for language-modelling", "for vision"),
    "a vector for each position": ("folder gpt2", "folder t5model"),
    "all {} rows differ": ("expect", "expect odd"),
    "all far distances share trained rows": ("long t5:heads=2", "long alibi:heads=4"),
    "each position has a trained row of its own, and new positions have none":
        ("long learned:dim=8,max-len=64", "long t5:heads=2"),
    "it has no values to run out of": ("further none", "further cpe"),
    "its own parameters fix its length": ("long sincos2d:dim=8,grid=2x3", "long rope:dim=8"),
    "its scaling slows frequencies for longer contexts": ("long rope:dim=8,scaling=linear,factor=4", "long rope:dim=8"),
    "new distances get biases that go on as training showed them": ("long alibi:heads=4", "long t5:heads=2"),
    "new positions bring phases that training never showed, unless a scaling slows them":
        ("long rope:dim=8", "long rope:dim=8,scaling=linear,factor=4"),
    "values come from the content, at any length": ("further cpe", "further none"),
    "values leave the range that training showed": ("long integer:dim=4,max-len=10", "long alibi:heads=4"),
    "all {} stacks": ("stacks new", "stacks llama"),
    "and {} more": ("short many", "short llama"),
    "and {} more {} of layers, with --all": ("short many", "short layers"),
    "and {} more {}, with --all": ("short warned", "short yarn"),
    "as drawn from a normal distribution": ("normal", "uniform"),
    "as drawn from a truncated normal distribution, of deviation {} cut at {}": ("truncated", "normal"),
    "as drawn from a uniform distribution from {} to {}": ("uniform", "normal"),
    "as near as angles in float32 leave": ("often next", "doubles"),
    "as near as two ways to compute a double are": ("doubles", "often next"),
    "between row {} and row {}": ("between", "rows apart"),
    "cannot be fitted: a matrix of {} columns takes {} rows of the first": ("matrix of few", "facts of sines"),
    "channels come before rows and columns": ("image", "turned"),
    "{} unit{} in the last place": ("a unit", "float32"),
    "computed in float64": ("double", "float32"),
    "cut, not rounded, to": ("cut", "twice"),
    "dim additions after the gate": ("facts of sines", "facts of many"),
    "distance of neighbours": ("facts of many", "cost"),
    "distances up to {}": ("expect bias", "expect"),
    "does not tell all positions apart": ("for vision", "for language-modelling"),
    "ends at its longest position": ("for research", "for vision"),
    "every diagonal has one value": ("expect bias", "expect uneven"),
    "exact, rounded to {}": ("half", "right"),
    "gives these values": ("right", "one value"),
    "grows with the position": ("for short", "for language-modelling"),
    "has nothing to train": ("for research", "for language-modelling"),
    "has one scale only": ("for language-modelling", "for vision"),
    "has several scales": ("for language-modelling", "for vision"),
    "has values at every position": ("for research", "for language-modelling"),
    "has {} cells, and the table {} rows": ("another grid", "prefix too long"),
    "in every row from {} to {}": ("rows", "one row"),
    "in row {}": ("one row", "rows"),
    "in {} rows, the first {} and the last {}": ("rows apart", "between"),
    "interpolate of PyTorch, mode linear or bilinear": ("extended linear", "extended nearest"),
    "interpolate of PyTorch, mode nearest": ("extended nearest", "extended linear"),
    "is as near": ("one value", "right"),
    "is more than {}^2 + {} rows, as far as two levels reach: use linear, or fewer rows":
        ("too far", "extended linear"),
    "it makes no table ({})": ("stacks yarn", "stacks llama"),
    "its recipe cannot be computed: {}": ("verify bad", "verify"),
    "its widest head reaches distance {} of {}": ("for lengths", "for long-context"),
    "magnitude {} instead of {}": ("stacks warned", "stacks llama"),
    "missing: part {} of {}": ("verify parts", "verify"),
    "must be below {}, the rows of the table: some must be left to extend": ("prefix too long", "extended linear"),
    "must be between 0 and 1 and not 0.5, at which (i, j) and (j, i) are alike": ("alike", "extended linear"),
    "must be rows of real numbers, (rows, width), to be extended: name another array as file::name":
        ("complex", "extended linear"),
    "must be trained": ("for research", "for language-modelling"),
    "nearest two rows": ("facts of many", "cost"),
    "needs content, or gives no positions": ("for vision", "facts"),
    "needs nothing but the position": ("for long-context", "facts"),
    "none: {} values, and {} are the most": ("facts of many", "facts of sines"),
    "not measured: fitting it takes more rows than columns": ("facts of many", "facts of sines"),
    "not the config's: {} of {} frequencies are NaN or infinite": ("folder spoilt", "folder right"),
    "not the config's: a frequency is {} % off": ("folder llama3", "folder right"),
    "of {} it is not known whether and how they make this table": ("stacks whole", "stacks llama"),
    "of {} layers": ("config layers", "config llama"),
    "of the array '{}' {}": ("fading", "float32"),
    "off by {}": ("facts", "facts of many"),
    "one value differs, at {}: {}, and the recipe has {}": ("one value", "one row"),
    "only with a scaling: without one {}": ("for lengths", "for short"),
    "overlap: {} and {} are both part {}": ("verify twice", "verify parts"),
    "past its length": ("facts", "cost"),
    "queries and keys": ("facts", "facts of sines"),
    "rounded to {}, then to": ("twice", "cut"),
    "row i lies at (i + 1/2) n/m - 1/2 of the old rows": ("extended linear", "extended nearest"),
    "{}, a triangle, where rows shrink n/m as wide, its weights divided by their sum":
        ("extended small", "extended smooth"),
    "{}, cubic convolution of 4 rows with a = -0.75, clamped at the ends": ("extended cubic", "extended smooth"),
    "{}, cubic convolution with a = -0.5, where rows shrink n/m as wide, weights divided by their sum":
        ("extended smooth", "extended cubic"),
    "{}, linear between neighbours, clamped at the ends": ("extended linear", "extended small"),
    "row {} is all zeros, as padding is": ("padded", "normal"),
    "row {} is row {} again, {} in all repeat an earlier row": ("expect odd", "expect"),
    "rows and columns are exchanged": ("turned", "right"),
    "rows {} and {} are {} apart, two rows at random {}": ("expect", "expect bias"),
    "shift acts as": ("facts of many", "cost"),
    "shift by {} as one matrix": ("facts of many", "cost"),
    "sizes reach {} in {}, {} in {}": ("expect", "expect uneven"),
    "stays in one range": ("for short", "for language-modelling"),
    "takes a grid, or several positions of a token": ("for language-modelling", "for vision"),
    "takes a line of positions": ("for long-context", "facts"),
    "takes a line of positions only": ("for vision", "for language-modelling"),
    "tells all positions apart": ("for vision", "for language-modelling"),
    "the config's, within {}, the rounding of {}": ("folder right", "folder llama3"),
    "the first half of the rows": ("expect", "expect bias"),
    "each number is the shortest that the values allow": ("drawn kernel", "right"),
    "the decay says nothing of the width of rotations": ("decay", "right"),
    "one trained number for each of {} heads and offset: the recipe gives the entries": ("window", "stray"),
    "its rows stand one after the other": ("flat", "window"),
    "the array '{}' holds other numbers than the recipe's frequencies": ("other frequencies", "fading"),
    "the array {} was not compared": ("two", "many arrays"),
    "the arrays {}{} were not compared": ("many arrays", "two"),
    "the values leave room for another choice: {}": ("one pair", "right"),
    "the values leave room for {} other choices, such as {}": ("loose", "right"),
    "the {} alone of a rotary table": ("cos alone", "exchanged"),
    "cos and sin are exchanged": ("exchanged", "right"),
    "these are the frequencies of its pairs": ("a vector", "cos alone"),
    "one trained number for each of {} heads and bucket: the recipe gives the buckets": ("stray", "two heads"),
    "this is the array '{}'": ("two", "right"),
    "trained values now": ("facts of many", "cost"),
    "trained: no config gives its values": ("folder gpt2", "folder whisper"),
    "turns {} pairs where transformers turns {}": ("stacks partial", "stacks llama"),
    "unknown: no recipe was found that gives these values": ("normal", "right"),
    "what it is": ("config llama", "short llama"),
    "work per token": ("facts of many", "cost"),
    "{} config's {}: values are {} apart": ("folder whisper", "folder gpt2"),
    "{} does not belong: it is a part of {}": ("verify mixed", "verify twice"),
    "{} does not belong: it is a whole table and no part": ("verify mixed", "verify twice"),
    "{} does not belong: it is part {} where {} are of {}": ("verify mixed", "verify twice"),
    "{} does not belong: {}": ("verify mixed", "verify twice"),
    "{} frequencies: no table of the config has as many": ("folder pairs", "folder llama3"),
    "{} of the rows of {}": ("similarity", "matrix"),
    "{} of {} stacks": ("stacks new", "stacks llama"),
    "{} of {} values differ from the others of their bucket, {}": ("stray", "right"),
    "{} of {} values differ from what that arithmetic gives, {}": ("spoiled", "right"),
    "{} of {} values differ, {}": ("spoiled vector", "one value"),
    "{} of {} values differ{}, in column {}": ("column", "between"),
    "{} of {} values differ by less than a millionth, as powers in float32 do": ("units", "a vector"),
    "they stand there twice, in two halves": ("in halves", "in turn"),
    "each stands there twice in turn": ("in turn", "in halves"),
    "; with that, {} values are off by at most {}": ("tenth", "opposite"),
    "columns {} and {} are exchanged": ("columns exchanged", "sign of one"),
    "has been raised by": ("raised", "opposite"),
    "has the other sign": ("sign of one", "opposite"),
    "was multiplied by": ("tenth", "raised"),
    "was multiplied by -1": ("opposite", "sign of one"),
    "the square root of {}": ("rooted", "tenth"),
    "of the array '{}'": ("sign of one", "columns exchanged"),
    "row {} is missing": ("lost", "twice a row"),
    "{} is missing, and {}": ("lost and filled", "lost"),
    "the last one is one more": ("lost and more", "lost and filled"),
    "the last one stands twice": ("lost and filled", "lost"),
    "{} stands twice, and all rows after it one later": ("twice a row", "lost"),
    "{} of {} values differ{}, {}": ("one row", "one value"),
    "{} rounded to {}": ("float32", "double"),
    "{} frequencies up to {} from the recipe's": ("a unit", "float32"),
    "{} stands where keys are hidden, and the recipe has minus infinity": ("masked", "right"),
    "{} trained values": ("for long-context", "for research"),
    "{} {} NaN or infinite, the first in row {}": ("expect odd", "expect"),
    "together they have {}": ("loose", "right"),
    "{} from {} to {}": ("loose", "expect"),
    "{} values differ along their diagonal, the first of head {}, query {}": ("expect uneven", "expect bias"),
    "{} would make another table{}, or none: pecli compare {} --stacks": ("folder yarn", "folder llama"),
    "{}, on cos and sin": ("short yarn", "short llama"),
    "{}, one turn in {} positions": ("short llama", "config llama"),
    "{}: any from {} to {} {}": ("right", "normal"),
    "{}: give --prefix {} if the first {} are no patches": ("no prefix", "another grid"),
    "mean {}, standard deviation {}, largest size {}{}": ("normal", "right"),
    ", measured on {} of {} rows": ("padded", "normal"),
    "the first at {}, the last at {}": ("two heads", "rows apart"),
    "{}: the grid must hold exactly as many": ("no grid", "another grid"),
    "{}: {}, as {} {} reads it": ("config llama", "frequencies"),
    "{}: {}x{} would fit": ("another grid", "no grid"),
    "{}; no single change of the config makes more of them agree.": ("stacks partial", "stacks llama"),
    "{}; rows of {}": ("extended linear", "wrong grid"),
    "{}; {} and {} make one table": ("stacks yarn", "stacks llama"),
}  # fmt: skip
SOURCES = (
    "identification/*.py", "measures/computing.py", "measures/vectors.py", "encodings/shared/vectors.py",
    "measures/drawn.py",
    "cli/inspect/*_view.py",
    "cli/inspect/measuring.py", "inspection/checkpoint.py", "inspection/config_report.py", "cli/compare/*s_view.py",
    "cli/compare/cost_view.py", "cli/compare/ranking_view.py", "inspection/stacks.py", "inspection/facts.py",
    "inspection/measured.py", "inspection/rows.py", "inspection/purposes.py", "extrapolation/ranking.py",
    "extrapolation/resize.py", "extrapolation/extension.py", "inspection/verification.py", "inspection/expectations.py",
    "inspection/matrices.py", "cli/inspect/measuring.py", "declare/reach.py", "measures/rotations.py",
    "encodings/**/recognise.py",
)  # fmt: skip


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """What is said of every table, and what every command prints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("known"))
        patch.setenv("COLUMNS", "400")
        files()
        found = {name: printed(words.split()) for name, words in COMMANDS.items()}
    found |= {name: repr(pecli.identify(table)) for name, table in tables().items()}
    return found


def test_every_sentence_has_a_row():
    found = {text for text in sentences(*SOURCES) if "\\" not in text}  # which is no pattern of names
    assert found == {*ROWS}


@pytest.mark.parametrize("sentence", ROWS)
def test_a_sentence_is_printed_where_it_is_true_alone(sentence, texts):
    true, near = ROWS[sentence]
    assert said(sentence, texts[true]), texts[true]
    assert not said(sentence, texts[near]), texts[near]
