"""MathML of the formulas that the declarations hold as plain text; prose between formulas stays prose."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape

TOKEN = re.compile(
    r"(?P<word>\d+(?:st|nd|rd|th)\b|[A-Za-z]+\d*(?:[-_][A-Za-z]+\d*|_\d+)*(?:'[a-z]*)?)"
    r"|(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)"
    r"|(?P<sign>\.\.|<=|>=|\S)"
)
GREEK = {"pi": "π", "sigma": "σ", "gamma": "γ", "beta": "β", "epsilon": "ε"}
RELATIONS = {"=": "=", "<": "&lt;", ">": "&gt;", "<=": "≤", ">=": "≥", "~": "∼", "|": "|", ",": ",", "..": "…"}
RELATIONS |= {"mod": "mod", "xor": "⊕"}
BRACKETS = {"floor": "⌊⌋", "ceil": "⌈⌉", "abs": "||"}
NAMED = ("ln", "log2")  # functions whose argument may have no parentheses
PROSE = ("of", "from", "to", "and", "or")
Token = tuple[str, str, bool]  # kind, text, whether a space is before it


def html(line: str, options: Collection[str]) -> str:
    """Return one line of a formula as HTML: its equations as MathML, the names of options in prose as code."""
    line = re.sub(r"sum over (\w) = (\S+) \.\. (\S+) of", r"sum_\1 from \2 to \3 of", line)
    tokens = [
        (str(found.lastgroup), found[0], found.start() > 0 and line[found.start() - 1] == " ")
        for found in TOKEN.finditer(line)
    ]
    maths = _are_mathematics(tokens)
    shown, start = "", 0
    while start < len(tokens):
        end, spaced = start + 1, " " * tokens[start][2]
        if maths[start]:
            while end < len(tokens) and maths[end]:
                end += 1
            shown += f"{spaced}<math>{_Reader(tokens[start:end]).read()}</math>"
        else:
            word = tokens[start][1]
            shown += spaced + (f"<code>{word}</code>" if word in options else escape(word, quote=False))
        start = end
    return f"<p>{shown}</p>"


def _are_mathematics(tokens: list[Token]) -> list[bool]:
    """Return which tokens are part of an equation: inside its parentheses, next to an operator, or a letter."""
    operators = {"=", "<", ">", "<=", ">=", "~", "+", "-", "/", "^", "mod", "xor", ".."}
    found, depth = [], 0
    for k, (kind, text, _) in enumerate(tokens):
        before, after = (tokens[j] if 0 <= j < len(tokens) else ("", "", True) for j in (k - 1, k + 1))
        if text in ("(", "["):
            inside = _group(tokens[k:])
            prose = {"or", "and"} & {word for _, word, _ in inside}
            depth += bool(depth) or not prose
            found.append(depth > 0)
        elif text in (")", "]"):
            found.append(depth > 0)
            depth -= depth > 0
        elif kind == "word":
            base = re.split(r"[_']", text)[0]
            letter = len(base) == 1 or base in GREEK or re.fullmatch(r"[A-Za-z]\d", base) is not None
            article = text == "a" and before[1] != "axis" and after[0] == "word" and len(after[1].partition("_")[0]) > 1
            called = after[1] == "(" and not after[2]
            joined = before[1] in operators or after[1] in operators
            argument = text in NAMED and after[0] in ("word", "number")
            name = text not in PROSE and not text[0].isdigit() and (letter or called or joined or argument)
            found.append(bool(depth or (name and not article)))
        else:
            found.append(kind == "number" or (text in operators or text == "|" or depth > 0))
    return found


def _group(tokens: list[Token]) -> list[Token]:
    """Return the tokens to the parenthesis that closes the first one."""
    depth = 0
    for k, (_, text, _) in enumerate(tokens):
        depth += text in ("(", "[")
        depth -= text in (")", "]")
        if not depth:
            return tokens[:k]
    return tokens


class _Reader:
    """Reads an equation by recursive descent: relations, sums, products and fractions, powers, atoms.

    An expression is its MathML and its rank: 0 an atom, 1 in parentheses, 2 a product of atoms, 3 more than that.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.at, self.small = tokens, 0, 0

    def read(self) -> str:
        """Return the MathML of all tokens."""
        shown = ""
        while self.at < len(self.tokens):
            shown += self._sum() or self._operator()
        return shown

    def _next(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _operator(self) -> str:
        text = self._next()
        self.at += 1
        return f"<mo>{RELATIONS.get(text, escape(text))}</mo>"

    def _sum(self) -> str:
        shown = ""
        while self._next() and self._next() not in (*RELATIONS, *PROSE, ")", "]"):
            if self._next() in ("+", "-"):
                form = "infix" if shown else "prefix"
                shown += f'<mo form="{form}">{"−" if self._next() == "-" else "+"}</mo>'
                self.at += 1
            elif not (term := self._product()):
                break
            else:
                shown += term
        return shown

    def _product(self) -> str:
        """Return a product; a division takes what is before it as numerator, as a / b c means (a / b) c."""
        above: list[tuple[str, int]] = []
        while (factor := self._power()) is not None:
            above.append(factor)
            if self._next() == "/":
                self.at += 1
                below = self._power() or ("", 0)
                if self.small or max(rank for _, rank in (*above, below)) == 0:
                    above = [(f"{_row(above)}<mo>/</mo>{_fenced(below)}", 2)]
                else:
                    top = above[0][0] if len(above) == 1 else _row(above)
                    fraction = f"<mfrac><mrow>{top}</mrow><mrow>{below[0]}</mrow></mfrac>"
                    above = [(f'<mrow displaystyle="true">{fraction}</mrow>', 2)]
        return _row(above) if above else ""

    def _power(self) -> tuple[str, int] | None:
        base = self._atom()
        while base and self._next() == "^":
            self.at += 1
            self.small += 1
            sign = ""
            if self._next() == "-":
                sign, self.at = '<mo form="prefix">−</mo>', self.at + 1
            above = self._atom() or ("", 0)
            self.small -= 1
            base = (f"<msup><mrow>{_fenced(base)}</mrow><mrow>{sign}{above[0]}</mrow></msup>", 0)
        return base

    def _inside(self) -> str:
        """Return what is between parentheses, and go past them."""
        self.at += 1
        shown = ""
        while self._next() and self._next() not in (")", "]"):
            shown += self._sum() or self._operator()
        self.at += 1
        return shown

    def _atom(self) -> tuple[str, int] | None:
        if self.at >= len(self.tokens):
            return None
        kind, text, _ = self.tokens[self.at]
        if text == "(":
            return self._inside(), 1
        if text == "[":
            return f"<mo>[</mo>{self._inside()}<mo>]</mo>", 2
        if kind == "sign" or text in (*RELATIONS, *PROSE):
            return None
        self.at += 1
        if text in NAMED and self._next() not in ("(", "", ","):
            return f'{_name(text)}<mspace width="0.17em"/>{(self._power() or ("", 0))[0]}', 2
        if kind == "number":
            digits, _, exponent = text.partition("e")
            power = f"<msup><mn>10</mn><mn>{exponent.replace('-', '−')}</mn></msup>"
            return (power if exponent else f"<mn>{digits}</mn>"), 0
        if text.startswith("sum_"):
            self.at += 1
            low = self._sum()
            self.at += 1
            high = self._sum()
            self.at += 1
            return self._over(text[4:], low, high), 2
        if self._next() == "(" and not self.tokens[self.at][2]:
            inside = self._inside()
            if text == "sqrt":
                return f"<msqrt>{inside}</msqrt>", 2
            left, right = BRACKETS.get(text, "()")
            name = "" if text in BRACKETS else _name(text)
            return f'{name}<mo form="prefix">{left}</mo>{inside}<mo form="postfix">{right}</mo>', 2
        return _name(text), 0

    @staticmethod
    def _over(index: str, low: str, high: str) -> str:
        below = f"<mrow><mi>{index}</mi><mo>=</mo>{low}</mrow>"
        return f'<mrow displaystyle="true"><munderover><mo>∑</mo>{below}<mrow>{high}</mrow></munderover></mrow>'


def _row(factors: list[tuple[str, int]]) -> str:
    """Return a product: factors with parentheses where they are sums, and a space after a long name."""
    return '<mspace width="0.17em"/>'.join(_fenced(factor) for factor in factors)


def _fenced(factor: tuple[str, int]) -> str:
    return f"<mo>(</mo>{factor[0]}<mo>)</mo>" if factor[1] == 1 else factor[0]


def _name(text: str) -> str:
    """Return a name: letters in italics, longer names upright, with its subscript or prime."""
    base, _, index = text.removesuffix("'").partition("_")
    letters, digits = re.fullmatch(r"(.*?)(\d*)", base).groups()  # type: ignore[union-attr]
    if len(letters) > 1 and letters not in GREEK:
        return f'<mi mathvariant="normal">{text.replace("log2", "log₂")}</mi>'
    letter = f"<mi>{GREEK.get(letters, letters)}</mi>"
    if digits or index:
        both = "".join(f"<mn>{p}</mn>" if p.isdigit() else f"<mi>{p}</mi>" for p in (digits, index) if p)
        letter = f"<msub>{letter}<mrow>{both}</mrow></msub>"
    return f"<msup>{letter}<mo>′</mo></msup>" if text.endswith("'") else letter
