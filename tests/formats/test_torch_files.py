"""Files of torch.save: what is read without PyTorch and without unpickling, and what is refused."""

import contextlib
import io
import json
import os
import pickle
import resource
import sys
import types
import zipfile
from collections import OrderedDict
from unittest import mock

import numpy as np
import pytest

from pecli.errors import BadFile, UnknownName
from pecli.formats import format_for, open_table
from tests.conftest import ROOT

DATA = ROOT / "tests/data/torch"
KINDS = {
    "float64": "Double", "float32": "Float", "float16": "Half", "complex64": "ComplexFloat", "bool": "Bool",
    "complex128": "ComplexDouble", "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
}  # fmt: skip


class Call:
    """An object that a pickle describes by a call."""

    def __init__(self, name, *given):
        self.name, self.given = name, given

    def __reduce__(self):
        return imitated(self.name), self.given


class Storage:
    """Values of an archive's member."""

    def __init__(self, values, kind=None):
        self.values, self.kind = values, kind or f"torch {KINDS[values.dtype.name]}Storage"


def imitated(name):
    """Return a function that a pickle calls by PyTorch's name."""
    module, name = name.split(" ")
    return getattr(MODULES[module], name)


def modules():
    """Return modules with the names, and no code, of PyTorch."""
    names = [f"torch {kind}Storage" for kind in (*KINDS.values(), "BFloat16", "Float8_e4m3fn")]
    names += ["torch uint16", "torch.storage UntypedStorage", "torch._tensor _rebuild_from_type_v2", "torch Tensor"]
    names += [
        f"torch._utils _rebuild_{name}" for name in ("tensor_v2", "tensor_v3", "parameter", "parameter_with_state")
    ]
    made = {module: types.ModuleType(module) for module in ("torch", "torch._utils", "torch._tensor", "torch.storage")}
    for text in names:
        module, name = text.split(" ")
        setattr(made[module], name, type(name, (), {"__module__": module}))
    return made


MODULES = modules()
UINT16 = MODULES["torch"].uint16


def tensor(values, *flags, kind=None, storage=None, offset=0):
    """Describe an array, or a view of a storage, as PyTorch does; strides count values."""
    strides = tuple(step // values.itemsize for step in values.strides)
    storage = storage or Storage(np.ascontiguousarray(values if values.base is None else values.base).reshape(-1), kind)
    return Call("torch._utils _rebuild_tensor_v2", storage, offset, values.shape, strides, False, OrderedDict(), *flags)


def save(path, given, protocol=2, byteorder="little", **members):
    """Write an archive as torch.save does; members replace those of the same name, or leave them out where None."""
    storages, file = [], io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, one):
            if not isinstance(one, Storage):
                return None
            if one not in storages:
                storages.append(one)
            return "storage", imitated(one.kind), str(storages.index(one)), "cpu", one.values.size

    with mock.patch.dict(sys.modules, MODULES):
        Pickler(file, protocol).dump(given)
    parts = {"data.pkl": file.getvalue(), "byteorder": byteorder.encode()}
    parts |= {f"data/{key}": storage.values.tobytes() for key, storage in enumerate(storages)} | members
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            if data is not None:
                archive.writestr(f"cache/{name}", data)
    return path


def read(path):
    with open_table(path) as stored:
        return {array.name: stored.read(array.name) for array in stored.arrays}


def refused(path, *words):
    with pytest.raises(BadFile) as caught:
        read(path)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def values(*shape, dtype="float32"):
    return (np.random.default_rng(1).normal(size=shape) * 50).astype(dtype)


# What PyTorch wrote


def test_files_of_pytorch_itself_are_identified_compared_and_inspected(pecli):
    cache, module = str(DATA / "llama_cache.pt"), str(DATA / "module.bin")
    assert pecli("identify", cache).stdout.startswith("rope:dim=16,len=12,layout=half,dtype=bfloat16 (sure: all values")
    assert pecli("compare", cache, "rope:dim=16,layout=half").stdout.startswith("same: 384 values")
    assert pecli("identify", f"{module}::pe").stdout.startswith("sinusoidal:dim=16,order=sin-cos,len=12 (sure")
    shown = json.loads(pecli("inspect", cache, "--json").stdout)
    assert shown["format"] == "torch"
    assert read(module)["scale"] == 1
    assert pecli("compare", cache, "rope:dim=16,base=500000,layout=half").returncode == 1


