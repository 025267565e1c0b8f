"""Every sentence of a worked example: on the board where it is true, and not on one beside; no module is left out."""

from __future__ import annotations

import numpy as np
import pytest

from pecli import Recipe
from pecli.declare.board import SmallTable, Step
from pecli.encodings.shared.lessons import Exercise
from pecli.lessons import families
from pecli.lessons.lesson import compute, work_through
from tests.judge import test_sentences, test_sentences_known, test_sentences_measured
from tests.support.sentences import ROOT, said, sentences, within

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

ROWS = {  # a sentence, where it is on the board and true, where it must not be
    "(position p has row p + {})": ("learned offset", "learned"),
    "(sum of {} cosines = {}, less {}) / {}": ("sandwich", "kerple"),
    ", another distance differs": ("given rope", "resting rope"),
    ", at most {}": ("t5", "deberta"),
    ", bias {} in head 0, row {} of the table": ("window", "a family's fire"),
    ", cut to {}": ("by parts", "linear"),
    ", from the fastest to the slowest": ("linear", "growing"),
    ".. to w_{} = {}, one turn in {} positions": ("wide sines", "sines"),
    ".. to w_{} = {}; the first {} are worked out here": ("wide rope", "rope"),
    ".. {} heads in all; pecli inspect --json has every slope": ("many heads", "alibi"),
    "1 + {} x ln(1 + floor(({}) / {})) = 1 + {} x ln({})": ("query scale", "log n"),
    "2 x {} = {} rows x {} = {} trained numbers": ("deberta plain", "shaw"),
    "2 x {} heads x {} = {} trained numbers": ("transformer-xl", "fourier"),
    "M_k = [ cos(k w_i)  sin(k w_i); -sin(k w_i)  cos(k w_i) ] on (sin, cos)": ("whole turns", "fourier"),
    "PE(10) - PE(5) = {}": ("moved sines", "whole turns"),
    "PE(5) - PE(0)  = {}": ("moved sines", "whole turns"),
    "PE({}) = {} in every column": ("raw integer", "integer"),
    "W1, b1, W2, b2, c and L: {} numbers": ("fire", "a family's fire"),
    "a causal mask breaks it": ("none", "sines"),
    "a frequency for each pair of columns, in radians per position": ("sines", "moved sines"),
    "a frequency for each pair, in radians per position": ("moved sines", "sines"),
    "a frequency for each pair, in radians per position, scaled by {}": ("growing", "given rope"),
    "a frequency for each pair, in radians per {}": ("moved sines", "sines"),
    "a kernel of three for each channel": ("cpe", "conditional"),
    "a key after its query has no row of its own: it is masked, and stands here with that of distance 0":
        ("transformer-xl", "fourier"),
    "a negative logit is weakened too, and so it grows: multiplied weights are no mask; their logarithm is":
        ("gaussian", "gaussian log"),
    "a query before {} counts as {}; from there on x depends on the query as well": ("fire", "a family's fire"),
    "a rotation for each pair, [ cos -sin; sin cos ]": ("resting rope", "fourier"),
    "a row for each {}": ("decomposed", "a family's fire"),
    "a row is that number + {}, at least 0 and at most {}; a key after its query has a minus":
        ("deberta plain", "shaw"),
    "a scale for each column": ("scaled integer", "integer"),
    "a shift is a product: column 0 of positions {} and {}": ("complex", "fourier"),
    "a slope for each head": ("alibi", "kerple"),
    "a trained vector for each position": ("learned", "sines"),
    "a vector for each row": ("shaw", "transformer-xl"),
    "added to a token": ("learned", "sines"),
    "after the query, masked": ("masked kerple", "kerple"),
    "all distances before the query": ("t5", "deberta"),
    "all for keys up to the query": ("t5 decoder", "t5"),
    "and so on for each pair; nothing else of the query, and nothing of the values, is turned":
        ("resting rope", "fourier"),
    "and so on to w_{}": ("wide sandwich", "sandwich"),
    "angles, position times frequency": ("fourier", "detr"),
    "angles, {} times frequency": ("streams", "text"),
    "at distance {}: {} = {}": ("sandwich", "kerple"),
    "at most {}, so it is {}": ("deberta", "deberta plain"),
    "before the first row and after the last stands a zero: so a row knows where the border is": ("cpe", "conditional"),
    "both are added to q . k / sqrt(d): {}": ("decomposed", "nerf"),
    "bucket = {} + floor({} x ln(d / {}) / ln({} / {})), at most {}": ("t5", "deberta"),
    "channel 0 of each row: itself, its neighbours times the kernel, and b": ("cpe", "conditional"),
    "checked at positions {}: the largest difference is {}": ("whole turns", "fourier"),
    "d = {}: below {}, bucket {}": ("t5", "deberta"),
    "d = {}: {} + floor({}){} -> bucket {}": ("t5", "deberta"),
    "distances 0 to {} have a bucket each; from {} on they share, up to {}:": ("t5", "deberta"),
    "distances D = query - key, and the bucket of each": ("deberta plain", "shaw"),
    "distances D = {}, cut to -{} .. {}; the query at {}": ("shaw", "deberta plain"),
    "distances share buckets": ("t5", "deberta"),
    "drawn here, as before training": ("t5", "stored t5"),
    "each pair is turned by k w_i radians, so one matrix takes every row to the row k further:":
        ("whole turns", "fourier"),
    "each token has the output that it had: outputs move with their tokens (attention is "
    "permutation-equivariant), and who bites whom cannot be told":
        ("none", "sines"),
    "each token sees itself and those before it; {}, then {}": ("none", "sines"),
    "embedding of the token": ("learned", "sines"),
    "equal along every diagonal: it depends on key - query alone": ("a family's alibi", "a family's keys"),
    "equal along the diagonals of these rows; in longer tables it depends on the query as well":
        ("a family's fire", "window"),
    "every key after the query: bucket {}": ("t5 decoder", "t5"),
    "four terms make the score of the query at {} and the key at 0 in head 0": ("transformer-xl", "fourier"),
    "head 0 of the network, W2 max(0, W1 x + b1) + b2": ("fire", "a family's fire"),
    "head {}, a key {} before the query: {} = {}": ("retnet", "given rope"),
    "imaginary part: {} x {} + {} x {} = {}": ("complex", "fourier"),
    "in this table ({}) the neighbours among positions 0 to {} differ in 1 to {}": ("bits", "one bit"),
    "in this table ({}) the neighbours among positions 0 to {} differ in exactly 1 bit": ("one bit", "bits"),
    "is added to the logits": ("gaussian log", "gaussian"),
    "is added to the score": ("added retnet", "retnet"),
    "its gate, the sigmoid of z = x w + b": ("conditional", "a family's fire"),
    "its place is {}": ("deberta plain", "deberta"),
    "its rows before training ({})": ("learned", "sines"),
    "key {}: D = {}, cut to {}, row {} + {} = {}": ("shaw", "deberta plain"),
    "key {}: after the query, -inf": ("causal", "alibi"),
    "key {}: dy = {}, dx = {}: {}": ("window", "a family's fire"),
    "keys 1, 2, 3 after the query: {} more, buckets {}": ("t5", "t5 decoder"),
    "keys after the query are masked, as in the decoders that this form is for": ("key positions", "alibi"),
    "least significant bit first: column i holds 2^i": ("bits", "bits from the left"),
    "ln({}/{}) / ln({}/{})": ("deberta", "deberta plain"),
    "max(1, ln({} + 1) / ln {})": ("log n", "query scale"),
    "most significant bit first": ("bits from the left", "bits"),
    "multiplies the logits": ("gaussian", "gaussian log"),
    "multiplies the score, and there is no softmax": ("retnet", "added retnet"),
    "neighbours, and their Hamming distance": ("bits", "sines"),
    "not equal along the diagonals: the same distance has other values elsewhere":
        ("a family's keys", "a family's alibi"),
    "one row for each position": ("fourier", "resting rope"),
    "one row of head 0": ("kerple", "alibi"),
    "one row of head 0, divided by 8h/H = {} (h = 1)": ("sandwich", "kerple"),
    "one row of head 0, sigma = {}": ("gaussian log", "kerple"),
    "one row, the query at position {}, head 0 (m = {})": ("alibi", "kerple"),
    "one turn in": ("given rope", "rope"),
    "pair {} turns with {}, of token {} by: {}": ("streams", "wide rope"),
    "patch {} stands at row {}, column {}; patch 0 at row 0, column 0": ("decomposed", "nerf"),
    "position {} has the coordinates {}": ("text", "streams"),
    "position {}, pair {}: {}": ("resting rope", "fourier"),
    "q = {}, k = {}, r = row {}, as it is: a model projects it first": ("deberta plain", "shaw"),
    "q'_0 = cos q_0 - sin q_1 = {} q_0 - {} q_1": ("resting rope", "fourier"),
    "q'_1 = sin q_0 + cos q_1 = {} q_0 + {} q_1": ("resting rope", "fourier"),
    "queries, keys and values are the tokens themselves; logits of {}: {}": ("none", "sines"),
    "query {}, key {}: ln({} x {} + 1) / {} = {}": ("fire", "a family's fire"),
    "query {}, key {}: {}": ("kerple", "alibi"),
    "r = {}, the first numbers of row {}: a model projects the row": ("transformer-xl", "fourier"),
    "real part: {} x {} - {} x {} = {}": ("complex", "fourier"),
    "rotate_half takes q_i and q_i+{}, its cos and sin are two equal halves: not to be mixed":
        ("resting rope", "fourier"),
    "scale, a number for each pair; it is 1 at position": ("xpos", "given rope"),
    "sequence {}: text has one position in all streams; in an image t stays, h and w count its rows and columns "
    "from there; the text after it goes on after the largest position":
        ("streams", "wide rope"),
    "sin a sin b + cos a cos b = cos(a - b), pair by pair; at distance 0 every cosine is 1": ("sandwich", "kerple"),
    "sin a sin b + cos a cos b = cos(a - b): {}a sum of cos(3 w_i), whatever p is": ("moved sines", "odd sines"),
    "sines and cosines of the angles": ("fourier", "resting rope"),
    "sines and cosines of the angles, at position {}": ("fourier", "whole turns"),
    "sines and cosines of the distance {}; {} is row {} of {}": ("transformer-xl", "fourier"),
    "softmax: e^logit over {} = {}: {}": ("none", "sines"),
    "some distances d of keys before the query": ("t5", "deberta"),
    "text, whose streams agree, is turned as by rope: so the positions 1 and 3 of the steps that follow":
        ("streams", "wide rope"),
    "the Gray code, p xor floor(p / 2)": ("gray", "one bit"),
    "the bias of head 0": ("fire", "a family's fire"),
    "the bias of head 0, added to the logits": ("fire", "a family's fire"),
    "the buckets of queries and keys": ("t5", "deberta"),
    "the content x of each position": ("conditional", "a family's fire"),
    "the decay of a key by its distance; it {}": ("retnet", "given rope"),
    "the entry of two patches, (dy + h - 1)(2w - 1) + dx + w - 1": ("window", "a family's fire"),
    "the factor of a query at position p": ("query scale", "sines"),
    "the first {} scores differ by {} at most{}": ("streams", "text"),
    "the frequencies of a sinusoid": ("sandwich", "kerple"),
    "the gate times the row of the absolute table": ("conditional", "a family's fire"),
    "the index of each query and key": ("deberta plain", "shaw"),
    "the largest difference between the two sides is {}": ("resting rope", "fourier"),
    "the logarithm of the distance, as a share of that of the query's position": ("fire", "a family's fire"),
    "the matrix of head 0, added to the logits": ("kerple", "gaussian log"),
    "the matrix of head 0, added to the logits q_i . k_j / sqrt(d)": ("alibi", "kerple"),
    "the matrix of head 0, which {}": ("gaussian log", "kerple"),
    "the position as a sum of powers of two": ("one bit", "gray"),
    "the position over the last one": ("integer", "detr"),
    "the positions of each token": ("streams", "wide rope"),
    "the product of rows {} and {} is row {}: e^(i a) e^(i b) = e^(i (a + b))": ("complex", "fourier"),
    "the product of two rows depends on their distance": ("moved sines", "odd sines"),
    "the product of two sinusoidal rows is a sum of cosines of their distance": ("sandwich", "kerple"),
    "the query is multiplied by scale, the key divided by it: together z^((m - n) / scale-base)":
        ("xpos", "given rope"),
    "the query is multiplied by {}, the key divided by it": ("xpos", "given rope"),
    "the query is patch {}, at row {} and column {} of {} x {}": ("window", "a family's fire"),
    "the relative property, PE(p + k) = M_k PE(p), here with k = {}": ("whole turns", "fourier"),
    "the row of each query and key": ("transformer-xl", "fourier"),
    "the rows that two patches meet": ("decomposed", "nerf"),
    "the same distance and yet another difference: it is the matrix that is the same, not the difference":
        ("moved sines", "whole turns"),
    "the same token has another output now, by up to {}: a decoder needs no table": ("none", "sines"),
    "the scaling multiplies every cos and sin by {}: R = {} times a rotation": ("yarn", "by parts"),
    "the score depends on n - m alone": ("streams", "text"),
    "the softmax over n keys is flatter the more keys there are; logits that grow with ln n keep its largest weight":
        ("query scale", "sines"),
    "the tokens exchanged, {}": ("none", "sines"),
    "the turn by the difference of coordinates": ("text", "streams"),
    "their sum, the input": ("learned", "sines"),
    "three products make the score of the query at {} and the key at {}": ("deberta plain", "shaw"),
    "training moves all {} rows; position {} has none, and cannot be asked for": ("learned", "sines"),
    "turn a query at position {}; a key in the same way": ("resting rope", "fourier"),
    "turn by the difference": ("text", "streams"),
    "two trained numbers for each head": ("kerple", "sandwich"),
    "two trained vectors for each head stand for the query's position": ("transformer-xl", "fourier"),
    "units above 0 add up to a line: (the sum of their W2 W1) x + (the sum of their W2 b1, and b2)":
        ("fire", "a family's fire"),
    "version 2: dy = {} of {} has the coordinate log2(1 + 8 x {}/{}) / 3 = {}": ("window 2", "window"),
    "w and b: {} + 1 = {} numbers": ("conditional", "a family's fire"),
    "w_{} = 1 / {}^({}/{}) = {}, one turn in {} positions": ("sines", "moved sines"),
    "weights from a file": ("stored t5", "t5"),
    "what does not hold": ("moved sines", "whole turns"),
    "what is trained": ("a family's fire", "a family's alibi"),
    "what it adds to a score, (q . k + q . r) / sqrt(d)": ("shaw", "deberta plain"),
    "what it leaves of equal logits, the softmax of that row": ("alibi", "kerple"),
    "what multiplying does": ("gaussian", "gaussian log"),
    "what they add to the score": ("decomposed", "nerf"),
    "where each position lies, and its coordinates": ("grid rope", "text"),
    "which stream turns which pair, and the angles of token {}": ("streams", "wide rope"),
    "which two numbers are a pair is a convention: the paper takes q_2i and q_2i+1,": ("resting rope", "fourier"),
    "x of each query and key": ("fire", "a family's fire"),
    "{} + {} + 1 = {} rows x {} = {} trained numbers": ("shaw", "deberta plain"),
    "{} = {}{} = {} in binary: PE({}) = {}": ("bits", "sines"),
    "{} and more": ("t5", "deberta"),
    "{} buckets x {} heads = {} trained numbers, {}": ("t5", "deberta"),
    "{} channels x (3 + 1) = {} numbers": ("cpe", "conditional"),
    "{} for keys up to the query, {} for keys after it": ("t5", "t5 decoder"),
    "{} of head 0, added to the logits": ("kerple", "gaussian log"),
    "{} of {} pairs are shown": ("growing", "given rope"),
    "{} of {} units are above 0": ("fire", "a family's fire"),
    "{} rows{} x {} columns = {} parameters": ("learned", "sines"),
    "{}, a number for each pair": ("xpos", "given rope"),
    "{}, for each query and key": ("a family's fire", "a family's alibi"),
    "{}: row {} of vector_{}; queries and keys stand on different grids": ("other keys", "decomposed"),
    "{}: {} - (0 - ({} - 1)) = {}: row {} of vector_{}": ("decomposed", "other keys"),
}  # fmt: skip
SOURCES = (
    "lessons/families.py", "lessons/rotary.py", "encodings/shared/wave_lessons.py",
    "encodings/shared/lessons.py", "encodings/**/lesson.py",
)  # fmt: skip


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
            found[name] = on_board(list(families.biases(Exercise(Recipe.parse(text), None, None, compute))))
    return found


