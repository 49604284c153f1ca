"""`pyoco` and `python -m pyoco`."""

from __future__ import annotations

import sys

from .cli.failure import INTERRUPTED
from .installation import conflict


def main() -> int:
    """Runs the command line; the result is the exit code."""
    try:
        if (warning := conflict()) is not None:
            print(warning, file=sys.stderr)  # noqa: T201 - before anything else can fail because of it
        from .cli.app import run_app

        return run_app(sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
