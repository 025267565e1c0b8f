"""How the process of a command ends: quickly, and with everything done that others rely on."""

import os
import pickle
import subprocess
import sys

import pytest

from pecli.errors import BadFile, BadParameter, UnknownName
from tests.conftest import clean_environment

BEGIN = "import sys; from pecli.__main__ import main; sys.argv = ['pecli', *{arguments!r}]\n"


def run(code, arguments, **options):
    code = BEGIN.format(arguments=arguments) + code
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=clean_environment(), timeout=60, **options
    )


def test_exit_handlers_run_and_what_they_print_arrives():
    done = run("import atexit; atexit.register(print, 'the end')\nmain()", ["--version"])
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "the end")


def test_a_thread_is_waited_for():
    code = "import threading, time\n"
    code += "threading.Thread(target=lambda: (time.sleep(0.3), print('late', flush=True))).start()\nmain()"
    assert "late" in run(code, ["--version"]).stdout.splitlines()


def test_a_daemon_is_not():
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(50,), daemon=True).start()\nmain()"
    assert run(code, ["--version"]).returncode == 0


def test_the_status_is_kept():
    assert run("main()", ["list", "nothing"]).returncode == 2


def test_a_profiler_still_reports():
    done = subprocess.run(
        [sys.executable, "-m", "cProfile", "-m", "pecli", "--version"],
        capture_output=True, text=True, env=clean_environment(), timeout=60,
    )  # fmt: skip
    assert "function calls" in done.stdout


def test_a_reader_that_left_ends_the_command_by_its_signal():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "pecli", "list"], stdout=write, stderr=subprocess.PIPE, env=clean_environment(),
        check=False, timeout=60,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (-13, b"")


@pytest.mark.parametrize(
    "error",
    [BadFile("pe.npy", "is empty"), BadParameter("dim", 3, "must be even"), UnknownName("encoding", "rop", ["rope"])],
)
def test_what_is_wrong_in_another_process_is_told_in_this_one(error):
    told = pickle.loads(pickle.dumps(error))
    assert (type(told), str(told), vars(told)) == (type(error), str(error), vars(error))
