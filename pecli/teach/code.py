"""Code for a framework: the modules of ``encodings/<family>/code.md`` filled in, or lines that load a table.

A section is headed "## NAME: the parameters that its code takes"; any other parameter must have its default, and a
heading without parameters takes all.  Of its blocks those labelled with another framework are left out; "only NAMES"
is taken where no other parameter is given, and "else" where it was not.  ``$name`` stands for a parameter, and
``$frequencies``, ``$magnitude``, ``$sin`` and ``$cos`` (columns) for the plan of one band.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Collection
from decimal import Decimal
from string import Template

from pecli.spec.catalogue import FOLDERS
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe

IMPORTS = {
    "numpy": "import numpy as np",
    "torch": "import numpy as np\nimport torch",
    "keras": "import keras\nimport numpy as np\nfrom keras import ops",
}
FRAMEWORKS = tuple(IMPORTS)
HEAD = '"""{title}: {recipe}.\n\nThe table is made in double precision and rounded once.\n"""\n\n{imports}\n\n'
KERAS = """import numpy as np
from keras import ops

stored = np.load("{path}")
tables = {{name: ops.convert_to_tensor(stored[name]) for name in stored if name != "pecli_recipe"}}"""
LOADING = {
    "numpy": ("npz", 'import numpy as np\n\ntables = dict(np.load("{path}"))'),
    "torch": ("safetensors", 'from safetensors.torch import load_file\n\ntables = load_file("{path}")'),
    "keras": ("npz", KERAS),
}


def code_of(recipe: Recipe, framework: str) -> str:
    """Return a module that makes the table without pecli, or the command that writes it and the lines that load it."""
    blocks = _blocks(recipe, framework)
    try:
        made = Template("\n\n\n".join(blocks)).substitute(_fields(recipe)) if blocks else ""
    except KeyError:  # the plan's numbers wait for a length
        made = ""
    if made:
        return HEAD.format(title=recipe.encoding.title, recipe=recipe.short, imports=IMPORTS[framework]) + made + "\n"
    suffix, lines = LOADING[framework]
    path = f"{recipe.encoding.name}.{suffix}"
    length = "" if recipe.rows is not None else " --len 2048"
    return f"# pecli generate {recipe.short}{length} -o {path}\n" + lines.format(path=path) + "\n"


def _blocks(recipe: Recipe, framework: str) -> list[str]:
    """Return the blocks of the encoding's section that apply; none where there is no section for these parameters."""
    for folder in FOLDERS:
        try:
            page = (pkgutil.get_data("pecli.encodings", f"{folder}/code.md") or b"").decode()
        except FileNotFoundError:
            continue
        for section in page.split("\n## ")[1:]:
            heading, _, text = section.partition("\n")
            name, _, names = heading.partition(": ")
            if name == recipe.encoding.name and (not names or _takes(names.split(", "), recipe)):
                found, other = [], False
                for label, block in re.findall(r"```python ?(.*)\n((?:.*\n)*?)```", text):
                    word, *listed = label.split() or [framework]
                    if word == "only":
                        other = not _takes(listed, recipe)
                    if word == framework or (word == "only" and not other) or (word == "else" and other):
                        found.append(block.strip("\n"))
                return found
    return []


def _takes(names: Collection[str], recipe: Recipe) -> bool:
    """Whether all parameters other than `names` (as the function spells them) have their defaults."""
    parameters = recipe.encoding.parameters
    return all(name in names or value == parameters[name].default for name, value in recipe.values.items())


def _fields(recipe: Recipe) -> dict[str, str]:
    """Return the parameters and the numbers of the plan as Python's source has them, the nearest doubles."""
    values = {name: float(value) if isinstance(value, Decimal) else value for name, value in recipe.values.items()}
    found = {name: repr(value) for name, value in values.items()}
    plan = None if recipe.open_parameters else recipe.plan
    if isinstance(plan, Waves) and len(plan.bands) == 1:
        numbers = [repr(float(w)) for w in plan.frequencies]
        lines = "".join(f"    {', '.join(numbers[k : k + 4])},\n" for k in range(0, len(numbers), 4))
        found |= {"frequencies": f"np.array([\n{lines}])", "magnitude": repr(float(plan.magnitude))}
        found |= {"sin": repr(plan.bands[0].sin), "cos": repr(plan.bands[0].cos)}
    return found