def test_a_file_of_pytorch_is_converted(pecli, tmp_path):
    made = tmp_path / "x.safetensors"
    assert pecli("convert", str(DATA / "llama_cache.pt"), "-o", str(made)).returncode == 0
    for name, found in read(DATA / "llama_cache.pt").items():
        np.testing.assert_array_equal(read(made)[name], found)
    assert pecli("convert", str(DATA / "module.bin"), "-o", str(tmp_path / "x.npz")).returncode == 0
    angles = np.outer(np.arange(12), 10000.0 ** (-np.arange(0, 16, 2) / 16))
    np.testing.assert_allclose(read(tmp_path / "x.npz")["pe"], np.hstack([np.sin(angles), np.cos(angles)]), atol=1e-6)


def test_a_table_is_opened_again_by_a_copy():
    with open_table(DATA / "module.bin") as stored, pickle.loads(pickle.dumps(stored)) as other:
        np.testing.assert_array_equal(other["pe"], stored["pe"])


# What is read


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", KINDS)
def test_every_type_in_either_byte_order(dtype, order, protocol, tmp_path):
    expected = values(7, 4, dtype=dtype)
    storage = Storage(expected.astype(expected.dtype.newbyteorder(order)).reshape(-1))
    word = {"<": "little", ">": "big"}[order]
    found = read(save(tmp_path / "x.pt", tensor(expected, storage=storage), protocol, word))["array"]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_bfloat16_and_types_without_a_storage_are_read_and_others_left_out(tmp_path):
    bits = np.arange(6, dtype=np.uint16).reshape(2, 3)
    untyped = Storage(bits.reshape(-1), "torch.storage UntypedStorage")
    given = {
        "b": tensor(bits, kind="torch BFloat16Storage"),
        "u": Call("torch._utils _rebuild_tensor_v3", untyped, 0, (2, 3), (3, 1), False, OrderedDict(), UINT16),
        "f8": tensor(np.zeros(3, np.uint8), kind="torch Float8_e4m3fnStorage"),
        "conjugate": tensor(values(3, dtype="complex64"), {"conj": True}),
    }
    with open_table(save(tmp_path / "x.pt", given)) as stored:
        assert [(array.name, array.dtype) for array in stored.arrays] == [("b", "bfloat16"), ("u", "uint16")]
        assert stored.left_out == ["f8"]
        np.testing.assert_array_equal(stored["u"], bits)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_names_are_keys_and_numbers_and_other_objects_are_skipped(protocol, tmp_path):
    one = tensor(values(3))
    given = {
        "model": OrderedDict({"pe": Call("torch._utils _rebuild_parameter", one, True, OrderedDict())}),
        "list": [one, (one, 5)], 7: one, "step": 2**70, "lr": 1e-3, "none": None, "flag": True, "name": "é",
        "raw": b"x", "set": {1}, (1, 2): one, "other": Call("torch Tensor", 3), "path": Storage(values(2)),
        "empty": [{}, (), []],
        "tagged": Call("torch._tensor _rebuild_from_type_v2", imitated("torch._utils _rebuild_tensor_v2"),
                       imitated("torch Tensor"), one.given, {"note": 1}),
    }  # fmt: skip
    found = read(save(tmp_path / "x.pt", given, protocol))
    assert list(found) == ["model.pe", "list.0", "list.1.0", "7", "tagged"]
    assert all(np.array_equal(array, values(3)) for array in found.values())
    assert list(read(save(tmp_path / "x.pt", [one, one], protocol))) == ["0", "1"]


