"""`python -m pyoco.executor <fd>`: started by a worker, never by hand."""

from __future__ import annotations

from .main import main

if __name__ == "__main__":
    main()
