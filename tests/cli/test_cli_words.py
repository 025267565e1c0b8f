"""Words that users type: help, versions, recipes and configs where a name stands; and no option without effect."""

import json
import re
import shlex

import numpy as np
import pytest

from pecli.cli.commands import COMMANDS
from pecli.errors import BadParameter, BadRecipe, UnknownName
from pecli.formats import FORMATS
from pecli.numbers.decimals import parse_number
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import Family
from pecli.spec.recipe import Recipe
from pecli.tables.sources import read_source
from pecli.tables.table import Table

LLAMA = {
    "model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "max_position_embeddings": 32,
    "rope_theta": 500000.0,
}  # fmt: skip


@pytest.fixture
def config(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))


@pytest.fixture
def saved(pecli, tmp_path):
    assert pecli("generate", "sinusoidal", "--dim", 4, "--len", 6, "-q", "-o", "a.npy").returncode == 0


def test_a_short_v_prints_the_version(pecli):
    assert pecli("-V").stdout == pecli("--version").stdout != ""


@pytest.mark.parametrize("words", [["list"], ["generate"], ["generate", "alibi"], []], ids=" ".join)
def test_help_is_a_word_too(pecli, words):
    assert pecli("help", *words).stdout == pecli(*words, "--help").stdout


def test_the_first_help_answers_what_is_asked_first(pecli, config, saved):
    """Which file formats, how to check my cache, how to get Llama's table, how to see a worked example."""
    shown = " ".join(pecli("--help").stdout.split())
    assert all(form.removesuffix("5") in shown.lower() for form in FORMATS)
    examples = re.findall(
        r"pecli (?:generate|compare|identify|explain) [^ ]+(?: -[^ ]+(?: [^- ][^ ]*)?| [^ ]+\.json)*", shown
    )
    for asked in (
        "generate config.json -o llama.npz",
        "compare cache.npy config.json",
        "identify cache.npy",
        "explain rope:dim=4",
    ):
        assert f"pecli {asked}" in examples
        if asked.startswith("compare"):
            assert pecli("generate", "config.json", "-q", "-o", "cache.npy").returncode == 0
        assert pecli(*asked.split()).returncode == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_of_the_command(pecli, name):
    for asked in ("--help", "--help-all"):
        ending = pecli(name, asked).stdout.split("Examples:\n")[1].split("\n\n")[0]
        lines = [line.strip() for line in ending.splitlines()]
        assert 2 <= len(lines) <= 3
        assert all(line.startswith(f"pecli {name}") for line in lines)


def test_the_help_of_an_encoding_ends_with_examples_that_run(pecli):
    for words in (["rope"], ["rope", "--scaling", "yarn"]):
        for line in re.findall("^  (pecli .*)", pecli("generate", *words, "--help").stdout, re.MULTILINE):
            assert pecli(*shlex.split(line)[1:]).returncode == 0, line


def test_options_of_an_encoding_are_put_into_its_recipe(pecli):
    for words, recipe in (
        ("explain sinusoidal --dim 4", "explain sinusoidal:dim=4"),
        ("inspect rope:base=500 --dim=64 --len 9 --get recipe", "inspect rope:base=500,dim=64 --len 9 --get recipe"),
    ):
        assert pecli(*words.split()).stdout == pecli(*recipe.split()).stdout


def test_a_config_is_a_source_whatever_it_is_called(pecli, saved):
    assert pecli("compare", "a.npy", "--config", "b.npy").stderr == pecli("compare", "a.npy", "b.npy").stderr


def test_a_bias_without_a_length_prints_its_slopes(pecli):
    done = pecli("generate", "alibi", "--heads", 4)
    assert done.stdout == pecli("generate", "alibi", "--heads", 4, "--form", "slopes").stdout
    assert "--len N prints the biases" in done.stderr
    assert pecli("generate", "alibi", "--heads", 4, "-o", "a.npy").returncode == 2


def test_rows_of_a_file_are_kept_by_their_number(pecli):
    pecli("generate", "sinusoidal", "--dim", 4, "--len", 20, "-o", "pe.npy")
    assert pecli("convert", "pe.npy", "--start", 5, "--len", 3, "-o", "part.npy").returncode == 0
    assert pecli("compare", "part.npy", "sinusoidal:dim=4,len=3,start=5").returncode == 0
    assert pecli("inspect", "pe.npy", "--start", 5, "--len", 3, "--get", "shape").stdout == "3x4\n"


