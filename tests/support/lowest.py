"""The lowest versions that pyproject.toml admits of what pecli and its tests need, as pip takes them, one a line."""

import re
import tomllib
from pathlib import Path

UNNEEDED = ("ruff",)  # which looks at the source, whatever runs it


def lowest():
    """Requirements that pin each package to its lower bound."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *extras["plot"], *project["dependency-groups"]["dev"]]
    bounds = (re.match(r"([A-Za-z0-9_-]+)>=([0-9.]+)", text) for text in wanted)
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound[1] not in UNNEEDED]


if __name__ == "__main__":
    print("\n".join(lowest()))
