"""Remote files, by whatever protocol fsspec opens: read by ranges, written whole or not at all.

Credentials come from the protocol's own configuration: environment, profiles, key files.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pecli.errors import BadFile, MissingPackage, PecliError, WouldOverwrite, WriteFailed
from pecli.formats.io.atomic import Need, free_space
from pecli.formats.io.output import Output
from pecli.formats.io.source import HEAD_BYTES, InputFile
from pecli.numbers.bounds import MAX_KEPT, MAX_TRIES, MAX_WAIT, SILENCE
from pecli.numbers.reader import shown, url_name
from pecli.process import keep_connections
from pecli.settings import notice

PAUSE = 0.5  # seconds before the second try, doubled for each further one


Result = TypeVar("Result")


def retry(name: str, act: Callable[[], Result]) -> Result:
    """Call a function that may fail while a connection is lost, at most `MAX_TRIES` times, with a message each time.

    Raises
    ------
    BadFile
        If it fails for good.
    """
    began = time.monotonic()
    for number in range(1, MAX_TRIES + 1):
        try:
            return act()
        except PecliError:
            raise
        except Exception as phrase:
            error = _cause(phrase)
            if _final(error) or number == MAX_TRIES or time.monotonic() - began > MAX_WAIT:
                raise BadFile(name, _reason(error)) from error
            notice(f"{name}: {brief(error)}: trying again, {number} of {MAX_TRIES - 1}")
            time.sleep(PAUSE * 2 ** (number - 1))
    raise AssertionError


@contextlib.contextmanager
def wrap_errors(name: str) -> Iterator[None]:
    """Convert any error of a write into a :class:`WriteFailed` of one sentence.

    Raises
    ------
    WriteFailed
        Of whatever it is.
    """
    try:
        yield
    except PecliError:
        raise
    except Exception as error:
        raise WriteFailed(name, _reason(error)) from error


def _cause(error: Exception) -> BaseException:
    """Return the underlying error: the client of HTTP reports a lost connection as a missing file."""
    cause = error.__cause__
    if isinstance(cause, PecliError):  # what is refused is no file, to the client of HTTP
        raise cause
    lost = isinstance(cause, TimeoutError) or type(cause).__module__.startswith("aiohttp")
    if isinstance(error, FileNotFoundError) and cause is not None and lost:
        return error if getattr(cause, "status", None) in (404, 410) else cause
    return error


def _final(error: BaseException) -> bool:
    """Return whether an error is permanent, so that a retry is useless."""
    if isinstance(error, FileNotFoundError | PermissionError | NotImplementedError) or _is_redirect(error):
        return True
    status = getattr(error, "status", None)
    return "redentials" in str(error) or (isinstance(status, int) and 400 <= status < 500 and status not in (408, 429))


NO_ADDRESS = "its server sends on without end, or to no address of a file: name the file itself, or download it first"


def _is_redirect(error: BaseException) -> bool:
    """Whether a server sends on without end, or to an address that is none."""
    return "Redirect" in type(error).__name__


def _reason(error: BaseException) -> str:
    phrase = brief(error)
    if _is_redirect(error):
        return NO_ADDRESS
    if "bucket" in phrase.lower() and "not exist" in phrase.lower():
        return "the bucket does not exist: make it first, or check the name"
    if isinstance(error, FileNotFoundError):
        return "does not exist: check the name"
    if isinstance(error, PermissionError) or getattr(error, "status", 0) in (401, 403):
        return "may not be opened: check the credentials in the protocol's own configuration"
    if "redentials" in phrase:
        return "needs credentials: give them in the protocol's own configuration (AWS_PROFILE, say)"
    if isinstance(error, TimeoutError) or "timed out" in phrase.lower() or "timeout" in type(error).__name__.lower():
        return "its server does not answer: check the address, or try again later"
    return f"cannot be reached ({phrase}): check the address, or try again later"


def brief(error: BaseException) -> str:
    """Return an error's message in one line, at most 200 characters, with the secrets of its URLs removed."""
    text = " ".join(shown(str(error), secrets=True).split()) or type(error).__name__
    return text if len(text) < 200 else f"{text[:200]}..."


MAX_RANGE_BYTES = 4 << 20  # of a request: at 100 MB/s they take 40 ms, as long as a round trip to a store
MIN_SEQUENCE = 4  # consecutive ranges before the next one is fetched ahead
MAX_CACHED_BYTES = 12 << 20  # of fetched ranges that are kept


@dataclass(eq=False)
class Range:
    """Bytes `start` to `stop`, fetched or being fetched, and the number of consecutive ranges before it."""

    start: int
    stop: int
    before: int
    data: Future[bytes] = field(default_factory=Future)

    def fetch(self, read: Callable[[int, int], bytes]) -> None:
        """Fetch the bytes; an error is kept for the thread that reads them."""
        try:
            self.data.set_result(read(self.start, self.stop - self.start))
        except BaseException as error:
            self.data.set_exception(error)


