"""The tools of files.yaml. A path that leads out of the workspace is an error that says so."""

from itertools import islice
from pathlib import Path

WORKSPACE = Path("/workspace")
MAX_ENTRIES = 5_000
MAX_CHARACTERS = 100_000
"""The maximum length of the text that file_read returns."""


def file_read(path, encoding, start_line, ctx, max_lines=None):
    """Return the text of a file, or some lines of it, up to a number of characters."""
    stop = None if max_lines is None else start_line - 1 + max_lines
    try:
        with inside(path, ctx).open(encoding=encoding, newline="") as file:
            content, is_cut = limited(islice(file, start_line - 1, stop))
    except LookupError:
        raise ctx.error("invalid_args", f"there is no encoding {encoding!r}") from None
    except UnicodeError as error:
        raise ctx.error("serialization", f"{path} is not {encoding} text: {error}") from None
    except OSError as error:
        raise explained(error, path, ctx) from None
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
        with target.open("ab" if append else "wb") as file:
            file.write(data)
    except LookupError:
        raise ctx.error("invalid_args", f"there is no encoding {encoding!r}") from None
    except UnicodeError as error:
        raise ctx.error("serialization", f"the text cannot be written as {encoding}: {error}") from None
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
    return ctx.result("\n".join([*entries, *more]), structured={"entries": entries, "truncated": is_cut})


def shown(path):
    return f"{path.relative_to(WORKSPACE)}{'/' if path.is_dir() and not path.is_symlink() else ''}"


def inside(path, ctx):
    """Return the real path of ``path``. One that leads out of the workspace is denied."""
    try:
        real = (WORKSPACE / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ctx.error("invalid_args", f"{path!r} is not a usable path: {error}") from None
    if real != WORKSPACE and WORKSPACE not in real.parents:
        raise ctx.error("denied", f"{path!r} is outside the workspace; give a path relative to it")
    return real


def explained(error, path, ctx):
    """Return the error for the model; it names the path as the caller wrote it."""
    kind = {FileNotFoundError: "not_found", PermissionError: "denied"}.get(type(error), "file")
    return ctx.error(kind, f"{path}: {error.strerror or error}")
