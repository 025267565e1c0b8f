"""pecli in a person's own program: the commands as functions of what is at hand, and what they print of it."""

import json
import re
import subprocess
import sys
import types

import mpmath
import numpy as np
import pytest

import pecli
from pecli.errors import BadParameter, PecliError, UnknownName
from pecli.framework_tables import FrameworkTable
from pecli.spec.declaration import Family
from pecli.spec.tabular import InMemory
from pecli.testing import assert_applied
from tests.conftest import ROOT, clean_environment


def rope(length=64, dim=8, base=10000.0):
    w = 1.0 / base ** (np.arange(0, dim, 2) / dim)
    angles = np.arange(length)[:, None] * w
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def test_names_stand_once_and_are_all_there():
    assert {"apply", "compare", "extrapolate", "identify", "inspect", "read_config", "table", "widen"} <= set(
        dir(pecli)
    )
    assert all(getattr(pecli, name) is not None for name in pecli.__all__)
    space = {}
    exec("from pecli import *", space)
    assert space["table"] is pecli.table
    with pytest.raises(AttributeError, match="generates"):
        _ = pecli.generates


def test_values_in_memory_are_compared_with_a_recipe():
    found = pecli.compare(rope(), "rope:dim=8")
    assert found.total.max_ulp <= 1
    assert pecli.compare(rope(), "rope:dim=8", ulp=1).equal
    wrong = pecli.compare(rope(base=500000.0), "rope:dim=8")
    assert not wrong.equal
    assert "base 500000" in repr(wrong)
    assert repr(wrong).startswith("different: ")
    assert pecli.compare({"pe": np.zeros((4, 2))}, np.zeros((4, 2))).equal


def test_layers_of_a_config_in_memory(tmp_path):
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "rope_theta": 10000.0,
              "max_position_embeddings": 64}  # fmt: skip
    cos, sin = rope()
    doubled = tuple(np.concatenate([part, part], axis=-1)[None] for part in (cos, sin))
    assert pecli.compare(doubled, config, ulp=1).equal
    live = types.SimpleNamespace(model_type="llama", to_dict=lambda: config)
    assert pecli.compare(doubled, live, ulp=1).equal
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert repr(pecli.read_config(path).layers) == repr(pecli.read_config(live).layers)
    assert "llama, as transformers" in repr(pecli.read_config(config))
    with pytest.raises(PecliError, match="layer-type"):
        pecli.api.source_of("rope:dim=4", layer_type="all")


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_decimals_of_a_text_file_are_identified_as_by_the_command(suffix, tmp_path):
    path = tmp_path / f"pe.{suffix}"
    pecli.write_table(InMemory({"pe": pecli.table("sinusoidal:dim=32,len=100")["pe"]}), path)
    assert pecli.identify(path).confidence == "sure"


def test_identify_says_what_values_are():
    found = pecli.identify(pecli.table("rope:dim=32,base=500000,len=256"))
    assert (found.confidence, found.recipe.partition(",len")[0]) == ("sure", "rope:dim=32,base=500000")
    assert repr(found).startswith("sure: rope:dim=32,base=500000")
    assert repr(pecli.identify(np.ones((8, 8)))).startswith(("unknown", "sure", "likely"))


def test_inspect_extrapolate_and_plot_are_readable():
    seen = pecli.inspect(np.array([[1.0, np.nan], [3.0, 4.0]]))
    assert "not finite 1" in repr(seen)
    assert "maximum 4" in repr(seen)
    reach = pecli.extrapolate("rope:dim=128", train=4096, test=16384, scaling="all")
    assert reach.verdict == "unseen"
    assert "yarn: " in repr(reach)
    with pytest.raises(UnknownName, match="picture"):
        pecli.plot("rope:dim=8", "portrait")


def test_apply_gives_each_value_rounded_once():
    q = np.random.default_rng(1).standard_normal((1, 2, 3, 4)).astype(np.float32)
    made = pecli.apply("rope:dim=4,base=100", {"q": q}, pairs="half", start=7)
    assert "axes of q: bhsd" in repr(made)
    a, b = mpmath.mpf(float(q[0, 1, 2, 1])), mpmath.mpf(float(q[0, 1, 2, 3]))
    angle = mpmath.mpf(9) / 10
    assert dict(made)["q"][0, 1, 2, 1] == np.float32(float(a * mpmath.cos(angle) - b * mpmath.sin(angle)))
    rows = np.array([[7, 8, 9]])
    assert (pecli.apply("rope:dim=4,base=100", {"q": q}, pairs="half", positions=rows)["q"] == made["q"]).all()


def test_a_computed_table_is_applied_as_its_recipe():
    q = np.random.default_rng(1).standard_normal((1, 2, 3, 8)).astype(np.float32)
    table, recipe = pecli.table("rope:dim=8,base=100,len=12,start=4"), "rope:dim=8,base=100,len=12,start=4"
    assert (pecli.apply(table, q, pairs="half")["array"] == pecli.apply(recipe, q, pairs="half")["array"]).all()
    listed = pecli.table("rope:dim=8", positions="4,5,6")
    exact = pecli.apply("rope:dim=8", q, pairs="half", start=4)["array"]
    assert np.abs(pecli.apply(listed, q, pairs="half")["array"] - exact).max() < 1e-6


