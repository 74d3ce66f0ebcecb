"""``python -m toolc`` is the command ``toolc``."""

from __future__ import annotations

from toolc.cli.main import main

if __name__ == "__main__":
    main()
