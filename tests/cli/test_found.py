"""Cases that the fuzz campaign found; each is a file of tests/data/found."""

import base64
import json
import shutil
from pathlib import Path

import pytest

from pecli.cli.run import run
from tests.fuzz.files import sound

FOUND = sorted((Path(__file__).parents[1] / "data" / "found").glob("*.json"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    sound(folder)
    return folder


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_the_campaign_found_is_answered(path, files, tmp_path, monkeypatch, capfd):
    case = json.loads(path.read_text())
    folder = tmp_path / "here"
    shutil.copytree(files, folder)
    for name, data in case["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(base64.b64decode(data))
    monkeypatch.chdir(folder)
    for name, value in case["env"].items():
        monkeypatch.setenv(name, value)
    with open(folder / (case["stdin"] or "p.txt")) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        status = run(case["words"])
    output, errors = capfd.readouterr()
    false = case["problem"].rpartition("\nsaid: ")[2] if case["label"].startswith("answers") else ""
    assert not false or false not in output
    assert status in (0, 1, 2), errors
    assert "Traceback" not in errors
    assert "internal error" not in errors
