"""URLs as source and target, with real servers on the loopback address and lines that are cut in the middle.

A package that is not installed is skipped with a word; `make reach` installs them.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pecli import table
from pecli.errors import BadFile, WouldOverwrite, WriteFailed
from pecli.formats import FORMATS, open_table, write_table
from pecli.formats.io.remote import MAX_CACHED_BYTES, MAX_RANGE_BYTES, ReadAhead, RemoteFile, retry, system_of
from pecli.formats.paths import Kind, files_of, kind_of
from pecli.inspect.verification import verify, verify_folder
from pecli.settings import Settings, using
from pecli.tables.comparison import COMPUTED_BYTES
from tests.support.servers import CuttingLine, FileServer, gs_server, s3_server

ROPE = "rope:dim=64,len=3000"
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of clients' sessions
EVERY = tuple(form.suffixes[0].removeprefix(".") for form in FORMATS.values())


def need(package):
    """The package, or a skip that names it."""
    return pytest.importorskip(package, reason=f"{package} is not installed: make reach installs it")


@pytest.fixture(scope="module")
def server():
    need("s3fs")
    need("moto")
    with s3_server() as url:
        yield url


@pytest.fixture
def s3(server, monkeypatch):
    """A client of a server with one empty bucket; pecli finds the server as any client does."""
    import boto3

    for key, value in (("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "word"), ("DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{key}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    fresh()
    client = boto3.client("s3", endpoint_url=server)
    client.create_bucket(Bucket="tables")
    yield client
    for found in client.list_objects_v2(Bucket="tables").get("Contents", []):
        client.delete_object(Bucket="tables", Key=found["Key"])
    client.delete_bucket(Bucket="tables")


def fresh():
    """Forget the connections of an earlier server."""
    import fsspec

    from pecli.formats.io import remote

    remote._client.cache_clear()
    for kind in ("s3", "http"):
        fsspec.get_filesystem_class(kind).clear_instance_cache()


def keys(client):
    return [found["Key"] for found in client.list_objects_v2(Bucket="tables").get("Contents", [])]


@pytest.fixture
def files(tmp_path):
    need("aiohttp")
    need("fsspec")
    served = FileServer(tmp_path)
    yield served
    served.close()


def test_every_format_goes_to_s3_and_comes_back(s3, tmp_path):
    made = table(ROPE)
    for suffix in EVERY:
        local = tmp_path / f"pe.{suffix}"
        write_table(made, local)
        write_table(made, f"s3://tables/pe.{suffix}")
        sent = s3.get_object(Bucket="tables", Key=f"pe.{suffix}")["Body"].read()
        if suffix != "npz":  # to a stream, sizes stand behind the members
            assert sent == local.read_bytes(), suffix
        with open_table(f"s3://tables/pe.{suffix}") as found, open_table(local) as other:
            assert [a.shape for a in found.arrays] == [a.shape for a in other.arrays]
            for name in found:
                np.testing.assert_array_equal(found.read(name), other.read(name))


def test_zarr_goes_to_s3_and_comes_back(s3):
    need("zarr")
    made = table("alibi:heads=4,len=300")
    write_table(made, "s3://tables/b.zarr")
    with open_table("s3://tables/b.zarr") as found:
        assert found.recipe == made.recipe
        np.testing.assert_array_equal(found.read("bias"), made.read("bias"))
    with pytest.raises(WriteFailed, match="is not replaced"):
        write_table(made, "s3://tables/b.zarr")


@pytest.fixture
def gs(monkeypatch):
    """A server of Google's protocol with one bucket."""
    need("gcsfs")
    need("gcp_storage_emulator")
    with gs_server("tables") as url:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
        yield url


