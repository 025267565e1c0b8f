"""Every sentence of inspect and extrapolate: printed where it is true, and not in a case beside."""

from __future__ import annotations

import contextlib
import io
import json

import numpy as np
import pytest

import pecli
from pecli import Table, write_table
from pecli.cli.extrapolate.view import probe_view
from pecli.cli.run import run
from pecli.extrapolation.trial.placing import fitted_by_name
from pecli.extrapolation.trial.probe import ModelTrial, Probe, Settings, run_probe
from tests.support.sentences import said, sentences

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
        name: ("extrapolate", source, "--train-len", str(train), "--test-len", str(test), *more)
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


def printed(words):
    """What a command prints, errors too."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        run(words)
    return out.getvalue()


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
        for verdict in ("holds", "drifts", "loses", "ends"):
            found["extrapolate", verdict] = "\n".join(map(str, probe_view(a_probe(verdict))))
        found["extrapolate", "probe"] = found["extrapolate", "loses"]
        for name in ("t5", "alibi"):
            lines = []
            tried = run_probe([fitted_by_name(name, 16)], Settings(16, 32, 1, 2, (0,), 2), report=lines.append)
            found["extrapolate", f"{name} tried"] = "\n".join([*lines, tried.language])
    return found


def a_probe(verdict):
    trial = ModelTrial(
        "rope:dim=8", "rope:dim=8", "rope:dim=8", [[1.0] * 63], 1.0, (0.9, 1.1), 2.0, (1.9, 2.1), verdict
    )
    return Probe(Settings(train=32, test=64, steps=2), "pairs", list(range(63)), [0.5] * 63, 0.5, 0.6, (trial,))


INSPECT = {  # a sentence, where it is printed and true, where it must not be
    ", up to {} from the exact ones": ("identify spoiled.npz", "identify good.npz"),
    ", largest difference {}": ("identify good.npz", "identify noise.npy"),
    "of {} of the {}": ("wide", "few"),
    ", with 0 in the place of what is NaN or infinite, {} times": ("odd", "rows"),
    "a list, the first {}, the last {}": ("listed", "plain good.npz"),
    ".. of {} heads": ("plain alibi:heads=40,len=20", "plain alibi:heads=4,len=20"),
    "and {} more": ("plain many.npz", "plain good.npz"),
    "; {} are infinite (masked)": ("masked", "alibi"),
    "M_k of one 2 x 2 block for each pair": ("rope", "noise"),
    "all neighbours differ in {} bit{}": ("gray", "binary"),
    "all {} rows": ("rope", "rows"),
    "depends on key - query alone": ("alibi", "rope"),
    "every row is the same, and M_k = 1 keeps it": ("none", "few"),
    "first: {}[{}] is {}, expected {}": ("verify wrong.npz", "verify good.npz"),
    "mean cosine of rows at distance {}; at one distance it varies by {} at most": ("rope", "none"),
    "multiplied by {}": ("yarn", "rope"),
    "neighbours along a diagonal (the same key - query) differ by {} at most, {} are equal": ("alibi", "rope"),
    "neighbours are {} apart, two rows at random {}": ("rope", "alibi"),
    "neighbours differ in one bit": ("gray", "rope"),
    "neighbours differ in {} to {} bits, {} in the mean": ("binary", "gray"),
    "not measured: fitting M_k takes more than {} rows, and there are {}": ("few", "noise"),
    "not measured: {} rows are too few to fit M_k": ("short", "rope"),
    "; none of {} exceeds {}": ("fast", "rope"),
    "; {} of {} exceed {}, all of pairs that turn {} times or less": ("rope", "fast"),
    "over {} rows the mean product of two pairs' oscillations{} is {} (0: orthogonal)": ("rope", "one pair"),
    "the largest value": ("noise", "rope"),
    "the size of a pair": ("rope", "noise"),
    "score depends on m - n alone": ("rope", "noise"),
    "scores of one rotated query and key at the same m - n differ by {} of their size at most": ("rope", "noise"),
    "similarity by distance": ("rope", "none"),
    "{}, fitted to every other row p, takes the others to row p + k but for {} of {}": ("noise", "few"),
    "the first {} of {} rows": ("rows", "rope"),
    "the nearest two rows, {} and {}, are {} apart": ("rope", "alibi"),
    "the norm of a vector that is rotated so is {}, within {}": ("rope", "noise"),
    "the same as": ("identify narrow.npz", "identify good.npz"),
    "unknown: no formula was found that gives these values": ("identify noise.npy", "identify good.npz"),
    "values from {}; beyond distance {} sizes reach {}": ("alibi", "rope"),
    "{} times those within": ("alibi", "far"),
    "{}, and those within are 0": ("far", "alibi"),
    "values from {}; near position 1e9 their size is {} at most": ("rope", "noise"),
    "values from {}; the second half of the rows reaches {}": ("noise", "rope"),
    "{} times the first": ("noise", "zeros"),
    "{}, and the first is 0": ("zeros", "noise"),
    "{} of the values": ("identify spoiled.npz", "identify good.npz"),
    "{} of the values are the same with query and key exchanged": ("alibi", "rope"),
    "{} of {} heads have values of their own": ("alibi", "rope"),
    "{} of {} parts": ("verify parts", "verify good.npz"),
    "{} of {} values differ": ("verify wrong.npz", "verify good.npz"),
    "{} values differ": ("verify wrong.npz", "verify good.npz"),
    "{}: NOT what its recipe gives: {}": ("verify wrong.npz", "verify good.npz"),
    "{}: not verified: {}": ("verify unreadable.npz", "verify wrong.npz"),
    "{}: verified, {} values are what the recipe gives": ("verify good.npz", "verify wrong.npz"),
    "{}: {} of {} heads, {} of {} queries, {} of {} keys": ("alibi", "rope"),
}
EXTRAPOLATE = {
    "(the best possible)": ("probe", "rope"),
    ", or a base of {},": ("rope", "fast"),
    "--extend linear, cubic, nearest, tile or hierarchical makes a longer table": ("file", "learned"),
    "--scaling all compares the ways": ("rope", "covered"),
    "A model trained unscaled on {} positions, scaled for {}: share of new phases inside, distance of neighbours left, "
    "and the least factor or base that keeps every phase inside": ("every scaling", "rope"),
    "(values not trained)": ("t5 tried", "alibi tried"),
    "A toy that shows the effect, not a benchmark: one layer of attention": ("probe", "rope"),
    "Keys behind the query: the farthest that is reached, above {} % of the largest weight; how many distances share "
    "the last one's bias; share of new distances whose bias lies below, above all in training": ("alibi", "shaw"),
    "Loss by position, mean of the seeds": ("probe", "rope"),
    "Loss in nats of each value; inside: tokens {} to {}; beyond: {}.": ("probe", "rope"),
    "What it does to pairs": ("every scaling", "rope"),
    "a pair that {}": ("every scaling", "rope"),
    "all distances from {} share one row; it needs no longer table": ("few buckets", "shaw"),
    "all phases, values and biases of the new positions lie where training showed some, and all rows that they use are "
    "rows that it used": ("covered", "rope"),
    "all {} frequencies stay on phases that training showed": ("covered", "rope"),
    "dividing all frequencies by {}{} keeps every phase inside": ("rope", "fast"),
    "every column stays in the range it had in training{}": ("bits seen", "bits"),
    "is not for {}: it has no frequencies to scale; use it with rope or sinusoidal, or leave it out":
        ("alibi scaled", "every scaling"),
    "is slowed by less than the factor": ("every scaling", "rope"),
    "is slowed by the whole factor or more": ("every scaling", "rope"),
    "its own parameters fix its {} rows": ("grid", "learned"),
    "its phases are no products of one frequency and a position": ("logarithm", "rope"),
    "its rows end at position {}; positions {} to {} have none": ("file", "learned"),
    "least in training": ("alibi", "rope"),
    "longer table: {}": ("rope", "longer"),
    "mean length of a row": ("longer", "file"),
    "mean step to the next": ("longer", "file"),
    "must be above the training length {}: nothing lies beyond it otherwise": ("shorter", "rope"),
    "new phases seen": ("rope", "alibi"),
    "new positions bring phases, values, biases or rows that training never showed": ("rope", "covered"),
    "new positions have no value": ("learned", "kept rows"),
    "new positions have rows, but rows that training never touched": ("kept rows", "learned"),
    "every new distance has a bias in the range that training showed; it needs no longer table{}": ("flat", "alibi"),
    "; looked at: {}": ("fire", "alibi"),
    "the last query and {} of training": ("fire", "far"),
    "; {} positions were looked at": ("far bits", "bits"),
    "no new distance gets a larger bias than training showed, and some get a smaller one": ("alibi", "fire"),
    "no positions enter: the causal mask alone carries order": ("none", "alibi"),
    "rows {} to {} exist and keep their initial values": ("kept rows", "learned"),
    "score at a distance": ("rope", "alibi"),
    "the encoding's own parameters fix the length, as a grid does: a longer table is another encoding":
        ("grid", "learned"),
    "the loss at the end of the test length is at most {} times that inside": ("holds", "drifts"),
    "the loss at the end of the test length is between {} and {} times that inside": ("drifts", "loses"),
    "the loss at the end of the test length is more than {} times that inside": ("loses", "holds"),
    "there are no positions beyond the training length, and no loss": ("ends", "loses"),
    "the last position with a value is {}; positions {} to {} have none": ("learned", "kept rows"),
    "the phases are no products of one frequency and a position: they are not measured": ("logarithm", "covered"),
    "pairs of {} keys and {} values: a key shows the value it showed last, or with chance {} a new one; the model must "
    "find the latest showing of each key": ("t5 tried", "probe"),
    "tokens {} to {}": ("probe", "rope"),
    "trained {}, seed {}": ("alibi tried", "probe"),
    "train on longer sequences": ("shaw", "few buckets"),
    "train them; {}": ("kept rows", "learned"),
    "trained rows, resized or repeated": ("learned", "rope"),
    "training on positions 0 .. T-1 shows a frequency w the phases from 0 up to T w, all of the circle where T w is a "
    "turn or more; a test position is outside where its phase lies beyond": ("rope", "alibi"),
    "turns as fast as in training": ("every scaling", "rope"),
    "what every head makes its bias of gives": ("no head", "fire"),
    "{}   trained on {} positions, tried on {}": ("rope", "longer"),
    "{} distances, {} to {}, have the same": ("few buckets", "rope"),
    "{} in training, {} when tested, {} of them new": ("shaw", "alibi"),
    "{}; behind the query": ("shaw", "alibi"),
    "{} new distances a larger bias than training, by up to {}{}": ("fire", "alibi"),
    "{} of {} columns leave the range they had in training, column {} at position {}: it had {}, and has {} at the new "
    "positions{}": ("bits", "bits seen"),
    "{} of {} frequencies bring unseen phases, the first at position {}; {} of the new phases were seen":
        ("rope", "covered"),
    "{} of {} heads already gave less than {} % of the largest weight to keys within the training length; it needs no "
    "longer table{}": ("alibi", "flat"),
    "{} of {} heads give": ("fire", "no head"),
    "{} of {} rows repeat an earlier one; -o FILE writes the table": ("longer", "file"),
    "{} of {}: so many columns make a whole turn in training": ("rope", "alibi"),
    "{} rows are used by new distances behind the query only": ("shaw", "few buckets"),
    "{} to {} at {} distances from {} on": ("rope", "alibi"),
    "{}, trained on {}, at {}: {}": ("report", "rope"),
    "{}, {} % of that in training": ("rope", "alibi"),
    "{}, {} steps on {} tokens, {} seeds.": ("probe", "rope"),
    "{}: {} of the new phases were seen; {}": ("report", "every scaling"),
}  # fmt: skip


INSPECTING = "inspection/*propert*.py", "cli/inspect/view.py"
EXTRAPOLATING = (
    "extrapolation/extrapolation.py", "extrapolation/reach.py", "extrapolation/scalings.py", "cli/extrapolate/view.py",
    "extrapolation/trial/probe.py",
)  # fmt: skip


def test_every_sentence_of_inspect_has_a_row():
    assert sentences(*INSPECTING) == {*INSPECT}


def test_every_sentence_of_extrapolate_has_a_row():
    assert sentences(*EXTRAPOLATING) == {*EXTRAPOLATE}


ROWS = [(k, s, *row) for k, rows in (("inspect", INSPECT), ("extrapolate", EXTRAPOLATE)) for s, row in rows.items()]


@pytest.mark.parametrize(("command", "sentence", "true", "near"), ROWS)
def test_a_sentence_is_printed_where_it_is_true_alone(command, sentence, true, near, texts):
    assert said(sentence, texts[command, true]), texts[command, true]
    assert not said(sentence, texts[command, near]), texts[command, near]
