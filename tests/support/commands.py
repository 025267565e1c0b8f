"""The command line run in this process, with the streams, the folder and the environment of a process of its own."""

import contextlib
import functools
import os
import subprocess
import sys
import tempfile
import threading
import warnings

from pecli.cli import commands
from pecli.cli.run import run
from pecli.spec import catalogue
from pecli.spec.declaration import REGISTRY

_new, _kept = commands.built, functools.cache(commands.built)


def built(name):
    """A command, its options built once a process; `generate` each time anew, since plug-ins come and go."""
    return (_new if name == "generate" else _kept)(name)


commands.built = built  # building the options takes as long as running most commands of the tests


def reset():
    """Undo what a command leaves set in its process: the encodings of plug-ins."""
    for name in [n for n, e in REGISTRY.items() if e.function.__code__.co_filename in catalogue._plugins.values()]:
        del REGISTRY[name]
    for module in catalogue._plugins:
        sys.modules.pop(module, None)
    catalogue._plugins.clear()


def command(arguments, *, stdin=None, text=True, env=None, cwd=None):
    """Run `pecli ARGUMENTS` here; return its status and what it printed, as `subprocess.run` does."""
    arguments = [str(word) for word in arguments]
    given = stdin.encode() if isinstance(stdin, str) else stdin
    environment, folder = dict(os.environ), os.getcwd()
    try:
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        os.chdir(cwd or folder)
        with streams(given) as printed, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as the command does
            try:
                status = run(arguments)
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        reset()
    out, err = (printed[number].decode() if text else printed[number] for number in (1, 2))
    return subprocess.CompletedProcess(["pecli", *arguments], status, out, err)


def printed(words):
    """What a command prints, errors too."""
    done = command(words)
    return done.stdout + done.stderr


@contextlib.contextmanager
def streams(given):
    """Replace the standard streams; yield a dict that holds what was printed to 1 and 2.

    Output goes to files: a process that the command leaves running would keep the end of a pipe.
    """
    printed, files, threads = {}, {}, []
    kept = {number: os.dup(number) for number in range(3)}
    python = sys.stdin, sys.stdout, sys.stderr
    for stream in python[1:]:
        stream.flush()

    def feed(pipe):
        with contextlib.suppress(BrokenPipeError), open(pipe, "wb") as file:
            file.write(given)

    if given is None:
        pipe = os.open(os.devnull, os.O_RDONLY)
    else:
        pipe, end = os.pipe()
        threads.append(threading.Thread(target=feed, args=(end,)))
    os.dup2(pipe, 0)
    os.close(pipe)
    for number in (1, 2):
        files[number] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        os.dup2(files[number].fileno(), number)
    for thread in threads:
        thread.start()
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115 - closed below
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding=encoding, closefd=False, buffering=1)  # noqa: SIM115
    try:
        yield printed
    finally:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.close()
        sys.stdin, sys.stdout, sys.stderr = python
        for number, before in kept.items():
            os.dup2(before, number)
            os.close(before)
        for thread in threads:
            thread.join()
        for number, file in files.items():
            file.seek(0)
            printed[number] = file.read()
            file.close()
