"""Worked examples: the numbers on the board, and that they hold."""

import contextlib
import json
import math
import re
from itertools import pairwise

import mpmath
import pytest

import pecli
from pecli import PecliError, Recipe
from pecli.cli.explain import example_view
from pecli.cli.terminal.layout import lines_of
from pecli.encodings.rotary.rope.scalings import SCALINGS
from pecli.inspect.facts import formula_value
from pecli.numbers.positions import Positions
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.hooks import Equation, SmallTable
from pecli.teach.examples import work_through
from tests.support.scalings import recipe_of


def board(text, positions=None, length=None):
    example = work_through(Recipe.parse(text), positions and Positions.parse(positions), length)
    return "\n".join(line for item in example_view(example, 80) for line in lines_of(item, 80))


def items(text, kind, **options):
    example = work_through(Recipe.parse(text), **options)
    return [item for step in example.steps for item in step.items if isinstance(item, kind)]


def test_the_rotation_of_four_dimensions_at_1_and_3_is_the_guides():
    shown = board("rope:dim=4", "1,3")
    for line in (
        "w_0 = 10000^(-0/4) = 1",
        "w_1 = 10000^(-2/4) = 0.01",
        "position 3, pair 1: 3 x 0.01 = 0.03",
        "[  0.5403  -0.8415 ]  [ -0.9900  -0.1411 ]",
        "[  0.8415   0.5403 ]  [  0.1411  -0.9900 ]",
        "[  1.0000  -0.0100 ]  [  0.9996  -0.0300 ]",
        "[  0.0100   1.0000 ]  [  0.0300   0.9996 ]",
        "R_1^T                 R_3                      R_2",
        "[ -0.8415   0.5403 ]  [  0.1411  -0.9900 ]  =  [  0.9093  -0.4161 ]",
    ):
        assert line in shown


def test_both_sides_of_the_rotations_equation_are_equal():
    equations = [e for e in items("rope:dim=8,base=100", Equation) if "=" in e.terms]
    assert len(equations) == 4
    for number, equation in enumerate(equations):
        left, right, _, whole = equation.terms
        product = [
            [sum(left.rows[i][k] * right.rows[k][j] for k in (0, 1)) for j in (0, 1)] for i in (0, 1)
        ]  # fmt: skip
        angle = 2 * 100 ** (-number / 4)
        expected = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        for i in (0, 1):
            assert product[i] == pytest.approx(whole.rows[i], abs=1e-15)
            assert whole.rows[i] == pytest.approx(expected[i], abs=1e-15)


def test_scores_of_one_distance_are_equal_and_of_another_are_not():
    (grid,) = (g for g in items("rope:dim=4", SmallTable) if g.columns[-1] == "score")
    same = [row[-1] for row in grid.rows if row[2] == "2"]
    other = [row[-1] for row in grid.rows if row[2] == "3"]
    # q = (1, 2, -1, 1), k = (2, 1, 1, -1); the score is the real part of conj(q) k e^(i 2 w)
    expected = sum((q.conjugate() * k * complex(math.cos(2 * w), math.sin(2 * w))).real
                   for q, k, w in ((1 + 2j, 2 + 1j, 1.0), (-1 + 1j, 1 - 1j, 0.01)))  # fmt: skip
    assert same == pytest.approx([expected] * 4, abs=1e-14)
    assert abs(other[0] - expected) > 1


def test_a_magnitude_is_divided_out_of_the_equation():
    shown = board("rope:dim=64,scaling=yarn,factor=4,original-max=4096")
    assert "1.13863" in shown  # 0.1 ln 4 + 1
    assert "/ 1.29648 =" in shown
    assert re.search(r"the largest difference between the two sides is \de-1[567]", shown)
    assert "0.365385" in shown or "0.25" in shown


