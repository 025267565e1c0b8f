"""What was done to queries and keys instead of turning them as expected: each fault by its name, and no other."""

import numpy as np
import pytest

from pecli import Recipe
from pecli import compare as compare_subjects
from pecli.apply.checkpoints import rotation_faults
from pecli.formats import open_table
from pecli.judge.compare import compare
from pecli.spec.tabular import InMemory
from pecli.tables.figures import Tolerance
from tests.support.commands import command

RNG = np.random.default_rng(3)

RECIPES = {
    "rope:dim=16": "half",
    "rope:dim=16,base=500000": "interleaved",
    "rope:dim=16,rotary-dim=8": "half",
    "rope:dim=16,base=1000000,": "interleaved:half",
    "rope:dim=16,scaling=yarn,factor=8,original-max=32": "half",
    "rope:dim=16,scaling=yarn,factor=4,original-max=64,beta-fast=16": "interleaved",
    "rope:dim=16,scaling=llama3,factor=8,original-max=64": "half",
    "mrope:dim=16,sections=4+2+2": "half",
}


@pytest.fixture(scope="module", params=RECIPES, ids=lambda text: text.partition(":")[2])
def golden(request, tmp_path_factory):
    """A golden file of queries with four heads and keys with two, from position 7 on."""
    recipe, pairs = request.param.rstrip(","), RECIPES[request.param]
    drawn = ("--random", "2x4x11x16", "--kv-heads", "2", "--start", "7", "--pairs", pairs)
    path = tmp_path_factory.mktemp("golden") / "g.npz"
    assert command(["apply", recipe, *drawn, "-q", "-o", path]).returncode == 0
    return recipe, pairs, open_table(path)


class Kernel:
    """Keys turned as a kernel does, in float32, from the frequencies of a recipe."""

    def __init__(self, recipe, pairs, keys):
        self.x, self.pairs, self.at = keys, pairs, np.arange(7, 18)
        self.plan = Recipe.parse(recipe).resolve(length=64, last=63, whole=True).plan
        self.size = float(self.plan.bands[0].magnitude)
        self.rates = np.zeros(self.plan.width)
        for band in self.plan.bands:
            self.rates[band.sin] = [float(rate) for rate in band.frequencies]

    def __call__(self, positions=None, *, x=None, sign=1, size=None, pairs=None, rates=None):
        size = self.size if size is None else size
        rates = self.rates if rates is None else rates
        angle = (self.at if positions is None else positions)[..., None] * rates
        c, s = size * np.cos(angle), sign * size * np.sin(angle)
        x = (self.x if x is None else x).astype(np.float64)
        taken, _, given = (pairs or self.pairs).partition(":")
        out, n = x.copy(), len(rates)
        columns = {"half": np.arange(2 * n).reshape(2, n), "interleaved": np.arange(2 * n).reshape(n, 2).T}
        (a, b), (first, second) = columns[taken], columns[given or taken]
        out[..., first], out[..., second] = x[..., a] * c - x[..., b] * s, x[..., a] * s + x[..., b] * c
        return out.astype(np.float32)


