"""One command for each question: verdicts first, older spellings, single values, tables in other formats, terminals."""

import csv
import io
import json
import os
import pty
import re
import select
import struct
import sys

import numpy as np
import pytest

from pecli import Table, write_table
from pecli.cli.commands import COMMANDS, OLDER, rewritten
from pecli.numbers.positions import Positions
from pecli.numbers.printing import shortest_text
from tests.conftest import clean_environment


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(Table.parse("sinusoidal:dim=64,len=300"), tmp_path / "pe.h5")
    write_table(Table.parse("rope:dim=64,base=10000,len=300"), tmp_path / "rope.npz")
    with np.load("rope.npz") as rope:
        np.savez("bare.npz", cos=rope["cos"], sin=rope["sin"])
        np.savez("many.npz", **{f"layer{k}": rope["cos"][:40] for k in range(6)})
        np.savez("other.npz", **{f"layer{k}": -rope["cos"][:40] for k in range(6)})
    np.save("noise.npy", np.random.default_rng(0).standard_normal((64, 32)).astype("f4"))
    loop = np.arange(300)[:, None] * 10000.0 ** (-np.arange(0, 64, 2) / 64)
    np.savez("float64.npz", cos=np.cos(loop), sin=np.sin(loop))
    with np.load("rope.npz") as rope:
        np.savez("broken.npz", cos=rope["cos"], sin=np.where(np.arange(300)[:, None] == 7, np.nan, rope["sin"]))
        np.savez("short.npz", cos=rope["cos"][:200], sin=rope["sin"][:200])
        np.savez("half.npz", cos=rope["cos"].astype("f2"), sin=rope["sin"].astype("f2"))
    return tmp_path


VERDICTS = [
    ("compare pe.h5 sinusoidal:dim=64", 0, "same: 19,200 values are equal to the bit"),
    ("compare bare.npz rope:dim=64,base=500000", 1, "different: base 10000 where 500000 was expected"),
    ("compare many.npz other.npz", 1, "different: "),
    ("verify pe.h5", 0, "verified: 19,200 values of pe.h5 are what its recipe gives"),
    ("verify bare.npz rope:dim=64", 0, "verified: "),
    ("verify bare.npz rope:dim=64,base=500000", 1, "different: base 10000 where 500000 was expected"),
    ("identify pe.h5", 0, "sinusoidal:dim=64,len=300 (sure: all values equal)"),
    ("identify bare.npz", 0, "rope:dim=64,len=300 (sure: all values equal)"),
    ("identify float64.npz", 0, "rope:dim=64,len=300,dtype=float64 (sure: float64 arithmetic)"),
    ("identify noise.npy", 0, "unknown: "),
    ("compare float64.npz rope:dim=64", 1, "different, but harmless: float64 rounding"),
    ("compare short.npz rope:dim=64,len=300", 1, "different: 200 rows where 300 were expected"),
    ("compare broken.npz rope:dim=64", 1, "different: "),
    ("compare half.npz rope:dim=64", 1, "different, but harmless: rounding, at most 1 ulp"),
    ("identify half.npz", 0, "rope:dim=64,len=300,dtype=float16 (sure: "),
]


@pytest.mark.parametrize(("words", "status", "first"), VERDICTS)
@pytest.mark.sample(2)
def test_the_verdict_is_the_first_line_of_a_report_of_twelve(files, pecli, words, status, first):
    done = pecli(*words.split(), env={"COLUMNS": "80"})
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (status, "")
    assert lines[0].startswith(first)
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 80
    assert "ulp of float" not in done.stdout
    assert len(pecli(*words.split(), "--all").stdout.splitlines()) >= len(lines)


@pytest.mark.parametrize("words", [words for words, *_ in VERDICTS if not words.startswith("identify")])
@pytest.mark.sample(3)
def test_quiet_leaves_the_status_alone(files, pecli, words):
    done = pecli(*words.split(), "-q")
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode == pecli(*words.split()).returncode