class ReadAhead:
    """Reads of a file from any thread, with longer requests where ranges are consecutive.

    For `verify`, which looks at single rows before it reads all of them, this fetches 1.0 to 1.1 times the file;
    fsspec's block cache in its place fetched 1.7 to 2.1 times the file.

    Parameters
    ----------
    read : callable
        Of an offset and a count, returns exactly that many bytes.
    size : int
        Bytes of the file.
    """

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        self._read, self._size = read, size
        self._ranges: list[Range] = []  # the last used last
        self._lock = threading.Lock()

    def read(self, offset: int, count: int) -> bytes | memoryview:
        """Return exactly `count` bytes at `offset`."""
        if count >= MAX_RANGE_BYTES:
            return self._read(offset, count)
        pieces: list[memoryview] = []
        while count:
            found = self._range(offset, count)
            pieces.append(memoryview(found.data.result())[offset - found.start :][:count])
            offset, count = offset + len(pieces[-1]), count - len(pieces[-1])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _range(self, offset: int, count: int) -> Range:
        """Return the range that holds `offset`, and start to fetch the next one in a sequence."""
        after = None
        with self._lock:
            known = [one for one in self._ranges if not (one.data.done() and one.data.exception())]  # none that failed
            held = next((one for one in known if one.start <= offset < one.stop), None)
            found = held or self._new(known, offset, count)
            if found.before > MIN_SEQUENCE and found.stop < self._size and all(o.start != found.stop for o in known):
                after = self._new([found], found.stop, 0)
            self._ranges = [*(one for one in known if one is not found), *([after] if after else []), found]
            while len(self._ranges) > 2 and sum(one.stop - one.start for one in self._ranges) > MAX_CACHED_BYTES:
                del self._ranges[0]
        if after is not None:
            threading.Thread(target=after.fetch, args=(self._read,), daemon=True).start()
        if held is None:
            found.fetch(self._read)
        return found

    def _new(self, known: Sequence[Range], start: int, count: int) -> Range:
        """Return a range to fetch, twice as long as the preceding one where there are some."""
        before = next((one for one in known if one.stop == start), None)
        many, stop = 0 if before is None else before.before + 1, start + count
        if before is not None and many >= MIN_SEQUENCE:
            stop = max(stop, min(self._size, start + min(MAX_RANGE_BYTES, 2 * (before.stop - before.start))))
        return Range(start, stop, many)


MIN_FREE = 4  # times as much space must be free where it is kept
KEPT_BLOCK = 1 << 20  # bytes of a file that are fetched and kept together


STORES = ("s3", "s3a", "gs", "gcs")
RETRIES = 2  # of the client of S3, each of two calls; more are the business of `retry`, which says so
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
    protocol, _, remaining = url.partition("://")
    protocol, name = protocol.lower(), url_name(url)
    if protocol == "memory":
        raise BadFile(name, "is the memory of this process and is lost when it ends: name a file")
    if protocol in STORES and re.search("[:@]", remaining.partition("/")[0]):
        rule = "has a key before the bucket's name, where it has no effect: give credentials in the protocol's own"
        raise BadFile(name, f"{rule} configuration (AWS_PROFILE, say), and name the bucket alone")
    for package in ("fsspec", PACKAGES.get(protocol, "fsspec")):
        if importlib.util.find_spec(package) is None:
            raise MissingPackage(package, f"{protocol}://", f"pip install 'pecli[remote]' {package}")
    import fsspec

    keep_connections()
    for package in PACKAGES.values():  # what they log, Python would print where nobody asked for it
        if not (log := logging.getLogger(package)).handlers:
            log.addHandler(logging.NullHandler())
    try:
        system, path = fsspec.core.url_to_fs(url, **_timeouts(protocol))
    except (ImportError, ValueError) as error:
        raise BadFile(url_name(url), f"cannot be opened: {brief(error)}") from error
    if "s3" in system.protocol and system.retries != RETRIES:
        from botocore.handlers import add_expect_header

        with wrap_errors(url_name(url)):  # after the header "Expect: 100-continue" the client could wait forever
            system.s3.meta.events.unregister("before-call.s3", add_expect_header)
            system.retries = RETRIES
    return system, path


def _timeouts(protocol: str) -> dict[str, Any]:
    """Return the options that give a protocol's client a timeout and disable its caches and read-ahead."""
    match protocol:
        case "http" | "https":
            return {"client_kwargs": _client()}
        case "s3" | "s3a":
            return {
                "config_kwargs": {
                    "connect_timeout": 10,
                    "read_timeout": SILENCE,
                    "retries": {"max_attempts": 1},
                    "connector_args": {"socket_factory": _socket},
                },
                "use_listings_cache": False,
            }
    return {}