def test_the_sinusoid_of_four_dimensions_is_the_guides():
    shown = board("sinusoidal:dim=4")
    for line in (
        "w_1 = 10000^(-2/4) = 0.01",
        "PE(1, 0) = sin(1 x 1) = sin(1) = 0.8415",
        "PE(2, 1) = cos(2 x 1) = cos(2) = -0.4161",
        "1         0.8415   0.5403  0.0100  1.0000",
        "2         0.9093  -0.4161  0.0200  0.9998",
    ):
        assert line in shown


def test_the_matrix_of_a_shift_takes_one_row_to_the_next_at_every_position():
    equations = items("sinusoidal:dim=6,base=50", Equation)
    assert {e.terms[1].name for e in equations} == {"PE(0)", "PE(32)"}
    for matrix, before, _, after in (e.terms for e in equations):
        moved = [sum(row[k] * before.rows[k][0] for k in (0, 1)) for row in matrix.rows]
        assert moved == pytest.approx([row[0] for row in after.rows], abs=1e-15)


def test_the_false_relative_property_is_shown_to_fail():
    shown = board("sinusoidal:dim=4")
    assert "PE(5) - PE(0)  = [-0.9589, -0.7163, 0.0500, -0.0012]" in shown  # sin 5, cos 5 - 1, sin 0.05, cos 0.05 - 1
    assert "PE(10) - PE(5) = [0.4149, -1.1227, 0.0499, -0.0037]" in shown


def test_the_slopes_of_eight_heads_stand_in_full_with_their_powers():
    shown = board("alibi:heads=8")
    slopes = ["0.5", "0.25", "0.125", "0.0625", "0.03125", "0.015625", "0.0078125", "0.00390625"]
    for head, slope in enumerate(slopes):
        assert f"head {head}: m_{head + 1} = 2^(-{head + 1}) = {slope}\n" in shown
    assert "key 0: -0.5 x |0 - 2| = -0.5 x 2 = -1\n" in shown
    assert "0             0.0  -0.5  -1.0  -1.5  -2.0\n" in shown


def test_slopes_of_heads_beyond_a_power_of_two_have_fractional_powers():
    shown = board("alibi:heads=12")
    assert "head 8: m_9 = 2^(-1/2) = 0.7071067811865476" in shown
    assert "head 11: m_12 = 2^(-7/2) = 0.08838834764831845" in shown


def test_other_forms_of_alibi_are_worked_by_their_own_rule():
    assert "key 1: 0.0625 x (1 - 4) = -0.1875" in board("alibi:heads=2,bias=last-key")
    assert "key 3: after the query, -inf" in board("alibi:heads=2,mask=causal")


def test_the_integer_of_ten_positions():
    assert "PE(5) = 5 / (10 - 1) = 0.5556" in board("integer:dim=4,max-len=10")
    assert "column 1: (1/2)^2 = 0.250" in board("integer:dim=3,max-len=10,scales=2")


def test_thirteen_in_bits_and_the_neighbours_of_three():
    shown = board("binary:dim=8")
    assert "13 = 8 + 4 + 1 = 00001101 in binary: PE(13) = 1 0 1 1 0 0 0 0" in shown
    assert re.search(r"3 +4 +0011  0100 +3 +0010  0110 +1\n", shown)
    assert "differ in exactly 1 bit" in " ".join(board("binary:dim=6,code=gray").split())


def test_t5_buckets_are_the_frameworks():
    shown = board("t5:heads=2")
    ranges = dict(re.findall(r"\n  (\d+) +((?:\d+ to )?\d+|\d+ and more)(?=\n)", shown))
    assert ranges["7"] == "7"
    assert (ranges["8"], ranges["9"], ranges["10"]) == ("8 to 11", "12 to 15", "16 to 22")  # as torch gives them
    assert ranges["15"] == "91 and more"
    assert "weight 32 x 2: 64 numbers" in shown


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_encoding_has_an_example_of_80_columns(name):
    example = work_through(Recipe.parse(CATALOGUE[name].example))
    assert example.steps
    json.dumps(example.as_dict())
    text = board(CATALOGUE[name].example)
    assert max(map(len, text.splitlines())) <= 80
    assert text.isascii() or "…" in text


