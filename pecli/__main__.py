"""The command ``pecli`` and ``python -m pecli``."""

from __future__ import annotations

import gc
import os
import sys
import warnings

from pecli.process import become_command, leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Starting makes some 50,000 objects that stay: looking for cycles among them every 700 costs a tenth of the start,
# and once, behind the last import, still an eighth.
COLLECT_EVERY = 100_000


def main() -> NoReturn:
    """Run the command line and end the process with its status."""
    become_command()
    if not sys.warnoptions:  # what a library says to programmers is nothing that a user can mend
        warnings.simplefilter("ignore")
    gc.set_threshold(COLLECT_EVERY)
    # NumPy's linear algebra starts a thread for each core while it is imported; tables need none of them
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    leave(_run())


def _run() -> int:
    import contextlib
    import platform

    from pecli.cli.run import run

    with contextlib.suppress(TypeError):
        # h5py asks for the machine's name, and gets the processor's with it, which Python has a child process say
        vars(platform.uname()).setdefault("processor", "")
    return run(sys.argv[1:])


if __name__ == "__main__":
    main()
