"""Narrow screens: at 40, 60 and 80 columns no line is wider than the screen, and no word is cut or left out unseen."""

import io
import json
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

from pecli import CATALOGUE, Table, write_table
from pecli.cli.run import run
from pecli.plots.charts import Heat, Span
from pecli.plots.tables import charts_of_table
from pecli.plots.terminal import draw

WIDTHS = (40, 60, 80)
OF_EACH = (
    "inspect {0}", "inspect {0} --all", "inspect {0} --steps", "generate {0} {1}", "list {name}", "list {name} --all",
    "generate {name} --help",
)  # fmt: skip
# Their tables may leave out columns in the middle, and their examples end where there is no more room.
DROPPING = re.compile(r"generate \S+:|generate \S+ --len|inspect|apply|list \S+")
OTHERS = (
    "--help", "generate --help", "inspect --help", "compare --help", "apply --help", "extrapolate --help",
    "convert --help", "list --help", "list", "list --choose", "list rope --why", "inspect config.json",
    "inspect config.json --all", "inspect pe.h5", "inspect pe.h5 --all", "inspect pe.h5 --verify",
    "inspect pe.h5 --identify", "inspect pe.h5 --properties", "inspect wrong.npy --identify",
    "inspect alibi:heads=12,len=9 --all --precision 12",
    "compare sinusoidal rope", "compare sinusoidal rope alibi", "compare --all",
    "compare rope:dim=8 alibi:heads=2 t5:heads=2", "compare pe.h5 wrong.npy", "compare pe.h5 sinusoidal:dim=8",
    "compare pe.h5 pe.h5 sinusoidal:dim=8", "compare config.json --stacks",
    "compare rope:dim=8,len=6 rope:dim=8,len=6,base=500000 --values --precision 9",
    "extrapolate rope:dim=16 --train-len 512 --test-len 2048 --scaling all",
    "extrapolate alibi:heads=4 t5:heads=2 --train-len 64 --test-len 128", "extrapolate config.json --test-len 262144",
    "extrapolate learned:dim=4,max-len=8 --test-len 16 --extend linear",
    "apply rope:dim=4 --vector 1,2,-1,1 --pairs half --steps",
)  # fmt: skip
WRONG = ("generate rope --dim 4 --bse 3", "inspect nothing.npy", "compare pe.h5", "inspect rope:dim=4 --steps --verify")
CONFIG = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 131072,
    "rope_theta": 500000.0, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    table = Table.parse("sinusoidal:dim=8,len=40")
    write_table(table, tmp_path / "pe.h5")
    values = table.read("pe").copy()
    values[17, 3], values[20:25] = 0.25, -values[20:25]
    np.save(tmp_path / "wrong.npy", values)
    return tmp_path


class Page(io.StringIO):
    """Standard output that shows all of Unicode."""

    encoding = "utf-8"


def shown(words, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    out, err = Page(), Page()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(shlex.split(words))
    assert status in (0, 1), err.getvalue()
    return out.getvalue()


def words_of(text):
    """Words and numbers, without what only draws lines."""
    return {word for word in text.split() if not re.fullmatch(r"-+|=+|…|\.\.|[├└│─→┐┘]+", word)}


def check(words, width, monkeypatch):
    text = shown(words, width, monkeypatch)
    for line in (
        text.splitlines()
    ):  # one that is wider is a single word, such as a recipe, with its label, or a command to be copied
        assert len(line) <= width or len(line.split()) <= 3 or line.startswith(("  $ ", "  pecli ")), (words, line)
    narrow, wide = words_of(text), words_of(shown(words, 400, monkeypatch))
    assert narrow <= wide, (words, narrow - wide)  # a word that was cut, or broken, would be a new one
    if not DROPPING.match(words):
        assert narrow == wide, (words, wide - narrow)


def of_each(name):
    example = CATALOGUE[name].example
    length = "" if "grid=" in example else "--len 8"
    return [words.format(shlex.quote(example), length, name=name) for words in OF_EACH]


@pytest.mark.parametrize("number", range(len(CATALOGUE)), ids=list(CATALOGUE))
@pytest.mark.sample(3)
def test_what_is_printed_of_an_encoding_fits(number, folder, monkeypatch):
    commands = of_each(list(CATALOGUE)[number])
    for k in (0, 3):  # two of its commands, each at another width
        check(commands[(number + k) % len(commands)], WIDTHS[(number + k) % len(WIDTHS)], monkeypatch)


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", CATALOGUE)
def test_everything_that_is_printed_of_an_encoding_fits(name, width, folder, monkeypatch):
    for words in of_each(name):
        check(words, width, monkeypatch)


@pytest.mark.parametrize("number", range(len(OTHERS)), ids=OTHERS)
@pytest.mark.sample(2)
def test_what_a_command_prints_fits(number, folder, monkeypatch):
    check(OTHERS[number], 40 if number % 2 else 60, monkeypatch)


@pytest.mark.parametrize("words", WRONG)
def test_an_error_is_one_whole_line_however_narrow_the_screen(words, folder, pecli):
    said = {pecli(*shlex.split(words), env={"COLUMNS": str(width)}).stderr for width in (40, 200)}
    assert len(said) == 1
    assert said.pop().count("\n") == 1


PICTURES = (
    "sinusoidal:dim=16,len=32 heatmap", "sinusoidal:dim=16,len=32 waves", "sinusoidal:dim=16,len=32 similarity",
    "rope:dim=64,len=128 rotation", "alibi:heads=8,len=33 slopes", "t5:heads=2,len=33 bias",
)  # fmt: skip


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("words", PICTURES)
def test_a_picture_in_the_terminal_fits(words, colour):
    text, picture = words.split()
    charts = charts_of_table(Table.parse(text), text, [picture])
    for width in WIDTHS:
        drawn = re.sub(r"\x1b\[[0-9;]*m", "", draw(charts, width, colour=colour))
        assert max(map(len, drawn.splitlines())) <= width
        for name in words_of(re.sub(r"[^a-z ]", " ", charts[0].title.lower())):
            assert name in drawn.lower()


def test_colours_of_256_that_go_from_blue_to_red_pass_no_magenta():
    values = np.array([[x / 200 - 0.5 for x in range(201)]])
    heat = Heat("t", "x", "y", values, "v", [Span(0, 200, 201)], (0, 0))
    text = draw([heat], 230, colour=True)
    codes = [int(code) for code in re.findall(r"38;5;(\d+)", text)]
    colours = [[(0, 95, 135, 175, 215, 255)[(code - 16) // place % 6] for place in (36, 6, 1)] for code in codes]
    assert len({tuple(colour) for colour in colours}) == 17
    for red, green, blue in colours:
        assert min(red, blue) <= green + 40
