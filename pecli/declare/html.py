"""What a notebook shows of a result: a table in HTML, without a style of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a caption above it, whose lines stay.

    Examples
    --------
    >>> html_table("a < b", ["n"], [[1]])
    '<pre>a &lt; b</pre><table><tr><th>n</th></tr><tr><td>1</td></tr></table>'
    """
    from html import escape

    lines = [heads, *rows]
    made = "".join(
        "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in line) + "</tr>"
        for tag, line in zip(["th", *["td"] * (len(lines) - 1)], lines, strict=True)
    )
    return f"<pre>{escape(caption)}</pre><table>{made}</table>"
