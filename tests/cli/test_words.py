"""The words that people type: other names of parameters, types, counts and encodings, and what is refused."""

import pytest

from pecli import CATALOGUE, Recipe, Table
from pecli.declare.encoding import Family
from pecli.errors import BadParameter, BadRecipe, UnknownName
from pecli.numbers.decimals import parse_number
from pecli.sources.sources import read_source


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("rope:head-dim=8,theta=500000", "rope:dim=8,base=500000"),
        ("rope:head_dim=8,rope-theta=500000", "rope:dim=8,base=500000"),
        ("RoPE:dim=8", "rope:dim=8"),
        ("rope:dim=8,scaling=YaRN,factor=2,original-max=9", "rope:dim=8,scaling=yarn,factor=2,original-max=9"),
        ("rotary:dim=8", "rope:dim=8"),
        ("sine:d-model=8", "sinusoidal:dim=8"),
        ("Sinusoidal:hidden-size=8,theta=99", "sinusoidal:dim=8,base=99"),
        ("xpos:head-dim=8", "xpos:dim=8"),
        ("shaw:head-dim=8,clip=2", "shaw:dim=8,clip=2"),
        ("alibi:n-heads=4", "alibi:heads=4"),
        ("t5:num-heads=4,num-buckets=8", "t5:heads=4,buckets=8"),
        ("learned:dim=8,n-positions=2k", "learned:dim=8,max-len=2048"),
        ("detr:dim=8,grid=2x2,base=20", "detr:dim=8,grid=2x2,temperature=20"),
        (
            "rope:dim=8,rope-type=yarn,factor=4,original-max-position-embeddings=4k",
            "rope:dim=8,scaling=yarn,factor=4,original-max=4096",
        ),
    ],
)
def test_other_words_mean_the_same_recipe(typed, meant):
    assert Recipe.parse(typed) == Recipe.parse(meant)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("rope:d-model=512", "d-model=512 .*give head-dim=, that width over the number of heads"),
        ("rope:hidden-size=512", "give head-dim="),
        ("rope:n-heads=8", "give head-dim=, the model's width over that number"),
        ("shaw:d-model=8,clip=2", "give head-dim="),
        ("sinusoidal:head-dim=64", "give dim=, the model's width"),
        ("rope:dim=8,theta=x", "theta=x must be a finite number"),
        ("rope:dim=8,head-dim=8", "says again what dim= says"),
        ("rope:dim=8,base=500k", "write it out, such as 500000"),
        ("rope:dim=8,base=1M", "write it out, such as 1000000"),
    ],
)
def test_words_that_mean_something_else_are_refused_with_the_right_one(typed, words):
    with pytest.raises(BadParameter, match=words):
        Recipe.parse(typed)


def test_a_parameter_wins_over_another_word_for_it():
    for encoding in CATALOGUE.values():
        own = {parameter.option for parameter in encoding.options}
        assert own.isdisjoint(encoding.other_words)


def test_every_width_knows_whose_it_is():
    for encoding in CATALOGUE.values():
        width = next((p for p in encoding.options if p.option == "dim"), None)
        if width is not None and encoding.name in ("rope", "rope2d", "xpos", "retnet"):
            assert (encoding.family, width.param.names) == (Family.ROTARY, ("head-dim",))
        if encoding.name in ("sinusoidal", "learned", "sincos2d"):
            assert "d-model" in width.param.names


@pytest.mark.parametrize(
    ("word", "dtype"),
    [("fp16", "float16"), ("half", "float16"), ("bf16", "bfloat16"), ("float", "float32"), ("double", "float64")],
)
def test_types_by_other_names(word, dtype):
    assert Table.parse(f"sinusoidal:dim=4,len=2,dtype={word}").arrays[0].dtype == dtype
    if dtype in ("float32", "bfloat16"):
        assert f"arithmetic={dtype}" in str(Table.parse(f"rope:dim=4,len=2,arithmetic={word}").recipe)


def test_counts_of_positions_take_k_and_m():
    assert Table.parse("sinusoidal:dim=4,len=128k").rows == 131072
    assert Table.parse("sinusoidal:dim=4", length="1M").rows == 1 << 20
    assert Table.parse("sinusoidal:dim=4,start=1M,len=2").position(0, 1)[0] == 1 << 20
    with pytest.raises(BadParameter, match="write it out, such as 500000"):
        parse_number("base", "500k")


def test_a_recipe_of_no_encoding_is_no_file():
    with pytest.raises(UnknownName, match="unknown encoding 'ropee': did you mean 'rope'"):
        read_source("ropee:dim=4")


def test_slopes_need_no_length():
    assert Table.parse("alibi:heads=8,form=slopes").read("slopes").tolist() == [2.0**-h for h in range(1, 9)]
    with pytest.raises(BadRecipe, match="needs a length"):
        Table.parse("alibi:heads=8")


def test_options_of_other_names_and_an_example_without_parameters(pecli):
    assert "rope:dim=8,base=500000" in pecli("generate", "rope", "--head-dim", 8, "--theta", 500000, "--len", 2).stdout
    refused = pecli("generate", "rope", "--d-model", 512, "--len", 2)
    assert (refused.returncode, "give --head-dim" in refused.stderr) == (2, True)
    assert "--d-model" not in pecli("generate", "rope", "--help").stdout
    for name in ("sinusoidal", "conditional"):
        done = pecli("inspect", name, "--steps")
        assert (done.returncode, "worked through" in done.stdout) == (0, True)
