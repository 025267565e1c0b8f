"""How numbers and answers are printed: in full where short, one precision for a column; short answers; help."""

import json
import math
import re
from decimal import Decimal

import numpy as np
import pytest

from pecli import CATALOGUE, PecliError
from pecli.cli.commands import COMMANDS
from pecli.cli.inspect import config_view
from pecli.cli.list import full_view
from pecli.cli.terminal.items import grid, size_text
from pecli.cli.terminal.layout import lines_of
from pecli.formats import FORMATS
from pecli.inspect.configs import report
from pecli.models.reader import read_config
from pecli.numbers.printing import column, figure
from pecli.settings import Settings, using
from tests.support.golden_cases import cases


def test_short_numbers_are_printed_in_full_and_a_column_has_one_precision():
    assert figure(1 / 256) == "0.00390625"
    assert column([-(2.0**-8), 0.0, -0.5]) == ["-0.00390625", "0.00000000", "-0.50000000"]
    assert column([0.0, 3.0, 2.5]) == ["0.0", "3.0", "2.5"]
    assert column([1.0, math.cos(1), "…"]) == ["1.0000", "0.5403", "…"]
    assert column([3, 4096]) == ["3", "4096"]


def test_a_value_is_rounded_and_not_its_shortest_text():
    value = float(np.float32(0.99995))  # 0.99994999170303...: its text 0.99995 would round to 1.0000
    assert Decimal(value) < Decimal("0.99995")
    assert column([value, 0.3]) == ["0.9999", "0.3000"]
    assert column([math.cos(0.01), 0.3]) == ["1.0000", "0.3000"]  # 0.99995000042


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_a_column_prints_is_within_half_a_unit_of_its_last_digit(dtype):
    values = np.random.default_rng(3).standard_normal(500).astype(dtype).astype(np.float64).tolist()
    texts = column(values)
    assert len({len(text.partition(".")[2]) for text in texts if "e" not in text}) == 1
    for value, text in zip(values, texts, strict=True):
        unit = Decimal(1).scaleb(Decimal(text).as_tuple().exponent)
        assert abs(Decimal(text) - Decimal(value)) <= unit / 2


def test_figures_share_their_digits():
    assert column([2000 / 3, 1.0], digits=3) == ["666.67", "1.00"]
    assert column([1.0, math.pi * 1e-9], digits=3) == ["1", "3.14e-09"]
    assert column([-127.75, -1.99609375], digits=4) == ["-127.750", "-1.996"]


def test_noise_and_signs_and_what_is_no_number():
    assert column([6e-17, -1.0], 3, noise=1e-15) == ["0", "-1"]
    assert column([float("-inf"), 0.5, float("nan")]) == ["-inf", "0.5", "nan"]
    assert column([1 / 3 + 2j], 3) == ["0.333+2.000i"]
    assert column([3e-9, 0.123456]) == ["3.00e-09", "0.1235"]


def test_a_precision_that_is_asked_for_holds_everywhere():
    with using(Settings(decimals=6)):
        assert column([1.0, 1 / 3]) == ["1.000000", "0.333333"]
        assert column([1.0, 1 / 3], digits=2) == ["1.000000", "0.333333"]
        assert (figure(1 / 3, 2), figure(0.5)) == ("0.333333", "0.5")


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("generate rope --dim 4 --len 2", "0.5403023"),
        ("inspect rope:dim=4,len=2", "0.8414710"),
        ("inspect rope:dim=4 --steps", "0.5403023"),
        ("inspect yarn --steps", ""),
        ("inspect t5:heads=2 --steps", "0.0000000"),
        ("apply rope:dim=2 --vector 1,0 --positions 1 --pairs half --steps", "0.5403023"),
        ("compare rope:dim=2,len=2 rope:dim=2,len=2,start=1 --values --all", "0.8414710"),
        ("extrapolate rope:dim=4 --train-len 16 --test-len 32 --all", "6.2831853"),
    ],
)
def test_every_command_prints_so_many_decimals(pecli, words, printed):
    if words.startswith("inspect yarn"):
        words, printed = "inspect rope:dim=8,scaling=yarn,factor=4,original-max=64 --steps", "1.1386294"
    done = pecli(*words.split(), "--precision", 7)
    assert done.returncode in (0, 1), done.stderr
    assert printed in done.stdout


def test_sizes_are_in_binary_units():
    assert [size_text(n) for n in (1023, 1 << 20, 3 << 29)] == ["1023 B", "1.0 MiB", "1.5 GiB"]


