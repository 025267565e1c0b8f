"""PyTorch: zip archives of torch.save, which are only read; a pickle describes the values in stored members.

The opcodes of the pickle are data to a small stack machine, which knows those that torch.save writes for tensors in
dicts, lists and tuples.  Nothing is unpickled, imported or called, and every other object is left out.
"""

from __future__ import annotations

import math
import pickletools
import threading
import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from pecli.formats.format import COMPLEX, INTEGERS, REALS
from pecli.formats.io.source import InputFile, RawFile, reading, undone
from pecli.formats.npz import data_offset
from pecli.formats.stored import StoredTable, boxes_of, plain, safe_shape
from pecli.numbers.bounds import LARGEST_CHUNK, LONGEST_PICKLE, MAX_ARRAYS
from pecli.numbers.dtypes import storage
from pecli.spec.tabular import Array, array_of

STORAGES = {
    "Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "ComplexFloat": "complex64",
    "ComplexDouble": "complex128", "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool",
}  # fmt: skip
DTYPES = ("bfloat16", *REALS, *COMPLEX, *INTEGERS)
MAX_NAME = 1000  # characters; the names in a list that contains itself have no end
MAX_REUSE = 8  # bytes of all tensors for each byte of the file; views and tied weights share storages


class Global(NamedTuple):
    """The name of a function or a class."""

    name: str


class Storage(NamedTuple):
    """A member of the archive that holds values of one type."""

    dtype: str
    key: str


class StridedTensor(NamedTuple):
    """A view of a storage, not yet checked."""

    dtype: str
    key: str
    offset: object
    shape: object
    strides: object


class Entries(list[Any]):
    """The keys and values of a dict in turn; nothing in a file is hashed."""

    __slots__ = ()


KINDS = {
    "EMPTY_DICT": Entries, "DICT": Entries, "EMPTY_LIST": list, "LIST": list, "EMPTY_TUPLE": tuple, "TUPLE": tuple,
    "TUPLE1": tuple, "TUPLE2": tuple, "TUPLE3": tuple,
}  # fmt: skip


def described(data: bytes, source: InputFile) -> object:
    """Return what a pickle describes, without unpickling it; None stands for each object that is left out."""
    stack, marks, memo = list[Any](), list[list[Any]](), dict[Any, Any]()
    for opcode, arg, _ in pickletools.genops(data):
        items, count = list[Any](), len(opcode.stack_before)
        if pickletools.markobject in opcode.stack_before:
            items, stack = stack, marks.pop()
        elif count:
            items = stack[-count:]
            del stack[-count:]
        match opcode.name:
            case name if name in KINDS:
                stack.append(KINDS[name](items))
            case "STOP":
                return items[0]
            case "MARK":
                marks.append(stack)
                stack = []
            case "BINPUT" | "LONG_BINPUT":
                memo[arg] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[arg])
            case "BUILD" | "MEMOIZE":
                if opcode.name == "MEMOIZE":
                    memo[len(memo)] = items[0]
                stack.append(items[0])
            case "APPEND" | "SETITEM" | "APPENDS" | "SETITEMS" | "ADDITEMS":
                target, *more = items if opcode.name in ("APPEND", "SETITEM") else (stack.pop(), *items)
                if isinstance(target, list):
                    target.extend(more)
                stack.append(target)
            case "GLOBAL" | "STACK_GLOBAL":
                stack.append(Global(arg or " ".join(items)))
            case "BINPERSID" | "REDUCE" | "NEWOBJ" | "NEWOBJ_EX":
                stack.append(_meant(*items))
            case "PROTO" | "FRAME" | "POP" | "POP_MARK":
                pass
            case name if count or not opcode.stack_after:
                raise source.bad(f"has the opcode {name} in its pickle, which torch.save does not write for tensors")
            case _:  # a text, a number, None or bytes, which stand for themselves
                stack.append(arg)
    raise EOFError


def _meant(*given: object) -> object:
    """Return the storage or tensor that a reference or a call stands for, by its name alone."""
    match given:
        case [("storage", Global(kind), str(key), *_)]:
            return Storage(STORAGES.get(kind.removeprefix("torch ").removesuffix("Storage"), ""), key)
        # flags are of values to conjugate or negate
        case Global("torch._utils _rebuild_tensor_v2"), (Storage(kind, key), offset, shape, strides, _, _, *flags):
            return None if any(flags) else StridedTensor(kind, key, offset, shape, strides)
        case Global("torch._utils _rebuild_tensor_v3"), (Storage(_, key), offset, shape, strides, _, _, kind, *flags):
            dtype = kind.name.removeprefix("torch ") if isinstance(kind, Global) else ""
            return None if any(flags) else StridedTensor(dtype, key, offset, shape, strides)
        case Global("torch._utils _rebuild_parameter" | "torch._utils _rebuild_parameter_with_state"), (found, *_):
            return found
        case Global("torch._tensor _rebuild_from_type_v2"), (function, _, arguments, *_):
            return _meant(function, arguments)
        case Global("collections OrderedDict"), ():
            return Entries()
    return None


