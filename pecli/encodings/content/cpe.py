"""PEG: content plus a depth-wise convolution of it."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pecli.encodings.shared import trained
from pecli.encodings.shared.deferred import Floats, np
from pecli.encodings.shared.grids import sides
from pecli.encodings.shared.parameters import Channels, Content
from pecli.errors import BadParameter
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Effect
from pecli.spec.plans import Conditional

EFFECT = Effect(content="replaces", note="the input stands for the content")


@encoding(
    family=Family.CONDITIONAL,
    title="Conditional positional encoding (PEG)",
    facts=Facts(
        learned=True,
        multi_scale=False,
        parameters="channels * (grid and kernel * kernel or kernel) + channels",
        cost="n * channels",
    ),
    work=Work(
        kernel="channels * (grid and kernel * kernel or kernel) + channels",
        additions="n * channels * ((grid and kernel * kernel or kernel) + 1)",
        products="n * channels * (grid and kernel * kernel or kernel)",
    ),
    example='cpe:content="learned:dim=4,max-len=512",channels=4',
    place=2,
    hooks={"apply": lambda recipe: EFFECT},
)  # fmt: skip
def cpe(
    *,
    content: Content,
    kernel: Annotated[int, Param(ge=1, le=255)] = 3,
    grid: Annotated[tuple[int, ...] | None, sides(le=1 << 16)] = None,
    cls: Annotated[int, Param(ge=0, le=1 << 16)] = 0,
    residual: bool = True,
    channels: Channels = None,
    weights: trained.Weights = None,
    seed: trained.DrawnSeed = 0,
    generator: trained.Generator = trained.GENERATOR,
) -> Conditional:
    """Content plus a depth-wise convolution of it.

    Position comes from the zero padding at the ends.

    Needs content: a file with one row of numbers for each position, or a recipe.

    Formula
    -------
    pe = x + conv(x) + b: each channel has its own kernel over the neighbours, with zeros beyond the ends
    on a grid the kernel is square; the first cls rows are unchanged

    Parameters
    ----------
    kernel
        Width of the kernel, odd.
    grid
        Height and width of the rows after cls (default: one line).
    cls
        Number of leading rows that are not convolved.
    residual
        Add the content itself, as the authors do.
    weights
        File with weight (c, kernel) or (c, kernel, kernel), and bias (default: random, from the seed).

    Source
    ------
    Chu et al. 2021, arXiv:2102.10882, section 3.3 and the authors' PosCNN

    Used by
    -------
    CPVT, Twins

    Use it
    ------
    for images of any size: a convolution sees where the border is

    Not
    ---
    for sequences without a border, or if tables must be made in advance

    Not recognised
    --------------
    its rows depend on content that the table does not hold
    """
    if kernel % 2 == 0:
        rule = f"must be odd, so that rows stay where they are: use {kernel - 1} or {kernel + 1}"
        raise BadParameter("kernel", kernel, rule)
    places = kernel if grid is None else kernel * kernel

    @cache
    def layer(inputs: int) -> tuple[Floats, Floats]:
        if channels is not None and inputs != channels:
            raise BadParameter("content", content, f"has {inputs} channels, and channels={channels}")
        if weights is None:
            return trained.linear_layer(seed, inputs, places)
        return _kernels(weights, inputs, (kernel,) if grid is None else (kernel, kernel))

    def reach(n: int) -> int:
        if grid is not None and n != cls + grid[0] * grid[1]:
            rule = f"has {n} rows, and the grid {grid[0]}x{grid[1]} with cls={cls} takes {cls + grid[0] * grid[1]}"
            raise BadParameter("content", content, rule)
        if n <= cls:
            raise BadParameter("cls", cls, f"must be below the {n} rows of the content")
        return kernel // 2 * (1 if grid is None else grid[1] + 1)

    def value(rows: Floats, offset: int, start: int, stop: int, n: int, _: Floats | None) -> Floats:

        weight, bias = layer(rows.shape[1])
        own = rows[start - offset : stop - offset]
        number = np.arange(start, stop) - cls
        total = np.zeros_like(own)
        for place in range(places):
            if grid is None:
                down, right, width, height = 0, place - kernel // 2, n - cls, 1
            else:
                down, right = place // kernel - kernel // 2, place % kernel - kernel // 2
                height, width = grid
            y, x = number // width + down, number % width + right
            inside = (number >= 0) & (y >= 0) & (y < height) & (x >= 0) & (x < width)
            other = y[inside] * width + x[inside] + cls - offset
            total[inside] += rows[other] * weight[:, place]
        total += bias
        return np.asarray(np.where((number >= 0)[:, None], total + own if residual else total, own))

    return Conditional(content, value, reach, fit=lambda inputs, _: layer(inputs))


def _kernels(path: str, channels: int, sides: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return weight (channels, places) and bias (channels,) of a file; a bias left out is 0."""
    file = trained.WeightFile(path)
    held = file.one("weight")
    if len(held.shape) == len(sides) + 2 and held.shape[1] == 1:  # torch keeps one input channel of each group
        held = held.reshape(held.shape[0], *held.shape[2:])
    weight = file.shaped(held, (channels, *sides), f"content with {channels} channels and kernel={sides[0]}")
    weight = weight.reshape(channels, -1)
    return weight, file.bias(channels, f"content with {channels} channels")