def test_cells_are_aligned_and_columns_that_do_not_fit_are_blocks():
    table = grid([("name", "left"), ("one", 3), ("two", 3)], [["a", 0.25, 100.0], ["long-name", 1 / 3, 2.0]])
    assert lines_of(table, 80) == [
        "name         one  two", "---------  -----  ---", "a          0.250  100", "long-name  0.333    2",
    ]  # fmt: skip
    assert lines_of(table, 16) == ["name a", "  one  0.250", "  two  100", "name long-name", "  one  0.333", "  two  2"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_encoding_is_listed_in_forty_lines(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text, whole = listed(name), listed(name, everything=True)
    assert len(text.splitlines()) <= 40
    assert text.index("\nFormula\n") < text.index("\nsource ") < text.index("\nexample ")
    for parameter in CATALOGUE[name].options:
        assert f"--{parameter.option}" in text
        assert f"--{parameter.option}" in whole


@pytest.mark.parametrize(
    ("name", "reason"), [("learned", "its values are random"), ("rope", "scaling=longrope, its list")]
)
def test_a_listing_says_why_values_are_not_recognised(name, reason):
    assert f"not recognised {reason}" in " ".join(listed(name).split())
    assert "not recognised" not in listed("sinusoidal")


def listed(name, **more):
    return "\n".join(line for item in full_view(CATALOGUE[name], **more) for line in lines_of(item, 80))


def test_inspect_answers_in_a_dozen_lines(pecli, tmp_path):
    for number, (name, encoding) in enumerate(CATALOGUE.items()):
        if number % 4 == 0 or name in ("decomposed", "t5", "mrope"):
            shown = pecli("inspect", encoding.example, env={"COLUMNS": "80"}).stdout
            assert shown.startswith(encoding.example)
            assert 4 <= len(shown.splitlines()) <= 12, name
    np.savez(tmp_path / "many.npz", **{f"array{k}": np.ones((3, 4)) * k for k in range(40)})
    shown = pecli("inspect", "many.npz", env={"COLUMNS": "80"}).stdout
    assert len(shown.splitlines()) <= 12
    assert "and 37 more" in shown
    assert "array39" in pecli("inspect", "many.npz", "--all").stdout


def test_a_config_is_explained_in_thirty_lines(tmp_path):
    path = tmp_path / "config.json"
    configs = [case["config"] for case in cases("configs").values() if case.get("config")]
    seen = 0
    for config in configs[::12]:
        path.write_text(json.dumps(config))
        try:
            found = report(read_config(str(path)))
        except PecliError:
            continue
        seen += 1
        assert sum(len(lines_of(item, 80)) for item in config_view(found)) <= 30
    assert seen > 12


def test_heads_count_from_0_and_a_formula_says_so(pecli):
    shown = pecli("generate", "alibi", "--heads", 2, "--len", 3).stdout
    assert "head 0 of 2" in shown
    assert "head 2" not in shown
    found = json.loads(pecli("extrapolate", "alibi:heads=2", "--train-len", 8, "--test-len", 16, "--json").stdout)
    assert [head["head"] for head in found["reports"][0]["bias"]["heads"]] == [0, 1]
    for encoding in CATALOGUE.values():  # one that counts from 1 says what it counts
        text = " ".join(encoding.formula)
        assert "h = 1 .. " not in re.sub(r"h = head \+ 1 = 1 \.\. ", "", text)


def test_nothing_is_said_beside_a_table_on_standard_output(pecli, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "max_position_embeddings": 32,
        "rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0, "unheard": 1},
    }))  # fmt: skip
    for words in (
        "generate sinusoidal --dim 4 --len 2 -o - --format csv", "generate sinusoidal --dim 4 --len 2 --format csv",
        "generate config.json -o - --format csv", "convert sinusoidal:dim=4,len=2 -o - --format csv",
        "extrapolate alibi:heads=2 --train-len 2 --test-len 4 -o - --format csv",
    ):  # fmt: skip
        done = pecli(*words.split())
        assert (done.returncode, done.stderr) == (0, ""), words
        assert done.stdout


@pytest.mark.parametrize(
    "words", ["inspect rope:dim=4", "list rope", "compare rope alibi", "generate rope:dim=4,len=2"]
)
def test_quiet_leaves_the_answer(pecli, words):
    assert pecli(*words.split(), "-q").stdout == pecli(*words.split()).stdout != ""


def test_a_length_that_nobody_gave_is_no_mistake(pecli, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((5, 3), np.float32))
    recipe = "conditional:content=x.npy,dim=4"
    for words in (["inspect", recipe], ["inspect", recipe, "--steps"], ["compare", recipe, "rope:dim=4"]):
        done = pecli(*words)
        assert (done.returncode, done.stderr) == (0, "")
    assert "pe 5 x 4" in pecli("inspect", recipe).stdout