def test_gs_is_written_and_read_and_says_what_is_missing(gs, pecli):
    words = ("generate", "sinusoidal", "--dim", 512, "--len", 10000, "-q", "-o")
    for name in ("pe.npy", "pe.h5", "pe.zarr"):
        if name == "pe.zarr":
            need("zarr")
        done = pecli(*words, f"gs://tables/{name}")
        assert (done.returncode, done.stderr) == (0, ""), name
        if name != "pe.zarr":  # the index of a shard is read by a range from the end, which this server lacks
            same = pecli("compare", f"gs://tables/{name}", "sinusoidal:dim=512")
            assert (same.returncode, same.stderr) == (0, ""), name
        none = pecli(*words, f"gs://nowhere/{name}")
        said = f"pecli: gs://nowhere/{name}: the bucket does not exist: make it first, or check the name\n"
        assert (none.returncode, none.stderr) == (2, said)
    none = pecli("inspect", "gs://tables/no.npy")
    assert (none.returncode, none.stderr) == (2, "pecli: gs://tables/no.npy: does not exist: check the name\n")


def test_a_driver_that_is_missing_is_named(refuses):
    need("fsspec")
    if importlib.util.find_spec("gcsfs") is None:
        refuses("inspect", "gs://tables/pe.npy", says="pip install 'pecli[remote]' gcsfs")
    refuses("inspect", "nothing-known://tables/pe.npy", says="cannot be opened: Protocol not known")


class Stopped(Exception):
    """What ends a run in the middle."""


@pytest.mark.parametrize("name", ["pe.npy", "pe.zarr"])
def test_a_run_that_fails_leaves_nothing_and_no_upload(s3, name):
    if name.endswith("zarr"):
        need("zarr")
    done = []

    def progress(count):
        done.append(count)
        if sum(done) > 20 << 20:
            raise Stopped

    with pytest.raises((Stopped, WriteFailed)):
        write_table(table("sinusoidal:dim=512,len=16384"), f"s3://tables/{name}", progress=progress, threads=1)
    assert keys(s3) == []
    assert "Uploads" not in s3.list_multipart_uploads(Bucket="tables")