def test_positions_are_those_asked_for():
    assert "PE(7.5, 0) = sin(7.5 x 1)" in board("sinusoidal:dim=4", "-3,7.5")
    assert "key 9: -0.5 x |9 - 4| = -0.5 x 5 = -2.5" in board("alibi:heads=8", "0,4,9")


def test_many_positions_are_refused():
    with pytest.raises(PecliError, match="give at most 8"):
        board("rope:dim=4", "0,1,2,3,4,5,6,7,8")


def test_the_command_prints_the_board_and_its_json(pecli):
    shown = pecli("inspect", "rope:dim=4", "--steps", "--positions", "1,3")
    assert shown.returncode == 0
    assert shown.stdout == board("rope:dim=4", "1,3") + "\n"
    found = json.loads(pecli("inspect", "rope:dim=4,positions=1+3", "--steps", "--json").stdout)
    assert found["recipe"].startswith("rope:dim=4,")
    equations = [item["equation"] for step in found["steps"] for item in step["items"] if "equation" in item]
    c, s = math.cos(1), math.sin(1)
    assert equations[0][0]["name"] == "R_1, pair 0"
    assert [v for row in equations[0][0]["rows"] for v in row] == pytest.approx([c, -s, s, c])


def test_a_start_begins_the_example_there(pecli):
    shown = pecli("inspect", "sinusoidal:dim=2", "--steps", "--start", 5, "--step", 2).stdout
    assert "PE(7, 0) = sin(7 x 1)" in shown


def test_a_file_has_no_example(refuses, pecli):
    pecli("generate", "rope", "--dim", 4, "--len", 4, "-o", "r.npy")
    refuses("inspect", "r.npy", "--steps", says=["rope:dim=4"])
    refuses("inspect", "binary:dim=3", "--steps", "--positions", "9", says=["9", "bits"])


def test_a_config_is_worked_as_its_recipe(pecli, tmp_path):
    config = {"model_type": "llama", "hidden_size": 16, "num_attention_heads": 4, "rope_theta": 100}
    (tmp_path / "config.json").write_text(json.dumps(config))
    shown = pecli("inspect", "config.json", "--steps").stdout
    assert "w_1 = 100^(-2/4) = 0.1" in shown


def test_options_that_say_nothing_beside_an_example_are_refused(refuses):
    refuses("inspect", "rope:dim=4", "--steps", "--properties", says=["explain has no option --properties"])
    refuses("inspect", "rope:dim=4", "--steps", "--rows", 3, says=["explain has no option --rows"])
    refuses("inspect", "rope:dim=4", "--steps", "--layer-type", "full_attention", says=["layer-type", "config"])


def test_a_bias_by_the_keys_position_leaves_no_weight_after_the_query():
    # m (j - 0) of equal logits under a causal mask: e^(j/2) over their sum for keys 0 to 2, nothing for 3 and 4
    weights = [math.exp(j / 2) for j in range(3)]
    expected = [w / sum(weights) for w in weights] + [0, 0]
    (table,) = (t for t in items("alibi:heads=8,bias=key-position", SmallTable) if t.columns[0] == "key")
    assert table.rows[0][1:] == pytest.approx(expected, abs=1e-15)


def test_fire_does_not_claim_to_depend_on_the_distance_alone():
    shown = board("fire:heads=2")
    assert "alone" not in shown
    assert "depends on the query as well" in " ".join(shown.split())


def test_complex_numbers_stand_in_one_column():
    assert "PE(2, 1), imaginary part = sin(2 x 0.01) = sin(0.02) = 0.020" in board("complex:dim=4")


