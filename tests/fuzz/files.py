"""Files to read: sound ones of every format, damaged ones, and bombs that claim more than they hold."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from random import Random

import h5py
import numpy as np
import pyarrow as pa

from pecli.formats import FORMATS, write_table
from pecli.tables.table import Table

RECIPES = ("sinusoidal:dim=8,len=6", "rope:dim=8,len=5", "alibi:heads=2,len=4", "shaw:dim=4,clip=2,len=3")

OWN = """
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pecli.own import Facts, Family, Param, Waves, encoding, geometric, rotation


@encoding(family=Family.ROTARY, title="Own",
          facts=Facts(relative="rotation", cost="n * dim"), example="own-waves:dim=4")
def own_waves(*, dim: Annotated[int, Param("Width.", ge=2, le=1 << 20, even=True)]) -> Waves:
    \"\"\"Waves of one's own.

    Formula
    -------
    cos(p w_i)

    Source
    ------
    Nobody, nowhere, none
    \"\"\"
    return rotation(tuple(geometric(Decimal(100), Fraction(2, dim), dim // 2)))
"""


def sound(folder: Path) -> list[str]:
    """Write small tables in every format; return their names."""
    names = []
    for number, recipe in enumerate(RECIPES):
        for form in FORMATS.values():
            name = f"t{number}{form.suffixes[0]}"
            try:
                write_table(Table.parse(recipe), folder / name, threads=1)
            except ValueError:
                continue
            names.append(name)
    rng = np.random.default_rng(1)
    np.save(folder / "c.npy", rng.normal(size=(6, 8)).astype(np.float32))
    np.savez(folder / "w.npz", a=np.arange(6.0), b=np.array([np.nan, np.inf, -np.inf, 5e-324]))
    np.savez_compressed(folder / "z.npz", a=rng.normal(size=(40, 8)))
    (folder / "p.txt").write_text("0\n1\n2.5\n")
    (folder / "config.json").write_text('{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}')
    with h5py.File(folder / "t.h5", "w") as file:
        file.create_dataset("pe", data=rng.normal(size=(64, 8)), chunks=(16, 8), compression="gzip", shuffle=True)
        file.attrs["pecli_recipe"] = "sinusoidal:dim=8,len=64,dtype=float64"
    return [*names, "c.npy", "w.npz", "z.npz", "p.txt", "config.json", "t.h5", *asked(folder, rng)]


def asked(folder: Path, rng: np.random.Generator) -> list[str]:
    """Write what command lines of the help ask for, and what else a command reads; return the files' names."""
    arrays = {"q.npy": (1, 2, 4, 16), "k.npy": (1, 2, 4, 16), "emb.npy": (16, 512), "trained.npy": (16, 8),
              "empty.npy": (8, 0), "row.npy": (1, 8), "batch.npy": (1, 1, 6, 8), "number.npy": ()}  # fmt: skip
    for name, shape in arrays.items():
        np.save(folder / name, rng.normal(size=shape).astype(np.float32))
    tables = {"cache.npy": "rope:dim=128,base=500000,len=64,layout=concat", "rope.npz": "rope:dim=16,len=64",
              "pe.h5": "sinusoidal:dim=16,len=64"}  # fmt: skip
    tables |= {f"shards/{k}.npy": f"sinusoidal:dim=8,len=6,shard={k}/2" for k in range(2)}
    for place in ("shards", "model"):
        (folder / place).mkdir()
    for name, recipe in tables.items():
        write_table(Table.parse(recipe), folder / name, threads=1)
    weights = {f"model.layers.0.self_attn.{name}_proj.weight": (16, 16) for name in "qkvo"}
    described, at = {}, 0
    for name, shape in weights.items():
        described[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 1024]}
        at += 1024
    data = safetensors(described, rng.normal(size=at // 4).astype(np.float32).tobytes())
    layers = {"model_type": "gemma3_text", "hidden_size": 64, "num_attention_heads": 4, "head_dim": 16,
              "num_key_value_heads": 2, "max_position_embeddings": 256}  # fmt: skip
    files = {"weights.safetensors": data, "model/model.safetensors": data, "layers.json": json.dumps(layers).encode(),
             "model/config.json": json.dumps(layers).encode(), "own.py": OWN.encode(),
             "broken.py": b"1 / 0\n"}  # fmt: skip
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [name for name in (*arrays, *tables, *files) if "/" not in name]


def damage(rng: Random, data: bytes) -> bytes:
    """Return a file with bits flipped, bytes changed, cut, doubled, or numbers made huge."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        if not found:
            break
        head = rng.random() < 0.7
        at = rng.randrange(min(len(found), 512)) if head else rng.randrange(len(found))
        match rng.randrange(8):
            case 0:
                found[at] ^= 1 << rng.randrange(8)
            case 1:
                found[at] = rng.choice((0, 1, 9, 10, 34, 39, 40, 44, 45, 57, 91, 123, 127, 128, 255))
            case 2:
                del found[at:]
            case 3:
                del found[at : at + rng.choice((1, 2, 8, 64))]
            case 4:
                found[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 64))))
            case 5:
                size = rng.choice((0, 1 << 31, 1 << 62, (1 << 64) - 1, rng.getrandbits(64)))
                found[at : at + 8] = struct.pack("<Q", size)
            case 6:
                other = rng.randrange(len(found))
                found[at : at + 16] = found[other : other + 16]
            case 7:
                digits = [i for i, byte in enumerate(found[:4096]) if 48 <= byte <= 57]
                if digits:
                    at = rng.choice(digits)
                    found[at : at + 1] = rng.choice((b"9" * 18, b"0", b"-1", b"1e9", b"999999999"))
    return bytes(found)


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    """Return an npy file with this header."""
    text = header.encode("latin1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + data


def safetensors(header: object, data: bytes = b"") -> bytes:
    """Return a safetensors file with this header."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def zipped(members: dict[str, bytes], deflate: bool = False) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED)
    return file.getvalue()


def hdf5(folder: Path, name: str, **about: object) -> None:
    """Write an HDF5 file with one dataset that is described and never filled."""
    with h5py.File(folder / name, "w", libver="earliest") as file:
        file.create_dataset("pe", dtype="f4", **about)


def bombs(folder: Path, scale: int = 1) -> list[str]:
    """Write files that claim more than they hold, or hold little in many pieces; `scale` makes them larger."""
    described = "{'descr': '<f4', 'fortran_order': %s, 'shape': %s, }\n"
    nans = struct.pack("<4I", 0x7FA00001, 0, 0x3F800000, 0xFFA00001)
    zeros = npy(described % ("False", f"({5_000_000 * scale}, 4)"), bytes(80_000_000 * scale))
    turned = npy(described % ("True", f"({2_000_000 * scale}, 4)"), bytes(32_000_000 * scale))
    files: dict[str, bytes] = {
        "rows.npy": npy(described % ("False", "(1000000000000000, 0)")),
        "rows-fortran.npy": npy(described % ("True", "(1000000000000000, 0)")),
        "columns.npy": npy(described % ("False", "(0, 1000000000000000)")),
        "huge.npy": npy(described % ("False", "(1000000, 1000000)"), bytes(64)),
        "deep.npy": npy("{'descr': " + "[" * 4000 + "}\n"),
        "sum.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "-" * 4000 + "1,)}\n"),
        "type.npy": npy("{'descr': '<f999999999', 'fortran_order': False, 'shape': (2,)}\n", bytes(64)),
        "v3.npy": npy(described % ("False", "(2,)"), bytes(8), 3),
        "signalling.npy": npy(described % ("False", "(2, 2)"), nans),
        "rows.safetensors": safetensors({"pe": {"dtype": "F32", "shape": [10**15, 0], "data_offsets": [0, 0]}}),
        "keys.safetensors": safetensors(
            {f"k{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(20_000 * scale)}
        ),
        "wide.csv": (",".join(f"pe{n}" for n in range(20_000)) + "\n" + ",".join(["0.5"] * 20_000) + "\n").encode(),
        "blank.csv": b"a,b\n" + b"\n" * (100_000 * scale) + b"1,2\n",
        "comments.csv": b"a,b\n" + b"# none\n" * (100_000 * scale) + b"1,2\n",
        "line.csv": b"a,b\n" + b"0" * (2_000_000 * scale) + b",1\n",
        "fields.csv": b"1," * (1_000_000 * scale) + b"1\n",
        "deep.json": b"[" * 100_000 + b"]" * 100_000,
        "deep-object.json": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "numbers.json": b"[" + b"0," * (500_000 * scale) + b"0]",
        "texts.json": b'["' + b"x" * (2_000_000 * scale) + b'"]',
        "digits.json": b"[[" + b"9" * 100_000 + b", 1]]",
        "members.npz": zipped({f"m{n}.npy": npy(described % ("False", "(1,)"), bytes(4)) for n in range(5000 * scale)}),
        "evil.npz": zipped({"/etc/evil.npy": npy(described % ("False", "(2, 2)"), bytes(16))}),
        "evil-dots.npz": zipped({"../../a/../evil.npy": npy(described % ("False", "(2, 2)"), bytes(16))}),
        "zeros.npz": zipped({"a.npy": zeros}, True),
        "zeros-fortran.npz": zipped({"a.npy": turned}, True),
        "endless.txt": b"1" * 1_000_000,
        "zeros.bin": bytes(1_000_000),
        "config-deep.json": b'{"model_type": "llama", "rope_scaling": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
    }  # fmt: skip
    for name, data in files.items():
        (folder / name).write_bytes(data)
    hdf5(folder, "rows.h5", shape=(10**15, 0))
    hdf5(folder, "sparse.h5", shape=(10**9, 64))
    hdf5(folder, "sparse-chunks.h5", shape=(10**9, 64), chunks=(1024, 64), compression="gzip")
    with h5py.File(folder / "chunk.h5", "w") as file:  # one chunk, inflated for every block of rows
        rows = 300_000 * scale
        space = file.create_dataset("pe", (rows, 64), "f4", chunks=(rows, 64), compression="gzip")
        space.id.write_direct_chunk((0, 0), zlib.compress(bytes(rows * 256), 1))
    with h5py.File(folder / "names.h5", "w") as file:
        for n in range(2000 * scale):
            file[f"group{n}/pe"] = np.zeros(1, np.float32)
    with h5py.File(folder / "loop.h5", "w") as file:
        file["a/pe"] = np.zeros((2, 2), np.float32)
        file["a/again"] = file["/"]
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(8_000_000 * scale, np.float32)), 8)
    with pa.OSFile(str(folder / "zeros.arrow"), "wb") as sink:
        table = pa.table({"pe": lists})
        with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
    names = [*files, "rows.h5", "sparse.h5", "sparse-chunks.h5", "chunk.h5", "names.h5", "loop.h5", "zeros.arrow"]
    (folder / "recipe.h5").write_bytes((folder / "loop.h5").read_bytes())
    with h5py.File(folder / "recipe.h5", "a") as file:
        file.attrs["pecli_recipe"] = "sinusoidal:dim=1000000,len=1000000000000"
    return [*names, "recipe.h5"]


def readings(name: str) -> list[list[str]]:
    """Return command lines that read a file in every way."""
    return [
        ["inspect", name], ["inspect", name, "--json"], ["identify", name], ["verify", name],
        ["inspect", name, "--properties"], ["plot", name],
        ["compare", name, name], ["compare", name, "sinusoidal:dim=8"], ["compare", "c.npy", name],
        ["convert", name, "-o", "out.npz"], ["convert", name, "-o", "out.h5"], ["convert", name, "-o", "out.parquet"],
        ["convert", name, "-o", "out.csv"], ["extrapolate", name, "--test-len", "16"],
        ["extrapolate", name, "--train-len", "4", "--test-len", "16", "--extend", "linear", "-o", "out.npy"],
        ["apply", name, "--random", "1x2x4x8", "-o", "out.npz"], ["apply", "sinusoidal:dim=8", name, "-o", "out.npz"],
        ["apply", "rope:dim=8", name, "-o", "out.npz"],
        ["generate", "sinusoidal:dim=4", "--positions", f"@{name}"], ["generate", "cpe", "--content", name],
        ["generate", f"fourier:dim=8,matrix={name}", "--len", "3"],
        ["generate", "fire", "--weights", name, "--len", "3"],
        ["generate", "t5", "--weights", name, "--len", "3"], ["generate", name], ["compare", name, "--stacks"],
    ]  # fmt: skip