def _socket(address: Any) -> socket.socket:
    """Return a socket that fails where the other end stops reading what is sent: a timeout of reading ignores that."""
    made = socket.socket(*address[:3])
    made.setblocking(False)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # of Linux
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(SILENCE * 1000))
    return made


@functools.cache
def _client() -> dict[str, Any]:
    """Return the options of the HTTP client: no content encoding, so that ranges are those of the file itself.

    A redirect to another host is refused, and to a connection that anybody reads: only the named host is trusted.
    """
    from aiohttp import ClientTimeout, TraceConfig
    from yarl import URL

    async def check(_session: Any, _context: Any, about: Any) -> None:
        place = about.response.headers.get("Location") or about.response.headers.get("URI") or ""
        try:
            to = about.url.join(URL(place))
        except ValueError as error:
            raise BadFile(url_name(str(about.url)), NO_ADDRESS) from error
        other = to.host != about.url.host or to.scheme not in ("http", "https")
        if other or (about.url.scheme, to.scheme) == ("https", "http"):
            host = f"//{to.host}" if to.host else ""
            rule = f"redirects to {to.scheme}:{host}, and pecli follows no redirect to another host"
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
        found = retry(self.name, lambda: self._system.info(self._path))
        if found.get("type") == "directory":
            raise BadFile(self.name, f"is a folder: name a file in it, or all its parts by a slash: {self.name}/")
        if found["size"] is None:
            raise BadFile(self.name, "comes from a server that does not say its size: download it first")
        self.size: int = found["size"]
        self._ahead = ReadAhead(self._fetch, self.size)

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes at `offset`."""
        return bytes(self._ahead.read(offset, count))

    def keep(self) -> None:
        """Keep fetched blocks on the disk from now on, for readers that go through the file more than once."""
        free = free_space(tempfile.gettempdir())
        if self.size > MAX_KEPT or (free is not None and self.size > free // MIN_FREE):
            return
        from fsspec.caching import MMapCache

        kept = MMapCache(KEPT_BLOCK, lambda start, stop: self._fetch(start, stop - start), self.size)
        one_at_a_time = threading.Lock()

        def read(offset: int, count: int) -> bytes:
            with one_at_a_time:
                return bytes(kept._fetch(offset, offset + count))

        self._ahead = ReadAhead(read, self.size)

    def release(self) -> None:
        """Drop the bytes that were read ahead or kept."""
        self._ahead = ReadAhead(self._fetch, self.size)

    def _fetch(self, offset: int, count: int) -> bytes:
        def fetch() -> bytes:
            data: bytes = self._system.cat_file(self._path, start=offset, end=offset + count)
            if len(data) > count:
                raise BadFile(self.name, "comes from a server that gives no ranges: download it first")
            if len(data) < count:
                raise EOFError("the answer ended early")
            return data

        return retry(self.name, fetch)


def remote_source(url: str) -> InputFile:
    """Open a URL as a file to read.

    Raises
    ------
    BadFile
        If there is none, or it may not be read, or its server is silent.
    """
    file = RemoteFile(url)
    if not file.size:
        raise BadFile(file.name, "is empty: make it again")
    return InputFile(url, file.name, file.size, file.read(0, min(HEAD_BYTES, file.size)), file)


@contextlib.contextmanager
def remote_output(url: str, *, clobber: bool, need: Need) -> Iterator[Output]:
    """Open an object for writing; it appears when all of it is there, and a failure leaves no part of an upload."""
    name = url_name(url)
    with wrap_errors(name):
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


def check_target(url: str, _need: Need, *, clobber: bool) -> None:
    """Raise if a URL cannot be written, before a byte is sent."""
    with wrap_errors(url_name(url)):
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
    check_target(url, Need(), clobber=True)
    with wrap_errors(url_name(url)):
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
    found = retry(url_name(url), lambda: system.find(path))
    if not found:
        raise BadFile(url_name(url), "does not exist: check the name")
    return [name.removeprefix(root) for name in found if name.startswith(root)]


def delete(url: str) -> None:
    """Delete all that lies below a URL, as far as its server lets us."""
    with contextlib.suppress(Exception):
        system, path = system_of(url)
        system.invalidate_cache()
        system.rm(path, recursive=True)


def chunk_store(url: str, *, read_only: bool) -> Any:
    """Return the store from which zarr reads the objects of a URL, or to which it writes them."""
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
    from zarr.storage import FsspecStore

    system, path = system_of(url)
    return FsspecStore(AsyncFileSystemWrapper(system, asynchronous=True), read_only, path)
