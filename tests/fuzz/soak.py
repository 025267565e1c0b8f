"""``python -m tests.fuzz.soak --minutes 10``: eight processes at once write, read, verify and kill in one place.

The places are a folder and a bucket of an S3 server on this machine (left out where moto is not installed). Every file
that is there must be whole and hold what one of its writers wrote; afterwards nothing else may be left, but hidden
files of writers that SIGKILL ended.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from random import Random

NAMES = ("a.npz", "b.h5", "c.safetensors", "d.parquet", "e.arrow", "f.json")
RECIPES = ("rope:dim=64,len=2000", "rope:dim=64,base=500000,len=1000", "sinusoidal:dim=96,len=3000")
WORKERS = 8
TIMEOUT = 120.0
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
"""What writers are ended by; SIGINT in the interpreter's own start is a traceback of Python, not of pecli."""


class Soak:
    """The shared state of the workers: counts, problems, and the writers that may be killed."""

    def __init__(self, places: list[str], until: float, seed: int) -> None:
        self.places, self.until, self.seed = places, until, seed
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self.writers: dict[subprocess.Popen[bytes], None] = {}
        self.lock = threading.Lock()

    def run(self, *words: str, writes: bool = False) -> tuple[int, str]:
        """Run a command; return its status and its messages."""
        process = subprocess.Popen(
            [sys.executable, "-m", "pecli", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        with self.lock:
            self.writers |= {process: None} if writes else {}
        try:
            _, errors = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            errors = b"no answer" + process.communicate()[1]
        with self.lock:
            self.writers.pop(process, None)
        return process.returncode, errors.decode()

    def wrong(self, text: str) -> None:
        """Keep a problem."""
        with self.lock:
            self.problems.append(text)
        print(text, flush=True)

    def write(self, rng: Random, path: str) -> None:
        """Write one of the recipes; the writer may be killed."""
        recipe = rng.choice(RECIPES)
        status, errors = self.run("generate", recipe, "-q", "-o", path, writes=True)
        if status not in (0, *(-number for number in SIGNALS)):
            self.wrong(f"generate {recipe} -o {path}: {status}: {errors}")

    def verify(self, rng: Random, path: str) -> None:
        """Verify what is there; it may not be there yet."""
        status, errors = self.run("verify", path, "-q")
        if status and not (status == 2 and "does not exist" in errors):
            self.wrong(f"verify {path}: {status}: {errors}")

    def read(self, rng: Random, path: str) -> None:
        """Compare with each recipe that may be there: one writer's, or another's after it."""
        status, errors = self.run("compare", path, rng.choice(RECIPES), "-q")
        if status not in (0, 1) and not (status == 2 and "does not exist" in errors):
            self.wrong(f"compare {path}: {status}: {errors}")

    def kill(self, rng: Random, path: str) -> None:
        """Send a signal to a writer."""
        time.sleep(rng.random())
        with self.lock:
            chosen = rng.choice([*self.writers]) if self.writers else None
        if chosen is not None and chosen.poll() is None:
            chosen.send_signal(rng.choice(SIGNALS))

    def work(self, number: int) -> None:
        """Act until the time is over."""
        rng = Random(f"{self.seed}-{number}")
        acts = {0: self.kill, 1: self.write, 2: self.write, 3: self.write, 4: self.verify, 5: self.verify}
        while time.monotonic() < self.until:
            act = acts.get(number, self.read)
            act(rng, f"{rng.choice(self.places)}/{rng.choice(NAMES)}")
            with self.lock:
                self.counts[act.__name__] += 1


def bucket(stack: ExitStack) -> str | None:
    """Start a local S3 server with a bucket; None where it is not installed."""
    if not all(find_spec(name) for name in ("moto", "s3fs", "boto3")):
        return None
    import boto3

    from tests.support.servers import s3_server

    url = stack.enter_context(s3_server())
    for key, value in (("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "word"), ("DEFAULT_REGION", "us-east-1")):
        os.environ[f"AWS_{key}"] = value
    os.environ["AWS_ENDPOINT_URL"] = url
    boto3.client("s3", endpoint_url=url).create_bucket(Bucket="tables")
    return "s3://tables"


def strays(folder: Path, remote: str | None) -> list[str]:
    """Return what is left and has no name that was written."""
    left = [path.name for path in folder.iterdir() if path.name not in NAMES]
    if remote:
        import boto3

        client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
        found = client.list_objects_v2(Bucket="tables").get("Contents", [])
        left += [f"s3: {one['Key']}" for one in found if one["Key"] not in NAMES]
    return left


def main() -> int:
    """Run the soak."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        remote = bucket(stack)
        places = [name, *([remote] if remote else [])]
        soak = Soak(places, time.monotonic() + 60 * given.minutes, given.seed)
        workers = [threading.Thread(target=soak.work, args=(number,)) for number in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for place in places:
            for file in NAMES:
                soak.verify(Random(), f"{place}/{file}")
        left = strays(Path(name), remote)
        hidden = [one for one in left if one.startswith(".")]
        for one in left:
            if one not in hidden:
                soak.wrong(f"left behind: {one}")
    done = ", ".join(f"{number:,} {what}" for what, number in sorted(soak.counts.items()))
    where = "a folder and S3" if remote else "a folder (S3 left out: moto is not installed)"
    print(f"{where}: {done}; {len(hidden)} hidden files of killed writers; {len(soak.problems)} problems")
    return bool(soak.problems)


if __name__ == "__main__":
    sys.exit(main())
