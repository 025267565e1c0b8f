"""Short modules that make a table without pecli, or lines that load one: parts of the hook ``code``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from pecli.spec.recipe import Recipe

NEWLINE = "\n"
FRAMEWORKS = ("numpy", "torch", "keras")
IMPORTS = {"numpy": "import numpy as np", "torch": "import numpy as np\nimport torch", "keras":
           "import keras\nimport numpy as np\nfrom keras import ops"}  # fmt: skip
_KERAS = """import numpy as np
from keras import ops

stored = np.load("{path}")
tables = {{name: ops.convert_to_tensor(stored[name]) for name in stored if name != "pecli_recipe"}}"""
LOADING = {
    "numpy": ("npz", 'import numpy as np\n\ntables = dict(np.load("{path}"))'),
    "torch": ("safetensors", 'from safetensors.torch import load_file\n\ntables = load_file("{path}")'),
    "keras": ("npz", _KERAS),
}


def knows(recipe: Recipe, names: Collection[str]) -> bool:
    """Whether all parameters other than `names` (as the function spells them) have their defaults."""
    parameters = recipe.encoding.parameters
    return all(name in names or value == parameters[name].default for name, value in recipe.values.items())


def number(value: Decimal | float | str) -> str:
    """Return a number as Python's source has it, a float."""
    return repr(float(value))


def numbers(name: str, values: Sequence[Decimal]) -> str:
    """Return the assignment of an array of numbers, the nearest doubles, four to a line."""
    texts = [number(value) for value in values]
    lines = [", ".join(texts[k : k + 4]) + "," for k in range(0, len(texts), 4)]
    return f"{name} = np.array([\n" + "".join(f"    {line}\n" for line in lines) + "])"


def module(recipe: Recipe, framework: str, table: str, tails: Mapping[str, str], standard: str = "") -> str:
    """Return a module: what it is, its imports, the table in NumPy's double precision, and what a framework adds.

    `standard` is what it imports of the standard library.
    """
    phrase = (
        f'"""{recipe.encoding.title}: {recipe.short}.\n\nThe table is made in double precision and rounded once.\n"""'
    )
    head = f"{phrase}\n\n{standard}{IMPORTS[framework]}\n\n{table.strip(NEWLINE)}\n"
    tail = tails.get(framework, "").strip(NEWLINE)
    return f"{head}\n\n{tail}\n" if tail else head


def loading(recipe: Recipe, framework: str) -> str:
    """Return the command that writes a table, and the lines that load it."""
    suffix, lines = LOADING[framework]
    path = f"{recipe.encoding.name}.{suffix}"
    length = "" if recipe.rows is not None else " --len 2048"
    return f"# pecli generate {recipe.short}{length} -o {path}\n" + lines.format(path=path) + "\n"


_TORCH = '''
class {name}(torch.nn.Module):
    """{says}"""

    def __init__(self, {arguments}):
        super().__init__()
        {holds}

    def forward(self, {given}):
        {returns}
'''
_KERAS = '''
class {name}(keras.layers.Layer):
    """{says}"""

    def __init__(self, {arguments}, **options):
        super().__init__(**options)
        {holds}

    def call(self, {given}):
        {returns}

    def compute_output_shape(self, shape):
        return shape
'''


def layers(
    name: str, says: str, arguments: str, given: str, *, torch: Sequence[Sequence[str]], keras: Sequence[Sequence[str]]
) -> dict[str, str]:
    """Return a layer of each framework: `torch` and `keras` are the lines of its two methods."""
    found = {}
    for framework, text, body in (("torch", _TORCH, torch), ("keras", _KERAS, keras)):
        holds, returns = (f"{NEWLINE}        ".join(lines) for lines in body)
        found[framework] = text.format(
            name=name, says=says, arguments=arguments, given=given, holds=holds, returns=returns
        )
    return found


LAST_QUERIES = "logits (batch, heads, queries, keys), the queries being the last of the keys."
ADD_BIAS = layers(
    "Bias", f"Adds the bias to {LAST_QUERIES}", "length", "logits",
    torch=(
        ['self.register_buffer("bias", torch.from_numpy(table(length)), persistent=False)'],
        ["queries, keys = logits.shape[-2:]", "return logits + self.bias[:, keys - queries : keys, :keys]"],
    ),
    keras=(
        ["self.bias = table(length, dtype=self.compute_dtype)"],
        ["queries, keys = ops.shape(logits)[-2:]",
         "return logits + ops.convert_to_tensor(self.bias)[:, keys - queries : keys, :keys]"],
    ),
)  # fmt: skip
TORCH_ROWS = ["return x + self.pe[offset : offset + x.shape[-2]]"]
KERAS_ROWS = ["return x + ops.convert_to_tensor(self.pe)[offset : offset + ops.shape(x)[-2]]"]
ADD_ROWS = layers(
    "PositionalEncoding", "Adds the rows to embeddings (batch, length, dim).", "length", "x, offset=0",
    torch=(['self.register_buffer("pe", torch.from_numpy(table(length)), persistent=False)'], TORCH_ROWS),
    keras=(["self.pe = table(length, dtype=self.compute_dtype)"], KERAS_ROWS),
)  # fmt: skip