def test_all_prints_every_figure(files, pecli):
    assert "mean abs" in pecli("compare", "bare.npz", "rope:dim=64,base=500000", "--all").stdout
    assert "row norm" in pecli("identify", "pe.h5", "--all").stdout


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("identify bare.npz --get recipe", "rope:dim=64,len=300"),
        ("identify noise.npy --get recipe", ""),
        ("identify noise.npy --get verdict", "unknown"),
        ("identify float64.npz --get arithmetic", "float64"),
        ("inspect pe.h5 --get shape", "300x64"),
        ("inspect rope.npz --get shape", "300x32"),
        ("inspect pe.h5 --get dtype", "float32"),
        ("compare pe.h5 sinusoidal:dim=64 --get verdict", "same"),
        ("compare bare.npz rope:dim=64,base=5 --get equal", "no"),
        ("verify bare.npz rope:dim=64,base=5 --get verdict", "different"),
        ("inspect pe.h5 --get positions", "0\n299"),
    ],
)
def test_one_bare_value_is_printed_for_scripts(files, pecli, words, value):
    assert pecli(*words.split()).stdout == value + "\n"


def test_arrays_of_two_shapes_have_a_line_each_and_unknown_values_are_refused(files, pecli, refuses):
    np.savez("two.npz", a=np.ones((2, 3)), b=np.ones((4, 5), "f4"))
    assert pecli("inspect", "two.npz", "--get", "shape").stdout == "a 2x3\nb 4x5\n"
    refuses("inspect", "two.npz", "--get", "shapes", says=["did you mean 'shape'?"])


@pytest.mark.parametrize(
    ("older", "today"),
    [
        ("inspect bare.npz --identify", "identify bare.npz"),
        ("inspect --verify pe.h5", "verify pe.h5"),
        ("inspect bare.npz --verify --recipe rope:dim=64,base=5", "verify bare.npz rope:dim=64,base=5"),
        ("inspect sinusoidal:dim=4 --steps", "explain sinusoidal:dim=4"),
        ("inspect sinusoidal:dim=8,len=9 --kind heatmap --plot -", "plot sinusoidal:dim=8,len=9 --kind heatmap"),
        ("list rope --why", "explain rope --why"),
        ("list alibi:heads=4 --code=torch", "explain alibi:heads=4 --code torch"),
        ("generate sinusoidal --dim 4 --seq-len 3", "generate sinusoidal --dim 4 --len 3"),
        ("generate sinusoidal --dim 4 -n 3 -f csv", "generate sinusoidal --dim 4 --len 3 --format csv"),
        ("inspect rope:dim=4 --length 1k", "inspect rope:dim=4 --len 1024"),
    ],
)
def test_older_spellings_are_the_new_commands(files, pecli, older, today):
    first, second = pecli(*older.split()), pecli(*today.split())
    assert (first.returncode, first.stdout, first.stderr) == (second.returncode, second.stdout, second.stderr)
    assert first.stdout


def test_no_help_mentions_an_older_spelling(pecli):
    for command, option, (verb, *_) in OLDER:
        assert option not in pecli(command, "--help-all").stdout
        assert verb in COMMANDS
    assert rewritten(["inspect", "--plot", "a.svg", "x"]) == ["plot", "--output", "a.svg", "x"]
    assert rewritten(["compare", "a", "b", "--identify"]) == ["compare", "a", "b", "--identify"]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "generate"])
def test_a_help_groups_its_options(pecli, name):
    shown = pecli(name, "--help-all").stdout
    assert shown.count("\n\n") >= 3
    if name in ("identify", "verify", "explain", "plot", "list"):
        assert len(re.findall(r"^  (?:-\w, )?--", shown, re.MULTILINE)) <= 18


TABLES = [
    "generate sinusoidal --dim 4 --len 3", "explain sinusoidal:dim=4", "inspect alibi:heads=8", "list",
    "compare rope alibi", "compare rope alibi --cost", "compare bare.npz rope:dim=64,base=5",
    "inspect rope:dim=8 --frequencies", "extrapolate rope:dim=16 --train-len 64 --test-len 256",
]  # fmt: skip


@pytest.mark.parametrize("words", TABLES)
def test_every_table_is_markdown_latex_and_csv_as_well(files, pecli, words):
    markdown, latex = (pecli(*words.split(), "--format", form).stdout for form in ("markdown", "latex"))
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert any(set(row) <= set("|-: ") for row in rows)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") >= 1
    assert not re.search(r"(?<!\\)[_%#]", re.sub(r"^%.*$", "", latex, flags=re.MULTILINE))
    text = pecli(*words.split(), "--format", "csv").stdout
    for part in text.strip().split("\n\n"):
        assert len({len(row) for row in csv.reader(io.StringIO(part))}) == 1
    assert json.loads(pecli(*words.split(), "--format", "json").stdout)


def test_the_numbers_of_a_markdown_table_are_those_of_the_board(pecli):
    shown = pecli("generate", "sinusoidal", "--dim", 4, "--len", 3, "--format", "markdown").stdout
    assert "| 2 | 0.9093 | -0.4161 | 0.0200 | 0.9998 |" in shown