def test_views_share_a_storage(tmp_path):
    base = values(6, 8)
    storage = Storage(base.reshape(-1))
    views = {
        "whole": base, "row": base[2], "columns": base[:, 2:5], "transposed": base.T, "steps": base[1::2, 1::3],
        "last": base[-1:, :], "expanded": np.broadcast_to(base[:, None, :2], (6, 4, 2)), "none": base[:0],
        "number": base[3, 3:4].reshape(()), "heads": base.reshape(6, 2, 4).transpose(1, 0, 2),
        "deep": base.reshape(2, 3, 4, 2).transpose(2, 0, 3, 1),
    }  # fmt: skip
    start = base.__array_interface__["data"][0]
    places = {name: (one.__array_interface__["data"][0] - start) // 4 if one.size else 0 for name, one in views.items()}
    path = save(tmp_path / "x.pt", {n: tensor(v, storage=storage, offset=places[n]) for n, v in views.items()})
    with open_table(path) as stored:
        assert stored.keys() == tuple(views)
        for array in stored.arrays:
            np.testing.assert_array_equal(stored.read(array.name), views[array.name])
            if array.rows > 2:
                part = stored.read_rows([array.name], 1, array.rows - 1)[array.name]
                whole = views[array.name].reshape(array.rows, *array.row_shape)
                np.testing.assert_array_equal(part, whole[1:-1])


def test_content_decides_and_a_name_that_contradicts_it_is_refused(tmp_path):
    path = save(tmp_path / "x.bin", tensor(values(3, 4)))
    for suffix in (".pth", ".ckpt", ""):
        assert list(read(path.replace(tmp_path / f"x{suffix}"))) == ["array"]
        path = tmp_path / f"x{suffix}"
    refused(path.replace(tmp_path / "x.npz"), "holds PyTorch, and its name says npz: name it .pt")
    np.savez(tmp_path / "y.npz", a=values(3))
    refused((tmp_path / "y.npz").replace(tmp_path / "y.pt"), "holds npz, and its name says PyTorch")
    (tmp_path / "z.pt").write_text("1 2 3")
    refused(tmp_path / "z.pt", "is no PyTorch file")


def test_it_is_not_written():
    with pytest.raises(UnknownName, match=r"unknown suffix '\.pt': did you mean '\.safetensors'"):
        format_for("x.pt")
    with pytest.raises(UnknownName, match="unknown format 'torch'"):
        format_for("x", "torch")


# What is refused


class Dangerous:
    def __reduce__(self):
        return os.mkdir, ("unpickled",)


def test_nothing_is_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(save(tmp_path / "x.pt", Dangerous()), "holds no tensor")
    found = read(save(tmp_path / "x.pt", {"a": Dangerous(), "b": tensor(values(3)), "c": [Dangerous()]}))
    assert list(found) == ["b"]
    for script in (b"(S'mkdir unpickled'\nios\nsystem\n.", b"cos\nsystem\n(S'mkdir unpickled'\ntR."):
        refused(save(tmp_path / "x.pt", None, **{"data.pkl": script}), "x.pt: ")
    assert not os.path.exists("unpickled")


def test_other_files_of_pytorch_are_named(tmp_path):
    refused(save(tmp_path / "x.pt", {}, **{"constants.pkl": b""}), "is a TorchScript archive", "state_dict()")
    (tmp_path / "x.pt").write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.")
    refused(tmp_path / "x.pt", "before 1.6", "save it again with a newer PyTorch")
    refused(save(tmp_path / "x.pt", {"a": 1}), "holds no tensor", "state_dict()")


def described(shape=(3, 4), strides=(4, 1), offset=0):
    one = tensor(values(3, 4))
    return Call(one.name, one.given[0], offset, shape, strides, False, OrderedDict())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (described(shape=(4, 4)), "outside its storage"),
        (described(offset=1), "outside its storage"),
        (described(offset=2**200), "outside its storage"),
        (described(strides=(1, 2**61)), "outside its storage"),
        (described(offset=-1), "cannot be"),
        (described(strides=(-4, 1)), "cannot be"),
        (described(strides=(4,)), "cannot be"),
        (described(shape=(3, "4")), "cannot be"),
        (described(shape=7), "cannot be"),
        (described(offset=None), "cannot be"),
        (described(shape=(2**40, 2**20), strides=(0, 0)), "expands its tensors to"),
        (described(shape=(2**40, 2**40), strides=(0, 0)), "cannot be"),
        (described(shape=(2**50, 0), strides=(0, 0)), "rows of no values"),
        ([described(shape=(2**13, 2**12), strides=(0, 0))] * 3, "expands its tensors to"),
        ({"a": {"b": described()}, "a.b": described()}, "two tensors called 'a.b'"),
    ],
)
def test_what_a_pickle_claims_is_checked(given, words, tmp_path):
    refused(save(tmp_path / "x.pt", given), words)


