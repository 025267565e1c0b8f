"""Exports, each read by the program that it is for: gcc, the gguf package, onnxruntime.

A package that is not installed is skipped with a word; `make reach` installs them.
"""

import importlib.util
import shutil
import subprocess

import numpy as np
import pytest

from pecli import table
from pecli.errors import BadParameter, MissingPackage, UnknownName
from pecli.formats import READ, WRITTEN, open_table, write_table

GCC = shutil.which("gcc") or shutil.which("cc")
EXPORTS = sorted(name for name, form in WRITTEN.items() if form.reader is None)


def need(package):
    """The package, or a skip that names it."""
    return pytest.importorskip(package, reason=f"{package} is not installed: make reach installs it")


HEADERS = (
    *(f"rope:dim=32,len=40,dtype={dtype}" for dtype in ("float32", "float64", "float16", "bfloat16")),
    "alibi:heads=4,len=9", "alibi:heads=3,len=5,form=slopes", "alibi:heads=2,mask=causal,len=4", "t5:heads=2,len=4",
)  # fmt: skip


@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_a_compiler_reads_headers_to_the_bit(tmp_path):
    """One program includes every header and writes the arrays as it has them in memory."""
    tables = {f"my-{k}": table(recipe) for k, recipe in enumerate(HEADERS)}
    lines = ["#include <stdio.h>"]
    for name, made in tables.items():
        write_table(made, tmp_path / f"{name}.h")
        lines.append(f'#include "{name}.h"')
    names = [(made, array, f"my_{k}_{array.name}") for k, made in enumerate(tables.values()) for array in made.arrays]
    writes = (f"fwrite({name}, sizeof {name}, 1, stdout);" for _, _, name in names)
    (tmp_path / "dump.c").write_text("\n".join([*lines, "int main(void) {", *writes, "return 0; }", ""]))
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", tmp_path / "dump", tmp_path / "dump.c"]
    subprocess.run([GCC, *options], check=True, timeout=60)
    got = subprocess.run([tmp_path / "dump"], capture_output=True, check=True, timeout=60).stdout
    for made, array, name in names:
        values = made.read(array.name)
        if array.dtype == "bfloat16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        expected = values.astype("<f4" if array.dtype == "float16" else values.dtype).tobytes()
        assert got[: len(expected)] == expected, name
        got = got[len(expected) :]
    assert not got


def test_a_header_nests_as_the_axes_do(tmp_path):
    made = table("alibi:heads=4,len=9")
    write_table(made, tmp_path / "b.h")
    assert "b_bias[4][9][9]" in (tmp_path / "b.h").read_text()


def test_a_format_that_went_is_named_in_a_sentence(tmp_path):
    with pytest.raises(UnknownName, match="q15"):
        write_table(table("rope:dim=16,len=5"), tmp_path / "q.h", format="q15")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_gguf_has_the_tensors(tmp_path, dtype):
    gguf = need("gguf")
    made = table(f"rope:dim=32,len=70,dtype={dtype}")
    write_table(made, tmp_path / "r.gguf")
    read = {t.name: t for t in gguf.GGUFReader(tmp_path / "r.gguf").tensors}
    assert list(read) == ["cos", "sin"]
    for name, tensor in read.items():
        assert tensor.shape.tolist() == [16, 70]  # in the container's order: the fastest axis first
        assert tensor.data.tobytes() == made.read(name).tobytes()


def test_gguf_has_the_keys_of_a_rope(tmp_path):
    gguf = need("gguf")
    write_table(table("rope:dim=64,base=500000,scaling=yarn,factor=4,original-max=4096,len=8"), tmp_path / "r.gguf")
    fields = gguf.GGUFReader(tmp_path / "r.gguf").fields
    found = {name.removeprefix("pecli.rope."): field.contents() for name, field in fields.items() if ".rope." in name}
    assert {
        "dimension_count": 64,
        "freq_base": 500000.0,
        "scaling.type": "yarn",
        "scaling.factor": 4.0,
    }.items() <= found.items()
    assert found["scaling.original_context_length"] == 4096
    assert '"recipe":"rope:dim=64' in fields["pecli"].contents()


