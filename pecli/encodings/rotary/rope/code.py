"""Rotary tables and rotations in other people's programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pecli.encodings.shared.code import knows, layers, module, number, numbers
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe

TABLE = '''
{frequencies}


def table(length, start=0, dtype=np.float32):
    """Return cos and sin of positions start to start + length - 1, (length, pairs) each."""
    angles = np.arange(start, start + length)[:, None] * FREQUENCIES
    return {cos}.astype(dtype), {sin}.astype(dtype)
'''
ROTATE = '''
def rotate(x, cos, sin, interleaved=False):
    """Turn x (.., length, dim): x_i with x_(i + pairs), or x_2i with x_(2i + 1) where interleaved."""
    m = cos.shape[-1]
    a, b = (x[..., 0 : 2 * m : 2], x[..., 1 : 2 * m : 2]) if interleaved else (x[..., :m], x[..., m : 2 * m])
    parts = [a * cos - b * sin, b * cos + a * sin]
    made = STACK if interleaved else JOIN
    return CAT
'''


ROTATED = {
    "numpy": (
        "np.stack(parts, -1).reshape(*a.shape[:-1], 2 * m)", "np.concatenate(parts, -1)",
        "np.concatenate([made, x[..., 2 * m :]], -1)",
    ),
    "torch": (
        "torch.stack(parts, -1).flatten(-2)", "torch.cat(parts, -1)", "torch.cat([made, x[..., 2 * m :]], -1)",
    ),
    "keras": (
        "ops.reshape(ops.stack(parts, -1), (*ops.shape(a)[:-1], 2 * m))", "ops.concatenate(parts, -1)",
        "ops.concatenate([made, x[..., 2 * m :]], -1)",
    ),
}  # fmt: skip
"""What a framework writes for STACK, JOIN and CAT."""
LAYERS = layers(
    "Rotary", "Turns queries or keys (batch, heads, length, dim).", "length, interleaved=False", "x, offset=0",
    torch=(
        ["self.interleaved = interleaved",
         'for name, values in zip(("cos", "sin"), table(length)):',
         "    self.register_buffer(name, torch.from_numpy(values), persistent=False)"],
        ["rows = slice(offset, offset + x.shape[-2])",
         "return rotate(x, self.cos[rows], self.sin[rows], self.interleaved)"],
    ),
    keras=(
        ["self.interleaved = interleaved", "self.cos, self.sin = table(length, dtype=self.compute_dtype)"],
        ["rows = slice(offset, offset + ops.shape(x)[-2])",
         "cos, sin = ops.convert_to_tensor(self.cos)[rows], ops.convert_to_tensor(self.sin)[rows]",
         "return rotate(x, cos, sin, self.interleaved)"],
    ),
)  # fmt: skip


def _tail(framework: str) -> str:
    """Return the function that rotates, and the layer that calls it."""
    stack, join, cat = ROTATED[framework]
    rotate = ROTATE.replace("STACK", stack).replace("JOIN", join).replace("CAT", cat)
    return rotate + ("\n" + LAYERS[framework] if framework in LAYERS else "")


def code(recipe: Recipe, framework: str) -> str | None:
    """Return a module that makes the table and turns with it: by the formula, or from a scaling's own frequencies.

    None where frequencies wait for a length.
    """
    if recipe.open_parameters:
        return None
    plan = recipe.plan
    values: Mapping[str, Any] = recipe.values
    assert isinstance(plan, Waves)
    parts = {"cos": "np.cos(angles)", "sin": "np.sin(angles)"}
    if plan.magnitude != 1:
        parts = {name: f"({number(plan.magnitude)} * {text})" for name, text in parts.items()}
    if knows(recipe, ("dim", "base")):
        dim, base = values["dim"], number(values["base"])
        series = (
            f"DIM, BASE = {dim}, {base}\nFREQUENCIES = BASE ** (-np.arange(0, DIM, 2) / DIM)  # radians per position"
        )
    else:
        series = numbers("FREQUENCIES", plan.frequencies) + "  # radians per position, one for each pair"
    return module(recipe, framework, TABLE.format(frequencies=series, **parts), {framework: _tail(framework)})
