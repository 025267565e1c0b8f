"""Filters of chunked datasets: what a chunk inflates to is measured before the library inflates it.

The library's own inflation takes whatever memory a chunk wants, and then keeps as many bytes as the chunk has values:
a bomb reads as zeros, a short chunk as whatever lay in memory.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from pecli.declare.tabular import Array
from pecli.formats.common.inflate import zlib_size
from pecli.formats.common.input import InputFile
from pecli.numbers.limits import limit, size_text

if TYPE_CHECKING:
    from h5py import h5d

DEFLATE, SHUFFLE, FLETCHER32, SZIP, NBIT, SCALEOFFSET, LZF = 1, 2, 3, 4, 5, 6, 32000
COMPRESSORS = (DEFLATE, SZIP, NBIT, SCALEOFFSET, LZF)
BEST_LZF = 88  # three bytes stand for 264 at most
LARGEST_LZF = 256 << 20  # bytes that a chunk in LZF may stand for, whose true size only inflating it tells


class FilteredChunks:
    """The chunks of a dataset with filters.

    Parameters
    ----------
    source : InputFile
        The file.
    name : str
        What the dataset is called.
    dataset : h5py.h5d.DatasetID
        Open.
    array : Array
        Its shape and type.

    Raises
    ------
    BadFile
        If a filter is not installed, or is one of which nothing says how far it inflates.
    """

    def __init__(self, source: InputFile, name: str, dataset: h5d.DatasetID, array: Array) -> None:
        from h5py import h5z

        plan = dataset.get_create_plist()
        filters = [plan.get_filter(index) for index in range(plan.get_nfilters())]
        self._source, self._name, self._dataset, self._filters = source, name, dataset, filters
        self._chunk: tuple[int, ...] = plan.get_chunk()
        self._bytes: int = math.prod(self._chunk) * dataset.get_type().get_size()
        self._grid = [-(-size // part) for size, part in zip(array.shape, self._chunk, strict=True)]
        self._sound = bytearray(math.prod(self._grid))
        for code, *_ in filters:
            if not h5z.filter_avail(code) or code not in (*COMPRESSORS, SHUFFLE, FLETCHER32):
                what = "is not installed" if not h5z.filter_avail(code) else "has no bound to what it inflates to"
                raise source.bad(
                    f"compresses '{name}' with filter {code}, which {what}: repack it with h5repack -f GZIP=1"
                )
        if sum(code in COMPRESSORS for code, *_ in filters) > 1:
            raise source.bad(f"compresses '{name}' twice: repack it with h5repack -f GZIP=1")
        if any(code in (NBIT, SCALEOFFSET) and values[2] != math.prod(self._chunk) for code, _, values, _ in filters):
            raise source.bad(f"has a filter of '{name}' for chunks of another size: it is damaged; make it again")

    def check(self, box: tuple[slice, ...]) -> None:
        """Raise :class:`BadFile` where a chunk in a box inflates to another size than its own."""
        spans = [range(b.start // c, -(-b.stop // c)) for b, c in zip(box, self._chunk, strict=True)]
        for place in itertools.product(*spans):
            index = 0
            for at, count in zip(place, self._grid, strict=True):
                index = index * count + at
            if not self._sound[index]:
                mask, data = self._dataset.read_direct_chunk(
                    tuple(a * c for a, c in zip(place, self._chunk, strict=True))
                )
                if not self._is_sound(mask, data):
                    rule = f"has a chunk of '{self._name}' that does not inflate to its {self._bytes:,} bytes"
                    raise self._source.bad(f"{rule}: it is damaged; make it again")
                self._sound[index] = 1

    def _is_sound(self, mask: int, data: bytes) -> bool:
        """Whether a chunk is as long as it must be; bits of the mask stand for filters that were left out."""
        used = [code for index, (code, *_) in enumerate(self._filters) if not mask >> index & 1]
        if FLETCHER32 in used:
            data = data[:-4]
        if DEFLATE in used:
            return zlib_size(data, self._bytes) == self._bytes
        if SZIP in used:
            return int.from_bytes(data[:4], "little") == self._bytes
        if LZF in used:
            if len(data) * BEST_LZF > limit(LARGEST_LZF):
                rule = f"has a chunk of {len(data):,} bytes in LZF in '{self._name}', which may stand for more"
                raise self._source.bad(f"{rule}: {size_text(limit(LARGEST_LZF))}")
            return True
        return NBIT in used or SCALEOFFSET in used or len(data) == self._bytes
