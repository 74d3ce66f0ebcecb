"""The tool file_info: size, kind, permissions and number of lines of a file."""

import stat
import time

from files import explained, inside

CHUNK = 2**20


def file_info(path, ctx):
    """Return kind, size, permissions and time of a file; for a text file, also the number of lines."""
    target = inside(path, ctx)
    try:
        status = target.stat()
        kind = kind_of(status.st_mode)
        lines = count_lines(target) if kind == "file" else None
        entries = sum(1 for _ in target.iterdir()) if kind == "folder" else None
    except OSError as error:
        raise explained(error, path, ctx) from None
    data = {
        "path": path,
        "kind": kind,
        "size": status.st_size,
        "permissions": f"{status.st_mode & 0o7777:04o}",
        "modified": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(status.st_mtime)),
        "lines": lines,
        "entries": entries,
    }
    return ctx.result(as_text(data), structured=data)


def kind_of(mode):
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def count_lines(path):
    """Return the number of lines; a last line without an end counts. None for a binary file."""
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            if b"\0" in chunk:
                return None
            count += chunk.count(b"\n")
            last = chunk[-1:]
    return count + (last != b"\n")


def as_text(data):
    lines = [f"{name}: {data[name]}" for name in ("path", "kind", "permissions", "modified")]
    lines.insert(2, f"size: {data['size']} bytes")
    if data["kind"] == "folder":
        lines.append(f"entries: {data['entries']}")
    elif data["kind"] == "file":
        lines.append(f"lines: {'none, it is a binary file' if data['lines'] is None else data['lines']}")
    return "\n".join(lines)