def test_a_format_of_an_answer_without_tables_is_refused(refuses):
    refuses("list", "rope", "--format", "csv", says=["--format csv is for tables"])
    refuses("list", "--format", "cvs", says=["did you mean 'csv'?"])


def on_terminal(words, width, **env):
    """What a command prints on a terminal of this width."""
    child, master = pty.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update(clean_environment(TERM="xterm-256color", **env))
        os.execv(sys.executable, [sys.executable, "-m", "pecli", *words.split()])
    import fcntl
    import termios

    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    data = b""
    while select.select([master], [], [], 60)[0]:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # the child has ended
            break
        if not part:
            break
        data += part
    os.waitpid(child, 0)
    os.close(master)
    return data.decode().replace("\r\n", "\n")


SHOWN = [
    "generate sinusoidal --dim 4 --len 3", "explain sinusoidal:dim=4", "inspect alibi:heads=8", "list",
    "compare rope alibi --cost", "compare bare.npz rope:dim=64,base=5",
]  # fmt: skip


@pytest.mark.parametrize("words", SHOWN)
@pytest.mark.sample(2)
def test_tables_on_a_terminal_are_rich_and_cut_nothing(files, pecli, words):
    plain = pecli(*words.split(), env={"COLUMNS": "400"}).stdout
    numbers = set(re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]\d+)?(?![\w.])", plain.replace(",", "")))
    for width in (40, 80, 120):
        shown = on_terminal(words, width)
        text = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        wide = [line for line in text.splitlines() if len(line) > width and len(line.split()) > 3]
        assert wide == [], width  # a line of fewer words is one, such as a recipe, with its label
        found = set(re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]\d+)?(?![\w.])", text.replace(",", "")))
        assert found <= numbers, (width, found - numbers)  # a number that was cut would be another one
        if not words.startswith("inspect"):  # which leaves out values where thirty lines are full
            assert "…" in text or numbers <= found, (width, numbers - found)
        if width >= 80:
            assert "─" in text
            assert "\x1b[1;36m" in shown


def test_a_verdict_is_green_or_red_on_a_terminal_and_plain_where_colour_is_unwanted(files):
    assert "\x1b[1;32msame: " in on_terminal("compare pe.h5 sinusoidal:dim=64", 80)
    assert "\x1b[1;31mdifferent: base" in on_terminal("compare bare.npz rope:dim=64,base=5", 80)
    assert "\x1b[" not in on_terminal("compare bare.npz rope:dim=64,base=5", 80, NO_COLOR="1")


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (float(np.float32(0.99985671043396)), "float32", "0.9998567"),
        (float(np.float16(0.1)), "float16", "0.1"),
        (0.10009765625, "bfloat16", "0.1"),
        (1.0078125, "bfloat16", "1.01"),
        (0.1, "float64", "0.1"),
        (float("nan"), "bfloat16", "nan"),
        (complex(np.float32(0.1), np.float32(-0.2)), "complex64", "0.1 -0.2i"),
    ],
)
def test_values_print_in_the_shortest_form_of_their_own_type(value, dtype, text):
    assert shortest_text(value, dtype) == text


def test_verify_takes_files_and_a_recipe_or_a_config(files, pecli, refuses):
    assert pecli("verify", "pe.h5", "rope.npz").returncode == 0
    assert pecli("verify", "pe.h5", "bare.npz", "rope:dim=64").returncode == 1
    (files / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": 64, "num_attention_heads": 1, "max_position_embeddings": 300,
        "rope_theta": 10000.0,
    }))  # fmt: skip
    assert pecli("verify", "bare.npz", "config.json").stdout.startswith("verified: ")
    refuses("verify", "rope:dim=4", says=["is a recipe"])
    refuses("verify", "bare.npz", says=["holds no recipe", "pecli verify bare.npz RECIPE", "pecli identify bare.npz"])


def test_one_component_is_verified_though_no_recipe_is_of_it_alone(files, pecli):
    with np.load("rope.npz") as rope:
        np.save("values.npy", rope["sin"])
    done = pecli("verify", "values.npy", "rope:dim=64")
    assert (done.returncode, done.stdout.splitlines()[0][:9]) == (0, "verified:")