def test_help_alone_answers_four_questions(pecli, tmp_path):
    shown = pecli("--help").stdout
    formats = re.search(r"Files are (.*?)\.", " ".join(shown.split()))[1].replace(" or ", ", ").lower()
    assert formats.split(", ") == list(FORMATS)  # which file formats?
    examples = [line.split()[1:] for line in shown.split("Examples:\n")[1].splitlines()]
    llama, cache, worked = (next(e for e in examples if word in e) for word in ("llama.npz", "cache.npy", "explain"))
    (tmp_path / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": 512, "num_attention_heads": 4, "max_position_embeddings": 32,
        "rope_theta": 500000.0,
    }))  # fmt: skip
    made = pecli(*llama)  # how do I get Llama's table?
    assert (made.returncode, made.stderr.startswith("wrote llama.npz: rope:dim=128,base=500000")) == (0, True)
    with np.load(tmp_path / "llama.npz") as table:
        np.save(tmp_path / "cache.npy", np.stack([table["cos"], table["sin"]]))
    checked = pecli(*cache)  # how do I check my cache?
    assert (checked.returncode, "same: " in checked.stdout) == (0, True)
    assert "worked through" in pecli(*worked).stdout  # how do I see a worked example?


def test_the_options_of_a_scaling_stand_together(pecli):
    shown = pecli("generate", "rope", "--help-all").stdout
    parts = {part.split(":\n")[0]: part for part in re.split(r"\n\n(?=\S)", shown)}
    assert "--mscale-all-dim" in parts["With --scaling yarn"]
    assert "--long-factor" in parts["With --scaling longrope"]
    assert "--high-freq-factor" in parts["With --scaling llama3"]
    assert "--factor" in parts["With --scaling of several kinds"]
    assert "--base" in parts["Parameters"]
    assert "--threads" in parts["Output"]
    for parameter in CATALOGUE["rope"].options:
        assert len(re.findall(rf"^  --{parameter.option}(?![\w-])", shown, re.MULTILINE)) == 1


@pytest.mark.parametrize("name", ["", *COMMANDS, *(f"generate {name}" for name in CATALOGUE)])
@pytest.mark.sample(6)
def test_a_help_has_sixteen_lines_of_options_and_says_where_the_others_are(pecli, name):
    """Of options that depend on a choice it says how to see them."""
    words = name.split()
    short, whole = pecli(*words, "--help").stdout, pecli(*words, "--help-all").stdout
    if name not in ("", "generate"):
        options = short.partition("\nOptions:\n")[2].partition("\n\n")[0]
        assert 0 < len(options.splitlines()) <= 16
        named, listed = (set(re.findall(r"^  (?:-\w, )?--([\w-]+)", t, re.MULTILINE)) for t in (options, whole))
        left = len(listed - named - {"help", "help-all"})
        assert (f"\n{left} more options: pecli {name} --help-all\n" in short[-80:]) == bool(left)
        assert named <= listed
    assert (
        max(len(line) for line in short.splitlines() if not line.startswith("  pecli ")) <= 80
    )  # a line to copy is one


def test_the_options_of_a_choice_are_shown_where_it_is_typed(pecli):
    assert "Options of yarn: --scaling yarn --help." in " ".join(pecli("generate", "rope", "--help").stdout.split())
    for words in ("rope --scaling yarn", "rope --scaling=yarn", "rope:dim=4,scaling=yarn"):
        shown = pecli("generate", *words.split(), "--help").stdout
        own = shown.partition("With --scaling yarn:\n")[2].partition("\n\n")[0]
        names = re.findall("^  --([a-z-]+)", own, re.MULTILINE)
        assert {"factor", "original-max", "beta-fast", "truncate", "mscale"} < set(names)
        assert not {"base", "len", "long-factor", "alpha"} & set(names)


@pytest.mark.parametrize("words", ["", *(f"{name} " for name in ("generate", "inspect", "list")), "generate rope "])
def test_rich_help_names_every_option_whole_on_a_terminal(pecli, words):
    plain = pecli(*f"{words}--help-all".split()).stdout
    rich = pecli(*f"{words}--help-all".split(), env={"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}).stdout
    text = re.sub(r"\x1b\[[0-9;]*m", "", rich)
    assert "╭" in text
    for option in set(re.findall(r"(?<= )--[a-z0-9-]+", plain)):
        assert option in text
