"""Command lines as people type them, right and wrong, with their status and what the answer says."""

import json
import shlex

import numpy as np
import pytest

from pecli import plot as pecli_plot
from pecli import table

ANGLES = np.arange(32)[:, None] * 1e4 ** (-np.arange(0, 16, 2) / 16)
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 128}
YARN = {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 4.0, "original_max_position_embeddings": 32}


@pytest.fixture
def files(tmp_path):
    pe = np.stack([np.sin(ANGLES), np.cos(ANGLES)], -1).reshape(32, 16).astype(np.float32)
    q = np.random.default_rng(0).normal(size=(1, 2, 8, 16)).astype(np.float32)
    arrays = {
        "pe": pe, "round": np.round(pe, 3), "q": q, "k": q, "x": np.zeros((8, 16), np.float32),
        "u2": np.zeros((4, 4), np.uint16), "c": np.arange(24.0).reshape(3, 8), "big": np.array([2.0**53]),
        "mask": np.ones((3, 3)), "sevens": np.full((1, 8), 7.0), "square": np.zeros((16, 16), np.float32),
    }  # fmt: skip
    for name, values in arrays.items():
        np.save(tmp_path / f"{name}.npy", values)
    np.savez(tmp_path / "r.npz", cos=np.cos(ANGLES).astype(np.float32), sin=np.sin(ANGLES).astype(np.float32))
    np.savez(tmp_path / "two.npz", a=pe, b=pe[:5])
    (tmp_path / "p.txt").write_text("0.1234567890123456789123\n")
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    vision = {"depth": 2, "embed_dim": 1280, "num_heads": 16, "patch_size": 14, "spatial_merge_size": 2}
    streams = {"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}, "vision_config": vision}
    (tmp_path / "vl.json").write_text(json.dumps({**LLAMA, "model_type": "qwen2_vl", **streams}))
    (tmp_path / "yarn.json").write_text(json.dumps({**LLAMA, "rope_parameters": YARN}))


LONGROPE = "generate rope --dim 4 --scaling longrope --short-factor 1,1 --long-factor 2,2 --len 4"
LINES = [
    ("compare pe.npy sinusoidal:dim=16 --digits 4", 1, "2 of 512 values differ at 4 printed decimals"),
    ("compare round.npy sinusoidal:dim=16 --digits 3", 0, "same within 3 printed decimals"),
    ("compare sinusoidal:dim=16,len=32 pe.npy", 0, "same: 512 values are equal to the bit"),
    ("compare rope:dim=16,base=500,len=32 r.npz", 1, "different: base 10000 where 500 was expected"),
    ("compare rope:dim=16,base=500,len=32 r.npz --json", 1, '"verdict": "different"'),
    ("identify pe.npy --positions 0:32", 0, "sinusoidal:dim=16 (sure: all values equal)"),
    (f"{LONGROPE} --original-max 1 --factor 2", 2, "--original-max 1 must be above 1"),
    (f"{LONGROPE} --original-max 8 --attention-factor 1 --short-mscale 1", 2, "--attention-factor 1 excludes"),
    ("explain rope:dim=8,scaling=llama3,factor=2,original-max=64", 0, "Rotary, worked through: rope:dim=8"),
    ("generate sinusoidal --dim 4 --positions @p.txt", 0, "0.12345678901234568"),
    ("generate sinusoidal --dim 4 --positions @big.npy", 2, "holds a position of 2^53 or more"),
    ("generate sincos2d --dim 8 --grid 94906266x94906266", 2, "has 2^53 rows or more: use a smaller one"),
    ("generate rope:dim=8,form=dense --len 3", 2, "form=dense is for biases: rope is rotary"),
    ("generate conditional --content two.npz --dim 4", 2, "choose it with FILE::NAME"),
    ("inspect 'rope:dim=\"8\"x'", 2, "has text after a quoted value"),
    ("inspect pe.npy --frequencies", 2, "--frequencies lists those of a recipe or a config"),
    ("inspect yarn.json --all", 0, "yarn"),
    ("compare yarn.json --stacks", 1, "different: "),
    ("compare config.json --stacks --all", 0, "same: all "),
    ("extrapolate pe.npy --train-len 32 --test-len 64 --scaling linear", 2, "have no frequencies to scale"),
    ("extrapolate pe.npy r.npz --test-len 64 --extend linear -o x.npz", 2, "2 sources cannot share -o"),
    ("extrapolate t5:heads=2 --train-len 8 --test-len 20000", 0, "unseen: 8 rows are used only by new distances"),
    ("extrapolate fire:heads=2 --train-len 8 --test-len 64", 0, "unseen: 1 of 2 heads give new distances a larger"),
    ("list --where rotary", 2, "--where rotary needs a"),
    ("list --where relative=yes", 0, "Absolute"),
    ("list --choose long-context", 0, "Long context"),
    ("list --choose vision --format csv", 0, "recipe,reason"),
    ("apply alibi:heads=2 q.npy k.npy --scores --mask @mask.npy", 2, "1 batches x 8 keys are needed"),
    ("apply alibi:heads=2 q.npy k.npy --scores --mask @sevens.npy", 2, "must hold 1 for keys that are seen"),
    ("apply alibi:heads=2 q.npy k.npy --scores --mask @two.npz", 2, "must hold one array: it has a, b"),
    ("apply alibi:heads=3 q.npy k.npy --scores", 2, "heads=3 do not fit logits of 2 heads"),
    ("apply alibi:heads=2 q.npy --axes zzz", 2, "--axes zzz must be one of bhsd"),
    ("apply rope:dim=16 q.npy --pairs half --start 2 --positions 1,2", 2, "cannot go with --positions"),
    ("apply pe.npy q.npy --pairs half", 2, "--pairs half is for rotary tables"),
    ("apply sinusoidal:dim=16 x.npy --arithmetic float32", 0, ""),
    ("apply alibi:heads=2 q.npy --arithmetic bfloat16", 2, "is for rotations, and for rows added to embeddings"),
    ("apply rope:dim=16 u2.npy --pairs half", 2, "--dtype bfloat16 reads it as the bits of bfloat16"),
    ("apply cpe:content=c.npy c.npy --positions 1,2,3", 2, "--positions are not for content: give --start"),
    ("apply gaussian:heads=2 q.npy k.npy --scores", 0, ""),
    ("apply deberta:dim=16,len=8 q.npy k.npy --scores", 0, "unprojected"),
    ("apply transformer-xl:dim=32,heads=2,head-dim=16 q.npy k.npy --scores", 0, "unprojected"),
    ("apply retnet:dim=16,heads=2 q.npy k.npy --pairs half --scores", 0, ""),
    ("apply retnet:dim=16,heads=3 q.npy k.npy --pairs half --scores", 2, "do not fit queries of 2 heads"),
    ("apply xpos:dim=16 q.npy k.npy --pairs half --scores", 0, "queries are multiplied by the scale"),
    ("convert two.npz -o x.csv", 2, "holds arrays of equal length only"),
    ("verify pe.npy sinusoidal:dim=16 --recipe sinusoidal:dim=16", 2, "verify is for files"),
    ("explain rope:dim=4 --code torch", 0, "Rotary: rope:dim=4"),
    ("identify q.npy", 0, "unknown: "),
    ("inspect r.npz --get arrays", 0, '"name": "cos"'),
    ("verify pe.npy sinusoidal:dim=16,base=10001 --atol 0.01", 0, "base=10001 gives, within atol 0.01"),
    ("verify pe.npy sinusoidal:dim=16,base=10001 --atol 1e-6 -q", 1, ""),
    ("verify pe.npy sinusoidal:dim=16 --rtol 0.1 --ulp 1", 0, "verified: 512 values"),
    ("explain yarn.json --code torch", 0, "scaling=yarn,factor=4,original-max=32"),
    ("explain yarn --code torch", 0, "Rotary: rope:dim=128,scaling=yarn,factor=4,original-max=4096"),
    ("explain longrope --code torch", 2, "short.npy"),
    ("generate rope --dim 8 --scaling dynamic --len 9", 2, "--scaling dynamic --factor 4 --max-position 4096 --len 9"),
    ("explain pe.npy --code torch", 2, "is a file, and explain works through a recipe"),
    ("identify pe.npy --json", 0, '"parameters": {"dim": 16, "base": 10000,'),
    ("inspect yarn.json --json", 0, '"parameters": {"dim": 16, "base": 500000, "scaling": "yarn", "factor": 4,'),
    ("inspect rope:dim=64,base=0.5 --get base", 0, "0.5"),
    ("inspect pe.npy --get base", 2, "unknown value 'base'"),
    ("generate --help", 0, "Options of every encoding:\n  --len N"),
    ("generate sinusoidal --dim 4 --len 8 --shards 8 -o x.npy", 2, "which writes one part of N: for k in $(seq 0 7)"),
    ("generate sinusoidal --dim 4 --len 8 --shard 0/2 -o .", 0, "wrote ./part-0001-of-0002.npy"),
    ("generate rope --dim 4 --len 8 -o x.npy", 0, "stacked: 2 x 8 x 2"),
    ("generate vl.json --len 8", 0, "pecli: multimodal: position streams share these frequencies in sections 2+3+3"),
    ("inspect vl.json", 0, "rope2d:dim=80,grid=6x8,merge=2,convention=qwen2-vl"),
    ("explain t5", 0, "This example is small: the defaults are buckets=32, max-distance=128"),
    ("explain t5:buckets=32,max-distance=128", 0, "worked through: t5:buckets=32,max-distance=128"),
    ("explain rope --why half", 0, "rope: questions and answers\n\nInterleaved or half-split?"),
    ("extrapolate pe.npy --test-len 64 --extend linear -o x.npy", 0, "most of the old positions get another row"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "status", "said"), LINES, ids=[words for words, *_ in LINES])
def test_a_line_that_people_type_has_its_answer(words, status, said, files, pecli):
    done = pecli(*shlex.split(words))
    assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr


def test_parts_without_recipes_are_one_finding(pecli, tmp_path):
    for part in range(3):
        pecli("generate", "sinusoidal:dim=4,len=9", "--shard", f"{part}/3", "-o", "./")
    done = pecli("verify", ".")
    assert done.returncode == 1
    assert done.stdout.count("part-0") == 1
    assert "and 2 more do not belong: holds no recipe: give it" in " ".join(done.stdout.split())
    assert pecli("verify", ".", "sinusoidal:dim=4,len=9").returncode == 0


def test_first_and_last_head_are_drawn_below_each_other(pecli):
    """Side by side their letters would be too small on a telephone."""
    one, four = (pecli_plot(f"alibi:heads={heads},len=8", kind="bias").get_size_inches() for heads in (1, 4))
    assert tuple(four) == (one[0], 2 * one[1])


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("read h5 in python", "How do I read a table in Python?"),
        ("test my kernel in pytest", "How do I test a kernel in pytest?"),
        ("what rope_scaling for 4x context", "Which rope_scaling does my config need for a longer context?"),
    ],
)
def test_questions_about_work_are_answered(pecli, asked, answered):
    assert answered in pecli("explain", *asked.split()).stdout


