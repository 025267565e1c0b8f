"""One table by every way there is, one process and parts, to a disk and to a store.

``make scale`` runs it, ``make scale MIB=8192`` at its full size.  Every result is verified, and compared with the one
that a single process wrote to the disk; what each process took of time and memory is printed as a table of Markdown.
The store is SeaweedFS in a process of its own: it keeps objects in files and reads no more of them than is asked.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.support.servers import object_store

WIDTH = 1024
REACH = 200  # MB that a process may take at the most


class Watched(subprocess.Popen):
    """A process whose largest memory is known when it has ended."""

    def __init__(self, *words):
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        super().__init__([sys.executable, "-m", *map(str, words)], stdout=self.log, stderr=self.log)
        self.peak, self.begun = 0, time.perf_counter()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        with contextlib.suppress(OSError, ValueError, StopIteration):
            while self.poll() is None:
                with open(f"/proc/{self.pid}/status") as status:
                    self.peak = next(int(line.split()[1]) / 976.5625 for line in status if line.startswith("VmHWM"))
                time.sleep(0.05)

    def finish(self):
        """Wait; return seconds and MB."""
        status = self.wait()
        seconds = time.perf_counter() - self.begun
        self.log.seek(0)
        assert status == 0, (self.args, status, self.log.read())
        return seconds, self.peak


def generate(mib, *words):
    """Start writing the table, or a part of it."""
    length = (mib << 20) // (4 * WIDTH)
    return Watched("pecli", "generate", "sinusoidal", "--dim", WIDTH, "--len", length, "-q", *words)


def one(mib, place):
    """The whole by one process, with one thread."""
    return [generate(mib, "--threads", 1, "-o", f"{place}.zarr").finish()]


def shards(mib, place):
    """Four parts, two at a time, of one thread each."""
    if not place.startswith("s3:"):
        os.mkdir(place)
    done = []
    for pair in ((0, 1), (2, 3)):
        parts = [generate(mib, "--threads", 1, "--shard", f"{k}/4", "-o", f"{place}/{k}.h5") for k in pair]
        done += [part.finish() for part in parts]
    return done


WAYS = {"one process": one, "two processes, four parts": shards}


def measure(mib, name, place, reference):
    """Write by one way, verify, compare; return a row of the table."""
    begun = time.perf_counter()
    wrote = WAYS[name](mib, place)
    seconds = time.perf_counter() - begun if name.startswith("two processes") else wrote[0][0]
    source = f"{place}/" if "parts" in name else f"{place}.zarr"
    read = [Watched("pecli", "inspect", source, "--verify", "-q").finish()]
    if reference is not None:
        read.append(Watched("pecli", "compare", reference, source, "-q").finish())
    where = "store" if place.startswith("s3:") else "disk"
    peaks = [[most for _, most in of] for of in (wrote, read)]
    most = [", ".join(f"{peak:.0f}" for peak in of) + " MB" for of in peaks]
    times = [f"{took:.0f} s" for took, _ in read] + ["-"] * (reference is None)
    cells = name, where, f"{seconds:.0f} s", f"{mib / seconds:.0f} MiB/s", most[0], *times, most[1]
    print("|", " | ".join(cells), "|", flush=True)
    return max(map(max, peaks)) <= REACH


def main():
    """Run every way at every place; the status is 1 where a process took more memory than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=512, help="size of the table")
    parser.add_argument("--folder", help="where to write; by default a temporary one")
    parser.add_argument("--to", choices=("disk", "store"), help="one of them alone")
    parser.add_argument("--way", choices=WAYS, action="append", help="one of them alone; may be given again")
    parser.add_argument("--verify-only", action="store_true", help="do not compare with another file too")
    given = parser.parse_args()
    ways = given.way or list(WAYS)
    within = True
    print("| way | to | wrote in | speed | memory | verified in | compared in | memory |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        reference, work = None if given.verify_only else f"{folder}/reference.npy", Path(folder) / "work"
        if reference is not None:
            generate(given.mib, "-o", reference).finish()
        for name in ways if given.to != "store" else ():
            work.mkdir()
            within &= measure(given.mib, name, f"{work}/pe", reference)
            shutil.rmtree(work)
        if given.to != "disk":
            with object_store(Path(folder) / "store") as bucket:
                for number, name in enumerate(ways):
                    with bucket(f"tables{number}"):
                        within &= measure(given.mib, name, f"s3://tables{number}/pe", reference)
    sys.exit(not within)


if __name__ == "__main__":
    main()
