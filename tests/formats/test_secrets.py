"""What a URL keeps secret is in no message, result, picture or page, whatever characters it has."""

import json

import pytest

from pecli.cli.run import run
from pecli.numbers.reader import shown, url_name
from pecli.plots.page import page_of
from pecli.tables.table import Table

PLAIN = [
    ("https://me:hush@host/a.npy?X=hush", "https://host/a.npy?..."),
    ("https://hush@host/a.npy", "https://host/a.npy"),
    ("https://me:hu@sh@host/a.npy", "https://host/a.npy"),
    ("s3://KEY:hu/sh+@bucket/x.npy", "s3://bucket/x.npy"),
    ("https://host/a.npy#token=hush", "https://host/a.npy#..."),
    ("https://host:8080/a.npy?u=x@y&s=hush", "https://host:8080/a.npy?..."),
    ("https://me:hu?sh@host/a.npy", "https://..."),
    ("https://me:hu#sh@host/a.npy", "https://..."),
]
NO_SECRET = [
    "https://host:8080/a@2x.npy", "https://host/x@y.npy", "https://host/a.h5::cos", "s3://bucket/x.npy::pe@1",
    "a@b:c.npy", "https://host: does not answer",
]  # fmt: skip
WITH_SPACES = [
    ("https://me:hu sh@host/a.npy", "https://host/a.npy"),
    ("https://me:hu'sh@host/a.npy", "https://host/a.npy"),
    ('https://me:hu"sh@host/a b.npy', "https://host/a b.npy"),
    ("https://host/a.npy?s=hu sh'sh", "https://host/a.npy?..."),
    ("https://host/a.npy?s=1\"hush'hush hush", "https://host/a.npy?..."),
]


@pytest.mark.parametrize(("url", "name"), PLAIN)
def test_a_url_in_a_text_loses_its_secrets(url, name):
    assert shown(url) == name
    assert shown(f"'{url}' and {url} differ") == f"'{name}' and {name} differ"


@pytest.mark.parametrize("text", NO_SECRET)
def test_what_is_no_secret_stays(text):
    assert shown(text) == url_name(text) == text


@pytest.mark.parametrize(("url", "name"), PLAIN + WITH_SPACES)
def test_a_url_that_was_named_is_hidden_wherever_it_stands(url, name):
    """Libraries repeat it whole, without its protocol, or with characters escaped."""
    from urllib.parse import quote

    assert url_name(url) == name
    for text in (url, url.partition("://")[2], quote(url, safe=":/?@#=&")):
        said = shown(f'Invalid bucket name "{text}": it must match {text}', secrets=True)
        assert "hu" not in said, said


def test_numbers_of_results_are_not_taken_for_secrets():
    """A password may be a number: only messages lose it where it stands alone."""
    url_name("https://me:32768@host/a.npy")
    assert shown("len 32768") == "len 32768"
    assert "32768" not in shown("refused: 32768", secrets=True)


@pytest.mark.parametrize(
    "url",
    [
        "s3://KEY:hush@bucket/x.npy",
        "s3://KEY:hu/sh@bucket/x.npy",
        "gs://hush@bucket/x.npy",
        "s3://KEY:hush hush@bucket/x.npy",
    ],
)
@pytest.mark.parametrize(
    "words", [["inspect"], ["compare", "rope:dim=8,len=4"], ["generate", "rope:dim=8,len=4", "-o"]]
)
def test_keys_before_a_bucket_are_refused_at_once(url, words, capfd):
    """They were printed with each of five tries."""
    assert run([*words, url]) == 2
    _, err = capfd.readouterr()
    assert "AWS_PROFILE" in err
    assert "hu" not in err
    assert "KEY" not in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("url", "_"), PLAIN + WITH_SPACES)
@pytest.mark.sample(6)
def test_titles_and_data_of_pictures_and_pages_lose_them(url, _, monkeypatch, tmp_path):
    """As the command draws them, with a source that is read from elsewhere."""
    from pecli.tables import parts

    table = Table.parse("sinusoidal:dim=8,len=16")
    monkeypatch.setattr(parts, "open_path", lambda *_: table)
    for name in ("x.svg", "x.html"):
        assert run(["inspect", url, "--plot", str(tmp_path / name)]) == 0
        made = (tmp_path / name).read_text()
        assert "Values of" in made or "pecli: " in made
        assert "hu" not in made.replace("thu", "").replace("hue", "")


def test_json_loses_them_before_it_escapes_them(monkeypatch, capfd):
    from pecli.tables import parts

    monkeypatch.setattr(parts, "open_path", lambda *_: Table.parse("sinusoidal:dim=8,len=16"))
    assert run(["inspect", "https://host/a.npy?s=1\"hush'hush hush", "--json"]) == 0
    out, _ = capfd.readouterr()
    assert "hush" not in out
    assert "https://host/a.npy?..." in json.loads(out).values()


@pytest.mark.parametrize(
    "name", ["<!--<script>", "{{data}}", "</script><script>alert(1)</script>", "a\u2028b & 'c\"", "{{title}}"]
)
def test_a_name_is_no_part_of_a_page(name):
    """A script that opens in a comment is closed by no later tag."""
    page = page_of(Table.parse("sinusoidal:dim=4,len=4"), name)
    plain = page_of(Table.parse("sinusoidal:dim=4,len=4"), "plain")
    assert page.count("<script") == plain.count("<script")
    assert page.count("</script") == plain.count("</script")
    assert page.count("<!--") == plain.count("<!--")
    found, expected = (json.loads(made.partition('id="data">')[2].partition("</script>")[0]) for made in (page, plain))
    assert found == {**expected, "name": name}
