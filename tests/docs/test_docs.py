"""The documents say what is true: generated parts are current, pages are well formed, examples run."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

import pecli
from docs import generate
from pecli.cli.run import run
from pecli.formats import WRITTEN
from pecli.spec.declaration import HookName
from tests.conftest import DATA, ROOT
from tests.support.commands import command

PAGES = sorted(ROOT.glob("man/*.[17]"))


def here(script, *, cwd, env, **options):
    """Run a document's line: what is pecli's in this process, the rest of a pipe and of a loop in a shell."""
    line = script.split("; ", 2)[-1]
    loop = re.fullmatch(r"for (\w) in ([^;]*); do ([^;]*); done", line)
    lines = [loop[3].replace(f"${loop[1]}", word) for word in loop[2].split()] if loop else [line]
    printed = b""
    for line in lines:
        read = b""
        for stage in line.split(" | "):
            words = stage.removesuffix(" 2>&1 || true")
            if words.startswith("pecli ") and not re.search(r"[<>&;$*`]", words):
                done = command(shlex.split(words)[1:], stdin=read, text=False, cwd=cwd, env=env)
                read = done.stdout + (done.stderr if words != stage else b"")
                status = done.returncode if words == stage else 0
            else:
                own = script if "pecli" in stage else stage
                done = subprocess.run(own, cwd=cwd, env=env, input=read, shell=True, capture_output=True, check=False)
                read, status = done.stdout, done.returncode
        printed += read
    return SimpleNamespace(returncode=status, stdout=printed.decode(), stderr=done.stderr.decode())


@pytest.mark.exhaustive  # `make check` runs it
def test_generated_files_are_what_the_declarations_make(monkeypatch):
    monkeypatch.setattr(generate, "subprocess", SimpleNamespace(run=here))
    assert generate.main(["--check", "--pages"]) == 0


def test_there_is_a_page_for_every_command():
    from pecli.cli.commands import COMMANDS

    assert {p.name for p in PAGES} == {"pecli.1", "pecli-encodings.7", *(f"pecli-{name}.1" for name in COMMANDS)}
    installed = (ROOT / "pyproject.toml").read_text()
    assert all(f'"man/{page.name}"' in installed for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_page_has_no_warnings(page):
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False)
    assert done.stdout == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_commands_of_a_pages_examples_exist(page):
    from pecli.cli.commands import COMMANDS

    for line in re.findall(r"^\.Dl pecli (.*)$", page.read_text(), re.MULTILINE):
        assert line.replace("\\-", "-").split()[0] in COMMANDS, line


def test_every_encoding_and_parameter_is_in_the_page_of_encodings():
    text = (ROOT / "man" / "pecli-encodings.7").read_text().replace("\\-", "-")
    for encoding in pecli.CATALOGUE.values():
        section = text.split(f".Ss {encoding.name}\n")[1].split(".Ss ")[0]
        for parameter in encoding.options:
            assert f".It Fl -{parameter.option}" in section, (encoding.name, parameter.option)


def test_the_pages_that_list_the_formats_list_every_one():
    files, start, page = (
        (ROOT / name).read_text() for name in ("docs/files.md", "docs/start.md", "man/prose/pecli-generate.mdoc")
    )
    for form in WRITTEN.values():
        suffix = form.suffixes[0]
        assert f"`{suffix}`" in files
        assert form.extra or form.reader is None or (suffix in start and suffix in page), suffix


def test_the_map_names_every_hook_and_files_that_are_there():
    text = (ROOT / "docs/development.md").read_text()
    assert [name for name in get_args(HookName) if f"`{name}`" not in text] == []
    named = re.findall(r"`(?:pecli/)?((?:[\w.]+/)+[\w]+\.(?:py|txt|md|mdoc))`", text)
    places = (ROOT, ROOT / "pecli", ROOT / "pecli/encodings/rotary")
    assert [path for path in named if not any((place / path).exists() for place in places)] == []


def test_what_the_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    assert links
    for link in links:
        assert link.startswith("http") or (ROOT / link).exists(), link


FRAMEWORKS = ("torch", "transformers", "keras", "jax", "dask")
DOCS = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", DOCS, ids=lambda p: p.name)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, left = {}, set()
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        needs = [n for n in FRAMEWORKS if re.search(rf"^(import {n}|from pecli.{n} import)\b", block, re.MULTILINE)]
        absent = [name for name in needs if importlib.util.find_spec(name) is None]
        if not absent:
            exec(compile(block, page.name, "exec"), names)
        left.update(absent)
    if left:
        pytest.skip(f"the blocks of {', '.join(sorted(left))}: make frameworks and make reach run them")


@pytest.mark.parametrize("page", DOCS, ids=lambda p: p.name)
def test_the_links_of_a_page_lead_somewhere_and_its_commands_are_run(page):
    text = page.read_text()
    for link, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text):
        if link.startswith("http"):
            assert re.fullmatch(r"https://[\w.-]+\.\w+(/\S*)?", link)
        elif not link.startswith("catalogue/"):  # which is made when the site is
            assert (page.parent / link).exists(), link
            heads = re.findall(r"^#+ (.*)$", (page.parent / link).read_text(), re.MULTILINE) if anchor else []
            assert not anchor or anchor in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads}
    for name in re.findall(r"```\{toctree\}.*?\n\n(.*?)```", text, re.DOTALL):
        assert all((page.parent / f"{n}.md").exists() or n.startswith("catalogue/") for n in name.split())
    assert "```console" not in re.sub(r"<!-- begin:.*?<!-- end -->", "", text, flags=re.DOTALL)


def test_the_public_names_are_few_and_documented():
    assert len(pecli.__all__) <= 20
    for name in pecli.__all__:
        assert getattr(pecli, name).__doc__, name


def test_the_readmes_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "rope.safetensors").exists()


def test_every_console_of_the_readme_is_run_and_it_is_short():
    text = (ROOT / "README.md").read_text()
    outside = re.sub(r"<!-- begin:.*?<!-- end -->", "", text, flags=re.DOTALL)
    assert "```console" not in outside
    prose = re.sub(r"```.*?```", "", outside, flags=re.DOTALL)
    assert len(prose.split()) <= 1500
    assert text.index("base 10000 where 500000") < text.index("## Two commands")


# What introductions to the field state: each is answered by a command, or put right by it.

FILE = DATA / "reference" / "statements.txt"
ANSWERED = defaultdict(list)  # what each command answers: statements, with what must be found
for line in FILE.read_text().splitlines():
    if line and not line.startswith("#"):
        statement, words, pattern = line.split(" | ", 2)
        ANSWERED[words].append((statement, pattern))


@pytest.mark.parametrize("command", ANSWERED)
def test_statements_are_answered(command, monkeypatch, capfd, tmp_path):
    if command.startswith("page "):
        print((ROOT / command.removeprefix("page ")).read_text())
    else:
        monkeypatch.chdir(tmp_path)
        run(shlex.split(command))
    said = capfd.readouterr()
    words = " ".join((said.out + said.err).replace("│", " ").split())  # as read, whatever the line breaks
    missing = [
        f"{statement}: {pattern}"
        for statement, pattern in ANSWERED[command]
        if not re.search(pattern, words) and not re.search(pattern, said.out)
    ]
    assert not missing, f"{said.out}{said.err}"


def test_there_are_as_many_as_in_the_introductions():
    assert sum(map(len, ANSWERED.values())) >= 300


def test_the_makefile_of_the_data_page_runs_in_an_empty_folder(tmp_path):
    (rules,) = re.findall(r"```make\n(.*?)```", (ROOT / "docs" / "data-preparation.md").read_text(), re.DOTALL)
    (tmp_path / "Makefile").write_text(rules.replace("--len 1000000 --dim 512", "--len 1600 --dim 8"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    made = subprocess.run(
        ["make", "check", "parts/3.parquet"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    assert "same: 1,048,576 values are equal to the bit" in made.stdout
    assert len(pecli.open_table(tmp_path / "parts" / "3.parquet")["pe"]) == 100