def test_explain_answers_a_word_and_refuses_one_that_no_answer_has(pecli, refuses):
    whole, part = (pecli("explain", "rope", "--why", *word).stdout for word in ((), ("interleaved",)))
    assert "interleaved" in part.lower()
    assert set(part.splitlines()) < set(whole.splitlines())
    refuses("explain", "rope", "--why", "zebra", says=["zebra occurs in no answer about rope"])
    refuses("explain", "rope", "zebra", says=["zebra occurs in no answer about rope"])
    asked = pecli("explain", "why", "do", "we", "need", "positional", "encodings").stdout
    assert "No: it is equivariant" in asked
    assert pecli("explain", "why do we need positional encodings").stdout == asked


def test_plot_draws_in_the_terminal_without_a_file(pecli, tmp_path):
    assert "Values of sinusoidal" in pecli("plot", "sinusoidal:dim=8,len=8", "--kind", "heatmap").stdout
    done = pecli("plot", "alibi:heads=2,len=8", "-o", "a.html", "--json")
    assert json.loads(done.stdout)["path"] == "a.html"
    assert "<html" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("text", "found"),
    [("1000:1003", [1000, 1001, 1002]), (":3", [0, 1, 2]), ("0:1:0.25", [0, 0.25, 0.5, 0.75]),
     ("5:2:-1", [5, 4, 3]), ("128k,1M", [131072, 1048576]), ("1k:1026", [1024, 1025])],
)  # fmt: skip
def test_positions_are_ranges_and_take_k_and_m(text, found):
    made = Positions.parse(text)
    assert made.numbers(0, made.count).tolist() == found


@pytest.mark.parametrize("text", ["5:5", "3:1", "1:", "1:2:3:4", "1:2:0"])
def test_a_range_without_positions_is_refused(refuses, text):
    refuses("generate", "rope:dim=4", "--positions", text, says=[f"--positions {text}"])


@pytest.mark.parametrize(
    "words", ["generate rope", "generate shaw", "generate sincos2d", "generate sinusoidal --dim 8"]
)
def test_all_that_is_missing_is_named_with_a_line_to_copy(pecli, words):
    done = pecli(*words.split())
    assert done.returncode == 2
    line = done.stderr.partition("for example: pecli ")[2]
    for option in re.findall(r"--[a-z-]+(?= N| HxW)", done.stderr.partition("for example")[0]):
        assert option in line
    assert pecli(*line.split()).returncode == 0, done.stderr


def test_apply_prints_what_it_does_to_a_vector(pecli, tmp_path):
    done = pecli("apply", "rope:dim=4", "--vector", "1,2,-1,1", "--positions", "1,3")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[-2:]]
    for words, position in zip(rows, (1, 3), strict=True):
        turned = [complex(1, 2) * np.exp(1j * position), complex(-1, 1) * np.exp(0.01j * position)]
        assert words[0] == str(position)
        np.testing.assert_allclose([float(w) for w in words[1:]], np.array(turned).view(float), atol=5e-5)
    (tmp_path / "own.csv").write_text("0,1,0,1\n0.5,0.25,2,3\n")
    last = pecli("apply", "own.csv", "--vector", "1,2,-1,1").stdout.splitlines()[-1]
    assert [float(word) for word in last.split()] == [1, 1.5, 2.25, 1, 4]


def test_apply_prints_tensors_by_row_where_no_file_is_named(pecli, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 4), np.float32))
    lines = pecli("apply", "sinusoidal:dim=4", "x.npy", "--start", 5).stdout.splitlines()
    assert [line.split()[0] for line in lines[-3:]] == ["0", "1", "2"]
    assert lines[2] == "x (row by channel)"


def test_compare_says_which_layout_a_recipe_took_from_the_file(pecli):
    pecli("generate", "rope:dim=8,len=9", "--layout", "interleaved", "-q", "-o", "a.npz")
    same, note = pecli("compare", "a.npz", "rope:dim=8").stdout.splitlines()
    assert (same[:5], note.split(":")[0]) == ("same:", "  layout interleaved, taken from the file")
    assert pecli("compare", "a.npz", "rope:dim=8,layout=interleaved").stdout.count("\n") == 1
    half = pecli("compare", "a.npz", "rope:dim=8,layout=half").stdout
    assert half.startswith("different: interleaved columns where half-split ones were expected\n")


def test_a_dry_run_without_a_file_says_what_the_screen_would_show(pecli):
    said = pecli("generate", "sinusoidal:dim=1024,len=524288", "--dry-run").stderr
    assert (
        said
        == "would print some rows of sinusoidal:dim=1024, pe 524288 x 1024 float32, 2.0 GiB; -o FILE writes all of it\n"
    )
