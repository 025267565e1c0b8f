"""``pecli extrapolate`` as its users run it: in a child process, in an empty folder."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from pecli import Table, extrapolate, open_table
from pecli.errors import BadParameter

ROPE = ("extrapolate", "rope:dim=128", "--train-len", 4096, "--test-len", 32768)


def report(pecli, *arguments):
    done = pecli("extrapolate", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_report_says_what_was_measured_and_by_which_rule(pecli):
    done = pecli(*ROPE, "--all")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "unseen: 18 of 64 frequencies reach angles never seen in training, from position 4096 on"
    assert lines[1].startswith("remedy: dividing all frequencies by 8, or a base of 180499")
    assert lines[2] == "rope:dim=128   trained on 4096 positions, tested at 32768"
    assert "critical dimension   92 of 128" in done.stdout
    assert "  unseen: new positions bring angles" in done.stdout
    assert max(len(line) for line in lines[lines.index("") + 1 :][:12]) <= 80


def test_the_report_is_short_unless_all_of_it_is_asked_for(pecli, refuses):
    full = pecli(*ROPE, "--all").stdout.splitlines()
    assert pecli(*ROPE).stdout.splitlines() == [*full[:2], "all figures and the rules: --all"]
    done = pecli(*ROPE, "--scaling", "linear,ntk,yarn", env={"COLUMNS": "80"})
    assert sum(1 + (len(line) - 1) // 80 for line in done.stdout.splitlines()) <= 12
    assert [line.split()[0] for line in done.stdout.splitlines()[-4:-1]] == ["linear", "ntk", "yarn"]
    refuses(*ROPE, "--all", "-o", "x.npy", says="--all is for reports")


LLAMA3 = '"factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192'


@pytest.mark.parametrize(
    ("scaling", "parameters"),
    [
        ("linear", '"factor": 16.0'),
        ("dynamic", '"factor": 16.0'),
        ("yarn", '"factor": 16.0, "original_max_position_embeddings": 8192'),
        ("llama3", LLAMA3),
        ("ntk", None),  # transformers has no such rope type
    ],
)
@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_a_config_is_told_what_gives_it_one_scaling(pecli, tmp_path, scaling, parameters, key):
    config = {"model_type": "llama", "head_dim": 64, "max_position_embeddings": 8192}
    config |= {"rope_theta": 5e5} if key == "rope_scaling" else {key: {"rope_type": "default", "rope_theta": 5e5}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = pecli("extrapolate", "config.json", "--len", "128k", "--scaling", scaling)  # --len is --test-len here
    wanted = f'in config.json, {key} gets {{"rope_type": "{scaling}", {parameters}}}'
    said = " ".join(done.stdout.split())
    assert (done.returncode, wanted in said, "in config.json" in said) == (0, *[parameters is not None] * 2)


def test_json_holds_everything(pecli):
    found = report(pecli, *ROPE[1:], "--scaling", "all")
    (one,) = found["reports"]
    assert (one["train"], one["test"], one["verdict"]) == (4096, 32768, "unseen")
    assert one["waves"]["critical_dimension"] == 92
    assert len(one["waves"]["pairs"]) == 64
    assert one["waves"]["pairs"][46]["first"] == 4096
    assert one["waves"]["smallest_factor"] == 8
    assert [s["scaling"] for s in one["scalings"]][:3] == ["none", "linear", "ntk"]
    assert "long-factor" in next(s["missing"] for s in one["scalings"] if s["scaling"] == "longrope")
    assert {"unseen", "phases", "kept"} <= set(found["rules"])


def test_several_sources_make_one_report(pecli):
    found = report(
        pecli, "alibi:heads=4", "t5:heads=2", "binary:dim=4", "none:dim=4", "--train-len", 100, "--test-len", 400
    )
    assert [r["verdict"] for r in found["reports"]] == ["falls", "inside", "ends", "nothing"]


def test_the_scalings_are_printed_side_by_side(pecli):
    done = pecli(*ROPE, "--scaling", "all", "--all")
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert rows["yarn"] == ["yarn", "0-20", "21-45", "46-63"]
    assert rows["pair"][0] == "pair"
    assert next(line.split()[2:6] for line in done.stdout.splitlines() if line.startswith("linear"))[::2] == [
        "100.00",
        "12.8",
    ]


def test_a_model_config_states_its_training_length(pecli, tmp_path):
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    config = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "rope_theta": 500000.0}
    config |= {"max_position_embeddings": 131072, "rope_scaling": {**scaling, "original_max_position_embeddings": 8192}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (one,) = report(pecli, "config.json", "--test-len", 65536)["reports"]
    assert (one["train"], one["verdict"]) == (8192, "inside")


def test_a_config_whose_layers_differ_makes_a_report_of_each_kind(pecli, refuses, tmp_path):
    config = {"model_type": "gemma3_text", "hidden_size": 64, "num_attention_heads": 2, "head_dim": 32}
    config |= {
        "num_hidden_layers": 6,
        "rope_theta": 1e6,
        "rope_local_base_freq": 10000,
        "max_position_embeddings": 1024,
    }
    (tmp_path / "config.json").write_text(json.dumps({**config, "sliding_window": 64, "sliding_window_pattern": 6}))
    found = report(pecli, "config.json", "--test-len", 2048)["reports"]
    assert [r["source"] for r in found] == ["config.json (full_attention)", "config.json (sliding_attention)"]
    assert {r["train"] for r in found} == {1024}
    (one,) = report(pecli, "config.json", "--test-len", 2048, "--layer-type", "sliding_attention")["reports"]
    assert "base=10000" in one["recipe"]
    refuses("extrapolate", "config.json", "--test-len", 2048, "-o", "x.npy", says="choose one with --layer-type")
    refuses(
        "extrapolate", "rope:dim=8,len=9", "--test-len", 20, "--layer-type", "x", says="--layer-type x is for a model's"
    )


def test_a_file_of_a_recipe_keeps_the_arithmetic_that_is_the_encodings_own(pecli):
    recipe = "alibi:heads=2,bias=key-position,arithmetic=bfloat16,len=600"
    assert pecli("convert", recipe, "-o", "bias.npz").returncode == 0
    stored, said = (report(pecli, s, "--test-len", 700)["reports"][0] for s in ("bias.npz", recipe))
    assert stored["recipe"] == said["recipe"]
    assert stored["bias"]["heads"] == said["bias"]["heads"]
    assert "arithmetic=bfloat16" in stored["recipe"]


def test_a_length_in_the_recipe_is_the_training_length(pecli):
    assert report(pecli, "rope:dim=8,len=50", "--test-len", 100)["reports"][0]["train"] == 50


def test_a_scaled_table_is_written(pecli, tmp_path):
    done = pecli(
        "extrapolate", "rope:dim=8", "--train-len", 10, "--test-len", 40, "--scaling", "yarn", "-o", "long.npz"
    )
    assert done.returncode == 0
    assert done.stderr.startswith(
        "wrote long.npz: rope:dim=8,scaling=yarn,factor=4,original-max=10 (inside), cos 40 x 4 "
    )
    with np.load(tmp_path / "long.npz") as file:
        expected = Table.parse("rope:dim=8,scaling=yarn,factor=4,original-max=10,len=40")
        np.testing.assert_array_equal(file["cos"], expected.read("cos"))


def test_the_table_has_the_type_and_layout_asked_for(pecli, tmp_path):
    options = ("--train-len", 10, "--test-len", 40, "--layout", "concat", "--dtype", "float16", "-q", "-o", "long.npy")
    assert pecli("extrapolate", "rope:dim=8", *options).returncode == 0
    table = np.load(tmp_path / "long.npy")
    assert (table.shape, table.dtype) == ((40, 8), np.float16)


def test_a_bias_needs_no_longer_table_and_is_written_all_the_same(pecli, tmp_path):
    done = pecli("extrapolate", "alibi:heads=2", "--train-len", 10, "--test-len", 20, "-o", "bias.npy")
    assert "alibi has a bias for every distance: its table need not grow" in done.stderr
    assert np.load(tmp_path / "bias.npy").shape == (2, 20, 20)


def test_trained_rows_of_a_file_are_extended(pecli, tmp_path):
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)
    np.save(tmp_path / "pe.npy", rows)
    assert report(pecli, "pe.npy", "--test-len", 20)["reports"][0]["verdict"] == "ends"
    done = pecli("extrapolate", "pe.npy", "--extend", "tile", "--prefix", 1, "--test-len", 11, "-o", "long.npy")
    assert done.stderr.startswith("wrote long.npy: pe.npy extended by tile")
    np.testing.assert_array_equal(np.load(tmp_path / "long.npy"), rows[[0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5]])


def test_a_grid_in_a_safetensors_file_is_resized_where_it_stands(pecli, tmp_path):
    from safetensors.numpy import load_file, save_file

    name = "vit.embeddings.position_embeddings"
    rows = np.random.default_rng(0).standard_normal((1, 1 + 14 * 14, 8)).astype(np.float32)
    save_file({name: rows, "other": np.zeros(3, np.float32)}, tmp_path / "vit.safetensors")
    options = ("--extend", "cubic", "--prefix", 1, "--grid", "14x14", "--to-grid", "24x24", "-o", "big.safetensors")
    done = pecli("extrapolate", f"vit.safetensors::{name}", *options)
    assert done.returncode == 0, done.stderr
    made = load_file(tmp_path / "big.safetensors")
    assert {key: value.shape for key, value in made.items()} == {name: (1, 577, 8), "other": (3,)}
    np.testing.assert_array_equal(made[name][0, 0], rows[0, 0])


def test_an_extension_without_a_file_is_described(pecli, tmp_path):
    np.save(tmp_path / "pe.npy", np.eye(4, dtype=np.float32))
    found = report(pecli, "pe.npy", "--extend", "nearest", "--test-len", 8)["extensions"][0]
    assert (found["name"], found["shape"], found["way"]) == ("array", [8, 4], "nearest")
    done = pecli("extrapolate", "pe.npy", "--extend", "nearest", "--test-len", 8)
    assert "pe.npy   array 8 x 4 float32 by nearest" in done.stdout
    assert "-o FILE writes the table" in done.stdout


def test_a_learned_recipe_is_extended_from_its_own_rows(pecli, tmp_path):
    options = ("--train-len", 6, "--test-len", 9, "--extend", "tile", "-q", "-o", "long.npy")
    assert pecli("extrapolate", "learned:dim=4", *options).returncode == 0
    made = np.load(tmp_path / "long.npy")
    np.testing.assert_array_equal(made[:6], Table.parse("learned:dim=4,len=6").read("pe"))
    np.testing.assert_array_equal(made[6:], made[:3])


def test_a_computed_table_in_a_file_counts_as_its_recipe(pecli, tmp_path):
    assert pecli("generate", "rope", "--dim", 16, "--len", 50, "-q", "-o", "rope.h5").returncode == 0
    (one,) = report(pecli, "rope.h5", "--test-len", 200)["reports"]
    assert (one["encoding"], one["train"], one["waves"]["columns"]) == ("rope", 50, 16)


def test_a_picture_is_drawn_as_svg(pecli, tmp_path):
    done = pecli(*ROPE, "--scaling", "all", "--plot", "reach.svg", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("unseen: 18 of 64")  # -q silences messages, not the answer
    root = ET.parse(tmp_path / "reach.svg").getroot()
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Phases of rope:dim=128: seen in training and new" in texts
    assert {"share of the circle", "pair (0 is the fastest)", "yarn"} <= set(texts)
    assert "distance (positions); dotted: trained to 4096" in texts


def test_a_picture_is_drawn_in_the_terminal(pecli):
    done = pecli("extrapolate", "alibi:heads=2", "--train-len", 100, "--test-len", 400, "--plot", "-")
    assert "Weight of a key against its distance, alibi:heads=2" in done.stdout
    assert "┆ trained to 100" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


REFUSED = [
    (("rope:dim=8", "--train-len", 100, "--test-len", 100), "--test-len 100 must be above the training length 100"),
    (("rope:dim=8", "--test-len", 100), "rope:dim=8 does not say how long it was trained: give --train-len 4096"),
    (("rope:dim=8", "--train-len", 100), "give --test-len 400"),
    ((), "extrapolate needs SOURCE, as in pecli extrapolate rope:dim=128"),
    (("rope:dim=8", "--train-len", "ten", "--test-len", 20), "--train-len ten must be a whole number"),
    (("sinusoidal:dim=8", "--train-len", 10, "--test-len", 20, "--scaling", "yarn"), "scalings are for rope and mrope"),
    (("rope:dim=8", "--train-len", 10, "--test-len", 20, "--scaling", "longrope"), "lists that were searched"),
    (("alibi:heads=8", "--train-len", 10, "--test-len", 20, "--scaling", "all"), "not for alibi"),
    (("rope:dim=8", "--train-len", 10, "--test-len", 20, "--factor", 2), "--factor 2 needs --scaling"),
    (("rope:dim=8", "--train-len", 10, "--test-len", 20, "--scaling", "linear", "--factor", 0), "--factor 0 must"),
    (("rope:dim=8", "--train-len", 10, "--test-len", 20, "--scaling", "all", "-o", "x.npy"), "one table: name one"),
    (("learned:dim=8", "--train-len", 10, "--test-len", 20, "-o", "x.npy"), "positions 10 to 19 have none; --extend"),
    (("pe.npy", "--test-len", 20, "-o", "x.npy"), "holds rows 0 to 16 and none to 19: choose with --extend"),
    (("pe.npy", "--train-len", 12, "--test-len", 20), "--train-len 12 must be 17, the rows of the table"),
    (("pe.npy", "--test-len", 20, "--extend", "lanczos"), "unknown way to extend 'lanczos'"),
    (("pe.npy", "--test-len", 17, "--extend", "linear"), "--test-len 17 must be above 17"),
    (("pe.npy", "--test-len", 20, "--extend", "linear", "--prefix", 17), "--prefix 17 must be below 17"),
    (("pe.npy", "--test-len", 20, "--prefix", 1), "--prefix 1 needs --extend"),
    (("pe.npy", "--test-len", 20, "--extend", "tile", "--antialias"), "--antialias is for linear and cubic"),
    (("pe.npy", "--extend", "cubic", "--grid", "5x4", "--to-grid", "9x9"), "has 20 cells, and the table 17 rows"),
    (("pe.npy", "--prefix", 0, "--to-grid", "9x9"), "--to-grid 9x9 needs --grid: of 17 rows, 17 are no square"),
    (("two.npz", "--to-grid", "9x9"), "holds 2 arrays: name the one to extend, as FILE::my_pos"),
    (("pe.npy", "--extend", "cubic", "--grid", "4x4"), "--grid 4x4 needs --to-grid too"),
    (("pe.npy", "--extend", "cubic", "--grid", "4by4", "--to-grid", "9x9"), "--grid 4by4 must be two whole numbers"),
    (("pe.npy", "--extend", "cubic"), "the number of rows is missing: give --test-len N"),
    (("rope:dim=8", "--train-len", 10, "--test-len", 20, "--extend", "linear"), "rope is computed at every position"),
    (("rope:dim=8", "--train-len", 10, "--test-len", 20, "--plot", "x.jpg"), "unknown suffix '.jpg' of a picture"),
    (("rope:dim=8", "--train-len", 10, "--test-len", 20, "--plot", "-", "--json"), "cannot go with --json"),
    (("none:dim=8", "--train-len", 10, "--test-len", 20, "--plot", "x.svg"), "has nothing to draw"),
    (("rope:dim=8", "--train-len", 10, "--test-len", 20, "--format", "npy"), "--format npy has no effect without -o"),
    (("rope:dim=8", "--train-len", 10, "--test-len", 20, "--threshold", 2), "--threshold 2 must be above 0 and"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "says"), REFUSED, ids=lambda v: v if isinstance(v, str) else "")
def test_bad_input_is_refused_in_a_sentence_with_the_remedy(refuses, tmp_path, arguments, says):
    np.save(tmp_path / "pe.npy", np.ones((17, 2), np.float32))
    np.savez(tmp_path / "two.npz", w=np.ones(3), my_pos=np.ones((17, 2)))
    refuses("extrapolate", *arguments, says=says)


def test_a_square_grid_and_the_rows_before_it_are_found(pecli, tmp_path):
    np.save(tmp_path / "pe.npy", np.random.default_rng(0).standard_normal((17, 2)))
    pecli(
        "extrapolate", "pe.npy", "--extend", "cubic", "--prefix", 1, "--grid", "4x4", "--to-grid", "6x6", "-o", "a.npy"
    )
    for words in ("--to-grid 6x6", "--grid 4x4 --to-grid 6x6", "--from 4x4 --to 6x6", "--resize=6x6"):
        done = pecli("extrapolate", "pe.npy", *words.split(), "-o", "b.npy")
        assert "17 rows are read as 1 that stay and a grid of 4x4" in done.stderr
        np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.load(tmp_path / "a.npy"))


@pytest.mark.parametrize("words", [["--start", "100"], ["--step", "0.5"], ["--positions", "0,5,3"]])
def test_rows_of_other_positions_do_not_say_how_long_training_was(words, pecli, refuses):
    length = [] if words[0] == "--positions" else ["--len", "6"]
    pecli("generate", "rope:dim=8", *length, *words, "-o", "t.h5")
    refuses("extrapolate", "t.h5", "--test-len", "64", says=["give --train-len 4096"])


def test_a_longer_table_begins_at_position_0(pecli, tmp_path):
    pecli("extrapolate", "rope:dim=8,start=100,step=0.5", "--train-len", "6", "--test-len", "12", "-o", "t.npz")
    assert open_table(tmp_path / "t.npz").recipe == Table.parse("rope:dim=8,len=12").recipe


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"threshold": 7}, "threshold"),
        ({"train": 0}, "train-len"),
        ({"train": -5}, "train-len"),
        ({"factor": 2}, "scal"),
    ],
)
def test_python_refuses_what_the_command_does(options, says):
    with pytest.raises(BadParameter, match=says):
        extrapolate("rope:dim=8", **{"train": 16, "test": 64, **options})
