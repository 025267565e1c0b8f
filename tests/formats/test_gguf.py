"""GGUF files as llama.cpp's converters write them, built here byte by byte, and as pecli writes them."""

import struct

import numpy as np
import pytest

from pecli.errors import BadFile
from pecli.formats import open_table, write_table
from tests.formats.test_exports import need, table

FACTORS = np.repeat(np.float32([1, 32]), 16)


def text(word):
    return struct.pack("<Q", len(word)) + word.encode()


def file_of(tensors, *, keys=(), version=3, align=32):
    """Return a GGUF file of tensors: name, kind, sides with the fastest first, bytes."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys)
    places, at = b"", 0
    for name, kind, sides, data in tensors:
        places += text(name) + struct.pack(f"<I{len(sides)}QIQ", len(sides), *sides, kind, at)
        at += len(data) + -len(data) % align
    head += places
    head += bytes(-len(head) % align)
    return head + b"".join(data + bytes(-len(data) % align) for *_, data in tensors)


KEYS = (
    text("general.architecture") + struct.pack("<I", 8) + text("llama"),
    text("llama.rope.freq_base") + struct.pack("<If", 6, 500000.0),
    text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") + text("bc") + text("def"),
    text("tokenizer.ggml.scores") + struct.pack("<IIQ3f", 9, 6, 3, 1, 2, 3),
)
TENSORS = [
    ("blk.0.attn_q.weight", 12, (256, 4), bytes(4 * 144)),  # of a quantised kind
    ("rope_freqs.weight", 0, (32,), FACTORS.tobytes()),
    ("position_embd.weight", 1, (6, 4), np.arange(24, dtype="float16").tobytes()),
]


@pytest.mark.parametrize("version", [2, 3])
def test_plain_tensors_are_read_and_quantised_ones_left_out(tmp_path, version):
    (tmp_path / "model.gguf").write_bytes(file_of(TENSORS, keys=KEYS, version=version))
    with open_table(tmp_path / "model.gguf") as held:
        assert [(a.name, a.shape, a.dtype) for a in held.arrays] == [
            ("rope_freqs.weight", (32,), "float32"), ("position_embd.weight", (4, 6), "float16"),
        ]  # fmt: skip
        assert held.left_out == ["blk.0.attn_q.weight"]
        assert np.array_equal(held["rope_freqs.weight"], FACTORS)
        assert np.array_equal(held["position_embd.weight"], np.arange(24).reshape(4, 6))


def test_an_alignment_of_its_own_is_kept(tmp_path):
    align = text("general.alignment") + struct.pack("<II", 4, 64)
    (tmp_path / "model.gguf").write_bytes(file_of(TENSORS, keys=(*KEYS, align), align=64))
    with open_table(tmp_path / "model.gguf") as held:
        assert np.array_equal(held["position_embd.weight"], np.arange(24).reshape(4, 6))


def test_every_cut_is_refused(tmp_path):
    whole, path = file_of(TENSORS, keys=KEYS), tmp_path / "cut.gguf"
    for end in [*range(1, 480, 7), len(whole) - 40]:
        path.write_bytes(whole[:end])
        with pytest.raises(BadFile, match=r"cut\.gguf"):
            open_table(path)


@pytest.mark.parametrize(("at", "value", "said"), [
    (4, struct.pack("<I", 9), "is GGUF of version 9: pecli reads 2 and 3"),
    (8, struct.pack("<Q", 1 << 60), "tensors: it is damaged"), (16, struct.pack("<Q", 1 << 60), "truncated|header"),
    (24, struct.pack("<Q", 1 << 60), "header of"),
])  # fmt: skip
def test_damage_is_said(tmp_path, at, value, said):
    damaged = bytearray(file_of(TENSORS, keys=KEYS))
    damaged[at : at + len(value)] = value
    (tmp_path / "bad.gguf").write_bytes(damaged)
    with pytest.raises(BadFile, match=said):
        open_table(tmp_path / "bad.gguf")


def test_what_pecli_writes_is_read_with_its_recipe(tmp_path):
    need("gguf")
    made = table("rope:dim=8,len=40")
    write_table(made, tmp_path / "r.gguf")
    with open_table(tmp_path / "r.gguf") as held:
        assert held.recipe == made.recipe
        for array in made.arrays:
            assert np.array_equal(held[array.name], made[array.name])


def test_the_divisors_of_llama_cpp_are_named(pecli, tmp_path):
    length = 2 * np.pi * 500000.0 ** (np.arange(32) / 32)
    share = np.clip((8192 / length - 1) / 3, 0, 1)
    factors = (1 / (share + (1 - share) / 32)).astype("float32")
    tensor = ("rope_freqs.weight", 0, (32,), factors.tobytes())
    (tmp_path / "model.gguf").write_bytes(file_of([TENSORS[0], tensor], keys=KEYS))
    said = pecli("identify", "model.gguf").stdout.splitlines()
    assert said[0].startswith("rope:dim=64,base=500000,scaling=llama3,original-max=8192,factor=32 (sure")
    assert "divisors" in said[1]