def test_a_question_that_no_answer_fits_gets_none(pecli, refuses):
    refuses("explain", "zebra", "stripes", "rope", says="no answer has most of these words")


def test_tables_for_a_paper_are_written_to_files(pecli, tmp_path, refuses):
    pecli("generate", "sinusoidal:dim=4,len=3", "-o", "pe.tex")
    printed = pecli("generate", "sinusoidal:dim=4,len=3", "--format", "latex").stdout
    assert (tmp_path / "pe.tex").read_text() == printed
    refuses("generate", "sinusoidal:dim=4,len=3", "-o", "pe.tex", "--no-clobber", says="pe.tex exists")
    pecli("generate", "sinusoidal:dim=4,len=3", "--format", "markdown", "-o", "table")
    assert (tmp_path / "table").read_text().startswith("pe (position by channel)")


def test_a_factor_gives_the_length_and_what_the_config_gets(pecli, tmp_path):
    config = {"model_type": "llama", "head_dim": 64, "max_position_embeddings": 4096, "rope_theta": 1e4}
    (tmp_path / "config.json").write_text(json.dumps(config))
    said = pecli("extrapolate", "config.json", "--factor", "4", "--scaling", "all").stdout
    for text in ("scaled for 16384", '"linear", "factor": 4.0}, max_position_embeddings 16384'):
        assert text in " ".join(said.split())


