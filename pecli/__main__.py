"""The command ``pecli`` and ``python -m pecli``."""

from __future__ import annotations

import os
import sys
import warnings

from pecli.process import become_command, leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process with its status."""
    become_command()
    if not sys.warnoptions:  # warnings of libraries address programmers
        warnings.simplefilter("ignore")
    # NumPy's linear algebra would start a thread for each core, of which tables need none: 2 % of the main job's CPU
    # time on two cores, and a limited container refuses them with warnings
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pecli.cli.run import run

    leave(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
