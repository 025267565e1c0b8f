"""The engine: exact phases, and from them correctly rounded sines, cosines and angles.

A value is first computed with a proved error, in float64 or in pairs of them; where that error
reaches a boundary between two numbers of the target type it is computed again in integers of any
size (Ziv's test).  Its words, in the order in which a table comes about:

frequency set
    The frequencies of a table's columns, each an exact fraction of a turn for one multiple of the
    unit, in fixed point; every fill of these columns shares it.  (`frequencies`)
phase
    Multiple times frequency modulo one turn: the integer part of a product of integers, dropped.
    A table of 256ths of a turn and short polynomials give its cosine and sine.  (`angles`)
run
    Rows whose multiples are evenly spaced; a table is cut into runs, and a run into tasks for the
    threads.  (`planning`, `threads`)
rotation table
    The rows that the rows of a long run are products of, by e^(i(a + b)w) = e^(iaw) e^(ibw): a
    table of offsets W, and the anchors.  (`rotation_tables`)
anchor
    A row of a rotation table that serves a whole block of rows, each anchor times one offset; it
    comes from exact phases, so errors do not add up along a run.  Anchors are made in groups.
block
    The rows of some anchors that are multiplied out at once, small enough for a core's cache.
    (`runs`; `digits` for lists of multiples)
doubt
    A candidate that lies so near a boundary that its error leaves two numbers to choose from; it
    is decided by more digits, at last exactly.  (`narrowing`, `angles`)
zero column
    A column of frequency zero: cosine 1, sine 0 in every row.
"""

from pecli.engine.frequencies import FrequencySet, Part
from pecli.engine.planning import fill
from pecli.engine.threads import default_threads
from pecli.numbers.double_double import DoubleDouble
from pecli.numbers.rounding import STORAGE, narrow, widen

__all__ = ["STORAGE", "DoubleDouble", "FrequencySet", "Part", "default_threads", "fill", "narrow", "widen"]