def test_a_shape_of_one_may_have_any_stride(tmp_path):
    found = read(save(tmp_path / "x.pt", described(shape=(1, 4), strides=(2**61, 1))))["array"]
    np.testing.assert_array_equal(found, values(3, 4)[:1])


def test_members_that_are_missing_compressed_or_short_are_refused(tmp_path):
    one = tensor(values(30, 40))
    refused(save(tmp_path / "x.pt", one, **{"data/0": None}), "no plain member data/0")
    refused(save(tmp_path / "x.pt", one, **{"data/0": bytes(40)}), "outside its storage")
    with zipfile.ZipFile(save(tmp_path / "x.pt", one)) as source, zipfile.ZipFile(tmp_path / "y.pt", "w", 8) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    refused(tmp_path / "y.pt", "no plain member")
    whole = (tmp_path / "x.pt").read_bytes()
    for count in (100, 200, 3000, len(whole) - 10):
        (tmp_path / "y.pt").write_bytes(whole[:count])
        refused(tmp_path / "y.pt", "truncated")


REFERENCES = b"h\x00h\x00\x86q\x00" * 60  # each pair holds the last one twice


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (b"", "truncated"),
        (b".", "truncated"),
        (b"\x80\x02}", "truncated"),
        (b"\x80\x02h\x05.", "truncated"),
        (b"\x80\x02u.", "truncated"),
        (b"\x80\x02N2.", "opcode DUP"),
        (b"\x80\x02\xff.", "truncated"),
        (b"\x80\x02]q\x00h\x00a.", "without end"),
        (b"\x80\x02}q\x00K\x01h\x00s.", "without end"),
        (b"\x80\x02)q\x00" + REFERENCES + b".", "without end"),
        (b"\x80\x02}()q\x00" + REFERENCES + b"Nu.", "no tensor"),
        (b"\x80\x02)" + b"\x85" * 100_000 + b".", "without end"),
        (b"\x80\x02" + b"(" * 100_000 + b".", "truncated"),
        (b"\x80\x02(" + b"}" * 100_000 + b"t.", "no tensor"),
        (b"\x80\x02(" + b"N" * (1 << 22) + b"t.", "of which at most 1 MiB are read"),
        (b"\x80\x02X\xff\xff\xff\xffa.", "truncated"),
    ],
)
def test_a_hostile_pickle_ends_in_a_sentence_within_a_second_or_so(script, words, tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    refused(save(tmp_path / "x.pt", None, **{"data.pkl": script}), words)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 10


def test_damaged_bytes_end_in_a_sentence_or_in_values(tmp_path):
    path = save(tmp_path / "x.pt", {"a": tensor(values(3, 4)), "b": [tensor(values(4, 3).T)], "c": 2**70})
    whole, rng = path.read_bytes(), np.random.default_rng(5)
    for _ in range(500):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=3):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        with contextlib.suppress(BadFile):
            read(path)


def test_a_transposed_tensor_is_held_up_to_the_limit(tmp_path, monkeypatch):
    path = save(tmp_path / "x.pt", {"a": tensor(values(300, 40).T), "b": tensor(values(300, 40).T)})
    assert len(read(path)) == 2
    monkeypatch.setattr("pecli.formats.torch_file.LARGEST_CHUNK", 50_000)
    refused(path, "holds 'b' transposed or as a part, 96,000 bytes", "--limit SIZE", ".contiguous()")
