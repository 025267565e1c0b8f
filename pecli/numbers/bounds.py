"""Bounds on what is read from files and servers that nobody vouches for.

A message that refuses names its bound; those that pass `limit` are raised by ``--limit``. docs/security.md lists them
with their tests.
"""

from __future__ import annotations

from pecli.settings import settings

# Bytes of a config.json; the longest known are some hundred kilobytes, of id2label. Larger JSON holds values.
LARGEST_CONFIG = 16 << 20
# Bytes of text, which is held with its values; larger tables belong into a format that is read in blocks.
LARGEST_CSV = 256 << 20
# Bytes of text, of which Python's objects take up to eight times as much.
LARGEST_JSON = 64 << 20
# Bytes of a text of numbers, which is read whole: 2^20 doubles written in full.
LARGEST_TEXT = 16 << 20
# Bytes of an array that is read whole.
LARGEST_ARRAY = 1 << 30
# Bytes of a list of positions in a file; all of it stays in memory.
LARGEST_POSITIONS = 128 << 20
# Bytes that one piece of a file inflates to: a chunk of HDF5 or zarr, a batch of Arrow, an array of npz in Fortran
# order; a library inflates each of them at once.
LARGEST_CHUNK = 256 << 20
# Bytes of a safetensors header, some 100,000 tensors; the format's own reader allows 100 million.
LONGEST_HEADER = 16 << 20
# Header of a GGUF file, with the vocabulary of a model.
LONGEST_GGUF_HEADER = 64 << 20
# Bytes of the pickle of a PyTorch file, whose opcodes are parsed one by one; some 6,000 tensors.
LONGEST_PICKLE = 1 << 20
# Bytes of an npy header, which Python parses; NumPy's own limit.
LONGEST_NPY_HEADER = 10_000
# Arrays of a file, or columns of csv; each costs time, however little it holds.
MAX_ARRAYS = 1 << 16
# Rows without values, which take no bytes, so that the size of a file does not bound the work.
MAX_EMPTY_ROWS = 1 << 20
# Files of a folder that are not tables; more mean that it is a home folder or a disk.
MAX_OTHER_FILES = 20_000
# Bytes of a remote file that is kept on the disk while it is read.
MAX_KEPT = 4 << 30
# Tries of a request that may succeed later: after a lost connection, a silent server or one that is busy.
MAX_TRIES = 5
# Seconds after which nothing is tried again; a silent server is waited for long each time.
MAX_WAIT = 60.0
# Seconds without a byte after which a server is given up for this try.
SILENCE = 30.0


def limit(size: int) -> int:
    """Return the larger of a limit in bytes and the limit that the user set."""
    return max(size, settings().limit)


def size_text(size: int) -> str:
    """Return a limit as messages say it, with how to raise it.

    Examples
    --------
    >>> size_text(16 << 20)
    'at most 16 MiB are read (more with --limit SIZE)'
    """
    return f"at most {size >> 20} MiB are read (more with --limit SIZE)"
