"""The tools of files.yaml. A path that leads out of the workspace is an error that says so."""

import codecs
import errno
import os
import stat
from contextlib import suppress
from itertools import islice
from pathlib import Path

WORKSPACE = Path("/workspace")
MAX_ENTRIES = 5_000
MAX_CHARACTERS = 100_000
"""The maximum length of the text that file_read returns."""
NOT_ORDINARY = "it is not an ordinary file"
MARKS = {"utf-8-sig": 3, "utf-16": 2, "utf-32": 4}
"""The size of the byte order mark with which text in an encoding begins."""


def file_read(path, encoding, start_line, ctx, max_lines=None):
    """Return the text of a file, or some lines of it, up to a number of characters."""
    stop = None if max_lines is None else start_line - 1 + max_lines
    try:
        with ordinary(inside(path, ctx)).open(encoding=encoding, newline="") as file:
            content, is_cut = limited(islice(file, start_line - 1, stop))
    except UnicodeError as error:
        raise not_text(path, encoding, error, ctx) from None
    except (LookupError, ValueError):
        raise no_encoding(encoding, ctx) from None
    except OSError as error:
        raise explained(error, path, ctx) from None
    if "\0" in content:
        raise ctx.error("serialization", f"{path} is a binary file: it contains the character NUL")
    more = f"\n[cut after {MAX_CHARACTERS} characters; read the rest with start_line and max_lines]" if is_cut else ""
    if start_line > 1 and not content:
        more = f"[the file has fewer than {start_line} lines]"
    return ctx.result(content + more, structured={"path": path, "content": content, "truncated": is_cut})


def limited(lines):
    """Return the lines as one text, and whether it is cut."""
    pieces, size = [], 0
    for line in lines:
        pieces.append(line[: MAX_CHARACTERS - size])
        size += len(line)
        if size > MAX_CHARACTERS:
            return "".join(pieces), True
    return "".join(pieces), False


def file_write(path, content, append, encoding, ctx):
    """Write or append text. If it cannot be encoded, the file does not change."""
    target = inside(path, ctx)
    try:
        data = content.encode(encoding)
        target.parent.mkdir(parents=True, exist_ok=True)
        if append:
            is_started = target.exists() and ordinary(target).stat().st_size
            add(target, data[MARKS.get(codecs.lookup(encoding).name, 0) :] if is_started else data)
        else:
            replace(target, data)
    except UnicodeError as error:
        raise ctx.error("serialization", f"the text cannot be written as {encoding}: {error}") from None
    except (LookupError, ValueError):
        raise no_encoding(encoding, ctx) from None
    except FileExistsError:
        raise ctx.error("file", f"{path}: a folder in this path is a file") from None
    except OSError as error:
        raise explained(error, path, ctx) from None
    text = f"{'appended' if append else 'wrote'} {len(data)} bytes to {path}"
    return ctx.result(text, structured={"path": path, "bytes": len(data), "append": append})


def file_list(path, pattern, recursive, ctx):
    """Return the paths below a folder whose names match a pattern, sorted."""
    folder = inside(path, ctx)
    if not folder.is_dir():
        raise ctx.error("not_found", f"there is no folder {path!r} in the workspace")
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise ctx.error("invalid_args", f"pattern: {pattern!r} leads out of the folder; set path to another folder")
    try:
        found = folder.rglob(pattern) if recursive else folder.glob(pattern)
        names = [shown(each) for each in islice(found, MAX_ENTRIES + 1)]
    except ValueError as error:
        raise ctx.error("invalid_args", f"pattern: {pattern!r} is not valid: {error}") from None
    except OSError as error:
        raise explained(error, path, ctx) from None
    entries, is_cut = sorted(names[:MAX_ENTRIES]), len(names) > MAX_ENTRIES
    more = [f"[more than {MAX_ENTRIES} entries; ask for a narrower pattern]"] if is_cut else []
    if not entries:
        hint = "; a pattern can have *, ? and [...], but not {...}" if "{" in pattern else ""
        more = ["[the folder is empty]" if pattern == "*" else f"[no name matches {pattern!r}{hint}]"]
    return ctx.result("\n".join([*entries, *more]), structured={"entries": entries, "truncated": is_cut})


def shown(path):
    return f"{path.relative_to(WORKSPACE)}{'/' if path.is_dir() and not path.is_symlink() else ''}"


def replace(target, data, check=lambda: None):
    """Replace a file in one step, with its mode and owner: a call that is stopped leaves the old file.

    ``check`` is called just before, and can raise an error to keep the old file.
    """
    old = None
    with suppress(FileNotFoundError):
        old = target.stat()
        if not stat.S_ISREG(old.st_mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(old.st_mode) else errno.EINVAL, NOT_ORDINARY)
        target.open("r+b").close()  # a file that cannot be written is not replaced either
    temporary = target.with_name(f".toolc-{os.urandom(8).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if old is not None:
                with suppress(PermissionError):
                    os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, old.st_mode & 0o777)
            file.flush()
            os.fsync(descriptor)
        check()
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def add(target, data):
    """Append to a file. If a part of the data cannot be written, that part is removed again."""
    with target.open("ab", buffering=0) as file:
        start, rest = file.tell(), memoryview(data)
        try:
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            end = start + len(data) - len(rest)
            if os.fstat(file.fileno()).st_size == end:  # no other call has appended
                file.truncate(start)
            raise


def inside(path, ctx):
    """Return the real path of ``path``. One that leads out of the workspace is denied."""
    try:
        real = (WORKSPACE / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ctx.error("invalid_args", f"{path!r} is not a usable path: {error}") from None
    if real != WORKSPACE and WORKSPACE not in real.parents:
        raise ctx.error("denied", f"{path!r} is outside the workspace; give a path relative to it")
    return real


def ordinary(target):
    """Return the path. Raises an error for a pipe or a device, which may never end: a folder has its own error."""
    mode = target.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, NOT_ORDINARY)
    return target


def not_text(path, encoding, error, ctx):
    """Return the error for a file that cannot be decoded."""
    hint = "it may be a binary file, or have another encoding, such as latin-1"
    return ctx.error("serialization", f"{path} is not {encoding} text: {error}; {hint}")


def no_encoding(encoding, ctx):
    return ctx.error("invalid_args", f"there is no encoding {encoding!r}")


def explained(error, path, ctx):
    """Return the error for the model; it names the path as the caller wrote it."""
    if isinstance(error, IsADirectoryError):
        return ctx.error("file", f"{path} is a folder; file_list shows what is in it")
    kind = {FileNotFoundError: "not_found", PermissionError: "denied"}.get(type(error), "file")
    return ctx.error(kind, f"{path}: {error.strerror or error}")
