"""What lies behind a URL, by whatever protocol fsspec opens: ranges of it are read, and it is written whole or not.

Who may read or write is the business of the protocol's own configuration: environment, profiles, key files.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import logging
import re
from collections.abc import Iterator
from typing import Any

from pecli.errors import BadFile, MissingPackage, WouldOverwrite, WriteFailed
from pecli.formats.common.ahead import Ahead
from pecli.formats.common.fetched import Fetched
from pecli.formats.common.input import HEAD_BYTES, InputFile
from pecli.formats.common.output import Output
from pecli.formats.common.safe import Need
from pecli.formats.common.tries import brief, told, tried
from pecli.numbers.urls import url_name
from pecli.process import keep_connections

STORES = ("s3", "s3a", "gs", "gcs")
SILENCE = 30.0  # seconds without a byte after which a server is given up for this try
RETRIES = 2  # of the client of S3, each of two calls; more are the business of `tried`, which says so
PART, PARTS = 8 << 20, 9000  # least bytes of a part of an upload; most parts, of which S3 takes 10,000
PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "http": "aiohttp", "https": "aiohttp"}


def system_of(url: str) -> tuple[Any, str]:
    """Return the file system behind a URL, and the path in it.

    Raises
    ------
    MissingPackage
        If fsspec, or what it needs for this protocol, is not installed.
    BadFile
        If no such protocol is known.
    """
    protocol, _, rest = url.partition("://")
    protocol, name = protocol.lower(), url_name(url)
    if protocol in STORES and re.search("[:@]", rest.partition("/")[0]):
        rule = "holds a key before the bucket's name, where nobody reads it: give credentials in the protocol's own"
        raise BadFile(name, f"{rule} configuration (AWS_PROFILE, say), and name the bucket alone")
    for package in ("fsspec", PACKAGES.get(protocol, "fsspec")):
        if importlib.util.find_spec(package) is None:
            raise MissingPackage(package, f"{protocol}:// needs it: pip install 'pecli[remote]' {package}")
    import fsspec

    keep_connections()
    for package in PACKAGES.values():  # what they log, Python would print where nobody asked for it
        if not (log := logging.getLogger(package)).handlers:
            log.addHandler(logging.NullHandler())
    try:
        system, path = fsspec.core.url_to_fs(url, **_patience(protocol))
    except (ImportError, ValueError) as error:
        raise BadFile(url_name(url), f"cannot be opened: {brief(error)}") from error
    if "s3" in system.protocol and system.retries != RETRIES:
        with told(url_name(url)):
            _without_asking(system)
    return system, path


def _without_asking(system: Any) -> None:
    """Have a body sent at once: whether its server wants it, the client would wait for ever to be told."""
    from botocore.handlers import add_expect_header

    system.s3.meta.events.unregister("before-call.s3", add_expect_header)
    system.retries = RETRIES


def _patience(protocol: str) -> dict[str, Any]:
    """Return what makes a protocol's client give up on a silent server, and read nothing ahead or from memory."""
    match protocol:
        case "http" | "https":
            return {"client_kwargs": _client()}
        case "s3" | "s3a":
            return {
                "config_kwargs": {"connect_timeout": 10, "read_timeout": SILENCE, "retries": {"max_attempts": 1}},
                "use_listings_cache": False,
            }
    return {}


@functools.cache
def _client() -> dict[str, Any]:
    """Return how files are asked for over HTTP: as they are, since bytes that stand for gigabytes are no range of one.

    A redirect to another host is refused, and to a connection that anybody reads: whoever named the first trusts that.
    """
    from aiohttp import ClientTimeout, TraceConfig
    from yarl import URL

    async def check(_session: Any, _context: Any, about: Any) -> None:
        place = about.response.headers.get("Location") or about.response.headers.get("URI") or ""
        to = about.url.join(URL(place))
        if to.host != about.url.host or (about.url.scheme, to.scheme) == ("https", "http"):
            rule = f"sends on to {to.scheme}://{to.host}, and no other host is asked than the one that is named"
            raise BadFile(url_name(str(about.url)), f"{rule}: name the file there, or download it first")

    watch = TraceConfig()
    watch.on_request_redirect.append(check)
    waiting = ClientTimeout(total=None, sock_connect=10, sock_read=SILENCE)
    plain = {"Accept-Encoding": "identity"}
    return {"timeout": waiting, "trace_configs": [watch], "auto_decompress": False, "headers": plain}


