"""The command ``pecli`` and ``python -m pecli``."""

from __future__ import annotations

import sys

from pecli.process import become_command


def main() -> None:
    """Run the command line and exit with its status."""
    become_command()
    from pecli.cli.run import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
