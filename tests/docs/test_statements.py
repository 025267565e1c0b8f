"""What introductions to the field state: each is answered by a command, or put right by it."""

import re
import shlex
from collections import defaultdict

import pytest

from pecli.cli.run import run
from tests.conftest import DATA, ROOT

FILE = DATA / "reference" / "statements.txt"
ANSWERED = defaultdict(list)  # what each command answers: statements, with what must be found
for line in FILE.read_text().splitlines():
    if line and not line.startswith("#"):
        statement, command, pattern = line.split(" | ", 2)
        ANSWERED[command].append((statement, pattern))


@pytest.mark.parametrize("command", ANSWERED)
def test_statements_are_answered(command, monkeypatch, capfd, tmp_path):
    if command.startswith("page "):
        print((ROOT / command.removeprefix("page ")).read_text())
    else:
        monkeypatch.chdir(tmp_path)
        run(shlex.split(command))
    said = capfd.readouterr()
    words = " ".join((said.out + said.err).replace("│", " ").split())  # as read, whatever the line breaks
    missing = [
        f"{statement}: {pattern}"
        for statement, pattern in ANSWERED[command]
        if not re.search(pattern, words) and not re.search(pattern, said.out)
    ]
    assert not missing, f"{said.out}{said.err}"


def test_there_are_as_many_as_in_the_introductions():
    assert sum(map(len, ANSWERED.values())) >= 220