def test_list_takes_a_task(pecli):
    assert pecli("list", "long-context").stdout == pecli("list", "--choose", "long-context").stdout


def test_usage_says_encoding(pecli):
    assert pecli("generate", "--help").stdout.startswith("Usage: pecli generate ENCODING [OPTIONS]...\n")


def test_the_script_of_completion_is_for_the_shell_that_is_named(pecli):
    scripts = [pecli("--show-completion", shell).stdout for shell in ("bash", "zsh", "fish")]
    assert "complete -o" in scripts[0]
    assert "#compdef pecli" in scripts[1]
    assert "complete --command pecli" in scripts[2]
    wrong = pecli("--show-completion", "tcsh")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "unknown shell 'tcsh'" in wrong.stderr


@pytest.mark.parametrize("encoding", {e.family: e for e in CATALOGUE.values()}.values(), ids=lambda e: e.name)
def test_generate_takes_a_recipe_as_it_takes_a_name(pecli, encoding):
    shown = pecli("generate", encoding.example, "--help")
    assert shown.stdout.splitlines()[1:-1] == pecli("generate", encoding.name, "--help").stdout.splitlines()[1:-1]


def test_a_recipe_gives_what_the_options_leave_out(pecli, tmp_path):
    by_recipe = ("generate", "rope:dim=8,base=500,len=9,start=2,dtype=float64", "-q", "-o")
    by_options = ("generate", "rope", "--dim", 8, "--base", 500, "--start", 2, "--dtype", "float64", "-q", "-o")
    assert pecli(*by_recipe, "a.npy").returncode == 0
    assert pecli(*by_options, "b.npy", "--len", 9).returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))
    assert pecli(*by_recipe, "c.npy", "--len", 5, "--base", 10000).returncode == 0
    assert pecli(*by_options[:4], *by_options[6:], "d.npy", "--len", 5).returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), np.load(tmp_path / "d.npy"))
    listed = pecli("generate", "rope:dim=8,len=9,start=2", "--positions", "1,2.5", "--json")
    assert json.loads(listed.stdout)["arrays"][0]["rows"] == ["1.0", "2.5"]


def test_generate_takes_a_config_as_it_takes_a_name(pecli, config):
    one = json.loads(pecli("generate", "config.json", "--json").stdout)
    assert one == json.loads(pecli("generate", "rope", "--config", "config.json", "--json").stdout)
    assert one["recipe"].startswith("rope:dim=8,base=500000,")
    assert json.loads(pecli("generate", "rope:config=config.json", "--json").stdout) == one


