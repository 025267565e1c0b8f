"""Shared by all tests: running the command line, and leaving the slow checks to `make exhaustive`."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.commands import command, reset

HERE = Path(__file__).parent
ROOT = HERE.parent
DATA = HERE / "data"


CHILDREN = {"process"}  # fixtures that run the command in a process of its own
LONG = (
    "test_cli",
    "test_exhaustive",
    "test_formats",
    "test_fuzz",
    "test_models",
    "test_phase",
    "test_t5",
)  # fmt: skip - modules, by how their names begin, that take more than seconds


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in a background shell; children would ignore it as well
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="only the tests that take seconds")


def pytest_itemcollected(item, seen=Counter()):  # noqa: B006 - counts the cases of each test
    """Of the cases of a test marked `sample(n)` leave all but each n-th to `make exhaustive`."""
    if marker := item.get_closest_marker("sample"):
        if seen[item.function] % marker.args[0]:
            item.add_marker(pytest.mark.exhaustive)
        seen[item.function] += 1


def pytest_collection_modifyitems(config, items):
    if config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("exhaustive")]
    if config.option.quick:
        slow += [i for i in items if CHILDREN & set(i.fixturenames) or i.path.name.startswith(LONG)]
    if slow:
        config.hook.pytest_deselected(items=slow)
        left = set(slow)
        items[:] = [item for item in items if item not in left]


def clean_environment(**extra):
    """The environment of a child: nothing that colours output or changes its width."""
    drop = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "GITHUB_ACTIONS", "PY_COLORS")
    env = {k: v for k, v in os.environ.items() if k not in drop}
    return {**env, "PYTHONPATH": str(ROOT), **extra}


@pytest.fixture
def pecli(tmp_path):
    """Run the command in this process, in an empty folder; returns its status and what it printed."""

    def run(*arguments, env=None, cwd=tmp_path, **options):
        return command(arguments, env=clean_environment(**(env or {})), cwd=cwd, **options)

    return run


@pytest.fixture
def process(tmp_path):
    """Run the command in a process of its own, in an empty folder; returns the completed process."""

    def run(*arguments, stdin=None, env=None, cwd=tmp_path, preexec_fn=None):
        return subprocess.run(
            [sys.executable, "-m", "pecli", *map(str, arguments)],
            preexec_fn=preexec_fn,
            capture_output=True,
            text=True,
            input=stdin,
            cwd=cwd,
            env=clean_environment(**(env or {})),
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(autouse=True)
def _reset():
    """Leave nothing that a command sets (limits, trust, precision, plug-ins) to the next test."""
    yield
    reset()


@pytest.fixture
def refuses(pecli, tmp_path):
    """Assert that a command is refused: status 2, one sentence on standard error, no file, no traceback."""

    def run(*arguments, says=(), **options):
        before = set(os.listdir(tmp_path))
        result = pecli(*arguments, **options)
        assert result.returncode == 2, (result.returncode, result.stderr)
        assert "Traceback" not in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr
        assert result.stdout == ""
        for word in [says] if isinstance(says, str) else says:
            assert word in result.stderr, result.stderr
        assert set(os.listdir(tmp_path)) == before
        return result.stderr

    return run
