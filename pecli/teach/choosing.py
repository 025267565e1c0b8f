"""Choosing an encoding: a tree of questions, and a filter, both answered by declared facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from pecli.errors import BadParameter, UnknownName
from pecli.spec.declaration import Encoding, Facts, Family

Holds = Callable[[Encoding], bool]
WORDS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Branch:
    """One answer to a question, and the next question or the encodings it leads to.

    Parameters
    ----------
    answer : str
        The answer; "" at the root.
    question : str
        What is asked next; "" at a leaf.
    branches : tuple of Branch
        Its answers.
    encodings : tuple of Encoding
        At a leaf, what is left: each encoding of the catalogue stands at one leaf.
    """

    answer: str
    question: str
    branches: tuple[Branch, ...]
    encodings: tuple[Encoding, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the branch with all below it, for JSON."""
        below: dict[str, object] = {"answer": self.answer} if self.answer else {}
        if self.branches:
            return {**below, "question": self.question, "branches": [b.as_dict() for b in self.branches]}
        advice = [{"name": e.name, **(asdict(e.guidance) if e.guidance else {})} for e in self.encodings]
        return {**below, "encodings": advice}


# a question with its answers: words, the rule, and the next question; the last answer takes what is left
Question = tuple[str, tuple[tuple[str, Holds, "Question | None"], ...]]


def _family(*families: Family) -> Holds:
    return lambda e: e.family in families


def _has(parameter: str) -> Holds:
    return lambda e: parameter in e.parameters


def _rest(_: Encoding) -> bool:
    return True


_TRAINED: Question = (
    "May it be trained with the model?",
    (("no: computed", lambda e: not e.facts.learned, None), ("yes", _rest, None)),
)
_LINE: Question = (
    "Will texts get longer than in training?",
    (
        (
            "no: positions up to a known length",
            lambda e: e.family is Family.ABSOLUTE and (e.facts.beyond == "ends" or not e.facts.multi_scale),
            _TRAINED,
        ),
        (
            "yes, and attention should see distances",
            _family(Family.ROTARY, Family.BIAS, Family.RELATIVE),
            (
                "Where do distances enter?",
                (
                    (
                        "queries and keys are rotated (give it a scaling past the training length)",
                        _family(Family.ROTARY),
                        None,
                    ),
                    ("a number on each logit", _family(Family.BIAS), _TRAINED),
                    ("a vector for each distance", _rest, None),
                ),
            ),
        ),
        ("yes, a little, and positions go with the embeddings", _rest, None),
    ),
)
_QUESTION: Question = (
    "What has a position?",
    (
        ("nothing: a causal mask is enough", _family(Family.NONE), None),
        ("tokens, together with their content", _family(Family.CONDITIONAL), None),
        (
            "patches of an image or video",
            _has("grid"),
            (
                "Where does it enter?",
                (
                    ("queries and keys are rotated", _family(Family.ROTARY), None),
                    ("attention, by offsets", _family(Family.BIAS, Family.RELATIVE), None),
                    ("with the input: added to the embeddings, or concatenated", _rest, None),
                ),
            ),
        ),
        ("tokens of a text", _rest, _LINE),
    ),
)


def tree(encodings: Iterable[Encoding]) -> Branch:
    """Return the questions, with these encodings at their leaves.

    Parameters
    ----------
    encodings : iterable of Encoding

    Returns
    -------
    Branch
        The root.  Answers that nothing is left for are not there.
    """
    return _branch("", _QUESTION, tuple(encodings))


def _branch(answer: str, question: Question | None, left: tuple[Encoding, ...]) -> Branch:
    if question is None:
        return Branch(answer, "", (), left)
    asked, answers = question
    branches: list[Branch] = []
    for word, holds, following in answers:
        taken = tuple(e for e in left if holds(e))
        left = tuple(e for e in left if e not in taken)
        if taken:
            branches.append(_branch(word, following, taken))
    return Branch(answer, asked, tuple(branches), ())


def where(encodings: Iterable[Encoding], conditions: str) -> list[Encoding]:
    """Return the encodings whose declared facts are these.

    Parameters
    ----------
    encodings : iterable of Encoding
    conditions : str
        ``fact=word`` separated by commas.  A word is yes, no or the fact's own; ``relative=yes`` takes any kind.
        ``family`` is a fact too.

    Raises
    ------
    UnknownName, BadParameter
        For another fact, or a word that it never has.
    """
    rules = [_rule(text.strip(), tuple(encodings)) for text in conditions.split(",")]
    return [e for e in encodings if all(rule(e) for rule in rules)]


def _rule(text: str, encodings: Sequence[Encoding]) -> Holds:
    name, equals, word = text.partition("=")
    if not equals:
        raise BadParameter("where", text, "needs a word: write it as fact=word, such as relative=yes")
    known = {f.name.replace("_", "-"): f.name for f in fields(Facts)}
    if name != "family" and name not in known:
        raise UnknownName("fact", name, ("family", *known))

    def stated(encoding: Encoding) -> object:
        return encoding.family.word if name == "family" else getattr(encoding.facts, known[name])

    words: Mapping[object, str] = {v: {True: "yes", False: "no"}.get(v, str(v)) if isinstance(v, bool) else str(v)
                                   for v in map(stated, encodings)}  # fmt: skip
    spoken = set(words.values())
    if word == "yes" and "no" in spoken:
        return lambda e: stated(e) is True or stated(e) not in (False, "no")
    if word not in spoken:
        raise BadParameter("where", text, f"says what {name} never is: give one of {', '.join(sorted(spoken))}")
    return lambda e: words[stated(e)] == word