def test_a_misspelt_recipe_suggests_the_encoding_that_was_meant(pecli):
    done = pecli("generate", "ropee:dim=4")
    assert (done.returncode, done.stderr) == (2, "pecli: unknown encoding 'ropee': did you mean 'rope'?\n")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("inspect a.npy --verify --properties", "verify has no option --properties: it is an option of pecli inspect"),
        ("inspect a.npy --frequencies --properties", "--properties is another answer than --frequencies"),
        ("identify a.npy --rows 3", "identify has no option --rows"),
        ("inspect a.npy --json --precision 3", "--precision 3 is for the screen"),
        ("inspect a.npy --rows x --json", "--rows x must be a whole number"),
        ("inspect rope:dim=4 --steps --dtype float16", "--dtype float16 has no effect on a worked example"),
        ("explain rope --why --code torch", "--why is another answer than --code"),
        ("inspect parts --verify --stack vllm", "--stack vllm is not for a folder of parts"),
        ("compare rope alibi --atol 1", "--atol 1 is for values"),
        ("compare config.json --stacks --ulp 1", "--ulp 1 has no effect with --stacks"),
        ("compare a.npy sinusoidal:dim=4 --layer-type x", "--layer-type x is for a model's config"),
        ("extrapolate a.npy --test-len 9 --extend tile --threshold 0.1", "--threshold 0.1 is for reports"),
        ("extrapolate rope:dim=4 --train-len 9 --test-len 20 --threshold 0.1", "--threshold 0.1 is for biases"),
        ("extrapolate a.npy --test-len 9 --extend tile --antialias -o b.npy", "--antialias is for linear and cubic"),
    ],
)
def test_no_option_is_taken_and_ignored(pecli, saved, config, tmp_path, words, part):
    (tmp_path / "parts").mkdir()
    done = pecli(*words.split())
    assert done.returncode == 2
    assert part in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("generate sinusoidal --dim 5 --len 4", "--dim 5 must be even: use 4 or 6, or --odd truncate, pad or round-up"),
        ("generate sinusoidal --dim 4", "sinusoidal needs a length: give --len N, or --positions"),
        ("generate rope:dim=4", "rope needs a length: give --len N, or --positions"),
        ("generate rope:dim=1,len=3", "dim=1 must be even: use 2, or rotary-dim=1 for one pair"),
        ("generate rope:dim=4,len=x", "len=x must be a whole number"),
        (
            "generate rope --dim 4 --len 3 --scaling ntk",
            "--scaling ntk needs --factor; for example: pecli generate rope --dim 4 --scaling ntk --factor 4 --len 3",
        ),
        ("generate rope --d-model 64 --len 3", "--d-model 64 is the width of the model: give --head-dim, that width"),
        ("generate t5 --heads 2 --mask causal --len 3", "--bidirectional keeps half of the buckets: use --causal"),
        ("inspect sinusoidal", "sinusoidal needs dim=N (width"),
        ("inspect rope:dim=4 --len x", "--len x must be a whole number"),
        ("inspect rope:dim=4,len=x", "len=x must be a whole number"),
        ("inspect a.npy --steps", "a.npy is a file, and explain works through a recipe"),
        ("inspect rope:dim=4 --verify", "rope:dim=4 is a recipe: verify is for files"),
        ("apply rope a.npy a.npy --pairs half -o b.npy", "two inputs are named a"),
        ("generate rope --dim 8 --positions 5-7", "--positions 5-7 is no range: write 5:8, which ends before"),
        ("extrapolate rope:dim=8", "how long it was trained: give --train-len 4096 and --test-len 32768"),
        ("extrapolate rope:dim=8 --train-len 1k", "give --test-len 4096"),
    ],
)
def test_errors_speak_the_syntax_of_the_command_that_was_typed(pecli, saved, words, said):
    done = pecli(*words.split())
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("generate sinusoidal --dmodel 4", "did you mean --dim?"),
        ("generate sincos2d --arithmetic float32", "--arithmetic: it is for rotary tables, and sincos2d is absolute"),
        ("generate sinusoidal --heads 4", "--heads: it belongs to retnet, alibi"),
        ("generate rope --rope-scalign yarn", "did you mean --scaling?"),
        ("generate rope --dim 4 --len 2 --layout neox", "did you mean 'half'?"),
        ("generate rope dim=4", "does not take dim=4: write --dim 4"),
        ("generate a.npy", "is a table already"),
        ("generate missing.npy", "missing.npy: does not exist"),
        ("generate rope --dim 4 --len 2 --scaling ntk-aware", "did you mean 'ntk'?"),
        ("list --encoding rope", "pecli list --help-all lists its options"),
        ("generate yarn", "did you mean 'rope:scaling=yarn'?"),
        ("generate gpt2", "did you mean learned, as BERT"),
        ("generate bias", "one of its family, alibi, "),
        ("inspect", "inspect needs SOURCE, as in pecli inspect pe.h5"),
        ("inspect a.npy --start", "--start needs a value"),
        ("compare a.npy --identify", "--identify: pecli identify does that"),
        ("explain rope --code", "--code needs a value: numpy, torch, keras"),
        ("generate rope --dim", "--dim needs a value N: Width of one attention head (from 1 to"),
        (
            "plot rope:dim=8 --frequencies -o f.svg",
            "plot has no option --frequencies: it is an option of pecli inspect",
        ),
        ("convert a.npy --resize 4x4", "convert has no option --resize: it is --to-grid of pecli extrapolate"),
        ("convert a.npy ./a.npy a.npy", "it takes one source: for f in "),
        ("identify a.npy a.npy", 'for f in *.npy; do pecli identify "$f"; done'),
        ("plot a.npy ./a.npy -o b.png", "pecli compare a.npy ./a.npy --plot FILE draws their difference"),
        ("plot a.npy sinusoidal:dim=4", "pecli compare a.npy sinusoidal:dim=4 --plot FILE draws their difference"),
        ("generate rope --dim 8 --no-header", "--format csv | tail -n +2 leaves the line of names out"),
        ("plot rope:dim=8 --scaling", "plot has no option --scaling: it is an option of pecli extrapolate"),
        ("generate sinusoidal --fp16", "did you mean --dtype fp16?"),
        ("generate position-interpolation", "did you mean 'rope:scaling=linear'?"),
        ("inspect sinusoidal:dim=4,foo=3", "odd, pad-row, len, start, step, positions, dtype"),
        ("explain foo", "unknown encoding 'foo'"),
        ("diff a b", "did you mean pecli compare?"),
        ("rope --dim 4", "did you mean pecli generate rope, or pecli list rope?"),
        ("list --zzz", "list has no option --zzz: pecli list --help-all lists its options"),
    ],
)
def test_suggestions_go_by_meaning_and_never_name_what_help_hides(pecli, saved, words, said):
    done = pecli(*words.split())
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("generate alibi:heads=2 --num-positions 4 --output-format=csv", "generate alibi:heads=2,len=4 --format csv"),
        ("generate rope --dim 4 --seq-len 3", "generate rope:dim=4,len=3"),
        ("compare a.npy --to a.npy --tol 1e-3", "compare a.npy a.npy --atol 1e-3"),
        ("convert a.npy a.csv", "convert a.npy -o a.csv"),
        ("plot sinusoidal a.html", "plot sinusoidal -o a.html"),
    ],
)  # fmt: skip
def test_words_of_other_programs_are_taken(pecli, saved, typed, meant):
    first, second = pecli(*typed.split()), pecli(*meant.split())
    assert (first.returncode, first.stdout) == (second.returncode, second.stdout) == (0, first.stdout)


