"""Objects of a store that lies in memory: what goes over the network is tested by `make reach`."""

import io
import socket

import pytest

from pecli import table
from pecli.errors import BadFile, WouldOverwrite, WriteFailed
from pecli.formats import write_table
from pecli.formats.io import remote
from pecli.formats.io.atomic import Need
from pecli.formats.paths import files_of

fsspec = pytest.importorskip("fsspec")
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of its cache's file


class Upload(io.BytesIO):
    """An object that appears when it is committed."""

    closed = False

    def __init__(self, path):
        super().__init__()
        self.path = path

    def close(self):
        pass

    def commit(self):
        Store.objects[self.path] = self.getvalue()

    def discard(self):
        Store.discarded.append(self.path)


class Store(fsspec.AbstractFileSystem):
    """A store with one bucket, whose calls raise the errors in `failing`."""

    protocol = ("shelf", "gs")
    objects, discarded, failing = {}, [], []

    def open(self, path, mode, *, block_size, autocommit):
        return Upload(path)

    def info(self, path):
        if self.failing:
            raise self.failing.pop()
        size = len(self.objects.get(path, b""))
        if path != "tables" and path not in self.objects and not self.find(path):
            raise FileNotFoundError(path)
        return {"name": path, "size": size, "type": "file" if path in self.objects else "directory"}

    def find(self, path):
        return sorted(name for name in self.objects if name.startswith(f"{path}/"))

    def rm(self, path, recursive):
        for name in self.find(path):
            del self.objects[name]

    def cat_file(self, path, start=None, end=None):
        if self.failing:
            raise self.failing.pop()
        return self.objects[path][start:end]

    def pipe_file(self, path, data):
        self.objects[path] = data


@pytest.fixture
def shelf(monkeypatch):
    fsspec.register_implementation("shelf", Store, clobber=True)
    monkeypatch.setattr(remote, "PAUSE", 0.0)
    yield Store()
    for kept in (Store.objects, Store.discarded, Store.failing):
        kept.clear()


@pytest.mark.parametrize("name", ["pe.npy", "pe.h5", "pe.npz", "pe.csv", "pe.parquet"])
def test_a_table_goes_to_a_store_and_comes_back(name, shelf, pecli):
    url = f"shelf://tables/{name}"
    assert pecli("generate", "rope:dim=8,len=40", "-o", url).returncode == 0
    assert list(Store.objects) == [f"tables/{name}"]
    assert pecli("verify", url, "rope:dim=8,len=40").returncode == 0
    assert pecli("convert", url, "-o", "here.npz").returncode == 0
    refused = pecli("generate", "rope:dim=8,len=40", "-o", url, "--no-clobber")
    assert refused.returncode == 2
    assert url in refused.stderr


def test_a_writer_that_fails_leaves_no_object(shelf, monkeypatch):
    def fill(*_):
        raise BadFile("a source", "is damaged")

    made = table("rope:dim=8,len=40")
    monkeypatch.setattr(type(made), "fill", fill)
    with pytest.raises(BadFile):
        write_table(made, "shelf://tables/pe.npy")
    assert (Store.objects, Store.discarded) == ({}, ["tables/pe.npy"])


def test_parts_behind_a_url_are_found_and_deleted(shelf):
    for rows in ("0", "1"):
        write_table(table(f"rope:dim=8,len=10,start={rows}0"), f"shelf://tables/parts/p{rows}.npy")
    assert files_of("shelf://tables/parts/") == ["shelf://tables/parts/p0.npy", "shelf://tables/parts/p1.npy"]
    assert remote.names_below("shelf://tables/parts") == ["p0.npy", "p1.npy"]
    with pytest.raises(WriteFailed, match="exists: a store of many objects is not replaced"):
        remote.check_empty("shelf://tables/parts")
    remote.delete("shelf://tables/parts")
    remote.check_empty("shelf://tables/parts")
    with pytest.raises(BadFile, match="does not exist: check the name"):
        remote.names_below("shelf://tables/parts")
    Store.objects["tables/small"] = b"bytes"
    with pytest.raises(WouldOverwrite):
        remote.check_target("shelf://tables/small", Need(), clobber=False)


