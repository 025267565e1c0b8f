"""Which pictures: those asked for by name, or all that there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pecli.drawing.charts import Chart
from pecli.errors import BadParameter, UnknownName


def check_words(words: Sequence[str], known: Sequence[str]) -> None:
    """Raise UnknownName for a word that is no picture."""
    for word in words:
        if word not in known:
            raise UnknownName("picture", word, known)


def chosen(makers: Mapping[str, Callable[[], list[Chart]]], words: Sequence[str], name: str) -> list[Chart]:
    """Return the pictures that these words name, or all that the makers give.

    Raises
    ------
    BadParameter
        For a picture that `name` has not.
    """
    made = {word: makers[word]() for word in words or makers if word in makers}
    for word in words:
        if not made.get(word):
            others = [other for other, make in makers.items() if other != word and make()]
            rule = f"cannot be drawn of {name}, which has no such thing: {' and '.join(others) or 'nothing'} can"
            raise BadParameter("picture", word, rule)
    return [chart for word in words or makers for chart in made.get(word, [])]