def test_a_second_file_is_written_and_none_is_replaced_but_by_convert(pecli, saved, tmp_path):
    before = (tmp_path / "a.npy").read_bytes()
    assert pecli("generate", "sinusoidal", "a.npy", "--dim", 8, "--len", 8).returncode == 2
    assert (tmp_path / "a.npy").read_bytes() == before
    assert pecli("convert", "sinusoidal:dim=8,len=8", "a.npy").returncode == 0
    assert np.load(tmp_path / "a.npy").shape == (8, 8)


def test_of_two_files_of_one_format_none_is_replaced(pecli, saved, tmp_path):
    (tmp_path / "b.npy").write_bytes(before := (tmp_path / "a.npy").read_bytes())
    done = pecli("convert", "a.npy", "b.npy", "--dtype", "float16")
    assert done.returncode == 2
    assert 'for f in *.npy; do pecli convert "$f" -o "${f%.*}.h5"; done' in done.stderr
    assert (tmp_path / "b.npy").read_bytes() == before


def test_inputs_give_the_width_that_a_recipe_leaves_out(pecli, saved):
    assert pecli("apply", "rope", "a.npy", "--pairs", "half", "-o", "b.npy").returncode == 0
    assert pecli("apply", "rope:dim=4", "a.npy", "--pairs", "half", "-o", "c.npy").returncode == 0
    assert pecli("compare", "b.npy", "c.npy", "-q").returncode == 0
    words = ("--vector", "1,2,3,4", "--positions", 3)
    assert pecli("apply", "rope", *words).stdout == pecli("apply", "rope:dim=4", *words).stdout != ""
    assert pecli("apply", "sinusoidal", *words, "--steps").returncode == 0


def test_a_scaling_that_is_added_to_a_config_extends_its_length(pecli, config):
    for scaling in ("yarn", "dynamic", "linear"):
        done = pecli("generate", "config.json", "--scaling", scaling, "--factor", 4, "--dry-run")
        assert "cos 128 x 4 float32" in done.stderr
        assert ("original-max=32" in done.stderr) == (scaling == "yarn")
    lacks = pecli("generate", "config.json", "--scaling", "llama3")
    assert lacks.stderr.endswith("for example: pecli generate config.json --scaling llama3 --factor 4\n")


