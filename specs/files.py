"""The file tools: they reach the workspace and say so when a path leads elsewhere."""

from itertools import islice
from pathlib import Path

WORKSPACE = Path("/workspace")
MAX_ENTRIES = 5_000


def file_read(path, encoding, start_line, ctx, max_lines=None):
    """The text of a file, or some lines of it."""
    stop = None if max_lines is None else start_line - 1 + max_lines
    try:
        with inside(path, ctx).open(encoding=encoding, newline="") as file:
            return "".join(islice(file, start_line - 1, stop))
    except LookupError:
        raise ctx.error("invalid_args", f"there is no encoding {encoding!r}") from None
    except UnicodeError as error:
        raise ctx.error("serialization", f"{path} is not {encoding} text: {error}") from None
    except OSError as error:
        raise explained(error, path, ctx) from None


def file_write(path, content, append, encoding, ctx):
    """Write or append text; the file is untouched when the text cannot be encoded."""
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
    return f"{'appended' if append else 'wrote'} {len(data)} bytes to {path}"


def file_list(path, pattern, recursive, ctx):
    """Paths under a folder whose names match a pattern, sorted."""
    folder = inside(path, ctx)
    if not folder.is_dir():
        raise ctx.error("not_found", f"there is no folder {path!r} in the workspace")
    found = folder.rglob(pattern) if recursive else folder.glob(pattern)
    names = [shown(each) for each in islice(found, MAX_ENTRIES + 1)]
    lines = sorted(names[:MAX_ENTRIES])
    if len(names) > MAX_ENTRIES:
        lines.append(f"[more than {MAX_ENTRIES} entries; ask for a narrower pattern]")
    return "\n".join(lines)


def shown(path):
    return f"{path.relative_to(WORKSPACE)}{'/' if path.is_dir() and not path.is_symlink() else ''}"


def inside(path, ctx):
    """The real path behind ``path``; one that leads out of the workspace is denied."""
    try:
        real = (WORKSPACE / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ctx.error("invalid_args", f"{path!r} is not a usable path: {error}") from None
    if real != WORKSPACE and WORKSPACE not in real.parents:
        raise ctx.error("denied", f"{path!r} is outside the workspace; give a path relative to it")
    return real


def explained(error, path, ctx):
    """An OSError in words that name the path as the caller gave it."""
    kind = {FileNotFoundError: "not_found", PermissionError: "denied"}.get(type(error), "file")
    return ctx.error(kind, f"{path}: {error.strerror or error}")