def named(found: object, most: int, source: InputFile) -> Iterator[tuple[str, StridedTensor]]:
    """Yield tensors by name, keys and numbers joined with points; at most `most` objects are looked at."""
    waiting: list[tuple[str, object, object]] = [("", "", found)]
    while waiting:
        outer, key, one = waiting.pop()
        name = f"{outer}.{key}" if outer else str(key)  # now, since millions of long names would fill the memory
        if isinstance(one, StridedTensor):
            yield plain(name) or "array", one
        elif isinstance(one, list | tuple) and not isinstance(one, Global | Storage):
            most -= len(one)
            if most < 0 or len(name) > MAX_NAME:
                raise source.bad("nests lists or dicts without end, or names tensors very long: save a dict of tensors")
            entries = zip(one[::2], one[1::2], strict=True) if isinstance(one, Entries) else enumerate(one)
            waiting += reversed([(name, key, part) for key, part in entries if isinstance(key, str | int)])


class TorchTable(StoredTable):
    """An open file of torch.save; tensors of types that NumPy lacks, and all other objects, are left out.

    Attributes
    ----------
    left_out : list of str
        The names of such tensors.
    """

    def __init__(self, source: InputFile) -> None:
        self._file: RawFile = RawFile(source)
        self._lock, self._held = threading.Lock(), dict[str, NDArray[Any]]()
        self._views: dict[str, tuple[int, np.dtype[Any], int, tuple[int, ...] | None]] = {}
        self.left_out: list[str] = []
        with undone(self.close), reading(source, "cannot be read as a file of torch.save"):
            with zipfile.ZipFile(source.handle()) as archive:
                self._members = {info.filename.partition("/")[2]: info for info in archive.infolist()}
            if "constants.pkl" in self._members:
                raise source.bad("is a TorchScript archive, which holds code: save its state_dict() with torch.save")
            big = "byteorder" in self._members and self._small("byteorder") == b"big"
            self._order: Literal[">", "<"] = ">" if big else "<"
            pickled = self._small("data.pkl")
            arrays: dict[str, Array] = {}
            for name, tensor in islice(named(described(pickled, source), len(pickled), source), MAX_ARRAYS + 1):
                if name in arrays:
                    raise source.bad(f"holds two tensors called '{name}': rename one")
                if tensor.dtype in DTYPES:
                    arrays[name] = self._checked(name, tensor)
                else:
                    self.left_out.append(name)
            if not arrays and (self.left_out or b"_rebuild_sparse" in pickled):
                raise source.bad("holds no tensor of a type that is read: save .float(), of a sparse one .to_dense()")
            if not arrays and b"multiarray" in pickled:
                raise source.bad("holds NumPy arrays, and no tensor: save torch.from_numpy(array), or with np.save")
            if not arrays:
                raise source.bad("holds no tensor in a dict or list: of a model, save its state_dict()")
            size = sum(array.bytes for array in arrays.values())
            source.allow(size, max(LARGEST_CHUNK, MAX_REUSE * source.size), f"expands its tensors to {size:,} bytes")
            super().__init__(source, list(arrays.values()), None, {})

    def _place(self, name: str) -> tuple[int, int]:
        """Return where a member begins, and its bytes."""
        info = self._members.get(name)
        if info is None or info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise self._file.source.bad(f"has no plain member {name}: it is damaged, or torch.save did not write it")
        return data_offset(self._file, info), info.file_size

    def _small(self, name: str) -> bytes:
        offset, size = self._place(name)
        self._file.source.allow(size, LONGEST_PICKLE, f"has a {name} of {size:,} bytes")
        return self._file.read(offset, size)

    def _checked(self, name: str, tensor: StridedTensor) -> Array:
        """Check that every value of a tensor is in its storage, and keep where."""
        source, offset = self._file.source, tensor.offset
        shape, strides = safe_shape(tensor.shape), safe_shape(tensor.strides)
        if shape is None or strides is None or len(shape) != len(strides) or not isinstance(offset, int) or offset < 0:
            raise source.bad(f"gives '{name}' a shape or a place that cannot be: it is damaged")
        array = array_of(name, shape, tensor.dtype)
        dtype = storage(tensor.dtype).newbyteorder(self._order)
        strides = tuple(stride if size > 1 else 0 for size, stride in zip(shape, strides, strict=True))
        span = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) if array.bytes else 0
        start, held = self._place(f"data/{tensor.key}")
        if (offset + span) * dtype.itemsize > min(held, source.size - start):
            raise source.bad(f"places '{name}' outside its storage: it is truncated or damaged; make it again")
        usual = tuple(math.prod(shape[axis + 1 :]) if size > 1 else 0 for axis, size in enumerate(shape))
        self._views[name] = start + offset * dtype.itemsize, dtype, span, None if strides == usual else strides
        return array

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array; a view that is not contiguous is held."""
        offset, dtype, span, strides = self._views[array.name]
        if strides is None or not array.bytes:
            self._file.values(offset + start * array.row_bytes, dtype, out)
            return
        with self._lock:
            if array.name not in self._held:
                size = span * dtype.itemsize + sum(values.nbytes for values in self._held.values())
                what = f"holds '{array.name}' transposed or as a part, {size:,} bytes with others like it"
                self._file.source.allow(size, LARGEST_CHUNK, what, ": save it with .contiguous()")
                values = np.empty(span, dtype)
                self._file.values(offset, dtype, values)
                self._held[array.name] = values
        view = as_strided(self._held[array.name], array.shape, [stride * dtype.itemsize for stride in strides])
        for box, part in boxes_of(array, start, stop, out):
            part[...] = view[box].reshape(part.shape)
