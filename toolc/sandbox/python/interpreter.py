"""Which Python runs the guest: the image's own, or a portable one from toolc, mounted at ``/.toolc``.

An image's Python is detected by starting it in an ordinary sandbox, once per image. The portable Python is that of the
base image, with its own loader and libraries. It needs nothing from the image, and leaves no trace in the environment
of the tool's programs.
"""

import hashlib
import io
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError, NoPythonError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.common_config import PYTHONS, RUNTIME
from toolc.sandbox.host import store
from toolc.sandbox.host.programs import is_ready
from toolc.sandbox.images.unpack import LayerReader, UnpackBudget, unpack
from toolc.sandbox.interface import EngineSandbox
from toolc.sandbox.python import portable

PORTABLE_COMMAND: Final = (
    f"{RUNTIME}/ld.so", "--inhibit-cache", "--library-path", f"{RUNTIME}/so", f"{RUNTIME}/bin/python3",
)  # fmt: skip
"""The command of the portable Python."""

MIN_VERSION: Final = (3, 9)
RUNTIME_BYTES: Final = 256 * 1024 * 1024
SECONDS: Final = 60.0
"""The oldest Python that the guest supports, the maximum size of a copied Python, and the maximum time to read one.

A Python with its libraries has a fifth of this size. It is read from a sandbox, which could send data without end.
"""

_PROBE: Final = """\
import json, os, platform, sys
libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
print(json.dumps({"version": list(sys.version_info[:2]), "libc": libc, "machine": platform.machine()}))
"""

Start: TypeAlias = Callable[[Sequence[str]], EngineSandbox]
"""Starts a sandbox in which ``python3 ARGUMENTS...`` is process 1. Raises ``NoPythonError`` if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonInfo:
    """The properties of a Python that package tags depend on. ``libc`` is ``glibc 2.36``, or empty if not glibc."""

    version: tuple[int, int]
    libc: str
    machine: str


def python_info(digest: str, start: Start) -> PythonInfo | None:
    """Return the version and platform of the image's Python, or None if the image has no suitable one.

    The first call runs this Python and stores the result. Raises ``InfrastructureError`` if it cannot be run.
    """
    known = next(store.read_notes(PYTHONS, digest), None)
    if known is None:
        try:
            output = _output(start(("-I", "-S", "-c", _PROBE)), 4096)
        except NoPythonError:
            output = b""
        known = _parse(output)
        store.write_note(PYTHONS, digest, known)
    return _python_info(known)


def portable_python(key: str, start: Start) -> Path:
    """Return the folder to mount at ``/.toolc``, a copy of the Python in sandboxes that ``start`` creates.

    ``key`` identifies this Python. Raises ``InfrastructureError``.
    """
    program = Path(portable.__file__).read_text(encoding="utf-8")
    digest = hashlib.sha256(f"{key}\0{program}".encode()).hexdigest()

    def fill(folder: Path) -> None:
        tar = _output(start(("-I", "-S", "-c", program)), RUNTIME_BYTES)
        unpack(LayerReader(io.BytesIO(tar), RUNTIME_BYTES), str(folder), UnpackBudget())
        if not (folder / "bin/python3").is_file():
            raise InfrastructureError("toolc's base image has no usable Python; build it again: toolc image build base")

    return store.make("runtime", digest, fill)


def _output(sandbox: EngineSandbox, limit: int) -> bytes:
    """Return the output of a program, or ``b""`` if it fails. Raises ``InfrastructureError``."""
    collected = bytearray()
    deadline = time.monotonic() + SECONDS
    try:
        while (data := sandbox.read()) != b"":
            collected += data or b""
            left = deadline - time.monotonic()
            if len(collected) > limit or left <= 0:
                raise InfrastructureError("the image's python3 did not exit, or printed too much; use another image")
            if data is None:
                is_ready(sandbox.fileno(), left)
        if sandbox.out_of_memory():
            raise InfrastructureError("the image's python3 ran out of memory when it was started")
    finally:
        sandbox.close()
    return bytes(collected)


def _parse(output: bytes) -> JsonObject:
    """Return the probe's output if it is valid, otherwise an empty object."""
    try:
        value: JsonValue = json.loads(output)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and _python_info(value) else {}


def _python_info(value: JsonObject) -> PythonInfo | None:
    match value:
        case {"version": [int(major), int(minor)], "libc": str() | None as libc, "machine": str(machine)}:
            version = (major, minor)
            if version >= MIN_VERSION:
                return PythonInfo(version=version, libc=str(libc or ""), machine=machine)
        case _:
            pass
    return None
