"""What stands on the board of a worked example: where it is true alone."""

from __future__ import annotations

import numpy as np
import pytest

from pecli import Recipe
from pecli.encodings.shared.lessons import Exercise
from pecli.spec.hooks import SmallTable, Step
from pecli.teach.examples import bias_steps, compute, work_through

BOARDS = {  # recipes worked through
    "sines": "sinusoidal:dim=4", "wide sines": "sinusoidal:dim=16", "odd sines": "sinusoidal:dim=5,odd=truncate",
    "whole turns": "sinusoidal:dim=2,turns=true", "moved sines": "sinusoidal:dim=4,shift=1", "rope": "rope:dim=4",
    "wide rope": "rope:dim=16", "resting rope": "rope:dim=4,frequencies=0+0",
    "given rope": "rope:dim=4,frequencies=1+0.1", "linear": "rope:dim=16,scaling=linear,factor=2",
    "growing": "rope:dim=16,base=0.5,scaling=linear,factor=2",
    "yarn": "rope:dim=16,scaling=yarn,factor=4,original-max=64",
    "by parts": "rope:dim=8,scaling=ntk-by-parts,factor=2,original-max=64", "grid rope": "rope2d:dim=8,grid=3x4",
    "streams": "mrope:dim=12,sections=2+2+2", "xpos": "xpos:dim=4", "retnet": "retnet:dim=4,heads=2",
    "complex": "complex:dim=2", "fourier": "fourier:dim=8,sigma=1", "nerf": "nerf:bands=3",
    "detr": "detr:dim=8,grid=2x3", "bits": "binary:dim=6", "gray": "binary:dim=6,code=gray",
    "bits from the left": "binary:dim=6,msb=true", "one bit": "binary:dim=1", "integer": "integer:dim=3",
    "scaled integer": "integer:dim=3,scales=2", "learned": "learned:dim=6,max-len=9",
    "learned offset": "learned:dim=6,max-len=9,rows-offset=2", "none": "none:dim=2", "alibi": "alibi:heads=4",
    "many heads": "alibi:heads=20", "key positions": "alibi:heads=4,bias=key-position",
    "causal": "alibi:heads=4,mask=causal", "t5": "t5:heads=2,buckets=8,max-distance=16",
    "t5 decoder": "t5:heads=2,buckets=8,max-distance=16,bidirectional=false", "fire": "fire:heads=2,threshold=4",
    "gaussian": "gaussian:heads=2,sigma=1+4", "gaussian log": "gaussian:sigma=3,apply=log",
    "kerple": "kerple:heads=2", "sandwich": "sandwich:heads=2,width=8", "wide sandwich": "sandwich:heads=2,width=12",
    "window": "window:grid=3x4,heads=2", "window 2": "window:grid=2x5,version=2,heads=1,hidden=8",
    "deberta": "deberta:buckets=8,max-distance=16,dim=4", "deberta plain": "deberta:buckets=0,max-distance=4,dim=4",
    "decomposed": "decomposed:grid=3x4,dim=2", "shaw": "shaw:dim=4,clip=3",
    "transformer-xl": "transformer-xl:dim=8,heads=2",
    "conditional": 'conditional:dim=4,content="learned:dim=3,max-len=512",channels=3',
    "cpe": 'cpe:content="learned:dim=4,max-len=512",channels=4', "query scale": "query-scale:length=16,beta=1",
    "log n": "query-scale:kind=log-n,length=64", "raw integer": "integer:dim=3,raw=true",
    "masked kerple": "kerple:heads=2,mask=causal", "stored t5": "t5:heads=2,buckets=8,max-distance=16,weights=t5.npy",
    "other keys": "decomposed:grid=3x4,key-grid=2x2,dim=2", "added retnet": "retnet:dim=4,heads=2,apply=log",
    "text": "mrope:dim=12,sections=2+2+2,sequence=4",
}  # fmt: skip
FAMILIES = {  # the lesson that an encoding without one of its own gets
    "a family's alibi": "alibi:heads=2", "a family's keys": "alibi:heads=2,bias=key-position",
    "a family's fire": "fire:heads=2,threshold=16",
}  # fmt: skip