def test_what_is_no_array_is_refused_in_a_sentence():
    for wrong in (object(), np.array(["a"]), {"pe": None}):
        with pytest.raises(BadParameter, match="no array of numbers"):
            pecli.compare(wrong, "rope:dim=4")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pecli.table(5), "recipe=int must be a recipe's text"),
        (lambda: pecli.table("rope:dim=8", lenn=5), "did you mean 'len'"),
        (lambda: pecli.table("rope:dim=8", len="x"), "len=x must be a whole number"),
        (lambda: pecli.table("rope:dim=8", len=4)[::2], "must be neighbouring rows"),
        (lambda: pecli.apply("rope:dim=8", np.ones((2, 8)), pairs="half", axes=3), "axes=3 must be one of bhsd"),
        (lambda: pecli.apply("rope:dim=8", np.ones((2, 8)), pairs="half", way=None), "unknown way 'None'"),
        (lambda: pecli.extrapolate("rope:dim=8", train="x", test=4), "train=x must be a whole number"),
        (lambda: pecli.open_table(3), "path=int is no path"),
        (lambda: pecli.write_table(pecli.table("rope:dim=8", len=4), 3), "path=int is no path"),
        (lambda: pecli.write_table(np.ones((2, 8)), "x.npy"), "table=ndarray is no table"),
    ],
)
def test_a_wrong_argument_is_one_sentence(call, says):
    with pytest.raises(pecli.PecliError, match=re.escape(says)):
        call()


class Tensor:
    """A tensor as PyTorch's is seen from outside: it must be detached and fetched, and has no bfloat16 for NumPy."""

    def __init__(self, values, dtype="tensorly.float32", ready=False):
        self.values, self.dtype, self.ready = values, dtype, ready

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.values, self.dtype, ready=True)

    def view(self, dtype):
        assert dtype == "two bytes"
        return Tensor(self.values, "tensorly.uint16", ready=True)

    def __array__(self, dtype=None, copy=None):
        assert self.ready
        assert "bfloat16" not in self.dtype
        return self.values


def test_tensors_are_fetched_and_bfloat16_is_read_by_its_bits(monkeypatch):
    table = pecli.table("sinusoidal:dim=4,len=3")
    assert pecli.compare(Tensor(table["pe"]), table).equal
    Tensor.__module__ = "tensorly.core"
    monkeypatch.setitem(sys.modules, "tensorly", types.SimpleNamespace(uint16="two bytes"))
    narrow = pecli.table("sinusoidal:dim=4,len=3", dtype="bfloat16")
    assert pecli.compare(Tensor(narrow.read("pe"), "tensorly.bfloat16"), narrow).equal
    assert pecli.widen(narrow.read("pe"), "bfloat16")[1, 1] == 0.5390625
    assert np.asarray(narrow, np.float32)[1, 1] == 0.5390625


@pytest.mark.exhaustive
def test_a_users_program_passes_a_strict_type_check(tmp_path):
    pytest.importorskip("mypy")  # an environment with frameworks has none
    program = tmp_path / "user.py"
    program.write_text(
        "import numpy as np\n"
        "import pecli\n"
        "from pecli.testing import assert_table\n\n"
        "table: pecli.Table = pecli.table('rope:dim=8,len=4')\n"
        "cos = table['cos']\n"
        "found = pecli.compare(np.asarray(cos), table)\n"
        "reveal_type(found)\n"
        "text: str = pecli.identify(table).confidence\n"
        "assert_table(cos, 'rope:dim=8')\n"
        "pecli.apply('rope:dim=8', np.zeros((4, 8)), pairs='half')['array'].sum()\n"
    )
    child = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)],  # as `make check` does, whose cache serves
        cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert 'Revealed type is "pecli.tables.comparison.Comparison"' in child.stdout
    assert [line for line in child.stdout.splitlines() if "user.py:" in line and ": error:" in line] == []


def test_a_position_before_a_held_table_is_refused_and_not_counted_from_its_end():
    held = FrameworkTable("rope:dim=8", Family.ROTARY, 8, True)
    held.check_first(0)
    with pytest.raises(IndexError, match="position -6 lies before the table of rope:dim=8"):
        held.check_first(-6)


@pytest.mark.parametrize(
    ("call", "said"),
    [(lambda: pecli.apply("rope:dim=2", np.ones((2, 2)), pair="half"), "'pair' of apply: did you mean 'pairs'"),
     (lambda: pecli.compare("rope:dim=2", "rope:dim=2", abstol=1), "option 'abstol' of compare: did you mean 'atol'"),
     (lambda: pecli.table("rope:dim=2", lenght=8), "unknown option 'lenght': did you mean 'length'"),
     (lambda: assert_applied(np.ones(2), np.ones(2), "rope:dim=2", axis="d"), "of assert_applied: did you mean 'axes'"),
     (lambda: pecli.read_config({}, layer="decoder"), "of read_config: did you mean 'layer_type'")],
)  # fmt: skip
def test_an_option_that_is_misspelt_is_named(call, said):
    with pytest.raises(UnknownName, match=said):
        call()