def test_an_upload_goes_on_where_a_server_stops_reading(s3, server, monkeypatch):
    monkeypatch.setattr("pecli.formats.io.remote.SILENCE", 2)
    line = CuttingLine(server, cuts=1, after=3 << 20, stall=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
    fresh()
    made = table("sinusoidal:dim=512,len=10240")  # 20 MiB: three parts
    began = time.monotonic()
    write_table(made, "s3://tables/pe.npy")
    assert (line.broken, time.monotonic() - began < 30) == (1, True)
    line.close()
    assert s3.head_object(Bucket="tables", Key="pe.npy")["ContentLength"] > 20 << 20


def test_an_upload_goes_on_over_a_line_that_is_cut(s3, server, monkeypatch):
    need("zarr")
    monkeypatch.setattr("pecli.formats.io.remote.SILENCE", 5)
    line = CuttingLine(server, cuts=2, after=3 << 20)
    monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
    fresh()
    made = table("sinusoidal:dim=512,len=10240")  # 20 MiB: three parts
    write_table(made, "s3://tables/pe.npy")
    assert line.broken == 2
    line.cuts = 2
    write_table(made, "s3://tables/pe.zarr")
    assert line.broken == 4
    assert verify(open_table("s3://tables/pe.zarr"), "pe.zarr").good
    line.close()
    sent = s3.get_object(Bucket="tables", Key="pe.npy")["Body"].read()
    assert hashlib.sha256(sent[-20 << 20 :]).digest() == hashlib.sha256(made.read("pe").tobytes()).digest()


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="it says what a process took at the most")
def test_many_threads_take_no_more_memory_than_a_process_may(s3):
    need("zarr")
    words = "generate sinusoidal --dim 512 --len 65536 --threads 16 -q -o s3://tables/pe.zarr"  # 128 MiB
    code = (
        "import re, sys\nfrom pecli.cli.run import run\n"
        "status = run(sys.argv[1:])\n"
        "print(status, re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *words.split()], capture_output=True, text=True)
    status, memory = map(int, done.stdout.split())
    assert (status, done.stderr) == (0, "")
    assert memory * 1024 < 200e6


def test_an_object_that_is_there_stays_with_no_clobber(s3):
    write_table(table(ROPE), "s3://tables/pe.npy")
    with pytest.raises(WouldOverwrite):
        write_table(table("rope:dim=8,len=4"), "s3://tables/pe.npy", clobber=False)
    write_table(table("rope:dim=8,len=4"), "s3://tables/pe.npy")
    assert open_table("s3://tables/pe.npy").arrays[0].shape == (2, 4, 4)


def test_what_is_wrong_is_one_sentence(s3, server, monkeypatch, tmp_path):
    with pytest.raises(WriteFailed, match=r"^s3://nowhere/pe.npy: the bucket does not exist"):
        write_table(table(ROPE), "s3://nowhere/pe.npy")
    if importlib.util.find_spec("zarr"):
        with pytest.raises(WriteFailed, match=r"^s3://nowhere/pe.zarr: the bucket does not exist"):
            write_table(table(ROPE), "s3://nowhere/pe.zarr")
    with pytest.raises(BadFile, match=r"^s3://tables/no.npy: does not exist"):
        open_table("s3://tables/no.npy")
    with pytest.raises(WriteFailed, match="write a file, and send it"):
        write_table(table(ROPE), "http://127.0.0.1:9/pe.npy")
    for word in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{word}")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    fresh()
    with pytest.raises(WriteFailed, match="needs credentials"):
        write_table(table(ROPE), "s3://tables/pe.npy")


def test_a_range_is_fetched_and_not_the_whole(files, tmp_path):
    made = table("sinusoidal:dim=512,len=20000")  # 39 MiB
    for suffix in ("npy", "h5", "safetensors"):
        write_table(made, tmp_path / f"pe.{suffix}")
        files.sent = 0
        with open_table(f"{files.url}/pe.{suffix}") as found:
            name = found.arrays[0].name
            np.testing.assert_array_equal(
                found.read_rows([name], 700, 710)[name], made.read_rows(["pe"], 700, 710)["pe"]
            )
        assert files.sent < 1 << 20, suffix


@pytest.mark.parametrize("suffix", ["npy", "h5", "csv", "json", "arrow", "safetensors", "parquet"])
def test_what_is_read_in_order_is_fetched_in_long_ranges(files, tmp_path, suffix):
    made = table("rope:dim=64,len=20000" if suffix in ("csv", "json") else "rope:dim=512,len=20000")
    write_table(made, tmp_path / f"pe.{suffix}")
    size = (tmp_path / f"pe.{suffix}").stat().st_size
    with open_table(f"{files.url}/pe.{suffix}") as found:
        assert verify(found, "pe", made.recipe).good
    if suffix != "parquet":  # where one column is read after the other
        assert size <= files.sent < 1.1 * size + (1 << 20)
    assert len(files.asked) < 40 + files.sent / (2 << 20)
    assert max(files.asked) <= COMPUTED_BYTES  # a thread's block, or a batch of Arrow, is read at once


def test_what_is_kept_is_fetched_once_and_without_room_nothing_is(monkeypatch):
    need("fsspec")
    data, fetched = bytes(range(256)) * 20_000, []

    def of(size):
        file = RemoteFile.__new__(RemoteFile)
        file.name, file.size = "x", size
        file._fetch = lambda offset, count: fetched.append(offset) or data[offset : offset + count]
        file.release()
        file.keep()
        return file

    kept = of(len(data))
    for _ in range(3):
        assert b"".join(kept.read(at, 10_000) for at in range(0, len(data), 10_000)) == data
    assert sorted(fetched) == sorted(set(fetched))
    fetched.clear()
    monkeypatch.setattr("pecli.formats.io.remote.free_space", lambda folder: 100)
    lean = of(len(data))
    for _ in range(2):
        assert lean.read(5, 5_000_000) == data[5:5_000_005]
    assert fetched == [5, 5]


def test_ranges_come_from_any_thread_and_are_held_within_bounds():
    data = np.random.default_rng(0).bytes(48 << 20)
    asked, lock = [], threading.Lock()

    def read(offset, count):
        with lock:
            asked.append((offset, count))
        return data[offset : offset + count]

    ahead = ReadAhead(read, len(data))
    blocks = iter(range(0, len(data), 300_000))

    def work(_):
        for offset in iter(lambda: next(blocks, None), None):
            count = min(300_000, len(data) - offset)
            assert ahead.read(offset, count) == data[offset : offset + count]
            assert sum(cached.stop - cached.start for cached in ahead._ranges) <= MAX_CACHED_BYTES + 2 * MAX_RANGE_BYTES

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(asked) < 40
    asked.clear()
    for offset in (40_000_000, 1_000, 20_000_000, 5_000_000):
        assert ahead.read(offset, 10) == data[offset : offset + 10]
    assert sum(count for _, count in asked) <= 40


def test_an_error_of_a_range_is_that_of_who_reads_it_and_the_next_read_tries_again():
    ways = iter([OSError("lost"), b"abcd"])

    def read(_offset, _count):
        found = next(ways)
        if isinstance(found, OSError):
            raise found
        return found

    ahead = ReadAhead(read, 4)
    with pytest.raises(OSError, match="lost"):
        ahead.read(0, 4)
    assert ahead.read(0, 4) == b"abcd"


def test_a_folder_of_parts_behind_a_url_is_a_source(s3, pecli, tmp_path):
    for k in range(3):
        write_table(table(f"{ROPE},shard={k}/3"), f"s3://tables/parts/{k}.npz")
    s3.put_object(Bucket="tables", Key="parts/_log/1.npz", Body=b"nothing")
    s3.put_object(Bucket="tables", Key="parts/notes.txt", Body=b"nothing")
    found = pecli("inspect", "s3://tables/parts/", "--verify")
    assert found.returncode == 0, found.stderr
    assert "is complete and correct, 3 of 3 parts" in found.stdout
    assert pecli("convert", "s3://tables/parts/", "-q", "-o", "whole.h5").returncode == 0
    assert pecli("compare", "whole.h5", ROPE).returncode == 0
    for parts in ("s3://tables/parts/", "s3://tables/parts/*.npz"):
        assert pecli("compare", parts, ROPE).returncode == 0
    s3.delete_object(Bucket="tables", Key="parts/1.npz")
    lacks = pecli("convert", "s3://tables/parts/", "-o", "other.h5")
    assert (lacks.returncode, "lacks part 1 of 3" in lacks.stderr) == (2, True), lacks.stderr
    write_table(table("rope:dim=32,len=3000,shard=1/3"), "s3://tables/parts/1.npz")
    strange = pecli("convert", "s3://tables/parts/", "-o", "other.h5")
    assert (strange.returncode, "1.npz, which does not belong" in strange.stderr) == (2, True), strange.stderr
    for words in (("inspect", "s3://tables/parts"), ("convert", "s3://tables/parts", "-o", "other.h5")):
        folder = pecli(*words)
        rule = "is a folder: name a file in it, or all its parts by a slash: s3://tables/parts/"
        assert (folder.returncode, folder.stderr) == (2, f"pecli: s3://tables/parts: {rule}\n")
    none = pecli("inspect", "s3://tables/nothing/", "--verify")
    assert (none.returncode, none.stderr.count("\n"), "does not exist" in none.stderr) == (2, 1, True), none.stderr
    assert not (tmp_path / "other.h5").exists()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a-*.npy", ["a-2.npy", "a-10.npy"]),
        ("**/a-*.npy", ["a-2.npy", "a-10.npy", "in/a-3.npy"]),
        ("*/a-?.npy", ["in/a-3.npy"]),
        ("*.h5", []),
    ],
)
def test_a_pattern_behind_a_url_matches_as_on_disk(monkeypatch, pattern, found):
    names = ["a-10.npy", "a-2.npy", "b.npy", "in/a-3.npy"]
    monkeypatch.setattr("pecli.formats.io.remote.names_below", lambda url: names if url == "s3://b/p/" else [])
    assert kind_of(f"s3://b/p/{pattern}") is Kind.FOLDER
    assert files_of(f"s3://b/p/{pattern}") == [f"s3://b/p/{name}" for name in found]


