"""Run pip without letting it start any program: ``python -I wheels_only.py install ...``.

``--only-binary`` applies to packages of an index, but the metadata of a wheel may specify dependencies by address. pip
would build a source package from there, which runs its code on the host. Installing wheels needs no program. This file
is run by its path, so it imports only the standard library and pip.
"""

from __future__ import annotations

import runpy
import sys
from typing import Final

STARTS: Final = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"})
"""The audit events for starting a program."""


def refuse(event: str, _arguments: object) -> None:
    """Raise ``PermissionError`` if a program is about to be started. pip continues without optional programs."""
    if event in STARTS:
        raise PermissionError("pip must not start programs on this host, for example to build a source package")


if __name__ == "__main__":
    sys.addaudithook(refuse)
    runpy.run_module("pip", run_name="__main__", alter_sys=True)