@pytest.mark.parametrize("text", ["sinusoidal:dim=16,len=4", "alibi:heads=2,len=4", "shaw:dim=8,clip=2,len=4"])
def test_gguf_has_the_keys_of_a_rope_for_rotary_tables_alone(tmp_path, text):
    gguf = need("gguf")
    write_table(table(text), tmp_path / "t.gguf")
    own = [name for name in gguf.GGUFReader(tmp_path / "t.gguf").fields if not name.startswith("GGUF.")]
    assert own == ["general.architecture", "pecli"]


def test_gguf_has_factors_where_no_key_says_the_scaling(tmp_path):
    gguf = need("gguf")
    text = "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192"
    write_table(table(f"{text},len=4"), tmp_path / "r.gguf")
    tensors = {t.name: t.data for t in gguf.GGUFReader(tmp_path / "r.gguf").tensors}
    assert list(tensors) == ["rope_freqs.weight", "cos", "sin"]
    inv = 500000.0 ** (-np.arange(0, 128, 2) / 128)  # what llama.cpp's converter does with a config of Llama 3
    wavelength, low, high = 2 * np.pi / inv, 8192 / 1, 8192 / 4
    smooth = (8192 / wavelength - 1) / 3
    expected = np.where(wavelength < high, 1, np.where(wavelength > low, 8, 1 / ((1 - smooth) / 8 + smooth)))
    np.testing.assert_allclose(tensors["rope_freqs.weight"], expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_onnxruntime_turns_by_the_caches(tmp_path, dtype):
    onnx, runtime = need("onnx"), need("onnxruntime")
    made = table(f"rope:dim=16,len=90,dtype={dtype}")
    write_table(made, tmp_path / "r.onnx")
    model = onnx.load(tmp_path / "r.onnx")
    onnx.checker.check_model(model, full_check=True)
    caches = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    assert all(caches[name].tobytes() == made.read(name).tobytes() for name in ("cos", "sin"))
    cos, sin = (made.read(name).astype(np.float64) for name in ("cos", "sin"))
    x = np.random.default_rng(1).normal(size=(2, 3, 5, 16)).astype(dtype)
    at = np.array([[0, 7, 8, 88, 89], [3, 2, 1, 0, 60]])
    session = runtime.InferenceSession(tmp_path / "r.onnx", providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"X": x, "position_ids": at})
    c, s, first, second = cos[at][:, None], sin[at][:, None], x[..., :8].astype(float), x[..., 8:].astype(float)
    expected = np.concatenate([first * c - second * s, first * s + second * c], -1)
    np.testing.assert_allclose(y, expected, atol=1e-6 if dtype == "float32" else 5e-3)


def test_onnx_holds_cosines_and_sines_alone(tmp_path):
    need("onnx")
    for recipe in ("alibi:heads=2,len=4", "rope:dim=8,len=4,layout=concat"):
        with pytest.raises(BadParameter, match="layout split of a rotary table"):
            write_table(table(recipe), tmp_path / "r.onnx")


@pytest.mark.parametrize("name", [name for name in EXPORTS if name not in READ])
def test_an_export_is_not_read(tmp_path, name):
    path = tmp_path / f"r{WRITTEN[name].suffixes[0]}"
    made = table("rope:dim=8,len=4")
    if WRITTEN[name].extra and importlib.util.find_spec(name) is None:
        with pytest.raises(MissingPackage, match=rf"pip install 'pecli\[{name}\]'"):
            write_table(made, path, format=name)
        return
    write_table(made, path, format=name)
    first = path.read_bytes()
    write_table(made, path, format=name)
    assert path.read_bytes() == first
    with pytest.raises(OSError, match=r"only writes"):
        open_table(path)
