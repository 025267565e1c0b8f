"""`make everything`: it goes on after a failure, resumes, and repeats what was changed or is forced."""

import subprocess

import pytest

from tests.support import everything

MAKEFILE = """
one two:
	@echo $@ >> done.txt
broken:
	@echo "FAILED tests/test_a.py::test_b - it is wrong"; exit 1
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / ".gitignore").write_text("build/\ndone.txt\n")
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], check=True)
    return tmp_path


def test_a_failure_is_printed_and_the_next_target_runs(repository, capfd):
    assert everything.main(["one", "broken", "two"]) == 1
    said = capfd.readouterr().out
    assert "one          passed in 0 s" in said
    assert "broken       failed after 0 s: FAILED tests/test_a.py::test_b - it is wrong" in said
    assert (repository / "done.txt").read_text() == "one\ntwo\n"


def test_what_passed_is_repeated_after_a_change_or_by_force_alone(repository, capfd):
    for more, times in (([], 1), ([], 1), (["--force"], 2), ([], 2)):
        assert everything.main(["one", *more]) == 0
        assert (repository / "done.txt").read_text() == "one\n" * times
    assert "one          passed before on this commit" in capfd.readouterr().out
    (repository / "new.txt").write_text("not committed")
    assert everything.main(["one"]) == 0
    (repository / "Makefile").write_text(MAKEFILE + "three:\n")
    assert everything.main(["one"]) == 0
    assert (repository / "done.txt").read_text() == "one\n" * 4


@pytest.mark.parametrize(
    ("log", "line"),
    [("a\nsrc.py:3: error: no type\nb", "src.py:3: error: no type"), ("make: *** [x] Error 2", "make: *** [x] Error 2"),
     ("only this", "only this"), ("", "no output")],
)  # fmt: skip
def test_the_first_failure_of_a_log(log, line):
    assert everything.first_failure(log) == line
