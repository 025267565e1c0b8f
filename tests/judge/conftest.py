"""Shared by the tests of the judge: commands run in process, in an empty folder."""

import pytest

from tests.judge.answers import Answer


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Run a command line in an empty folder and return its answer."""
    from pecli.cli.run import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")

    def command(*words):
        capsys.readouterr()
        status = run([str(word) for word in words])
        printed = capsys.readouterr()
        return Answer(status, printed.out, printed.err)

    return command
