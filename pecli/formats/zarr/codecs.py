"""The codecs of zarr arrays, bounded: no chunk inflates to much more than the bytes that its shape says."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
from collections.abc import Iterator
from typing import Any

from pecli.formats.common.inflate import inflated
from pecli.formats.common.input import InputFile

MORE = 1 << 20  # bytes beside the values of a chunk: checksums, the index of a shard
SAFE = ("bytes", "transpose", "crc32c", "sharding_indexed", "gzip", "zstd", "blosc")  # of version 3
STATED = {"blosc": 4, "lz4": 0}  # where four bytes are the size by which the library takes memory, and stays in it
STEADY = ("delta", "shuffle", "bitround")  # filters of version 2 that change no size


def _most(spec: Any) -> int:
    return 2 * int(math.prod(spec.shape) * spec.dtype.to_native_dtype().itemsize) + MORE


def check_stated(data: Any, codec: str, most: int) -> None:
    """Raise :class:`ValueError` where the header of a chunk says more than `most` bytes."""
    start = STATED[codec]
    if int.from_bytes(bytes(memoryview(data)[start : start + 4]), "little") > most:
        raise ValueError(f"inflates to more than {most} bytes")


@functools.cache
def _bounded() -> dict[str, Any]:
    """Return the codecs of zarr that inflate, each by its name, as ones that are bounded."""
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    def inflating(codec: Any, kind: str) -> Any:
        def decode(_self: Any, chunk_bytes: Any, chunk_spec: Any) -> Any:
            return chunk_spec.prototype.buffer.from_bytes(inflated(chunk_bytes.to_bytes(), kind, _most(chunk_spec)))

        async def decode_single(self: Any, chunk_bytes: Any, chunk_spec: Any) -> Any:
            return await asyncio.to_thread(decode, self, chunk_bytes, chunk_spec)

        names = {"_decode_sync": decode, "_decode_single": decode_single, "__module__": __name__}
        return type(f"Bounded{codec.__name__}", (codec,), names)

    async def decode_blosc(self: Any, chunk_bytes: Any, chunk_spec: Any) -> Any:
        check_stated(chunk_bytes.to_bytes(), "blosc", _most(chunk_spec))
        return await BloscCodec._decode_single(self, chunk_bytes, chunk_spec)

    blosc = type("BoundedBloscCodec", (BloscCodec,), {"_decode_single": decode_blosc, "__module__": __name__})
    return {"gzip": inflating(GzipCodec, "gzip"), "zstd": inflating(ZstdCodec, "zstd"), "blosc": blosc}


@contextlib.contextmanager
def bounded_codecs() -> Iterator[None]:
    """Have the arrays that are opened within decode their chunks with the bounded codecs."""
    from zarr import config
    from zarr.registry import register_codec

    names = {}
    for name, codec in _bounded().items():
        names[f"codecs.{name}"] = f"{codec.__module__}.{codec.__qualname__}"
        register_codec(name, codec)
    with config.set(names):
        yield


def bound(source: InputFile, name: str, held: Any) -> None:
    """Raise :class:`BadFile` where the chunks of an array go through codecs that nothing bounds."""
    about = held.metadata
    if about.zarr_format != 2:
        other = next((n for n in _names(about.codecs) if n not in SAFE), None)
    else:
        other = _bound_version_2(about, math.prod(held.chunks) * held.dtype.itemsize)
    if other is not None:
        remedy = "rewrite the array with gzip, zstd or blosc"
        raise source.bad(f"compresses '{name}' with {other}, whose size nothing bounds: {remedy}")


def _names(codecs: Any) -> Iterator[str]:
    for codec in codecs:
        yield codec.to_dict()["name"]
        yield from _names(getattr(codec, "codecs", ()))
        yield from _names(getattr(codec, "index_codecs", ()))


def _bound_version_2(about: Any, size: int) -> str | None:
    """Bound the compressor of an array of zarr version 2 in place; return the name of a codec that cannot be."""
    codec, most = about.compressor, 2 * size + MORE
    other = next((f.codec_id for f in about.filters or () if f.codec_id not in STEADY), None)
    if other is not None or codec is None:
        return other
    decode, kind = codec.decode, str(codec.codec_id)

    def checked(data: Any, out: Any = None) -> Any:
        if kind not in STATED:
            return inflated(bytes(data), kind, most)
        check_stated(data, kind, most)
        return decode(data, out)

    codec.decode = checked
    return None if kind in (*STATED, "gzip", "zlib", "zstd") else kind
