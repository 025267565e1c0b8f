"""A model's config.json on the command line: generate, inspect, compare."""

import json

import h5py
import numpy as np
import pytest

from pecli import Table

LLAMA3 = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 8192},
}  # fmt: skip
LLAMA3_RECIPE = "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192"
GEMMA3 = {
    "model_type": "gemma3_text", "hidden_size": 1152, "num_attention_heads": 4, "head_dim": 256, "rope_theta": 1e6,
    "rope_local_base_freq": 1e4, "max_position_embeddings": 32768, "num_hidden_layers": 6,
}  # fmt: skip
YARN = {
    "model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "max_position_embeddings": 32768,
    "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 4096, "mscale": 0.707},
}  # fmt: skip


@pytest.fixture
def config(tmp_path):
    def write(content, name="config.json"):
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return name

    return write


def test_a_config_gives_its_models_table(pecli, config, tmp_path):
    done = pecli("generate", "rope", "--config", config(LLAMA3), "--len", 50, "-o", "a.npz")
    assert done.returncode == 0, done.stderr
    want = Table.parse(LLAMA3_RECIPE + ",len=50")
    stored = np.load(tmp_path / "a.npz")
    for name in ("cos", "sin"):
        assert stored[name].tobytes() == want.read(name).tobytes()


def test_the_length_is_the_models_unless_given(pecli, config):
    done = pecli("generate", "rope", "--config", config(LLAMA3), "-o", "a.npy", "--dry-run")
    assert "cos 131072 x 64 float32" in done.stderr


def test_options_beside_the_config_win(pecli, config):
    found = pecli("generate", "rope", "--config", config(LLAMA3), "--base", 10000, "--len", 4, "--json").stdout
    assert "base=10000,scaling=llama3" in json.loads(found)["recipe"]
    found = pecli("generate", "rope", "--config", config(LLAMA3), "--scaling", "none", "--len", 4, "--json").stdout
    assert "scaling=none,len=4" in json.loads(found)["recipe"]


def test_the_models_own_layout(pecli, config):
    done = pecli(
        "generate", "rope", "--config", config(LLAMA3), "--len", 4, "--layout", "model", "--dry-run", "-o", "a.h5"
    )
    assert "cos 4 x 128 float32, sin 4 x 128 float32" in done.stderr


def test_layers_that_differ_must_be_chosen_or_all_taken(pecli, refuses, config, tmp_path):
    name = config(GEMMA3)
    refuses(
        "generate", "rope", "--config", name, "--len", 4, says=["full_attention", "sliding_attention", "--layer-type"]
    )
    one = pecli("generate", "rope", "--config", name, "--len", 4, "--layer-type", "sliding_attention", "--json").stdout
    assert "base=10000," in json.loads(one)["recipe"]
    assert pecli("generate", "rope", "--config", name, "--len", 4, "--layer-type", "all", "-o", "a.h5").returncode == 0
    with h5py.File(tmp_path / "a.h5") as file:
        want = Table.parse("rope:dim=256,base=1000000,len=4").read("cos")
        np.testing.assert_array_equal(file["full_attention/cos"][:], want)
        assert file["sliding_attention/sin"].shape == (4, 128)


def test_another_encodings_config_names_its_own(refuses, config):
    bloom = {"model_type": "bloom", "n_head": 16, "hidden_size": 1024}
    refuses("generate", "rope", "--config", config(bloom), "--len", 4, says="pecli generate alibi --config")


def test_a_bloom_config_gives_alibi(pecli, config):
    bloom = {"model_type": "bloom", "n_head": 16, "hidden_size": 1024}
    found = pecli("generate", "alibi", "--config", config(bloom), "--len", 4, "--json")
    assert json.loads(found.stdout)["recipe"].startswith("alibi:heads=16,")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("not json", "JSON"),
        ("[1, 2]", "config.json"),
        ({"model_type": "mamba", "hidden_size": 8}, "without positions"),
        ({**LLAMA3, "rope_theta": 0}, "theta"),
        ({**LLAMA3, "rope_scaling": {"rope_type": "linear", "factor": 0}}, "factor"),
        ({**LLAMA3, "rope_scaling": {"rope_type": "linear"}}, "factor"),
        ({**LLAMA3, "rope_scaling": {"rope_type": "yarrn", "factor": 2}}, "yarn"),
        (
            {**LLAMA3, "rope_scaling": {"rope_type": "longrope", "factor": 2, "short_factor": [1], "long_factor": [1]}},
            "64",
        ),
    ],
)
def test_a_config_that_gives_no_table_is_refused_in_a_sentence(refuses, config, content, says):
    refuses("generate", "rope", "--config", config(content), "--len", 4, says=says)


def test_a_folder_is_no_config(refuses, tmp_path):
    (tmp_path / "config.json").mkdir()
    refuses("generate", "rope", "--config", "config.json", "--len", 4, says="config.json")


