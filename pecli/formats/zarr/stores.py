"""Where zarr keeps objects: a folder, or behind a URL."""

from __future__ import annotations

import os
from typing import Any

from pecli.numbers.urls import is_url


def store_at(path: str, name: str = "", *, read_only: bool = False) -> Any:
    """Return the store of the root, or of an array in it."""
    if is_url(path):
        from pecli.formats.common.remote import chunk_store

        return chunk_store(f"{path.rstrip('/')}/{name}".rstrip("/"), read_only=read_only)
    from zarr.storage import LocalStore

    return LocalStore(os.path.join(path, name) if name else path, read_only=read_only)
