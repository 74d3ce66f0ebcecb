"""Import the modules that a Python tool lists under ``preload``, in the worker and before its call.

Process 1 does not import them, because it must not run the code of packages. If a module cannot be imported, the
sandbox becomes ready as usual, and the call reports the error.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from toolc.guest.launch_args import set_limits
from toolc.guest.streams import LOADED, LOADING

SITE = "/opt/toolc/site"
"""The folder with the packages in ``requirements``. It is absent if there are none."""

PORTABLE_PREFIX = "/.toolc"
"""The prefix of the portable Python that toolc ships. The packages of an image are not built for it."""


def _site_packages() -> list[str]:
    """Return the folders of installed packages. ``site`` itself would also execute every ``.pth`` file."""
    version = "python%d.%d" % sys.version_info[:2]
    folders = [SITE] if os.path.isdir(SITE) and os.listdir(SITE) else []
    prefixes = () if sys.prefix == PORTABLE_PREFIX else dict.fromkeys((sys.prefix, "/usr/local", "/usr"))
    for prefix in prefixes:
        # The second and third are used by Debian.
        for name in (version + "/site-packages", version + "/dist-packages", "python3/dist-packages"):
            folders.append(os.path.join(prefix, "lib", name))
    return [folder for folder in folders if os.path.isdir(folder)]


SITE_PACKAGES = _site_packages()
"""The folders of installed packages. In a sandbox prepared in advance, they are determined before the call."""


class FailedImport:
    """A module listed under ``preload`` that cannot be imported. ``message`` says why."""

    def __init__(self, module: str, error: BaseException) -> None:
        try:
            reason = "%s: %s" % (type(error).__name__, error)
        except Exception:  # noqa: BLE001  the exception's own __str__ may do anything
            reason = type(error).__name__
        self.error = error
        self.message = "the module %r in preload cannot be imported: %s" % (module, reason)


def import_modules(names: list[str], control: int) -> FailedImport | None:
    """Import ``names`` in order, up to the first that fails, and report each on the pipe ``control``."""
    failed = None
    if names:
        set_limits()
        sys.dont_write_bytecode = True
        sys.path += SITE_PACKAGES
        for name in names:
            os.write(control, LOADING + name.encode() + b"\n")
            error = import_one(name)
            if error is not None:
                failed = FailedImport(name, error)
                break
        # The output of the modules belongs to no call.
        flush_output()
    os.write(control, LOADED + b"\n")
    return failed


def import_one(name: str) -> BaseException | None:
    """Import a module. Return any exception that it raises."""
    process = os.getpid()
    try:
        import_module(name)
    except BaseException as error:  # noqa: BLE001  any exception of a module
        return error
    finally:
        if os.getpid() != process:
            os._exit(0)  # a process forked by the module returned to this point
    return None


def flush_output() -> None:
    """Flush stdout and stderr."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # the tool has closed it
