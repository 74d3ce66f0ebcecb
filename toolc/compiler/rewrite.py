"""Writing a file anew: whole or not at all, and never over what somebody else wrote meanwhile."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from toolc.model.errors import UsageError


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Let the file at ``path``, which holds ``before``, hold ``after``; its mode stays, a link to it too.

    What ``path`` leads to is the old file or the new one, whenever this is interrupted. Raises ``UsageError``
    where it cannot be written or no longer holds ``before``, and then it is as it was.
    """
    place = Path(os.path.realpath(path))
    try:
        if not os.access(place, os.W_OK):
            raise UsageError(f"cannot write {path}: it is read-only")
        known = place.stat()
        if not stat.S_ISREG(known.st_mode):
            raise UsageError(f"cannot write {path}: it is not a regular file")
        descriptor, name = tempfile.mkstemp(prefix=f".{place.name[:100]}.toolc-", dir=place.parent)
        aside = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(after)
                file.flush()
                with suppress(PermissionError):  # another's file in a shared folder becomes ours
                    os.fchown(descriptor, known.st_uid, known.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(known.st_mode))
                os.fsync(descriptor)
            if place.read_bytes() != before:
                raise UsageError(f"{path} changed while it was being fixed and was left as it is; try again")
            aside.replace(place)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error