def test_the_trained_numbers_of_a_clip_to_both_sides_are_counted():
    assert "vector 5 x 4: 20 numbers" in board("shaw:dim=4,clip=3,right=1")
    assert "vector 4 x 4: 16 numbers" in board("shaw:dim=4,clip=3,right=0")
    assert formula_value(CATALOGUE["shaw"].facts.parameters, Recipe.parse("shaw:dim=4,clip=3,right=0").values) == 16
    assert formula_value(CATALOGUE["shaw"].facts.parameters, Recipe.parse("shaw:dim=4,clip=3").values) == 28


def arithmetic(text):
    """The value of what stands on the board: "-1 x ln(1 + 0.25 x 2)"."""
    python = text.replace(" x ", " * ").replace("^", "**").replace("ln(", "math.log(")
    for name in ("exp", "floor", "ceil", "sqrt", "sin", "cos", "log2"):
        python = python.replace(f"{name}(", f"math.{name}(")
    python = re.sub(r"ln (\d+)", r"math.log(\1)", python)
    python = re.sub(r"(?<![\w)])-\((.*?)\)\*\*2", r"-((\1)**2)", python)
    return eval(python, {"math": math, "max": max, "pi": math.pi})


@pytest.mark.parametrize(
    "recipe",
    ["kerple:heads=2,r1=1+0.5,r2=1+0.25", "kerple:heads=1,kind=power,r1=2,r2=1.5", "gaussian:heads=2,sigma=1+4",
     "gaussian:sigma=3,apply=log", "query-scale:length=16,beta=1", "query-scale:kind=log-n,length=64",
     "query-scale:kind=ministral,length=32", "shaw:dim=4,clip=3", "shaw:dim=2,clip=2,right=1",
     "deberta:buckets=8,max-distance=16,dim=4", "transformer-xl:dim=8,heads=2,head-dim=4", "fire:heads=2,threshold=16",
     "decomposed:grid=3x4,dim=2"],
)  # fmt: skip
def test_every_line_of_a_lesson_comes_out_from_its_own_numbers(recipe):
    tried = 0
    for line in items(recipe, str):
        said = re.sub(r"^.*: |^key .*, row |^[quvk] \. \w+ = ", "", re.sub(r", bias.*|: row .*|, cut to .*", "", line))
        said = re.sub(r"^z = |^q \. r = ", "", said)
        parts = said.split(" = ")
        if len(parts) < 2 or not re.fullmatch(r"[-\d.e+ x^()lnexpfoormaxcisqtg,*/]+", " ".join(parts)):
            continue
        for left, right in pairwise(parts):
            assert arithmetic(left) == pytest.approx(arithmetic(right), rel=3e-3, abs=3e-3), line
            tried += 1
    assert tried > 0


def last_digit(text):
    """One unit of the last digit that a number is printed with."""
    mantissa, _, power = text.strip().partition("e")
    return 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


WAVES = [
    "complex:dim=6,base=50", "sincos2d:dim=8,grid=6x8", "sincos2d:dim=8,grid=6x8,base-size=16,grid-scale=2,shift=1",
    "sincos2d:dim=8,grid=2x3,prefix=1,convention=timm", "sincos3d:dim=16,grid=3x4x4",
    "sincos3d:dim=24,grid=2x3x4,split=thirds,grid-scale=2", "detr:dim=8,grid=6x8",
    "detr:dim=8,grid=6x8,convention=deformable-detr",
    "detr:dim=8,grid=3x5,normalize=true,coordinate-scale=4,temperature=20", "bands:bands=4,grid=64",
    "bands:bands=3,grid=4x4,spacing=log,coordinates=centres", "nerf:bands=4,grid=8",
    "nerf:bands=3,grid=4x6,pi=false,scale=2", "nerf:bands=4,grid=8,spacing=linear,max-exponent=5",
    "fourier:dim=8,sigma=0.1", "fourier:dim=4,matrix=0.5+0.25", "rope2d:dim=8,grid=6x8",
    "rope2d:dim=8,grid=6x8,convention=pixtral", "rope2d:dim=8,grid=6x8,convention=dinov3",
    "rope2d:dim=8,grid=4x4,convention=llama4-vision", "rope2d:dim=16,grid=4x6,convention=timm-pixel",
    "rope2d:dim=8,grid=4x4,reference=16x16", "rope-axes:axes=4+4+4,grid=2x4x6",
    "rope-axes:axes=4+8+8,grid=2x4x6,ntk=2,first=1,centred=0+1+1", "xpos:dim=4,max-len=8",
    "xpos:dim=6,max-len=9,centre=ceil,base=100", "xpos:dim=4,centre=2.5,scale-base=64",
    "retnet:dim=4,heads=2,max-len=8", "retnet:dim=6,heads=1,apply=log,decay=dense", "mrope:dim=8,sections=2+1+1",
    "mrope:dim=16,sections=4+2+2,section-order=interleaved,sequence=2+2x2x2",
]  # fmt: skip


