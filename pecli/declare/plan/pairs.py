"""Plans of tables over queries and keys, and of tables that need content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pecli.declare.plan.base import Plan
from pecli.declare.plan.rows import Waves
from pecli.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli.declare.plan.base import Real
    from pecli.numbers.double_double import Points


@dataclass(frozen=True)
class ImageWindow:
    """The tokens of a window of an image, in row order, with a class token before them if `cls`."""

    height: int
    width: int
    cls: bool = False

    @property
    def tokens(self) -> int:
        """How many."""
        return self.height * self.width + self.cls

    @property
    def entries(self) -> int:
        """How many offsets of two tokens there are, those of the class token as three of their own at the end."""
        return (2 * self.height - 1) * (2 * self.width - 1) + 3 * self.cls


@dataclass(frozen=True)
class Bias(Plan):
    """Numbers added to the logits, one for each head, query and key.

    Parameters
    ----------
    heads : int
        Number of heads; with 0 there is no bias, only `index` or `shared`.
    value : callable, optional
        Of points and a range of heads, giving (heads, m).  The points are, by `by`:
        "distance": key - query; "key": the key; "last": the key minus the last key;
        "entry": the offsets of a window, numbered as its index does.
        With ``by == "pair"``: of query points (q,), key points (k,) and a range of heads, giving (heads, q, k).
    by : {"distance", "key", "last", "pair", "entry"}
        What it depends on.
    even : bool
        Whether a distance and its opposite have the same value, so that half of them are computed.
    causal : bool
        Whether keys after the query get minus infinity.
    slopes : callable, optional
        Gives the slope of each head, exactly.
    index : callable, optional
        Of distances, giving the integers (buckets, rows of a table) of the array ``index``, (m,) int64.
    shared : callable, optional
        Of query points and key points, giving the numbers (q, k) of the array ``x``, alike for all heads.
    window : ImageWindow, optional
        What the rows and columns are, with ``by == "entry"``; the array ``index`` holds the entries then.
    fixed : tuple of Fixed
        What ``--form parameters`` gives; those that are no trained values stand in the dense table too.
    """

    heads: int
    value: Callable[..., Real] | None = None
    by: Literal["distance", "key", "last", "pair", "entry"] = "distance"
    even: bool = False
    causal: bool = False
    slopes: Callable[[], Sequence[Fraction]] | None = None
    index: Callable[[Points], NDArray[np.int64]] | None = None
    shared: Callable[[Points, Points], Real] | None = None
    window: ImageWindow | None = None


class Frame(NamedTuple):
    """How many queries and keys a table has, and the step of its positions as a multiple of their unit."""

    queries: int
    keys: int
    step: int


@dataclass(frozen=True)
class Relative(Plan):
    """A vector for each distance (or bucket), and which of them belongs to a query and a key.

    Parameters
    ----------
    fixed : tuple of Fixed
        Arrays that do not depend on the positions: ``vector``, where it is drawn or read, and others by their roles.
    index : callable, optional
        Of distances key - query and the frame, giving rows of ``vector``, (m,) int64.
    waves : Waves, optional
        Gives ``vector`` as sines and cosines of distances.
    distances : callable, optional
        With `waves`: of the frame, the distance of each row in steps, a range or int64.
    """

    index: Callable[[Points, Frame], NDArray[np.int64]] | None = None
    waves: Waves | None = None
    distances: Callable[[Frame], range | NDArray[np.int64]] | None = None


@dataclass(frozen=True)
class Conditional(Plan):
    """Values that need content: one row of numbers for each position.

    Parameters
    ----------
    content : str
        Source of the content (n, c): a file, or a recipe.
    width : callable
        Of the number of channels c, the columns of ``pe``; with a base its own hold.
    value : callable
        Of content rows (m, c), the number of the first of them, the first and last (exclusive) row asked for,
        the number of all rows n, and the base's rows or None: gives (last - first, width).
    reach : callable
        Of the number of rows n, how many rows of content before and after its own a row depends on; raises
        where n does not fit.
    base : str, optional
        Recipe of an absolute table whose rows are handed on.
    dim : int, optional
        Width of the base, where its recipe does not say.
    fit : callable
        Of the number of channels and the width: reads weights and checks them; called before anything is written.
    """

    content: str
    width: Callable[[int], int]
    value: Callable[[NDArray[np.float64], int, int, int, int, NDArray[np.float64] | None], Real]
    reach: Callable[[int], int] = lambda _: 0
    base: str | None = None
    dim: int | None = None
    fit: Callable[[int, int], Any] = lambda _, __: None
