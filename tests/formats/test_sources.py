"""What a source's text names is decided once, and cheaply."""

import json
import subprocess
import sys

import pytest

from pecli.formats.paths import Kind, kind_of
from pecli.tables.sources import read_source
from tests.conftest import clean_environment


def test_a_word_that_is_an_encoding_is_a_recipe_whatever_lies_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rope").mkdir()
    (tmp_path / "alibi").write_text("")
    assert kind_of("rope") is kind_of("rope:dim=8") is kind_of("alibi:heads=4") is Kind.RECIPE
    assert kind_of("./rope") is Kind.FOLDER
    assert kind_of("./alibi") is kind_of("table") is kind_of("-") is kind_of("a.h5::pe") is Kind.FILE


@pytest.mark.parametrize(
    ("text", "kind"),
    [('{"model_type": "llama"}', Kind.CONFIG), ('{"rope_theta": 1e4}', Kind.CONFIG), ('{"pe": [[0, 1]]}', Kind.FILE),
     ('\ufeff{"model_type": "llama"}', Kind.CONFIG), ("[1, 2]", Kind.FILE), ("{broken", Kind.FILE), ("", Kind.FILE)],
)  # fmt: skip
def test_a_config_is_a_json_object_with_a_models_keys(tmp_path, text, kind):
    path = tmp_path / "config.json"
    path.write_text(text)
    assert kind_of(str(path)) is kind


def test_a_config_is_read_as_its_recipe(tmp_path):
    path = tmp_path / "config.json"
    config = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "max_position_embeddings": 64}
    path.write_text(json.dumps(config))
    source = read_source(str(path))
    assert str(source.recipe).startswith("rope:dim=64")
    assert source.model_length == 64


def test_asking_of_a_files_name_loads_no_encoding_and_no_numpy():
    code = (
        "import sys; from pecli.formats.paths import kind_of\n"
        "for text in ('table', 'pe.h5', './rope', 'x.npz::cos', '-'): kind_of(text)\n"
        "from pecli.spec.declaration import REGISTRY\n"
        "assert not REGISTRY and 'numpy' not in sys.modules, (list(REGISTRY), 'numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], env=clean_environment(), check=True, timeout=60)