def test_rows_of_stacked_axes_are_named_by_all_their_indices(pecli, tmp_path):
    np.save(tmp_path / "scores.npy", np.zeros((1, 2, 3, 4)))
    printed = pecli("inspect", "scores.npy").stdout
    assert "array (axis1,axis2 by axis3)" in printed
    assert " 0,1  " in printed


def test_slopes_alone_are_named_where_biases_lack_a_length(pecli, refuses):
    refuses("generate", "alibi:heads=8", "-o", "slopes.npy", says="the slopes alone need none: --form slopes")
    assert pecli("generate", "alibi:heads=8", "--form", "slopes", "-o", "slopes.npy").returncode == 0


def test_expected_values_that_were_rounded_are_said_to_be(pecli, tmp_path):
    """Whichever of two files stands first, the narrow one is the one that was rounded."""
    cosines = table("rope:dim=64", len=64)["cos"]
    np.save(tmp_path / "a.npy", cosines)
    np.save(tmp_path / "b.npy", cosines.astype(np.float16).astype(np.float32))
    first, second = (
        " ".join(pecli("compare", *names).stdout.split()) for names in (("a.npy", "b.npy"), ("b.npy", "a.npy"))
    )
    assert first.startswith("different: the expected values were rounded to float16, these were not")
    assert second.startswith("different: values were rounded to float16 where float32 was expected")