class RemoteFile:
    """An object that is read by ranges, by any thread; a connection that is lost is made again.

    Parameters
    ----------
    url : str
    """

    def __init__(self, url: str) -> None:
        self.name = url_name(url)
        self._system, self._path = system_of(url)
        found = tried(self.name, lambda: self._system.info(self._path))
        if found.get("type") == "directory":
            raise BadFile(self.name, f"is a folder: name a file in it, or all its parts by a slash: {self.name}/")
        if found["size"] is None:
            raise BadFile(self.name, "comes from a server that does not say its size: download it first")
        self.size: int = found["size"]
        self._ahead = Ahead(self._fetch, self.size)

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes at `offset`."""
        return bytes(self._ahead.read(offset, count))

    def keep(self) -> None:
        """Fetch nothing twice from now on: who reads goes through the file more than once."""
        self._ahead = Ahead(Fetched(self._fetch, self.size).read, self.size)

    def release(self) -> None:
        """Let go of the bytes that were read ahead, or kept."""
        self._ahead = Ahead(self._fetch, self.size)

    def _fetch(self, offset: int, count: int) -> bytes:
        def fetch() -> bytes:
            data: bytes = self._system.cat_file(self._path, start=offset, end=offset + count)
            if len(data) > count:
                raise BadFile(self.name, "comes from a server that gives no ranges: download it first")
            if len(data) < count:
                raise EOFError("the answer ended early")
            return data

        return tried(self.name, fetch)


@contextlib.contextmanager
def remote_source(url: str) -> Iterator[InputFile]:
    """Give what lies behind a URL as a file to read.

    Raises
    ------
    BadFile
        If there is none, or it may not be read, or its server is silent.
    """
    file = RemoteFile(url)
    if not file.size:
        raise BadFile(file.name, "is empty: make it again")
    yield InputFile(url, file.name, file.size, file.read(0, min(HEAD_BYTES, file.size)), file)


@contextlib.contextmanager
def remote_output(url: str, *, clobber: bool, need: Need) -> Iterator[Output]:
    """Open an object for writing; it appears when all of it is there, and a failure leaves no part of an upload."""
    name = url_name(url)
    with told(name):
        system, path = system_of(url)
        if not clobber and system.exists(path):
            raise WouldOverwrite(name)
        part = max(PART, -(-need.size // PARTS))
        file = _transaction(system, path, part, name)
        output = Output(name, -1, regular=False, send=file.write, kept=True)
        try:
            yield output
            file.close()
            file.commit()
        except BaseException:
            output.abandon()
            file.closed = True  # else it would be uploaded, as far as it goes, when it is collected
            with contextlib.suppress(Exception):
                file.discard()
            raise


def _transaction(system: Any, path: str, part: int, name: str) -> Any:
    """Open a file that appears when it is committed."""
    from fsspec.spec import AbstractBufferedFile

    try:
        file = system.open(path, "wb", block_size=part, autocommit=False)
    except (NotImplementedError, TypeError) as error:
        raise WriteFailed(name, "cannot be written by this protocol: write a file, and send it") from error
    if getattr(type(file), "commit", None) in (None, AbstractBufferedFile.commit):
        file.closed = True
        raise WriteFailed(name, "lies where nothing can appear all at once: write a file, and send it")
    return file


def check_target(url: str, *, clobber: bool) -> None:
    """Raise if nothing can be written behind a URL, before a byte is."""
    with told(url_name(url)):
        system, path = system_of(url)
        if {"s3", "gs"} & set(system.protocol):
            with contextlib.suppress(PermissionError):  # who may write need not be allowed to look
                _find_bucket(system, path.partition("/")[0])
        if not clobber and system.exists(path):
            raise WouldOverwrite(url_name(url))


def _find_bucket(system: Any, bucket: str) -> None:
    try:
        if "s3" in system.protocol:
            system.call_s3("head_bucket", Bucket=bucket)
        else:
            system.info(bucket)
    except FileNotFoundError as error:
        raise FileNotFoundError("the bucket does not exist") from error


def check_empty(url: str) -> None:
    """Raise if anything lies below a URL, where a store of many objects is to be."""
    check_target(url, clobber=True)
    with told(url_name(url)):
        system, path = system_of(url)
        if system.exists(path):
            rule = "exists: a store of many objects is not replaced, so remove it, or name another"
            raise WriteFailed(url_name(url), rule)


def names_below(url: str) -> list[str]:
    """Return the names of all that lies in a folder and its folders, each from the folder on.

    Raises
    ------
    BadFile
        If there is nothing, or its server does not say.
    """
    system, path = system_of(url)
    root = path.rstrip("/") + "/"
    system.invalidate_cache()
    found = tried(url_name(url), lambda: system.find(path))
    if not found:
        raise BadFile(url_name(url), "does not exist: check the name")
    return [name.removeprefix(root) for name in found if name.startswith(root)]


def delete(url: str) -> None:
    """Delete all that lies below a URL, as far as its server lets us."""
    with contextlib.suppress(Exception):
        system, path = system_of(url)
        system.invalidate_cache()
        system.rm(path, recursive=True)


def get(url: str) -> bytes:
    """Return all of a small object."""
    system, path = system_of(url)
    return tried(url_name(url), lambda: bytes(system.cat_file(path)))


def put(url: str, data: bytes) -> None:
    """Write an object at once; a connection that is lost is made again."""
    system, path = system_of(url)
    tried(url_name(url), lambda: system.pipe_file(path, data))


def chunk_store(url: str) -> Any:
    """Return what zarr reads objects from."""
    from fsspec.asyn import reset_lock
    from zarr.storage import FsspecStore

    atexit.register(reset_lock)  # else a session of zarr's loop is ended at the exit in another, with a traceback
    system_of(url)  # says what is missing
    options = _patience(url.partition("://")[0].lower())
    return FsspecStore.from_url(url, storage_options=options, read_only=True)
