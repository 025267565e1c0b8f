"""A checkpoint's folder: the tables it stores, beside those of its config."""

import json

import numpy as np
import pytest

from pecli.inspect.checkpoints import inspect_checkpoint

LLAMA = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "rope_theta": 10000.0}


def safetensors(path, **arrays):
    """A file of the format, written by hand."""
    header, blob = {}, b""
    for name, array in arrays.items():
        raw = array.tobytes()
        code = {"float32": "F32", "float16": "F16"}[array.dtype.name]
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [len(blob), len(blob) + len(raw)]}
        blob += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + blob)


@pytest.fixture
def folder(tmp_path):
    def make(config, **arrays):
        (tmp_path / "config.json").write_text(json.dumps(config))
        safetensors(tmp_path / "model.safetensors", **arrays)
        return str(tmp_path)

    return make


def frequencies(base, pairs=32):
    return (1 / base ** (np.arange(pairs) / pairs)).astype(np.float32)


def test_stored_frequencies_are_compared_with_the_config(folder):
    name = "model.layers.{}.self_attn.rotary_emb.inv_freq"
    path = folder(
        LLAMA, **{name.format(i): frequencies(10000.0) for i in range(3)}, lm_head=np.zeros((4, 4), np.float32)
    )
    (table,) = inspect_checkpoint(path).tables
    assert (table.equal, table.count, table.shape) == (True, 3, (32,))
    (table,) = inspect_checkpoint(folder({**LLAMA, "rope_theta": 500000.0}, inv_freq=frequencies(10000.0))).tables
    assert table.equal is False
    assert table.text == "not the config's: base 10000 where 500000 was expected"


def test_sines_are_compared_and_trained_vectors_are_said_to_be_trained(folder):
    gpt2 = {"model_type": "gpt2", "n_embd": 8, "n_positions": 16}
    (table,) = inspect_checkpoint(folder(gpt2, **{"transformer.wpe.weight": np.ones((16, 8), np.float32)})).tables
    assert (table.equal, table.text) == (None, "trained: no config gives its values")
    whisper = {"model_type": "whisper", "d_model": 8, "max_source_positions": 12}
    time = np.arange(12)[:, None] * np.exp(-np.log(10000) / 3 * np.arange(4))
    sines = np.concatenate([np.sin(time), np.cos(time)], axis=1).astype(np.float32)
    name = "model.encoder.embed_positions.weight"
    assert inspect_checkpoint(folder(whisper, **{name: sines})).tables[0].equal is True
    assert inspect_checkpoint(folder(whisper, **{name: sines[:, ::-1].copy()})).tables[0].equal is False


def test_one_number_by_the_name_of_vectors_is_no_crash(folder):
    whisper = {"model_type": "whisper", "d_model": 8, "max_source_positions": 12}
    name = "model.encoder.embed_positions.weight"
    assert inspect_checkpoint(folder(whisper, **{name: np.ones(1, np.float32)})).tables[0].equal is None


def test_who_would_read_the_config_otherwise_is_named(folder):
    yarn = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512, "attention_factor": 1.5}
    found = inspect_checkpoint(folder({**LLAMA, "rope_scaling": yarn}, lm_head=np.zeros((4, 4), np.float32)))
    assert found.tables == ()
    assert "sglang" in found.otherwise[0]


def test_the_command_reads_a_folder(folder, pecli):
    path = folder(LLAMA, inv_freq=frequencies(10000.0))
    done = pecli("inspect", path)
    assert done.returncode == 0
    assert "the config's, to the bit" in done.stdout
    shown = json.loads(pecli("inspect", path, "--json").stdout)
    assert (shown["format"], shown["tables"][0]["equal"]) == ("checkpoint", True)


@pytest.mark.parametrize("words", [["--layer-type", "full"], ["--len", "3"], ["--frequencies"], ["--rows", "3"]])
def test_what_a_folder_has_no_use_for_is_refused(words, refuses, tmp_path):
    facts = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "max_position_embeddings": 128}
    (tmp_path / "config.json").write_text(json.dumps(facts))
    refuses("inspect", ".", *words, says=[words[0]])


def test_the_sides_of_a_model_are_told_apart_and_lost_files_are_named(folder, tmp_path, pecli):
    whisper = {"model_type": "whisper", "d_model": 8, "max_source_positions": 12, "max_target_positions": 12}
    trained = {"model.decoder.embed_positions.weight": np.ones((12, 8), np.float32)}
    found = inspect_checkpoint(folder(whisper, **trained))
    assert (found.tables[0].equal, found.unread) == (None, ())
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "optimizer.pt").touch()
    shown = pecli("inspect", str(tmp_path)).stdout
    assert "model-00002-of-00002.safetensors: model.safetensors.index.json names it, and it is not" in shown
    assert "optimizer.pt: a PyTorch file, which is read by its own name only" in shown