def test_configs_whose_tables_are_equal_may_be_of_models_that_differ(pecli, config, tmp_path):
    joint = {"model_type": "gptj", "n_embd": 64, "n_head": 8, "rotary_dim": 8, "n_positions": 16}
    (tmp_path / "gptj.json").write_text(json.dumps(joint))
    (tmp_path / "llama.json").write_text(json.dumps({**LLAMA, "rope_theta": 10000.0}))
    done = pecli("compare", "gptj.json", "llama.json")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == [
        "  the models differ: 16 positions in gptj.json, 32 in llama.json",
        "  the models differ: adjacent pairs in gptj.json, half in llama.json",
    ]
    assert len(json.loads(pecli("compare", "gptj.json", "llama.json", "--json").stdout)["models"]) == 2
    assert "models" not in pecli("compare", "llama.json", "llama.json").stdout


def test_values_printed_with_few_digits_are_called_so(pecli, tmp_path):
    p, w = np.arange(20)[:, None], 10000.0 ** (-np.arange(4) / 4)
    pe = np.stack([np.sin(p * w), np.cos(p * w)], axis=-1).reshape(20, 8)
    np.savetxt(tmp_path / "pe.csv", pe, delimiter=",", fmt="%.8g")
    done = pecli("compare", "pe.csv", "sinusoidal:dim=8")
    assert done.stdout.startswith("different, but harmless: rounding to 8 significant digits, at most 5.0e-09;")


@pytest.mark.parametrize(("dtype", "want"), [("f2", "-0.99"), ("f4", "-0.9899925"), ("f8", "-0.9899924966004454")])
def test_a_value_that_does_not_fit_is_printed_in_its_own_type(pecli, tmp_path, dtype, want):
    p, w = np.arange(20)[:, None], 10000.0 ** (-np.arange(4) / 4)
    pe = np.stack([np.sin(p * w), np.cos(p * w)], axis=-1).reshape(20, 8).astype(dtype)
    pe[3, 1] = 0.3
    np.save(tmp_path / "pe.npy", pe)
    assert f"array[3, 1] is 0.3, expected {want}\n" in pecli("identify", "pe.npy").stdout


def test_a_config_is_inspected_as_a_table_where_a_table_is_asked_for(pecli, config):
    done = pecli("inspect", "config.json", "--len", 5, "--precision", 2)
    assert "cos 5 x 4 float32" in done.stdout


def test_no_clobber_is_for_pictures_too(pecli, tmp_path):
    (tmp_path / "reach.svg").write_text("mine")
    done = pecli("extrapolate", "rope:dim=4", "--train-len", 9, "--test-len", 20, "--plot", "reach.svg", "--no-clobber")
    assert done.returncode == 2
    assert (tmp_path / "reach.svg").read_text() == "mine"


@pytest.mark.parametrize(
    "words", ["inspect a.npy", "inspect rope:dim=4 --steps", "inspect a.npy --identify", "list rope",
              "extrapolate rope:dim=4 --train-len 9 --test-len 20"],
)  # fmt: skip
def test_quiet_leaves_the_answer(pecli, saved, words):
    loud = pecli(*words.split())
    assert loud.stdout
    if not words.startswith("list"):
        assert pecli(*words.split(), "-q").stdout == loud.stdout