def test_stores_behind_a_url_are_parts_too(s3):
    need("zarr")
    for k in range(2):
        write_table(table(f"alibi:heads=2,len=64,shard={k}/2"), f"s3://tables/parts/{k}.zarr")
    found = verify_folder("s3://tables/parts/")
    assert found.good, found.findings


def test_reading_goes_on_over_a_line_that_is_cut_with_a_word(files, tmp_path, monkeypatch):
    monkeypatch.setattr("pecli.formats.io.remote.PAUSE", 0.01)
    made = table(ROPE)
    said = []
    with using(Settings(tell=said.append)):
        for suffix in EVERY:
            write_table(made, tmp_path / f"pe.{suffix}")
            files.cuts = 2
            with open_table(f"{files.url}/pe.{suffix}") as found, open_table(tmp_path / f"pe.{suffix}") as other:
                for name in found:
                    np.testing.assert_array_equal(found.read(name), other.read(name))
            assert files.cuts == 0
    assert len(said) == 2 * len(EVERY)
    assert said[0].startswith(f"{files.url}/pe.npy: ")
    assert said[0].endswith("trying again, 1 of 4")
    files.cuts = 100
    with pytest.raises(BadFile, match="cannot be reached"):
        open_table(f"{files.url}/pe.npy")


def test_the_command_says_that_it_tries_again_and_is_silent_with_q(pecli, files, tmp_path):
    write_table(table(ROPE), tmp_path / "pe.npz")
    for more, lines in (((), 1), (("-q",), 0)):
        files.cuts = 1
        found = pecli("verify", f"{files.url}/pe.npz", *more)
        assert found.returncode == 0, found.stderr
        assert found.stderr.count("trying again, 1 of 4") == len(found.stderr.splitlines()) == lines
        assert bool(found.stdout) == ("verified: 192,000 values" in found.stdout) == bool(lines)