def test_every_sentence_has_a_row():
    found = sentences(*SOURCES) | sentences("encodings/**/*.py", inside=("lesson",))
    assert {text for text in found if " | None" not in text} == {*ROWS}  # which is a type


@pytest.mark.parametrize("sentence", ROWS)
def test_a_sentence_stands_where_it_is_true_alone(sentence, texts):
    true, near = ROWS[sentence]
    assert said(sentence, texts[true]), texts[true]
    assert not said(sentence, texts[near]), texts[near]


READ = (
    *SOURCES, *test_sentences.SOURCES, *test_sentences_known.SOURCES, *test_sentences_measured.INSPECTING,
    *test_sentences_measured.EXTRAPOLATING,
)  # fmt: skip
ROOMS = (
    "comparison", "diagnosis", "identification", "inspection", "extrapolation", "lessons", "measures", "sources",
    "cli/compare", "cli/inspect", "cli/extrapolate", "application/faults.py", "declare/reach.py", "declare/changes.py",
)  # fmt: skip
ELSEWHERE = {  # which print no findings, or have tests of their own for each sentence
    "application/faults.py": "each fault is injected and named, and beside it none, in test_apply_faults",
    "lessons/applied.py": "of apply --steps: each number is that of apply, in test_apply",
    "inspection/choosing.py": "the questions of list --choose, in test_choosing",
    "inspection/costs.py": "a recipe",
    "inspection/preview.py": "the heading of a table of values",
    "lessons/lesson.py": "an error",
    "extrapolation/trial/placing.py": "an error",
    "sources/parts.py": "an error",
    "sources/sources.py": "how messages call a config's encoding",
    "cli/inspect/command.py": "errors",
    "cli/inspect/options.py": "help",
    "cli/inspect/verifying.py": "an error",
    "cli/extrapolate/checkpoint.py": "what was written, in test_resize",
    "cli/extrapolate/options.py": "help and errors",
    "cli/extrapolate/run.py": "errors, and what was written",
    "cli/extrapolate/trial.py": "an error, and names of the environment",
}


def test_no_module_that_prints_findings_is_left_out():
    """A new module of these rooms is read by one of the tables of sentences, or says here why it is not."""
    read = {path for pattern in READ for path in ROOT.glob(pattern)}
    every = {path for room in ROOMS for path in [*(ROOT / room).rglob("*.py"), ROOT / room] if path.suffix == ".py"}
    unread = {str(path.relative_to(ROOT)) for path in every - read if {*within(path)}}
    assert unread == {*ELSEWHERE}