@pytest.mark.parametrize(
    ("typed", "offered", "rest"),
    [
        ("inspect rope:di", ["rope:dim="], ["dim="]),
        ("inspect rope:dim=4,scaling=ya", ["rope:dim=4,scaling=yarn"], ["yarn"]),
        ("compare a.npy sinusoi", ["sinusoidal"], ["sinusoidal"]),
        ("inspect a.n", ["a.npy"], ["a.npy"]),
        ("inspect a.npy::", ["a.npy::array"], ["array"]),
        ("inspect a.npy::zz", [], []),
        ("convert a.npy --layout=com", ["complex"], ["complex"]),
    ],
)
def test_sources_complete_to_files_arrays_keys_and_choices(pecli, saved, typed, offered, rest):
    fish = {"_PECLI_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert pecli(env={**fish, "_TYPER_COMPLETE_ARGS": f"pecli {typed}"}).stdout.split() == offered
    broken = ["pecli", *re.findall(r"[:=]+|[^:=\s]+", typed)]  # bash makes words of colons and equals signs
    bash = {"_PECLI_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(broken), "COMP_CWORD": str(len(broken) - 1)}
    assert pecli(env=bash).stdout.split() == rest


# The words that people type: other names of parameters, types, counts and encodings, and what is refused.


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("rope:head-dim=8,theta=500000", "rope:dim=8,base=500000"),
        ("rope:head_dim=8,rope-theta=500000", "rope:dim=8,base=500000"),
        ("RoPE:dim=8", "rope:dim=8"),
        ("rope:dim=8,scaling=YaRN,factor=2,original-max=9", "rope:dim=8,scaling=yarn,factor=2,original-max=9"),
        ("rotary:dim=8", "rope:dim=8"),
        ("sine:d-model=8", "sinusoidal:dim=8"),
        ("Sinusoidal:hidden-size=8,theta=99", "sinusoidal:dim=8,base=99"),
        ("xpos:head-dim=8", "xpos:dim=8"),
        ("shaw:head-dim=8,clip=2", "shaw:dim=8,clip=2"),
        ("alibi:n-heads=4", "alibi:heads=4"),
        ("t5:num-heads=4,num-buckets=8", "t5:heads=4,buckets=8"),
        ("learned:dim=8,n-positions=2k", "learned:dim=8,max-len=2048"),
        ("detr:dim=8,grid=2x2,base=20", "detr:dim=8,grid=2x2,temperature=20"),
        (
            "rope:dim=8,rope-type=yarn,factor=4,original-max-position-embeddings=4k",
            "rope:dim=8,scaling=yarn,factor=4,original-max=4096",
        ),
    ],
)
def test_other_words_mean_the_same_recipe(typed, meant):
    assert Recipe.parse(typed) == Recipe.parse(meant)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("rope:d-model=512", "d-model=512 .*give head-dim=, that width over the number of heads"),
        ("rope:hidden-size=512", "give head-dim="),
        ("rope:n-heads=8", "give head-dim=, the model's width over that number"),
        ("shaw:d-model=8,clip=2", "give head-dim="),
        ("sinusoidal:head-dim=64", "give dim=, the model's width"),
        ("rope:dim=8,theta=x", "theta=x must be a finite number"),
        ("rope:dim=8,head-dim=8", "says again what dim= says"),
        ("rope:dim=8,base=500k", "base=500k may mean 500000 or 512000: write it out"),
        ("rope:dim=8,base=1M", "base=1M may mean 1000000 or 1048576: write it out"),
    ],
)
def test_words_that_mean_something_else_are_refused_with_the_right_one(typed, words):
    with pytest.raises(BadParameter, match=words):
        Recipe.parse(typed)


def test_a_parameter_wins_over_another_word_for_it():
    for encoding in CATALOGUE.values():
        own = {parameter.option for parameter in encoding.options}
        assert own.isdisjoint(encoding.other_words)


def test_every_width_knows_whose_it_is():
    for encoding in CATALOGUE.values():
        width = next((p for p in encoding.options if p.option == "dim"), None)
        if width is not None and encoding.name in ("rope", "rope2d", "xpos", "retnet"):
            assert (encoding.family, width.param.names) == (Family.ROTARY, ("head-dim",))
        if encoding.name in ("sinusoidal", "learned", "sincos2d"):
            assert "d-model" in width.param.names


@pytest.mark.parametrize(
    ("word", "dtype"),
    [("fp16", "float16"), ("half", "float16"), ("bf16", "bfloat16"), ("float", "float32"), ("double", "float64")],
)
def test_types_by_other_names(word, dtype):
    assert Table.parse(f"sinusoidal:dim=4,len=2,dtype={word}").arrays[0].dtype == dtype
    if dtype in ("float32", "bfloat16"):
        assert f"arithmetic={dtype}" in str(Table.parse(f"rope:dim=4,len=2,arithmetic={word}").recipe)


def test_counts_of_positions_take_k_and_m():
    assert Table.parse("sinusoidal:dim=4,len=128k").rows == 131072
    assert Table.parse("sinusoidal:dim=4", length="1M").rows == 1 << 20
    assert Table.parse("sinusoidal:dim=4,start=1M,len=2").position(0, 1)[0] == 1 << 20
    with pytest.raises(BadParameter, match="base=500k may mean 500000 or 512000: write it out"):
        parse_number("base", "500k")


