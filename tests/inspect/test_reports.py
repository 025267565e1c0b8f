"""What inspect and extrapolate print: where it is true alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pecli
from pecli import Table, write_table
from tests.support.commands import printed

PROPERTIES = {
    "rows": "sinusoidal:dim=16,len=600", "rope": "rope:dim=16,len=40", "short": "rope:dim=16,len=3",
    "yarn": "rope:dim=64,len=40,scaling=yarn,factor=4,original-max=4096", "noise": "noise.npy", "few": "few.npy",
    "none": "none:dim=4,len=10", "binary": "binary:dim=6,len=40", "gray": "binary:dim=6,len=40,code=gray",
    "alibi": "alibi:heads=4,len=20", "masked": "alibi:heads=4,len=20,mask=causal",
    "odd": "odd.npy", "wide": "rope:dim=4096,len=17", "fast": "rope:dim=4,base=3,len=200",
    "one pair": "rope:dim=2,len=9", "zeros": "zeros.npy", "far": "far.npz",
}  # fmt: skip
IDENTIFY = ("good.npz", "noise.npy", "half.npy", "narrow.npz", "two.npz", "spoiled.npz", "buckets.npy")
PLAIN = ("good.npz", "many.npz", "alibi:heads=4,len=20", "alibi:heads=40,len=20")
VERIFY = ("good.npz", "wrong.npz", "unreadable.npz", "parts")
INSPECTED = {
    **{name: ("inspect", source, "--properties") for name, source in PROPERTIES.items()},
    **{f"identify {name}": ("inspect", name, "--identify") for name in IDENTIFY},
    **{f"verify {name}": ("inspect", name, "--verify") for name in VERIFY},
    **{f"plain {name}": ("inspect", name) for name in PLAIN},
    "listed": ("inspect", "sinusoidal:dim=16", "--positions", "0,5,3"),
}
REACHED = {
    "rope": ("rope:dim=16", 64, 256), "every scaling": ("rope:dim=64", 2048, 8192, "--scaling", "all"),
    "covered": ("rope:dim=16,base=3", 64, 256), "alibi": ("alibi:heads=8", 64, 256),
    "alibi scaled": ("alibi:heads=8", 64, 256, "--scaling", "linear"), "shorter": ("rope:dim=16", 64, 32),
    "few buckets": ("t5:heads=2,buckets=8,max-distance=16", 64, 256), "shaw": ("shaw:dim=4,clip=100", 64, 256),
    "learned": ("learned:dim=8,max-len=64", 64, 256), "kept rows": ("learned:dim=8,max-len=512", 64, 256),
    "bits": ("binary:dim=12", 64, 256), "bits seen": ("binary:dim=8", 200, 250), "none": ("none:dim=4", 64, 256),
    "grid": ("sincos2d:dim=8,grid=6x8", 48, 100), "fire": ("fire:heads=2,threshold=1000", 64, 256),
    "no head": ("fire:form=index", 8, 16), "flat": ("alibi:heads=1,slope-values=0", 64, 256),
    "fast": ("rope:dim=4,frequencies=5+0.1", 4, 9),
    "far": ("alibi:heads=2", 64, 100000),
    "far bits": ("binary:dim=22", 64, 1100000),
    "logarithm": ("fourier:dim=8,sigma=0.1,log=true", 64, 256), "file": ("trained.npy", 64, 256),
}  # fmt: skip
EXTRAPOLATED = {
    **{
        name: ("extrapolate", source, "--train-len", str(train), "--test-len", str(test), "--all", *more)
        for name, (source, train, test, *more) in REACHED.items()
    },
    "longer": ("extrapolate", "trained.npy", "--test-len", "256", "--extend", "linear"),
}


def files():
    """Write the files that the commands read."""
    rng = np.random.default_rng(2)
    np.save("noise.npy", rng.standard_normal((60, 8)).astype("f4"))
    np.save("zeros.npy", np.where(np.arange(40)[:, None] < 20, 0, rng.standard_normal((40, 8))))
    np.savez("far.npz", bias=np.where(abs(np.subtract.outer(range(20), range(20))) > 12, -5, 0).astype("f4")[None])
    np.save("few.npy", rng.standard_normal((12, 8)).astype("f4"))
    table = Table.parse("sinusoidal:dim=16,len=64")
    write_table(table, "good.npz")
    with np.load("good.npz") as good:
        pe, recipe = good["pe"], good["recipe"]
    np.save("odd.npy", np.where(np.arange(64)[:, None] == 30, np.nan, pe))
    np.save("trained.npy", rng.standard_normal((64, 8)).astype("f4"))
    np.save("half.npy", pe.astype("f2").astype("f4"))
    np.savez("two.npz", pe=pe, other=rng.standard_normal((5, 7)))
    np.savez("many.npz", **{f"a{k}": pe for k in range(9)})
    pe[7, 3] = 9
    np.savez("wrong.npz", pe=pe, recipe=recipe)
    np.savez("unreadable.npz", pe=pe, recipe=np.array(json.dumps({"recipe": "sinusoidal:dim=16,len=64,tail=3"})))
    for name, keys in (("narrow", "dtype=float16,base=10007,len=40"), ("spoiled", "arithmetic=bfloat16,len=200")):
        made = Table.parse(f"rope:dim=16,{keys}")
        cos, sin = np.array(made["cos"]), np.array(made["sin"])
        cos[5, 2] = 3 if name == "spoiled" else cos[5, 2]
        np.savez(f"{name}.npz", cos=cos, sin=sin)
    bias = np.array(Table.parse("t5:heads=4,buckets=32,max-distance=128,len=40")["bias"])
    bias[1, 3, 4] += 1
    np.save("buckets.npy", bias)
    for k in range(2):
        write_table(Table.parse(f"sinusoidal:dim=16,len=64,shard={k}/2"), f"parts/{k}.npz")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """What every command prints."""
    folder = tmp_path_factory.mktemp("sentences")
    (folder / "parts").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "400")
        files()
        found = {("inspect", case): printed(words) for case, words in INSPECTED.items()}
        found |= {("extrapolate", case): printed(words) for case, words in EXTRAPOLATED.items()}
        report = pecli.extrapolate("rope:dim=64", train=2048, test=8192, scaling="all")
        found["extrapolate", "report"] = repr(report)
    return {case: " ".join(text.split()) for case, text in found.items()}


INSPECT = (  # a case, another case, and words that are printed for the first and not for the second
    ("alibi", "rope", "distances up to", "bias: 4"),
    ("far", "alibi", "10, 5 in larger"),
    ("fast", "rope", "1 exceeds"),
    ("few", "noise", "all 12 rows"),
    ("identify good.npz", "identify noise.npy", "sure: all values equal"),
    ("identify spoiled.npz", "identify good.npz", "likely"),
    ("listed", "plain good.npz", "first 0"),
    ("noise", "zeros", "bounded yes"),
    ("none", "few", "repeat an earlier row"),
    ("odd", "rows", "16 times"),
    ("plain alibi:heads=40,len=20", "plain alibi:heads=4,len=20", "40 heads"),
    ("plain many.npz", "plain good.npz", "6 more"),
    ("rope", "alibi", "apart, two"),
    ("rope", "noise", "preserved, within"),
    ("rope", "none", "distance 1", "similarity by distance"),
    ("rope", "one pair", "over 40"),
    ("rope", "rows", "40 rows"),
    ("rows", "rope", "600 rows"),
    ("short", "rope", "3 rows"),
    ("verify good.npz", "verify wrong.npz", "verified: 1,024"),
    ("verify parts", "verify good.npz", "2 parts"),
    ("verify unreadable.npz", "verify wrong.npz", "verified"),
    ("verify wrong.npz", "verify good.npz", "different: pe[7, 3] is 9", "1 of 1,024 float32 values"),
    ("wide", "few", "pairs' oscillations"),
    ("yarn", "rope", "multiplied"),
    ("zeros", "noise", "sizes reach 0 in the first half"),
)
EXTRAPOLATE = (  # a case, another case, and words that are printed for the first and not for the second
    ("alibi", "fire", "distance gets"),
    ("alibi", "flat", "8 heads"),
    ("alibi", "rope", "least in training"),
    ("alibi", "shaw", "above 1"),
    ("alibi scaled", "every scaling", "with one of them"),
    ("bits", "bits seen", "12 columns"),
    ("bits seen", "bits", "column stays"),
    ("covered", "rope", "positions lie", "frequencies stay"),
    (
        "every scaling",
        "rope",
        "2048 positions",
        "does to pairs",
        "pair that turns",
        "slowed by less",
        "whole factor",
        "turns as fast",
    ),
    ("far bits", "bits", "3,524 positions"),
    ("few buckets", "rope", "row 250"),
    ("few buckets", "shaw", "6 on share"),
    ("file", "learned", "--extend linear", "position 63"),
    ("fire", "alibi", "2 heads"),
    ("fire", "far", "last query"),
    ("fire", "no head", "2 heads"),
    ("flat", "alibi", "every new"),
    ("grid", "learned", "48 rows", "another encoding"),
    ("kept rows", "learned", "but training", "255 exist", "them; --extend"),
    ("learned", "kept rows", "positions have no value", "63; positions"),
    ("learned", "rope", "rows, resized"),
    ("logarithm", "covered", "measured"),
    ("logarithm", "rope", "products"),
    ("longer", "file", "256 x 8", "by linear", "writes the table"),
    ("no head", "fire", "all heads"),
    ("none", "alibi", "causal mask"),
    ("report", "every scaling", "seen; rope"),
    ("report", "rope", "8192: unseen"),
    ("rope", "alibi", "angles seen", "score", "dimension 6", "105 distances", "neighbour distance"),
    ("rope", "covered", "--scaling all compares", "bring angles", "unseen: 5"),
    ("rope", "fast", "base of 403175", "403175, keeps"),
    ("rope", "longer", "table: sines", "64 positions"),
    ("shaw", "alibi", "used 64"),
    ("shaw", "few buckets", "longer sequences", "37 rows"),
    ("shorter", "rope", "must be above the training length 64"),
)


ROWS = [(command, row) for command, rows in (("inspect", INSPECT), ("extrapolate", EXTRAPOLATE)) for row in rows]


@pytest.mark.parametrize(("command", "row"), ROWS)
@pytest.mark.sample(2)
def test_what_is_printed_is_true_and_not_printed_elsewhere(command, row, texts):
    true, near, *words = row
    assert [word for word in words if word not in texts[command, true]] == [], texts[command, true]
    assert [word for word in words if word in texts[command, near]] == [], texts[command, near]
