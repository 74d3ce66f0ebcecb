"""``python as_user.py GROUP... -- PROGRAM ARGUMENT...``: run a program as an ordinary user in these control groups."""

import os
import sys
from pathlib import Path

from engines.delegated_groups import join
from engines.exposed import expose_python

USER = 1234


def main() -> None:
    cut = sys.argv.index("--")
    expose_python()
    join(tuple(map(Path, sys.argv[1:cut])))
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
    os.execv(sys.argv[cut + 1], sys.argv[cut + 1 :])


if __name__ == "__main__":
    main()