@pytest.mark.parametrize("recipe", WAVES)
def test_every_line_of_waves_comes_out_to_its_last_digit(recipe):
    tried = 0
    for line in items(recipe, str):
        parts = re.sub(r"^(?:.*, )?w_\d+ = |^PE\(.*?\).*? = |^.*: ", "", line).split(" = ")
        if len(parts) < 2 or not re.fullmatch(r"[-\d.e+ x^()lnpicosin,*/]+", " ".join(parts)):
            continue
        for left, right in pairwise(parts):
            turned = re.match(r"(?:sin|cos)\((.*)\)$", left)  # its angle is printed with six digits
            slack = 1e-5 * abs(arithmetic(turned[1])) if turned else 2e-5 * abs(arithmetic(right))
            near = 0.51 * last_digit(right) if re.fullmatch(r"[-\d.e]+", right) else 0
            assert abs(arithmetic(left) - arithmetic(right)) <= near + slack, line
            tried += 1
    assert tried >= 4


@pytest.mark.parametrize("recipe", [r for r in WAVES if CATALOGUE[r.partition(":")[0]].family.name == "ABSOLUTE"])
def test_a_value_on_the_board_stands_there_in_the_table(recipe):
    table = pecli.table(f"{recipe}{'' if 'grid' in recipe else ',len=9'},dtype=float64")["pe"]
    found = re.findall(r"PE\((\d+), (\d+)\)(, imag)?.* = (\S+)", "\n".join(items(recipe, str)))
    assert found
    for row, column, imaginary, value in found:
        real = table[int(row), int(column)]
        assert abs(float(value) - (real.imag if imaginary else real.real)) <= 0.501 * last_digit(value)


def test_the_coordinates_of_a_grid_are_those_of_its_row_and_column():
    shown = board("detr:dim=8,grid=6x8,convention=deformable-detr", "0,9,47")
    for row, column in ((0, 0), (1, 1), (5, 7)):
        assert f"position {8 * row + column}: row {row}, column {column}\n" in shown
        assert f"row {row}: {row} x 0.166667 + 0.0833333 = {(row + 0.5) / (6 + 1e-6):.6g}\n" in shown


def test_the_streams_of_an_image_between_text_are_qwens():
    (grid,) = (g for g in items("mrope:dim=8,sections=2+1+1", SmallTable) if g.columns[0] == "token")
    image = [[1, 1 + row, 1 + column] for row in range(2) for column in range(3)]
    assert [list(row[1:]) for row in grid.rows] == [[0, 0, 0], *image, [4, 4, 4]]
    assert "pair 3 follows w, angle of token 6: 3 x 0.001 = 0.003" in board("mrope:dim=8,sections=2+1+1")


def test_the_decay_on_the_board_is_gammas_power():
    (grid,) = (g for g in items("retnet:dim=4,heads=2,max-len=4", SmallTable) if g.columns[0] == "head")
    for head, row in enumerate(grid.rows):
        assert list(row[1:]) == pytest.approx([(1 - 2 ** (-5 - head)) ** distance for distance in range(4)], rel=1e-15)