ROWS = (  # a case, another case, and words that are printed for the first and not for the second
    ("a family's alibi", "a family's keys", "along every"),
    ("a family's fire", "a family's alibi", "trained"),
    ("a family's fire", "window", "longer tables"),
    ("a family's keys", "a family's alibi", "other values"),
    ("alibi", "kerple", "slope", "equal logits"),
    ("bits", "bits from the left", "holds 2^i"),
    ("bits", "one bit", "63 differ"),
    ("bits", "sines", "Hamming distance"),
    ("bits from the left", "bits", "most significant"),
    ("causal", "alibi", "3: after"),
    ("complex", "fourier", "imaginary part", "real part"),
    ("cpe", "conditional", "16 numbers"),
    ("decomposed", "shaw", "vector_height", "index_width"),
    ("fire", "kerple", "x of one query"),
    ("fourier", "detr", "angles, position"),
    ("fourier", "resting rope", "row for each position", "sines and cosines"),
    ("gaussian", "gaussian log", "exp(-(", "multiplied weights are no mask"),
    ("gaussian", "gaussian log", "multiplying does"),
    ("growing", "given rope", "position, scaled"),
    ("integer", "detr", "position over"),
    ("kerple", "alibi", "numbers of each head"),
    ("key positions", "alibi", "keys after"),
    ("learned", "sines", "what is trained", "54 numbers"),
    ("linear", "rope", "scaled by linear", "unscaled"),
    ("log n", "query scale", "ln 64"),
    ("masked kerple", "kerple", "after the query, -inf"),
    ("moved sines", "odd sines", "cos(3 w_i", "rows depends"),
    ("moved sines", "sines", "10000^(-2/2)"),
    ("moved sines", "whole turns", "- PE(5", "- PE(0", "differences are not", "does not hold"),
    (
        "none",
        "sines",
        "causal mask",
        "bites whom",
        "bites man",
        "queries, keys",
        "e^logit over",
        "different output",
        "reordered: man",
    ),
    ("one bit", "bits", "1 differ"),
    ("one bit", "gray", "powers of two"),
    ("other keys", "decomposed", "row 3"),
    ("query scale", "sines", "factor", "largest weight"),
    ("raw integer", "integer", "every column"),
    (
        "resting rope",
        "fourier",
        "-sin; sin",
        "other columns",
        "1, pair",
        "cos q_0",
        "cos q_1",
        "equal halves",
        "sides is 0",
        "position 1",
        "pairs q_2i",
    ),
    ("retnet", "given rope", "a number for each distance"),
    ("scaled integer", "integer", "scale for each column"),
    ("shaw", "deberta plain", "7 x 4: 28 numbers", "row 2 of vector"),
    ("streams", "text", "angles, position", "4 scores"),
    ("streams", "wide rope", "token 6", "1+1x2x3+1: text", "positions 1", "token"),
    (
        "t5",
        "deberta",
        "most 3",
        "distances before",
        "floor(2 x",
        "2, bucket",
        "bucket 2",
        "distances 0",
        "distances share",
        "distances d",
        "6 and more",
        "8 buckets",
    ),
    ("t5", "t5 decoder", "3 after", "buckets: 4"),
    ("t5 decoder", "t5", "bucket 0"),
    ("text", "streams", "coordinates 1", "difference of coordinates"),
    ("transformer-xl", "fourier", "row 3", "query and key"),
    ("transformer-xl", "fourier", "u . k", "v . r", "score of query 1"),
    ("whole turns", "fourier", "w_i) cos(k", "positions 0", "every row"),
    ("wide rope", "rope", "w_7 ="),
    ("window", "a family's fire", "index, for each query"),
    ("xpos", "given rope", "6: scale"),
    ("xpos", "given rope", "scale, a number for each pair"),
)


def on_board(steps: list[Step]) -> str:
    """What stands there: titles, lines, headings and cells."""
    lines = []
    for step in steps:
        lines.append(step.title)
        for item in step.items:
            table = isinstance(item, SmallTable)
            lines += [" ".join(item.columns), *(str(c) for row in item.rows for c in row)] if table else [str(item)]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """What stands on every board."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("boards"))
        np.save("t5.npy", np.ones((8, 2)))
        found = {name: on_board(work_through(Recipe.parse(text)).steps) for name, text in BOARDS.items()}
        for name, text in FAMILIES.items():
            found[name] = on_board(list(bias_steps(Exercise(Recipe.parse(text), None, None, compute))))
    return {name: " ".join(text.split()) for name, text in found.items()}


@pytest.mark.parametrize(("true", "near", "words"), [(true, near, words) for true, near, *words in ROWS])
def test_what_is_printed_is_true_and_not_printed_elsewhere(true, near, words, texts):
    assert [word for word in words if word not in texts[true]] == [], texts[true]
    assert [word for word in words if word in texts[near]] == [], texts[near]
