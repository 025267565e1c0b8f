"""A file appears whole or not at all, whatever happens, and streams are written straight."""

import contextlib
import errno
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pecli.cli.run import run
from pecli.errors import BrokenPipe, WouldOverwrite, WriteFailed
from pecli.formats import FORMATS, check, open_table, write_table
from pecli.formats.io import atomic
from tests.conftest import ROOT, clean_environment
from tests.support.format_tables import Formula, absolute, rotary, sampled

SUFFIX = {name: form.suffixes[0] for name, form in FORMATS.items()}
CHILD = """
import signal, sys, time
from pecli.errors import BrokenPipe, PecliError
from pecli.formats import write_table
from tests.support.format_tables import Formula

def leave(number, frame):
    raise SystemExit(128 + number)

signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the children of a background shell

def wait(start):
    if start > 2000:
        print("busy", file=sys.stderr, flush=True)
        time.sleep(0.05)

try:
    table = Formula(rows={rows}, width=64, wait={wait})
    write_table(table, {path!r}, format={format!r}, threads={threads}, compress={compress})
except PecliError as error:
    sys.exit(f"refused: {{error}}")
except BrokenPipe:
    sys.exit(141)
except KeyboardInterrupt:
    sys.exit(130)
"""


def child(path, name, rows=400_000, wait="None", threads=2, compress=False, **options):
    code = CHILD.format(path=str(path), format=name, rows=rows, wait=wait, threads=threads, compress=compress)
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), stderr=subprocess.PIPE, **options
    )


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    """A tmpfs of 1 MiB, where we may mount one."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root; the file-size limit is tested instead")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def small_disk(mounted):
    """The tmpfs, empty."""
    yield mounted
    for path in mounted.iterdir():
        path.unlink()


def ways():
    for name, form in FORMATS.items():
        yield pytest.param(name, False, id=name)
        if form.compresses and name != "parquet":
            yield pytest.param(name, True, id=f"{name}-compress")


WAYS = list(ways())

# Whole or not at all


@pytest.mark.parametrize(("name", "compress"), WAYS)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.sample(2)
def test_a_failure_leaves_the_old_file_and_nothing_else(name, compress, threads, tmp_path):
    path = tmp_path / f"pe{SUFFIX[name]}"
    path.write_bytes(b"old")
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        write_table(Formula(24_000, 32, fail_at=20_000), path, threads=threads, compress=compress)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert threading.active_count() == before


@pytest.mark.parametrize(("name", "compress"), sampled(*WAYS, often=("npy", "hdf5")))
def test_an_interrupt_leaves_the_old_file_and_nothing_else(name, compress, tmp_path):
    number, status = (signal.SIGINT, 130) if name == "npy" else (signal.SIGTERM, 143)
    path = tmp_path / f"pe{SUFFIX[name]}"
    path.write_bytes(b"old")
    process = child(path, name, wait="wait", compress=compress)
    process.stderr.readline()
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == status
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "compress"), WAYS)
def test_an_interrupt_at_any_moment_leaves_the_old_file_and_nothing_else(name, compress, tmp_path):
    path = tmp_path / f"pe{SUFFIX[name]}"
    for moment in range(40):
        path.write_bytes(b"old")
        process = child(path, name, wait="wait", rows=20_000, compress=compress)
        process.stderr.readline()
        time.sleep(moment * 0.005)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == 143 or path.read_bytes() != b"old"
        assert os.listdir(tmp_path) == [path.name]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["parquet", "npz", "arrow"])
def test_an_interrupt_at_any_moment_does_not_end_a_stream_as_if_it_were_whole(name, tmp_path):
    path = tmp_path / f"part{SUFFIX[name]}"
    for moment in range(40):
        process = child("-", name, wait="wait", stdout=subprocess.PIPE)
        process.stderr.readline()
        time.sleep(moment * 0.003)
        process.send_signal(signal.SIGTERM)
        data, _ = process.communicate(timeout=30)
        assert process.returncode == 143
        path.write_bytes(data or b" ")
        with pytest.raises(OSError, match="part"):
            open_table(path)


@pytest.mark.parametrize("name", sampled("npy", "hdf5", "parquet", often=("hdf5",)))
def test_a_kill_leaves_the_old_file(name, tmp_path):
    path = tmp_path / f"pe{SUFFIX[name]}"
    path.write_bytes(b"old")
    process = child(path, name, wait="wait")
    process.stderr.readline()
    process.kill()
    process.communicate(timeout=30)
    assert path.read_bytes() == b"old"


def test_a_new_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "pe.npy"
    seen = []
    write_table(Formula(60_000, 32, wait=lambda start: seen.append(path.exists())), path, threads=2)
    assert seen
    assert not any(seen)
    assert path.exists()


def test_several_writers_at_once_leave_one_whole_file(tmp_path):
    path = tmp_path / "pe.npy"
    table = Formula(60_000, 32)
    threads = [threading.Thread(target=write_table, args=(table, path), kwargs={"threads": 1}) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(np.load(path), table.read("pe"))
    assert os.listdir(tmp_path) == ["pe.npy"]


# A full disk


@pytest.mark.parametrize(("name", "compress"), WAYS)
def test_a_full_disk_leaves_the_old_file_and_nothing_else(name, compress, small_disk):
    path = small_disk / f"pe{SUFFIX[name]}"
    path.write_bytes(b"old")
    table = absolute(rows=20_000, width=64)
    with pytest.raises(WriteFailed, match=r"the disk is full: .*\d are free in"):
        write_table(table, path, threads=2, compress=compress)
    assert path.read_bytes() == b"old"
    assert os.listdir(small_disk) == [path.name]


@pytest.mark.parametrize("name", ["npy", "hdf5", "safetensors"])
@pytest.mark.parametrize("reserving", [True, False])
def test_a_disk_that_fills_up_meanwhile_leaves_nothing(name, reserving, small_disk, monkeypatch):
    monkeypatch.setattr("pecli.formats.io.atomic.check_place", lambda *args, **options: None)
    if not reserving:
        monkeypatch.delattr(os, "posix_fallocate")
    with pytest.raises(WriteFailed, match=r"the disk is full: 5,"):
        write_table(Formula(20_000, 64), small_disk / f"pe{SUFFIX[name]}", threads=2)
    assert os.listdir(small_disk) == []


def test_a_full_disk_is_said_without_a_size_that_nobody_knows(small_disk, capfd):
    """It said that 0 bytes were needed for a chart."""
    with (small_disk / "full").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
    assert run(["inspect", "rope:dim=4", "--plot", str(small_disk / "a.svg")]) == 2
    assert os.listdir(small_disk) == ["full"]
    said = capfd.readouterr().err
    assert "the disk is full, or was for a while: 0 bytes are free in" in said
    assert "needed" not in said


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_size_limit_leaves_nothing(name, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        with pytest.raises(WriteFailed, match=r"than a file may have here \(ulimit -f"):
            write_table(Formula(40_000, 64), tmp_path / f"pe{SUFFIX[name]}", threads=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", FORMATS)
def test_a_table_that_cannot_fit_is_refused_before_a_byte_is_written(name, tmp_path):
    table = Formula(10**12, 512)
    path = tmp_path / f"pe{SUFFIX[name]}"
    with pytest.raises(WriteFailed, match=r"the disk is full: .* bytes are needed"):
        check(table, FORMATS[name], path)
    with pytest.raises(WriteFailed, match=r"the disk is full: .* bytes are needed"):
        write_table(table, path, threads=2)
    assert os.listdir(tmp_path) == []
    assert not table.threads


# Places


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing/pe.npy", "the folder .*missing does not exist: make it first"),
        ("file/pe.npy", "the folder .*file does not exist"),
        (".", "is a folder: name a file in it"),
        ("new/", "ends without a file name"),
        ("p\0e.npy", "null character"),
        ("x" * 300 + ".npy", "cannot be written"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused(path, reason, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WriteFailed, match=reason):
        write_table(absolute(), f"{tmp_path}/{path}", format="npy", threads=1)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_write_protected_folder_or_file_is_refused(tmp_path):
    path = tmp_path / "pe.npy"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(WriteFailed, match=r"is write-protected"):
        write_table(absolute(), path, threads=1)
    tmp_path.chmod(0o555)
    with pytest.raises(WriteFailed, match=r"cannot be written: change its permissions"):
        write_table(absolute(), tmp_path / "other.npy", threads=1)
    tmp_path.chmod(0o755)


def test_a_symbolic_link_keeps_pointing(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.npy"
    link.symlink_to("real/pe.npy")  # which does not exist yet
    for _ in range(2):
        write_table(absolute(), link, threads=1)
        assert link.is_symlink()
        assert os.listdir(tmp_path / "real") == ["pe.npy"]


def test_permissions_are_those_of_the_old_file(tmp_path):
    path = tmp_path / "pe.npy"
    path.write_bytes(b"")
    for mode in (0o600, 0o664, 0o755):
        path.chmod(mode)
        write_table(absolute(), path, threads=1)
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_permissions_of_a_new_file_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_table(absolute(), tmp_path / "pe.npy", threads=1)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "pe.npy").stat().st_mode) == 0o640


def test_no_clobber_keeps_a_file(tmp_path):
    path = tmp_path / "pe.npy"
    write_table(absolute(), path, threads=1, clobber=False)
    path.write_bytes(b"old")
    with pytest.raises(WouldOverwrite):
        write_table(absolute(), path, threads=1, clobber=False)
    assert path.read_bytes() == b"old"


def test_no_clobber_keeps_a_file_that_appears_meanwhile(tmp_path):
    path = tmp_path / "pe.npy"
    with pytest.raises(WouldOverwrite):
        write_table(Formula(9, 4, wait=lambda start: path.write_bytes(b"new")), path, threads=1, clobber=False)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["pe.npy"]


# Streams


@pytest.mark.parametrize(("name", "compress"), WAYS)
def test_a_pipe_gets_a_file_that_reads_the_same(name, compress, tmp_path, capfdbinary):
    table = rotary(rows=3000)
    write_table(table, "-", format=name, threads=2, compress=compress)
    path = tmp_path / f"cs{SUFFIX[name]}"
    path.write_bytes(capfdbinary.readouterr().out)
    whole = tmp_path / f"whole{SUFFIX[name]}"
    write_table(table, whole, threads=2, compress=compress)
    with open_table(path) as stored, open_table(whole) as expected:
        for array in expected.arrays:
            np.testing.assert_array_equal(stored.read(array.name), expected.read(array.name))
    if name not in ("npz", "arrow"):
        assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("name", sampled(*FORMATS, often=("npy", "parquet")))
def test_a_reader_that_leaves_is_reported_as_a_broken_pipe(name):
    with child("-", name, stdout=subprocess.PIPE) as process:
        process.stdout.read(1000)
        process.stdout.close()
        message = process.stderr.read()
    assert process.returncode == 141
    assert message == b""


@pytest.mark.parametrize("name", sampled("parquet", "npz", "arrow", often=("npz",)))
def test_an_interrupt_does_not_end_a_stream_as_if_it_were_whole(name, tmp_path):
    process = child("-", name, wait="wait", stdout=subprocess.PIPE)
    process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    data, _ = process.communicate(timeout=30)
    assert process.returncode == 143
    path = tmp_path / f"part{SUFFIX[name]}"
    path.write_bytes(data or b" ")
    with pytest.raises(OSError, match=r"part"):
        open_table(path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_fifo_is_written_straight(name, tmp_path):
    path = tmp_path / f"pipe{SUFFIX[name]}"
    os.mkfifo(path)
    received = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    size = write_table(absolute(), path, threads=1)
    reader.join()
    assert len(received[0]) == size
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_device_stays_a_device():
    for name in FORMATS:
        write_table(absolute(), "/dev/null", format=name, threads=1)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(WriteFailed, match=r"no space is left"):
        write_table(absolute(), "/dev/full", threads=1)


def test_standard_output_by_its_path_is_not_replaced(tmp_path):
    expected = tmp_path / "expected.npy"
    write_table(Formula(100, 64), expected, threads=1)
    for path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        target = tmp_path / "out"
        with target.open("wb") as file:
            file.write(b"before ")
            file.flush()
            child(path, "npy", rows=100, stdout=file).communicate(timeout=30)
            file.seek(0, os.SEEK_END)
            file.write(b" after")
        assert target.read_bytes() == b"before " + expected.read_bytes() + b" after"


def test_short_writes_of_a_pipe_are_continued(monkeypatch, tmp_path, capfdbinary):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:1001])))
    write_table(absolute(), "-", threads=1)
    monkeypatch.undo()
    write_table(absolute(), tmp_path / "pe.npy", threads=1)
    assert capfdbinary.readouterr().out == (tmp_path / "pe.npy").read_bytes()


def test_a_pipe_that_does_not_block_is_waited_for(tmp_path):
    read, write = os.pipe()
    os.set_blocking(write, False)
    received = []

    def drain():
        with os.fdopen(read, "rb") as file:
            received.append(file.read())

    reader = threading.Thread(target=drain)
    reader.start()
    size = write_table(Formula(20_000, 64), f"/dev/fd/{write}", format="npy", threads=2)
    os.close(write)
    reader.join()
    assert len(received[0]) == size == 20_000 * 64 * 4 + 128


def test_broken_pipe_is_raised_for_any_descriptor():
    read, write = os.pipe()
    os.close(read)
    with pytest.raises(BrokenPipe):
        write_table(Formula(20_000, 64), f"/dev/fd/{write}", format="npy", threads=2)
    os.close(write)


def test_a_file_system_without_reservation_is_written_all_the_same(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    write_table(absolute(), tmp_path / "pe.npy", threads=2)
    np.testing.assert_array_equal(np.load(tmp_path / "pe.npy"), absolute().values["pe"])


def test_what_a_system_lacks_is_done_otherwise(tmp_path, monkeypatch):
    for name in ("posix_fallocate", "pwrite", "preadv", "fchmod", "link"):
        monkeypatch.delattr(os, name)
    for name in ("npy", "hdf5", "npz"):
        path = tmp_path / f"pe{SUFFIX[name]}"
        write_table(Formula(9000, 64), path, threads=3, clobber=False)
        with open_table(path) as stored:
            np.testing.assert_array_equal(stored.read(stored.arrays[0].name), Formula(9000, 64).read("pe"))


# Memory


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of this program alone")
@pytest.mark.parametrize("width", [64, pytest.param(16_384, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(("name", "compress"), sampled(*WAYS, often=("hdf5", "parquet")))
def test_memory_stays_bounded(name, compress, width, tmp_path):
    """A table of 400 MB (text: 10 MB) with sixteen threads takes the same memory as a short one."""
    size = 10_000_000 if name in ("csv", "json") else 30_000_000 if compress else 400_000_000
    code = (
        "from pecli.formats import write_table\n"
        "from tests.support.format_tables import Constant\n"
        f"table = Constant({size // 4 // width}, {width})\n"
        f"write_table(table, '/dev/null', format={name!r}, threads=16, compress={compress})\n"
        "print(next(line for line in open('/proc/self/status') if 'VmHWM' in line).split()[1])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=True
    )
    assert int(result.stdout) < 230 << 10


def test_the_hidden_name_fits_beside_a_long_one(tmp_path):
    path = tmp_path / ("x" * 250 + ".npy")
    write_table(absolute(), path, threads=1)
    assert [Path(entry).name for entry in tmp_path.iterdir()] == [path.name]


def test_messages_name_the_target_and_not_the_hidden_file(tmp_path):
    with pytest.raises(WriteFailed) as caught:
        write_table(absolute(), tmp_path / "missing" / "pe.npy", threads=1)
    assert str(caught.value).startswith(f"{tmp_path}/missing/pe.npy: ")
    assert atomic.STANDARD == "-"


# Who owns a file, and what a killed writer leaves


def test_permissions_are_kept_but_not_who_it_runs_as(tmp_path):
    path = tmp_path / "pe.npy"
    path.write_bytes(b"")
    path.chmod(0o4755)
    write_table(absolute(), path, threads=1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_is_kept(tmp_path):
    path = tmp_path / "pe.npy"
    path.write_bytes(b"")
    os.chown(path, 12345, 54321)
    path.chmod(0o660)
    write_table(absolute(), path, threads=1)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 54321, 0o660)


def test_what_the_old_group_was_allowed_is_not_for_another(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(errno.EPERM, "not yours")

    path = tmp_path / "pe.npy"
    path.write_bytes(b"")
    path.chmod(0o664)
    real = os.stat(path)
    other = os.stat_result([*real[:5], real.st_gid + 1, *real[6:10]])
    descriptor = os.open(path, os.O_RDWR)
    monkeypatch.setattr(os, "fchown", refuse)
    atomic._own(descriptor, other)
    os.close(descriptor)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_kill_leaves_at_most_one_hidden_file(tmp_path):
    path = tmp_path / "pe.npy"
    path.write_bytes(b"old")
    process = child(path, "npy", wait="wait", threads=1)
    process.stderr.readline()
    write_table(absolute(), path, threads=1)  # the other one is alive
    process.kill()
    process.communicate(timeout=30)
    assert len(os.listdir(tmp_path)) <= 2
    np.testing.assert_array_equal(np.load(path), absolute().values["pe"])


@pytest.mark.parametrize("call", ["fsync", "close", "replace", "fchmod"])
def test_a_call_that_fails_at_the_end_leaves_the_old_file(call, tmp_path, monkeypatch):
    path = tmp_path / "pe.npy"
    path.write_bytes(b"old")
    real, failed = getattr(os, call), []

    def fail(*arguments, **options):
        if call == "close" and not failed:
            real(*arguments)  # which the system does all the same
        if not failed:
            failed.append(call)
            raise OSError(errno.EIO, "faulty disk")
        return real(*arguments, **options)

    table = Formula(20, 4, wait=lambda start: monkeypatch.setattr(os, call, fail))
    with pytest.raises(WriteFailed, match="faulty disk"):
        write_table(table, path, threads=1)
    monkeypatch.undo()
    assert failed
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["pe.npy"]


def test_the_sentence_of_a_full_disk_contradicts_nothing(tmp_path):
    full = OSError(errno.ENOSPC, "full")
    free = atomic.free_space(str(tmp_path))
    assert re.match(r"the disk is full: [\d,]+ bytes are needed and [\d,]+ are free", reason(full, tmp_path, free * 2))
    assert re.match(r"the disk was full for a while: 5 bytes are needed, and now", reason(full, tmp_path, 5))


def reason(error, folder, size):
    return atomic._reason(error, str(folder / "pe.npy"), atomic.Need(size))