def test_attention_without_positions_does_not_see_an_order():
    shown = board("none:dim=4")
    assert shown.count("man     0.0745  1.8509") == 3  # alone, exchanged, and last under a causal mask
    assert "dog     0.6601  0.6798" in shown
    # e^1, e^0.5, e^0 over their sum
    weights = [math.exp(v) for v in (1, 0.5, 0)]
    assert f"[{', '.join(f'{w / sum(weights):.4f}' for w in weights)}]" in " ".join(shown.split())


SCALED = {"proportional": {"partial": "0.5"}, "ntk-by-parts": {"ramp": "rotations"}}


@pytest.mark.parametrize("scaling", [name for name in SCALINGS if name != "none"])
def test_a_scaling_shows_its_formula_and_what_it_makes_of_each_pair(scaling):
    recipe = recipe_of(scaling, **SCALED.get(scaling, {}))
    (table,) = (item for item in items(str(recipe), SmallTable) if item.columns[-1] == "ratio")
    assert len(table.rows) >= 2
    for pair, plain, scaled, ratio in table.rows:
        assert scaled == float(recipe.plan.frequencies[pair])
        assert ratio == pytest.approx(scaled / plain, rel=1e-15)
    assert SCALINGS[scaling].formula
    assert set(SCALINGS[scaling].formula) <= set(items(str(recipe), str))


@pytest.mark.parametrize(
    ("recipe", "count"),
    [
        ("shaw:dim=4,clip=3,right=1", 20),
        ("window:grid=3x4,heads=2", 5 * 7 * 2),
        ("window:grid=3x4,heads=2,cls=true", (5 * 7 + 3) * 2),
        ("window:grid=3x4,heads=2,version=2,hidden=8", 2 * 8 + 8 + 8 * 2),
        ('cpe:content="learned:dim=4,max-len=512",channels=4', 4 * 3 + 4),
        ('cpe:content="learned:dim=4,max-len=12",channels=4,grid=3x4', 4 * 9 + 4),
        ("deberta:buckets=8,max-distance=16,dim=4", 16 * 4),
    ],
)
def test_the_trained_numbers_are_those_that_the_table_has(recipe, count):
    shown = " ".join(board(recipe, length=12 if recipe.startswith("cpe") else None).split())
    assert f" {count:,} numbers" in shown or f" {count:,} trained numbers" in shown, shown[-300:]


@pytest.mark.parametrize("encoding", [pytest.param(encoding, id=name) for name, encoding in CATALOGUE.items()])
def test_steps_are_numbered_from_1_and_once(encoding):
    titles = [step.title for step in work_through(Recipe.parse(encoding.example)).steps]
    assert [title.partition(":")[0] for title in titles] == [f"Step {number + 1}" for number in range(len(titles))]
    assert not any(title.count("Step ") > 1 for title in titles)


@pytest.mark.parametrize("encoding", [pytest.param(encoding, id=name) for name, encoding in CATALOGUE.items()])
def test_one_position_is_worked_out_or_refused_in_a_sentence(encoding):
    with contextlib.suppress(PecliError):  # anything else is a bug
        assert "Step 1: " in board(encoding.example, "1")


def test_the_score_of_xpos_has_its_scale():
    """Of (1, 2, -1, 1) at 1 and (2, 1, 1, -1) at 3, from the paper's formula: R_m q zeta^m . R_n k zeta^-n."""
    with mpmath.workdps(30):
        score = mpmath.mpf(0)
        for i, (q, k) in enumerate(((1 + 2j, 2 + 1j), (-1 + 1j, 1 - 1j))):
            fading = (mpmath.mpf(2 * i) / 4 + mpmath.mpf("0.4")) / mpmath.mpf("1.4")
            turn = mpmath.expj(2 * mpmath.mpf(10000) ** (-mpmath.mpf(2 * i) / 4))
            score += mpmath.re(mpmath.conj(mpmath.mpc(q)) * k * turn) * fading ** (-mpmath.mpf(2) / 512)
    rows = next(table.rows for table in items("xpos:dim=4,max-len=8", SmallTable) if "score" in table.columns)
    assert [row[3] for row in rows[:4]] == pytest.approx([float(score)] * 4, abs=1e-14)
    assert any("(scale_m R_m q) . (R_n k / scale_n)" in line for line in items("xpos:dim=4,max-len=8", str))