def test_a_server_without_ranges_is_told(tmp_path):
    need("aiohttp")
    need("fsspec")
    write_table(table(ROPE), tmp_path / "pe.npy")
    served = FileServer(tmp_path, ranges=False)
    with pytest.raises(BadFile, match="gives no ranges: download it first"):
        open_table(f"{served.url}/pe.npy")
    served.close()


def test_a_server_that_is_silent_or_gone_is_told(tmp_path, monkeypatch):
    import socket

    need("aiohttp")
    need("fsspec")
    monkeypatch.setattr("pecli.formats.io.remote.PAUSE", 0.01)
    monkeypatch.setattr("pecli.formats.io.remote.SILENCE", 0.2)
    fresh()
    silent = socket.create_server(("127.0.0.1", 0))
    with pytest.raises(BadFile, match="does not answer"):
        open_table(f"http://127.0.0.1:{silent.getsockname()[1]}/pe.npy")
    port = silent.getsockname()[1]
    silent.close()
    with pytest.raises(BadFile, match="cannot be reached"):
        open_table(f"http://127.0.0.1:{port}/pe.npy")
    fresh()


def test_a_store_that_is_silent_is_told_and_waited_for_no_longer_than_is_said(s3, monkeypatch):
    import socket

    monkeypatch.setattr("pecli.formats.io.remote.MAX_WAIT", 0.0)
    monkeypatch.setattr("pecli.formats.io.remote.SILENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        fresh()
        began = time.monotonic()
        with pytest.raises(BadFile, match="does not answer"):
            open_table("s3://tables/pe.npy")
        system, path = system_of("s3://tables/pe.npy")
        with pytest.raises(BadFile, match="does not answer"):  # its client waits for ever to be asked for the body
            retry("pe.npy", lambda: system.pipe_file(path, b"some"))
        assert time.monotonic() - began < 30
    fresh()


def test_no_secret_of_a_url_is_printed(pecli, files, tmp_path):
    write_table(table(ROPE), tmp_path / "pe.npy")
    secret = files.url.replace("http://", "http://me:hush@") + "/{}?X-Amz-Signature=hush"
    for name, status in (("pe.npy", 0), ("no.npy", 2)):
        for more in ((), ("--json",)):
            found = pecli("inspect", secret.format(name), *more)
            assert found.returncode == status, found.stderr
            assert "hush" not in found.stdout + found.stderr
            assert f"/{name}" in found.stdout + found.stderr


def test_without_the_extra_a_sentence_names_it(refuses, monkeypatch):
    if importlib.util.find_spec("fsspec") is None:
        refuses("inspect", "s3://tables/pe.npy", says="pip install 'pecli[remote]'")
