"""The catalogue: every encoding by its name, imported when it is first asked for, plug-ins, and questions about it.

Plug-ins are read from files that the user names, or from installed packages, never from elsewhere.
"""

from __future__ import annotations

import os
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from pecli.errors import BadFile, UnknownName, nearest
from pecli.spec.declaration import REGISTRY, Encoding, Family

OTHER_NAMES = {
    "sine": "sinusoidal",
    "sincos": "sinusoidal",
    "sin": "sinusoidal",
    "rotary": "rope",
    "nope": "none",
}  # and any case
FOLDERS = ("absolute", "rotary", "bias", "relative", "content")


@cache
def _import_encodings() -> None:
    """Import every module of encodings, once: looking through their folders takes 3 ms."""
    for folder in FOLDERS:
        package = import_module(f"pecli.encodings.{folder}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)


def _module_of(name: str) -> str | None:
    """Return the module of pecli that declares an encoding; it may not have been imported yet."""
    modules = (f"pecli.encodings.{folder}.{name.replace('-', '_')}" for folder in FOLDERS)
    return next((module for module in modules if find_spec(module) is not None), None)


class Catalogue(Mapping[str, Encoding]):
    """Every encoding by its name, ordered by family; modules are imported as they are needed."""

    def __getitem__(self, name: str) -> Encoding:
        name = OTHER_NAMES.get(name.lower(), name.lower())
        if name not in REGISTRY and name.replace("-", "").isalnum():
            if (module := _module_of(name)) is not None:
                import_module(module)
                return REGISTRY[name]
            load_named()
            if name not in REGISTRY:
                load_installed(name)
        return REGISTRY[name]

    def __iter__(self) -> Iterator[str]:
        _import_encodings()
        load_named()
        families = list(Family)
        return iter(sorted(REGISTRY, key=lambda n: (families.index(REGISTRY[n].family), REGISTRY[n].place, n)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


CATALOGUE: Mapping[str, Encoding] = Catalogue()


def find(name: str) -> Encoding:
    """Return the encoding of this name.

    Raises
    ------
    UnknownName
        If there is none, with the nearest name.
    """
    if name not in CATALOGUE:
        raise unknown_encoding(name)
    return CATALOGUE[name]


def unknown_encoding(name: str) -> UnknownName:
    """Return the error of a name that no encoding has: it may be a scaling's, a family's, or a model's."""
    word = _letters(name)
    alike = nearest(name, CATALOGUE)
    return UnknownName("encoding", name, CATALOGUE, alike if alike and _letters(alike) == word else _meant(word))


def _meant(word: str) -> str | None:
    """Return the encoding that a word probably means, as the declarations suggest; None where they do not."""
    for encoding in CATALOGUE.values():
        if word in (_letters(encoding.family.word), _letters(encoding.title)):
            names = [e.name for e in CATALOGUE.values() if e.family is encoding.family]
            return encoding.name if word == _letters(encoding.title) else f"one of its family, {', '.join(names)}"
    for encoding in CATALOGUE.values():
        for parameter in encoding.options:
            words = (*((choice, choice) for choice in parameter.choices), *parameter.param.synonyms)
            for other, choice in words:
                if word == _letters(other):
                    return f"{encoding.name}:{parameter.option}={choice}"
    users = [e for e in CATALOGUE.values() if len(word) > 2 and word in map(_letters, e.users.split(", "))]
    return f"{users[0].name}, as {users[0].users}" if users else None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


VARIABLE = "PECLI_PLUGIN"
GROUP = "pecli.encodings"
_plugins: dict[str, str] = {}  # files, by the name of their module


def load_named() -> None:
    """Read the files that the environment variable names.

    Raises
    ------
    BadFile
        As :func:`load_file`.
    """
    for path in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        load_file(path)


def load_file(path: str) -> None:
    """Read the declarations in a file, once.

    Raises
    ------
    BadFile
        If it cannot be read, declares nothing, or is wrong: with the line, in one sentence.
    """
    file = Path(path)
    if str(file.resolve()) in _plugins.values():
        return
    if not file.is_file():
        raise BadFile(path, "is no file: name one of Python that declares an encoding")
    name = f"pecli_plugin_{len(_plugins)}_{file.stem}"
    spec = spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise BadFile(path, "is no file of Python: its name must end in .py")
    before = set(REGISTRY)
    _plugins[name] = str(file.resolve())
    module = sys.modules[name] = module_from_spec(spec)
    caching, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # no __pycache__ is left next to the user's file
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        for new in set(REGISTRY) - before:
            del REGISTRY[new]
        raise BadFile(path, fault_of(error)[1] or f"{type(error).__name__}: {error}") from error
    finally:
        sys.dont_write_bytecode = caching
    for new in sorted(set(REGISTRY) - before):
        line = f"line {REGISTRY[new].function.__code__.co_firstlineno}"
        if _module_of(new) is not None:
            del REGISTRY[new]
            raise BadFile(path, f"{line}: {new} is an encoding of pecli: choose another name")
        try:
            _ = REGISTRY[new].parameters  # they are read when first asked for
        except Exception as error:
            del REGISTRY[new]
            raise BadFile(path, f"{line}: {error}") from error
    if set(REGISTRY) == before:
        raise BadFile(path, "declares no encoding: decorate a function with pecli.own.encoding")


@cache
def load_installed(name: str) -> None:
    """Import the module of an installed package whose entry point has this name, once: the search takes 10 ms."""
    from importlib.metadata import entry_points

    for found in entry_points(group=GROUP, name=name):
        found.load()


def declared_in(name: str) -> str | None:
    """Return the user's file that declares an encoding; None for any other encoding."""
    encoding = REGISTRY.get(name)
    path = None if encoding is None else encoding.function.__code__.co_filename
    return path if path in _plugins.values() else None


def fault_of(error: BaseException) -> tuple[str, str]:
    """Return the user's file in which an error arose, and its innermost line there with the error; "" if in none."""
    from traceback import walk_tb

    if isinstance(error, SyntaxError) and error.filename in _plugins.values():
        return str(error.filename), f"line {error.lineno}: {error.msg}"
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    path, line = next((place for place in reversed(places) if place[0] in _plugins.values()), ("", 0))
    return path, f"line {line}: {type(error).__name__}: {error}" if path else ""


@dataclass(frozen=True)
class Question:
    """A question that people ask of an encoding, and its answer.

    Parameters
    ----------
    question, answer : str
        One sentence, and a few.
    see : str
        A command that shows it, without the program's name; "" for none.
    """

    question: str
    answer: str
    see: str = ""


def questions(encoding: Encoding) -> list[Question]:
    """Return the questions about an encoding: its own, those that it shares, then those about its whole family."""
    found = []
    for folder in FOLDERS:
        text = (pkgutil.get_data("pecli.encodings", f"{folder}/questions.md") or b"").decode()
        for section in text.split("\n## ")[1:]:
            heading, *asked = section.split("\n### ")
            names = heading.strip().split(", ")
            if encoding.name in names or f"Every {encoding.family.word} encoding" in names:
                found += [_parsed(part) for part in asked]
    return found


def general_questions() -> list[Question]:
    """Return the questions about work with tables of any encoding."""
    text = (pkgutil.get_data("pecli.encodings", "questions.md") or b"").decode()
    return [_parsed(part) for part in text.split("\n### ")[1:]]


def every_question() -> list[Question]:
    """Return the questions about all encodings, each once, then the general ones."""
    of_encodings = (one for encoding in CATALOGUE.values() for one in questions(encoding))
    return list(dict.fromkeys([*of_encodings, *general_questions()]))


# Words that a search leaves out: nearly every question has them.
SMALL_WORDS = re.compile(
    "an?|the|is|are|was|does|did|do|its?|we|you|i|of|in|on|to|for|by|with|and|or|not|be|can|what|why|how|which|when|that|this|as|at"
)
MAX_ANSWERS = 4  # where no answer has every word of the question


def ranked(found: Sequence[Question], words: Sequence[str]) -> list[Question]:
    """Return the questions whose text has all of some words; where none has, those that have more than half of them.

    Examples
    --------
    >>> some = [Question("Why both sine and cosine?", ""), Question("Why 10000?", "The base gives wavelengths.")]
    >>> [one.question for one in ranked(some, ["which wavelength does base 10000 have"])]
    ['Why 10000?']
    """
    asked = _stems(" ".join(words))
    texts = [(_stems(one.question), _stems(one.answer)) for one in found]
    rarity = {word: 1 / (1 + sum(word in q | a for q, a in texts)) for word in asked}
    points = [sum(rarity[word] * (2 * (word in q) + (word in a)) for word in asked) for q, a in texts]
    order = sorted((k for k, point in enumerate(points) if point), key=lambda k: -points[k])
    whole = [k for k in order if asked <= texts[k][0] | texts[k][1]]
    some = [k for k in order if 2 * len(asked & (texts[k][0] | texts[k][1])) > len(asked)]
    return [found[k] for k in whole or some[:MAX_ANSWERS]]


def _stems(text: str) -> set[str]:
    """Return the words of a text without their endings."""
    found = re.findall(r"[a-z0-9]+", text.lower().replace("halves", "half"))
    words = (word for word in found if not SMALL_WORDS.fullmatch(word))
    return {re.sub(r"(?<=...)(ing|ed|es|s|al|e|ation)$", "", word) for word in words}


def _parsed(text: str) -> Question:
    question, _, below = text.partition("\n")
    answer, _, block = below.partition("```console\n$ pecli ")
    return Question(question, " ".join(answer.split()), block.partition("\n")[0])