def test_each_axis_shows_a_pair_that_is_not_the_first():
    for recipe in ("sincos3d:dim=16,grid=3x4x4", "rope-axes:axes=4+4+4,grid=2x4x6"):
        lines = list(items(recipe, str))
        assert all(any(f"{axis}, w_1 = " in line for line in lines) for axis in ("frame", "row", "column"))


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("rope:dim=7,rotary-dim=7", 7),
        ("rope:dim=10,partial=0.3", 3),
        ("mrope:dim=8,rotary-dim=7,sections=1+1+2", 7),
        ("rope:dim=8", 8),
    ],
)
def test_the_exponents_of_an_odd_width_are_divided_by_it(text, width):
    written = [line for line in items(text, str) if "^(-" in line]
    assert written
    for line in written:
        index, below, value = re.match(r"w_\d+ = 10000\^\(-(\d+)/(\d+)\)[^=]* = ([\d.e-]+)$", line).groups()
        assert int(below) == width
        assert float(value) == pytest.approx(10000 ** (-int(index) / width), rel=1e-5)


def test_a_scaling_is_shown_beside_the_unscaled_series():
    (grid,) = (g for g in items("rope:dim=8,rotary-dim=5,scaling=linear,factor=2", SmallTable) if "ratio" in g.columns)
    for index, plain, scaled, ratio in grid.rows:
        assert plain == pytest.approx(10000 ** (-2 * index / 5))
        assert ratio == pytest.approx(scaled / plain) == pytest.approx(0.5)


def test_given_frequencies_of_an_odd_head_are_shown():
    assert "0.25" in str(work_through(Recipe.parse("rope:dim=5,frequencies=1+0.5+0.25")).steps[0].as_dict())


def said_of(recipe, **options):
    return "\n".join(str(item) for step in work_through(Recipe.parse(recipe), **options).steps for item in step.items)


def test_whole_turns_make_no_difference_and_none_is_claimed():
    assert "the differences are not" not in said_of("sinusoidal:dim=2,turns=true")
    assert "the differences are not" in said_of("sinusoidal:dim=2")
    assert "another distance differs" not in said_of("rope:dim=4,frequencies=0+0")
    assert "another distance differs" in said_of("rope:dim=4")


def test_an_amplitude_multiplies_the_sum_of_cosines():
    assert "cos(a - b): 4 times a sum of cos(3 w_i)" in said_of("sinusoidal:dim=6,amplitude=2")
    assert "cos(a - b): a sum of cos(3 w_i)" in said_of("sinusoidal:dim=6")


def test_a_share_next_to_a_whole_number_of_buckets_has_all_its_digits():
    said = said_of("t5:heads=2,max-distance=100000")
    assert "d = 99999: 8 + floor(7.99999" in said
    assert "d = 100000: 8 + floor(8.0000), at most 15 -> bucket 15" in said


def test_keys_after_the_query_are_masked_by_their_position():
    table = work_through(Recipe.parse("alibi:heads=2,bias=key-position"), Positions.parse("5,0,3")).steps[-1].items[-1]
    assert [row[1:] for row in table.rows] == [[0.0, 1.0, 0.0]] * 2  # the query at 0 sees itself alone


def test_a_word_is_searched_for_in_all_questions(pecli, refuses):
    shown = pecli("explain", "--why", "training").stdout
    assert shown.startswith("Questions and answers for: training\n")
    asked = [line for line in shown.splitlines() if line.endswith("?")]
    assert len(asked) == len(set(asked)) > 2
    refuses("explain", "--why", "zebra", says=["is no encoding, and no answer has most of these words"])
