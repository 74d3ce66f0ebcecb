"""Write a Python that runs in any root to stdout, as a tar file. This source runs in a sandbox that has Python.

    ld.so                 its loader, which starts the guest
    bin/python3           the interpreter
    so/*                  every library that it and its modules need
    lib/python3.N/        the standard library

It uses only the standard library. Parts that tools do not need (tests, editors, packages) are left out.
"""

from __future__ import annotations

import io
import os
import struct
import sys
import sysconfig
import tarfile
from pathlib import Path

SKIPPED = frozenset(
    {"dist-packages", "ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tests", "tkinter"}
    | {"turtledemo", "pydoc_data"}
)
LOADER, LIBRARIES = b"/.toolc/ld.so", b"/.toolc/so"
"""The paths of the loader and the libraries in a sandbox."""

LOADED, DYNAMIC, INTERPRETER = 1, 2, 3
"""Types of program headers."""

NEEDED, STRING_TABLE, SEARCH_PATH = 1, 5, 15
"""Tags of the dynamic section. The search path is DT_RPATH, which also applies to libraries that are loaded later."""

ALWAYS = ("libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "libnss_files.so.2")
"""Libraries that the C library opens by name while a program runs, if they exist."""


def segments(data: bytes) -> list[tuple[int, ...]]:
    """Return an ELF file's program headers, as in elf(5): type, flags, offset, address, physical address, size."""
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    (offset,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return [struct.unpack_from("<IIQQQQ", data, offset + size * index) for index in range(count)]


def dynamic_entries(data: bytes) -> list[tuple[int, int, int]]:
    """Return the entries of the dynamic section: the position of each in the file, its tag and its value."""
    return [
        (place, *struct.unpack_from("<qQ", data, place))
        for kind, _, start, _, _, length in segments(data)
        if kind == DYNAMIC
        for place in range(start, start + length, 16)
    ]


def needed(path: str) -> tuple[str, list[str]]:
    """Return an ELF file's loader (empty if it names none) and its libraries. Both are empty for other files."""
    data = Path(path).read_bytes()
    entries = dynamic_entries(data)
    loader = "".join(text(data, start) for kind, _, start, *_ in segments(data) if kind == INTERPRETER)
    strings = next((value for _, tag, value in entries if tag == STRING_TABLE), 0)
    for kind, _, start, address, _, length in segments(data):
        if kind == LOADED and address <= strings < address + length:
            strings += start - address
            break
    return loader, [text(data, strings + value) for _, tag, value in entries if tag == NEEDED]


def portable(data: bytes) -> bytes:
    """Return the interpreter, changed so that it can be started directly, as ``sys.executable``.

    The paths of the portable loader and its library folder replace the name of the loader. A spare entry of the dynamic
    section is changed to point to the second path, as an offset in the string table. If the file has no room for this,
    it is returned unchanged.
    """
    names = LOADER + b"\0" + LIBRARIES + b"\0"
    found = next((each for each in segments(data) if each[0] == INTERPRETER), None)
    entries = dynamic_entries(data)
    strings = next((value for _, tag, value in entries if tag == STRING_TABLE), 0)
    spare = [place for place, tag, _ in entries if tag == 0]
    if found is None or found[5] < len(names) or len(spare) < 2:
        return data
    changed = bytearray(data)
    changed[found[2] : found[2] + found[5]] = names.ljust(found[5], b"\0")
    there = found[3] + len(LOADER) + 1 - strings
    struct.pack_into("<qQ", changed, spare[0], SEARCH_PATH, there % 2**64)
    return bytes(changed)


def text(data: bytes, start: int) -> str:
    """Return the NUL-terminated text at this position."""
    return data[start : data.index(b"\0", start)].decode()


def library_folders() -> list[Path]:
    """Return the folders where this system's loader looks for libraries."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or "none"
    own = sysconfig.get_config_var("LIBDIR") or "/usr/lib"
    usual = ["/lib/" + multiarch, "/usr/lib/" + multiarch, "/lib64", "/usr/lib64", "/lib", "/usr/lib", own]
    return [Path(folder) for folder in usual if Path(folder).is_dir()]


def libraries(programs: list[str]) -> dict[str, str]:
    """Return the paths of the libraries that these files need, with all their dependencies, by name."""
    found: dict[str, str] = {}
    folders = library_folders()
    todo = [*ALWAYS, *(name for program in programs for name in needed(program)[1])]
    while todo:
        name = todo.pop()
        path = next((folder / name for folder in folders if (folder / name).exists()), None)
        if path and name not in found:
            found[name] = str(path.resolve())
            todo += needed(found[name])[1]
    return found


def main() -> None:
    """Write the tar file to stdout."""
    python = os.path.realpath("/proc/self/exe")
    stdlib = sysconfig.get_paths()["stdlib"]
    name = "python%d.%d" % sys.version_info[:2]  # noqa: UP031  older Pythons run this
    dynamic = Path(sysconfig.get_paths()["platstdlib"]) / "lib-dynload"
    modules = [str(module) for module in dynamic.iterdir()]
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        tar.add(os.path.realpath(needed(python)[0]), "ld.so", filter=plain)
        interpreter = tarfile.TarInfo("bin/python3")
        content = portable(Path(python).read_bytes())
        interpreter.size, interpreter.mode = len(content), 0o755
        tar.addfile(interpreter, io.BytesIO(content))
        for library, path in sorted(libraries([python, *modules]).items()):
            tar.add(path, "so/" + library, filter=plain)
        tar.add(stdlib, sys.platlibdir + "/" + name, filter=plain)
        if dynamic.parent != Path(stdlib):
            tar.add(dynamic, sys.platlibdir + "/" + name + "/lib-dynload", filter=plain)


def plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return an entry without an owner, or None if the entry is left out."""
    name = member.name.rpartition("/")[2]
    if name in SKIPPED or name.startswith("config-"):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