class Denied(Exception):
    status = 403


LOST = ConnectionError("reset")


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([FileNotFoundError("x")], "does not exist: check the name"),
        ([PermissionError("x")], "may not be opened: check the credentials"),
        ([Denied("x")], "may not be opened: check the credentials"),
        ([ValueError("Unable to locate credentials")], "needs credentials: give them"),
        ([FileNotFoundError("the bucket does not exist")], "the bucket does not exist: make it first"),
        ([TimeoutError("x")] * 9, "its server does not answer"),
        ([LOST] * 9, "cannot be reached (reset): check the address"),
    ],
)
def test_what_is_wrong_with_an_object_is_one_sentence(errors, said, shelf, pecli):
    shelf.pipe_file("tables/pe.npy", b"x")
    Store.failing[:] = errors
    done = pecli("inspect", "shelf://tables/pe.npy")
    assert done.returncode == 2
    *tries, last = done.stderr.splitlines()
    assert len(tries) == (remote.MAX_TRIES - 1) * (len(errors) > 1)
    assert said in last


def test_a_lost_connection_is_made_again_with_a_message(shelf, pecli):
    write_table(table("rope:dim=8,len=40"), "shelf://tables/pe.npy")
    Store.failing[:] = [LOST, LOST]
    done = pecli("inspect", "shelf://tables/pe.npy")
    assert done.returncode == 0
    assert done.stderr.count("reset: trying again") == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size": None}, "comes from a server that does not say its size"),
        ({"size": 0}, "is empty: make it again"),
        ({"type": "directory"}, "is a folder: name a file in it"),
        ({"size": 1 << 20}, "cannot be reached (the answer ended early)"),
        ({"size": 10}, "comes from a server that gives no ranges"),
    ],
)
def test_a_server_that_says_something_else_than_it_gives_is_told(change, said, shelf, pecli, monkeypatch):
    shelf.pipe_file("tables/pe.npy", bytes(100))
    plain = Store.info
    monkeypatch.setattr(Store, "info", lambda self, path: {**plain(self, path), **change})
    monkeypatch.setattr(Store, "cat_file", lambda self, path, start=None, end=None: bytes(100))
    done = pecli("inspect", "shelf://tables/pe.npy")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_protocol_that_cannot_write_at_once_is_refused(shelf, refuses, monkeypatch):
    monkeypatch.setattr(Upload, "commit", None)
    refuses("generate", "rope:dim=8,len=4", "-o", "shelf://tables/pe.npy", says="nothing can appear all at once")

    def plain(self, path, mode, **given):
        raise NotImplementedError

    monkeypatch.setattr(Store, "open", plain)
    refuses("generate", "rope:dim=8,len=4", "-o", "shelf://tables/pe.npy", says="cannot be written by this protocol")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memory://a/pe.npy", "is the memory of this process"),
        ("s3://key:word@bucket/pe.npy", "has a key before the bucket's name"),
        ("shelve://a/pe.npy", "cannot be opened"),
    ],
)
def test_urls_that_are_refused(url, said, shelf, refuses):
    assert "word" not in refuses("inspect", url, says=said)


def test_a_missing_bucket_is_said(shelf, refuses):
    refuses("generate", "rope:dim=8,len=4", "-o", "shelf://none/pe.npy", says="the bucket does not exist")


def test_a_socket_to_s3_gives_up_where_the_other_end_stops_reading():
    assert remote._timeouts("s3")["config_kwargs"]["retries"] == {"max_attempts": 1}
    with remote._socket((socket.AF_INET, socket.SOCK_STREAM, 0)) as made:
        assert not made.getblocking()
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == remote.SILENCE * 1000


def test_what_is_kept_of_an_object_is_fetched_once(shelf):
    shelf.pipe_file("tables/a", bytes(range(200)))
    file = remote.RemoteFile("shelf://tables/a")
    file.keep()
    assert file.read(3, 5) == bytes(range(3, 8))
    Store.failing[:] = [LOST] * 9
    assert file.read(100, 100) == bytes(range(100, 200))
    Store.failing.clear()
    file.release()
    assert file.read(1, 2) == b"\x01\x02"