def test_options_for_configs_alone_are_refused(refuses):
    refuses("generate", "rope", "--dim", 4, "--len", 4, "--layer-type", "x", says="--config")
    refuses("generate", "rope", "--dim", 4, "--len", 4, "--stack", "vllm", says="--config")
    refuses("generate", "rope", "--dim", 4, "--len", 4, "--layout", "model", says="--config")


def test_a_key_without_effect_is_named_on_standard_error(pecli, config):
    done = pecli("generate", "rope", "--config", config(YARN), "--len", 4, "-o", "a.npy")
    assert done.returncode == 0
    assert "mscale" in done.stderr


def test_another_stack_reads_the_same_config_differently(pecli, config):
    name = config(YARN)
    own, other = (
        pecli("generate", "rope", "--config", name, "--len", 4, "--json", "-q", *more).stdout
        for more in ([], ["--stack", "mlx"])
    )
    assert json.loads(own)["recipe"] != json.loads(other)["recipe"]


def test_stacks_are_compared_key_by_key(pecli, config):
    name = config(YARN)
    done = pecli("compare", name, "--stacks")
    assert done.returncode == 1
    assert done.stdout.startswith("different: 7 of 19 stacks make one table")
    assert "mscale" in done.stdout
    whole = pecli("compare", name, "--stacks", "--all").stdout
    for word in ("transformers", "vllm", "mscale", "megatron"):
        assert word in whole
    found = json.loads(pecli("compare", name, "--stacks", "--json").stdout)
    assert found["equal"] is False
    rows = {row["stack"]: row for row in found["layers"]["all"]}
    assert rows["transformers"]["equal"]
    assert pecli("compare", config(LLAMA3, "l.json"), "--stacks").returncode == 0


def test_inspect_explains_a_config(pecli, config):
    name = config(LLAMA3)
    shown = pecli("inspect", name, "--all").stdout
    for word in (LLAMA3_RECIPE, "half", "wavelength", "turns seen", "rope_scaling.factor", "131072"):
        assert word in shown, word
    found = json.loads(pecli("inspect", name, "--json").stdout)
    assert found["layers"][0]["recipe"] == LLAMA3_RECIPE
    assert len(found["layers"][0]["frequencies"]) == 64


def test_a_config_is_a_source(pecli, config):
    name = config(LLAMA3)
    pecli("generate", "rope", "--config", name, "--len", 100, "-o", "a.npz")
    assert pecli("compare", "a.npz", name).returncode == 0
    assert pecli("compare", "a.npz", f"rope:config={name}").returncode == 0
    assert pecli("compare", "a.npz", f"rope:config={name},base=10000").returncode == 1


def test_the_arithmetic_of_a_framework_differs_from_the_real_values_by_what_it_must(pecli, config, tmp_path):
    name = config(LLAMA3)
    for arithmetic in ("exact", "float32", "bfloat16"):
        pecli(
            "generate", "rope", "--config", name, "--len", 2000, "--arithmetic", arithmetic, "-o", f"{arithmetic}.npy"
        )
    exact, single, half = (np.load(tmp_path / f"{word}.npy") for word in ("exact", "float32", "bfloat16"))
    assert 0 < np.abs(exact - single).max() < 1e-3
    assert np.abs(exact - half).max() > 0.5


def test_arithmetic_is_refused_where_only_the_exact_is_known(refuses):
    refuses("generate", "rope", "--dim", 4, "--len", 4, "--arithmetic", "float8", says="unknown arithmetic")
    refuses("generate", "sinusoidal", "--dim", 4, "--len", 4, "--arithmetic", "float32", says="for rotary tables")


@pytest.mark.parametrize(
    "command",
    [
        ("generate", "config.json", "--len", 2),
        ("inspect", "config.json"),
        ("compare", "config.json", "rope:dim=64"),
        ("compare", "config.json", "--stacks"),
        ("convert", "config.json", "-o", "a.npy"),
        ("extrapolate", "config.json", "--train-len", 64, "--test-len", 128),
        ("inspect", "config.json::cos"),
    ],
)
def test_every_command_names_a_misspelled_key(pecli, config, command):
    name = config({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "rope_thetta": 5e5})
    done = pecli(*command)
    text = f"pecli: warning: {name}: rope_thetta is not read; did you mean rope_theta? base 10000 is the default"
    assert done.stderr.count(text) == 1, done.stderr


def test_a_misspelled_key_stands_in_the_report(pecli, config):
    config({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "rope_thetta": 5e5})
    done = pecli("inspect", "config.json", "--json", "--quiet")
    text = "rope_thetta is not read; did you mean rope_theta? base 10000 is the default"
    assert json.loads(done.stdout)["warnings"] == [text]
    assert not done.stderr


def test_a_config_of_more_bytes_than_any_model_has_is_refused(tmp_path, capfd):
    from pecli.cli.run import run
    from pecli.models.config import LARGEST_CONFIG

    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama", "note": "' + "x" * LARGEST_CONFIG + '"}')
    assert run(["generate", "rope", "--config", str(path), "--len", "4"]) == 2
    assert "16" in capfd.readouterr().err