def test_a_recipe_of_no_encoding_is_no_file():
    with pytest.raises(UnknownName, match="unknown encoding 'ropee': did you mean 'rope'"):
        read_source("ropee:dim=4")


def test_slopes_need_no_length():
    assert Table.parse("alibi:heads=8,form=slopes").read("slopes").tolist() == [2.0**-h for h in range(1, 9)]
    with pytest.raises(BadRecipe, match="needs a length"):
        Table.parse("alibi:heads=8")


def test_options_of_other_names_and_an_example_without_parameters(pecli):
    assert "rope:dim=8,base=500000" in pecli("generate", "rope", "--head-dim", 8, "--theta", 500000, "--len", 2).stdout
    refused = pecli("generate", "rope", "--d-model", 512, "--len", 2)
    assert (refused.returncode, "give --head-dim" in refused.stderr) == (2, True)
    assert "--d-model" not in pecli("generate", "rope", "--help-all").stdout
    for name in ("sinusoidal", "conditional"):
        done = pecli("inspect", name, "--steps")
        assert (done.returncode, "worked through" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("sinusoidal 8 4", "sinusoidal --len 8 --dim 4"),
        ("sinusoidal 8 --dim 4", "sinusoidal --dim 4 --len 8"),
        ("rope --dim 4 --scaling yarn --len 3", "rope --dim 4 --scaling yarn --factor 4 --original-max 4096 --len 3"),
        ("rope --dim 4 --scaling yarn", "rope --dim 4 --scaling yarn --factor 4 --original-max 4096 --len 2048"),
    ],
)
def test_a_wrong_line_is_answered_with_one_that_runs(pecli, refuses, config, words, line):
    refuses("generate", *words.split(), says=f"pecli generate {line}")
    assert pecli("generate", *line.split()).returncode == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--config config.json --len 3", "config.json --len 3"),
        ("--model=config.json --len 3", "config.json --len 3"),
        ("--len 3 --dim 4 sinusoidal", "sinusoidal --len 3 --dim 4"),
        ("--dim 8 rope:base=500 --len 3", "rope:base=500 --dim 8 --len 3"),
    ],
)
def test_options_may_stand_before_the_encoding(pecli, config, words, line):
    assert pecli("generate", *words.split()).stdout == pecli("generate", *line.split()).stdout != ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("generate rope --dim 8 --len 4 --scaling pi", "did you mean 'linear'?"),
        ("generate rope:dim=8,len=4,scaling=position-interpolation", "did you mean 'linear'?"),
        ("generate rope --dim 8 --len 4 --interpolation 4", "did you mean --scaling linear?"),
        ("extrapolate rope:dim=8 --train-len 8 --test-len 16 --scaling interpolation", "did you mean 'linear'?"),
        ("generate alibi --heads 8 --slopes", "--slopes needs a value: did you mean --form slopes?"),
        ("generate rope --dim 8 --len 4 --half", "did you mean --layout half?"),
        ("slopes 8", "did you mean pecli generate alibi --heads 8 --form slopes?"),
    ],
)
def test_other_names_of_a_choice_lead_to_it(refuses, words, says):
    refuses(*words.split(), says=says)


@pytest.mark.parametrize("words", ["learned:max-len=6,dim=4", "learned --max-len 6 --dim 4"])
def test_trained_rows_are_as_many_as_their_parameter_says(pecli, tmp_path, words):
    assert pecli("generate", *words.split(), "-o", "a.npy").returncode == 0
    assert np.load(tmp_path / "a.npy").shape == (6, 4)


def test_files_that_are_joined_by_their_names_are_said_to_be(pecli, tmp_path):
    (tmp_path / "tables").mkdir()
    for name in ("b", "a"):
        np.save(tmp_path / "tables" / name, np.ones((4, 2), "f4"))
    done = pecli("convert", tmp_path / "tables", "-o", "all.npy")
    assert "2 files without positions are joined by the order of their names, a.npy first" in done.stderr
    assert np.load(tmp_path / "all.npy").shape == (8, 2)
