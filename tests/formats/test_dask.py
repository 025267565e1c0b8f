"""Lazy arrays, and stores that a scheduler with two worker processes writes, one of which is killed.

A package that is not installed is skipped with a word; `make reach` installs them.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pecli import table
from pecli.errors import BadFile, BadParameter, WriteFailed
from pecli.formats import open_table, write_table
from pecli.inspect.verification import verify
from tests.support.servers import free_port

RECIPE = "sinusoidal:dim=256,len=100000"  # 98 MiB: 25 shards


def need(package):
    """The package, or a skip that names it."""
    return pytest.importorskip(package, reason=f"{package} is not installed: make reach installs it")


@pytest.mark.parametrize(
    ("recipe", "name", "chunks"),
    [
        ("sinusoidal:dim=16,len=100", None, None),
        ("sinusoidal:dim=16,len=100", "pe", (7, 5)),
        ("alibi:heads=3,len=20", None, (2, 6, 20)),
        ("alibi:heads=3,len=20", None, (1, 20, 7)),
        ("alibi:heads=4,form=slopes", "slopes", 3),
        ("rope:dim=8,len=33,dtype=float16", "sin", "auto"),
    ],
)
def test_a_lazy_array_holds_the_table(recipe, name, chunks):
    need("dask")
    from pecli.dask import array

    made = table(recipe)
    lazy = array(recipe, name, chunks=chunks)
    values = made.read(name or made.arrays[0].name)
    assert (lazy.shape, lazy.dtype) == (values.shape, values.dtype)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), values)
    assert array(recipe, name, chunks=chunks).name == lazy.name


def test_a_long_bias_takes_no_memory_until_it_is_wanted():
    need("dask")
    from pecli.dask import array

    lazy = array("alibi:heads=32,len=131072")
    assert lazy.nbytes == 32 * 131072**2 * 4
    part = lazy[5, 131071, 131000:].compute(scheduler="synchronous")
    assert part[-1] == 0
    assert part[-2] == -np.float32(2.0 ** (-8 * 6 / 32))


def test_which_array_must_be_said():
    need("dask")
    from pecli.dask import array

    with pytest.raises(BadParameter, match="one of cos, sin"):
        array("rope:dim=8,len=4")
    with pytest.raises(BadParameter, match="give float32"):
        array("rope:dim=8,len=4,dtype=bfloat16", "cos")


def test_a_config_is_taken_as_everywhere(tmp_path):
    need("dask")
    from pecli.dask import array

    config = {"model_type": "bloom", "n_head": 2, "seq_length": 16}
    np.testing.assert_array_equal(array(config).shape, (2, 16, 16))
    np.save(tmp_path / "pe.npy", np.zeros((3, 4)))
    with pytest.raises(BadParameter, match="has no recipe"):
        array(tmp_path / "pe.npy")


def test_a_file_that_is_lost_is_one_sentence_wherever_it_is_missed(tmp_path):
    need("dask")
    from pecli.dask import _table, array

    np.save(tmp_path / "w.npy", np.zeros((35, 2), np.float32))
    lazy = array(f"window:grid=3x4,heads=2,weights={tmp_path / 'w.npy'}", "bias")
    (tmp_path / "w.npy").unlink()
    _table.cache_clear()  # as in another process
    with pytest.raises(BadFile, match=r"w\.npy: does not exist"):
        lazy.compute(scheduler="synchronous")


class Lost:
    """A client of a scheduler whose workers are gone."""

    def nthreads(self):
        return {}

    def submit(self, *_words, **_options):
        return None

    def cancel(self, _futures):
        pass


@pytest.mark.parametrize("is_reached", [True, False])
def test_lost_workers_and_a_lost_scheduler_are_one_sentence(monkeypatch, tmp_path, is_reached):
    need("zarr")
    distributed = need("distributed")
    from concurrent.futures import CancelledError

    import pecli.dask

    class Waiting:
        futures = ()

        def __init__(self, _futures):
            pass

        def is_empty(self):
            return False

        def next_batch(self, block):
            if not is_reached:
                raise CancelledError("_write-08 cancelled for reason: scheduler-connection-lost")
            return []

    monkeypatch.setattr(distributed, "as_completed", Waiting)
    monkeypatch.setattr(pecli.dask, "PATIENCE", 0.05)
    made = table(RECIPE)
    says = "the scheduler has no worker any more" if is_reached else "the connection to the scheduler was lost"
    with pytest.raises(WriteFailed, match=says):
        write_table(made, tmp_path / "pe.zarr", spread=pecli.dask.spread(made, Lost()))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """A scheduler in a process, and a function that starts a worker of it in another."""
    need("distributed")
    folder, address = tmp_path_factory.mktemp("cluster"), f"tcp://127.0.0.1:{free_port()}"
    env = {**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONWARNINGS": "ignore"}

    def start(*words):
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        with open(folder / f"{words[0]}.log", "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd=folder)

    _, port = address.rsplit(":", 1)
    started = [start("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")]

    def worker():
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        started.append(start("worker", address, *options))
        return started[-1]

    yield address, worker
    for process in started:
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_changes_no_byte(scheduler, tmp_path):
    need("zarr")
    from pecli.dask import cluster, spread

    address, worker = scheduler
    first, _second = worker(), worker()
    made, done = table(RECIPE), []

    def progress(count):
        done.append(count)
        if len(done) == 2:
            first.send_signal(signal.SIGKILL)

    with cluster(address) as client:
        client.wait_for_workers(2, timeout=60)
        write_table(made, tmp_path / "pe.zarr", spread=spread(made, client), progress=progress)
    first.wait()
    assert sum(done) == sum(array.bytes for array in made.arrays)
    write_table(made, tmp_path / "one.zarr")
    with open_table(tmp_path / "pe.zarr") as found:
        assert verify(found, "pe.zarr").good
    content = [
        {p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*") if p.is_file()}
        for name in ("pe.zarr", "one.zarr")
    ]
    assert content[0] == content[1]


@pytest.mark.filterwarnings("ignore")
def test_a_failure_at_a_worker_leaves_nothing(scheduler, tmp_path, monkeypatch):
    need("zarr")
    from pecli.dask import cluster, spread

    address, worker = scheduler
    worker()
    made = table(RECIPE)

    class Stop(Exception):
        pass

    def progress(_count):
        raise Stop

    with cluster(address) as client, pytest.raises(Exception, match=r"Stop|could not write"):
        write_table(made, tmp_path / "pe.zarr", spread=spread(made, client), progress=progress)
    time.sleep(1)
    assert list(tmp_path.iterdir()) == []


def test_two_processes_from_the_shell(pecli, process, tmp_path):
    need("zarr")
    need("distributed")
    done = process("generate", "rope", "--dim", 64, "--len", 40000, "-o", "pe.zarr", "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert pecli("inspect", "pe.zarr", "--verify").returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there are no groups of processes")
def test_an_interrupt_from_the_keyboard_leaves_nothing_and_says_so(tmp_path):
    need("zarr")
    need("distributed")
    table = "sinusoidal:dim=1024,len=2M"  # 8 GiB, were it not interrupted
    command = [sys.executable, "-m", "pecli", "generate", table, "-o", "pe.zarr", "--workers", "2"]
    env = {**os.environ, "PYTHONPATH": os.getcwd()}
    with subprocess.Popen(command, cwd=tmp_path, env=env, start_new_session=True, stderr=subprocess.PIPE) as run:
        for _ in range(600):
            time.sleep(0.1)
            if (tmp_path / "pe.zarr" / "pe" / "c").exists():
                break
        began = time.monotonic()
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to all processes
        said = run.communicate(timeout=60)[1]
    assert (run.returncode, said) == (-signal.SIGINT, b"pecli: interrupted: nothing was written to pe.zarr\n")
    assert time.monotonic() - began < 10
    assert list(tmp_path.iterdir()) == []


OWN = os.path.join(os.getcwd(), "examples", "own_encoding.py")


def test_workers_know_an_encoding_of_ones_own(pecli, process, scheduler, tmp_path):
    need("zarr")
    address, worker = scheduler
    worker()
    words = ("--plugin", OWN, "generate", "resonance-rope", "--dim", 16, "--len", 100, "-q", "-o")
    for name, more in (("a.zarr", ("--scheduler", address)), ("b.zarr", ("--workers", 1))):
        done = process(*words, name, *more)
        assert (done.returncode, done.stderr) == (0, "")
        assert pecli("--plugin", OWN, "inspect", name, "--verify").returncode == 0


def small_files():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of that kind")
def test_a_disk_that_is_full_for_a_worker_is_one_sentence_and_nothing_is_left(process, tmp_path):
    need("zarr")
    need("distributed")
    done = process(
        "generate", "sinusoidal", "--dim", 256, "--len", 40000, "-o", "pe.zarr", "--workers", 2, preexec_fn=small_files
    )
    assert done.returncode == 2
    assert done.stderr.startswith("pecli: pe.zarr: a worker could not write its part ([Errno 27] File too large")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "pe.zarr").exists()


def test_what_cannot_be_is_one_sentence(refuses):
    refuses("generate", "rope", "--dim", 8, "--len", 4, "-o", "pe.npy", "--workers", 2, says="write -o PATH.zarr")
    need("zarr")
    need("distributed")
    refuses(
        "generate", "rope", "--dim", 8, "--len", 4, "-o", "pe.zarr", "--scheduler", f"tcp://127.0.0.1:{free_port()}",
        says="does not answer",
    )  # fmt: skip
