"""pip, kept from starting any program: ``python -I wheels_only.py install ...``.

``--only-binary`` holds for what an index offers, but a wheel's own metadata may name its dependencies by address,
and pip would build what lies there, which runs its code on the host. To install wheels pip starts nothing. Run by
its path, so it imports only the standard library and pip.
"""

from __future__ import annotations

import runpy
import sys
from typing import Final

STARTS: Final = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"})
"""The audit events of a new program."""


def refuse(event: str, _arguments: object) -> None:
    """Raise ``PermissionError`` where a program is about to be started; pip goes on without those it only asks."""
    if event in STARTS:
        raise PermissionError("pip may start no program on this host, as to build a package that is no wheel")


if __name__ == "__main__":
    sys.addaudithook(refuse)
    runpy.run_module("pip", run_name="__main__", alter_sys=True)