SWAPPED = {"half": "interleaved", "interleaved": "half", "interleaved:half": "interleaved"}
FAULTS = {
    "pairs swapped": (lambda k: k(pairs=SWAPPED[k.pairs]), "pairs were rotated where"),
    "sign": (lambda k: k(sign=-1), "the rotation goes the other way"),
    "not turned": (lambda k: k.x, "not rotated at all"),
    "one more": (lambda k: k(k.at + 1), "off by one: each is 1 larger than expected"),
    "one less": (lambda k: k(k.at - 1), "off by one: each is 1 smaller than expected"),
    "twice": (lambda k: k(x=k()), "rotated twice"),
    "from 0": (lambda k: k(k.at - 7), "positions begin at 0"),
    "each step at 0": (lambda k: k(k.at * 0), "every row has position 0, as at each step"),
    "Q's heads": (lambda k: np.repeat(k(), 2, axis=1), "4 heads where 2 were expected, the queries': each stands 2"),
    "Q's heads, in turn": (lambda k: np.tile(k(), (1, 2, 1, 1)), "in the order of none of the groups"),
    "magnitude missing": (lambda k: k(size=1.0), "is missing"),
    "magnitude squared": (lambda k: k(size=k.size**2), "is squared"),
    "nothing": (lambda k: k(), None),
    "noise": (lambda k: k() + np.float32(0.01) * RNG.normal(size=k.x.shape).astype(np.float32), "differs in all rows"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.sample(2)
def test_a_fault_of_a_kernel_is_named(fault, golden):
    recipe, pairs, table = golden
    kernel, (make, says) = Kernel(recipe, pairs, table["k"]), FAULTS[fault]
    plain = kernel.size == 1 and ":" not in pairs
    if "magnitude" in fault and kernel.size == 1:
        pytest.skip("its magnitude is 1")
    turns = "none" if fault == "each step at 0" and plain else fault  # position 0 leaves a plain rotation as it is
    says = "not rotated at all" if turns == "none" else says
    held = {name: table.read(name) for name in table if name not in ("recipe", "positions")}
    mine = InMemory({**held, "k_rotated": make(kernel)})
    said = rotation_faults(mine, table, compare(mine, table, Tolerance(ulp=8)))
    assert [finding.text.startswith("k_rotated") for finding in said] == ([True] if says else [])
    assert not says or says in said[0].text


@pytest.mark.parametrize(("recipe", "other"), [("rope:dim=16", 8), ("rope:dim=16,rotary-dim=8", 16)])
def test_another_width_is_named(recipe, other, tmp_path, pecli):
    pecli("apply", recipe, "--pairs", "half", "--random", "2x3x11x16", "-o", "golden.npz")
    mine = {name: value for name, value in np.load(tmp_path / "golden.npz").items() if name != "recipe"}
    mine["k_rotated"] = Kernel(f"rope:dim={other}", "half", mine["k"])(np.arange(11))
    np.savez(tmp_path / "mine.npz", **mine)
    done = pecli("compare", "mine.npz", "golden.npz", "--ulp", "4")
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    head = ", the whole head," if other == 16 else ""
    fault = f"k_rotated: {other} columns{head} were rotated, and {24 - other} were expected"
    assert fault in said
    assert "q_rotated: " not in said
    files = [str(tmp_path / name) for name in ("mine.npz", "golden.npz")]
    for pair in (files, files[::-1]):  # in Python too, and of the golden file named first
        assert [finding.text for finding in compare_subjects(*pair, ulp=4).findings] == [fault]


def test_no_fault_is_said_that_leaves_a_value(tmp_path, pecli):
    pecli("apply", "rope:dim=16", "--pairs", "half", "--random", "2x3x11x16", "-o", "golden.npz")
    mine = {name: value for name, value in np.load(tmp_path / "golden.npz").items() if name != "recipe"}
    mine["k_rotated"] = mine["k"].copy()
    mine["k_rotated"][1, 2, 3, 4] += 1
    np.savez(tmp_path / "mine.npz", **mine)
    done = pecli("compare", "mine.npz", "golden.npz", "--ulp", "4")
    assert done.returncode == 1
    assert "not rotated" not in done.stdout


def test_weights_of_the_other_pairing_are_named(tmp_path, pecli):
    w = RNG.normal(size=(32, 6)).astype(np.float32)
    by_head = w.reshape(4, 8, 6)
    np.save(tmp_path / "wq.npy", w)
    np.save(tmp_path / "q.npy", np.concatenate([by_head[:, 0::2], by_head[:, 1::2]], 1).reshape(w.shape))
    done = pecli("compare", "q.npy", "wq.npy", "--heads", "4")
    assert done.returncode == 1
    assert "rows permuted: half against interleaved" in " ".join(done.stdout.split())
    back = pecli("compare", "wq.npy", "q.npy", "--heads", "4")
    assert "rows permuted: interleaved against half" in " ".join(back.stdout.split())
    other = " ".join(pecli("compare", "wq.npy", "q.npy", "--heads", "2").stdout.split())
    assert "rows permuted: interleaved against half" in other
    assert "as of 4 heads where 2 were expected" in other
    np.save(tmp_path / "other.npy", w[RNG.permutation(32)])
    assert "rows permuted" not in pecli("compare", "wq.npy", "other.npy", "--heads", "2").stdout
