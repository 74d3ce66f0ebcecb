"""Import the modules that all calls share, in the server, and refuse what they must not leave there.

Only modules of the standard library, and of packages with approved digests, are imported here: their code runs with
the capabilities of the server. All others are imported in the process of each call.
"""

from __future__ import annotations

import gc
import os
import sys

from toolc.guest.launch_args import preloaded_modules
from toolc.guest.preload import SITE, flush_output, import_one

STANDARD: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())
"""The modules of the standard library. Python 3.9 does not have this list; then none is imported here."""

FOR_FUNCTIONS = ("json", "toolc.guest.python_function")
"""What the process of a call would import for every Python function. Programs do not need it."""


class NotSharedError(Exception):
    """The modules have left something that calls would share; ``str(error)`` is the reason, for the user."""


def preload(*, is_locked: bool, kept: tuple[int, ...]) -> None:
    """Import the modules. ``kept`` are the server's descriptors. Raises ``NotSharedError``.

    A module that cannot be imported is the error of each call, which imports it again.
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
                import_one(name)  # the call imports a module that fails again, and reports the error
        sys.path[:] = before
        flush_output()
    if problem := _problem(kept):
        raise NotSharedError(
            "calls cannot share the modules of preload (%s): %s; remove the one that does this, or write lifetime: call"
            % (", ".join(names or ()), problem)
        )
    gc.collect()
    # The collector would otherwise write to every object, which copies it in each process.
    gc.freeze()


def _problem(kept: tuple[int, ...]) -> str:
    """Return what the modules have left that would not be separate for each call; empty if there is nothing."""
    if len(os.listdir("/proc/self/task")) > 1:
        return "they have started threads"
    found = {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2, *kept}
    for each in found:
        try:
            return "they keep %s open" % os.readlink("/proc/self/fd/%d" % each)
        except OSError:
            continue  # the descriptor that listed the folder
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        if any(line.split(None, 2)[1].startswith("rw") and line.split(None, 2)[1].endswith("s") for line in file):
            return "they have shared memory"
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return ""
    return "they have started processes"
