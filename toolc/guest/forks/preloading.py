"""Import the modules that all calls share into the server, and refuse modules that leave shared state there.

This code runs with the capabilities of the server. So only modules of the standard library, and of packages with
approved digests, are imported here. The process of each call imports all other modules.
"""

from __future__ import annotations

import gc
import os
import sys

from toolc.guest.launch_args import preloaded_modules
from toolc.guest.preload import SITE, flush_output, import_one

STANDARD: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())
"""The modules of the standard library. Python 3.9 does not have this list, so there none of them are shared."""

FOR_FUNCTIONS = ("json", "toolc.guest.python_function")
"""The modules that every call of a Python function needs. Programs do not need them."""


class NotSharedError(Exception):
    """The modules have left state that calls would share. ``str(error)`` is a message for the user."""


def preload(*, is_locked: bool, kept: tuple[int, ...]) -> None:
    """Import the modules. ``kept`` are the server's own descriptors. Raises ``NotSharedError``.

    If a module cannot be imported, each call imports it again and reports the error.
    """
    names = preloaded_modules()
    if names is not None:
        for name in FOR_FUNCTIONS:
            __import__(name)
        before = [*sys.path]
        if is_locked and os.path.isdir(SITE):
            sys.path.append(SITE)
        sys.dont_write_bytecode = True
        for name in names:
            if is_locked or name.partition(".")[0] in STANDARD:
                import_one(name)  # if this fails, the call imports the module again and reports the error
        sys.path[:] = before
        flush_output()
    if problem := _problem(kept):
        raise NotSharedError(
            "calls cannot share the modules in preload (%s) because %s; remove that module, or use lifetime: call"
            % (", ".join(names or ()), problem)
        )
    gc.collect()
    # Otherwise the collector would write to every object, and so copy it into each process.
    gc.freeze()


def _problem(kept: tuple[int, ...]) -> str:
    """Return why the state that the modules have left would be shared by calls, or ``""`` if there is no such state."""
    if len(os.listdir("/proc/self/task")) > 1:
        return "they started threads"
    found = {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2, *kept}
    for each in found:
        try:
            return "they keep %s open" % os.readlink("/proc/self/fd/%d" % each)
        except OSError:
            continue  # the descriptor that listed the folder
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        if any(line.split(None, 2)[1].startswith("rw") and line.split(None, 2)[1].endswith("s") for line in file):
            return "they use shared memory"
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return ""
    return "they started processes"
