"""``sandbox.image`` and ``sandbox.build``: the image by name, or the folder it is built from."""

from __future__ import annotations

import re
from typing import Final

from toolc.compiler.files import MAX_FILES, MAX_TOTAL_BYTES, FileError, Folder, relative_path
from toolc.document.map_reader import Findings, text
from toolc.document.nodes import Node
from toolc.model import codes
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import MIB, Build

RECIPE: Final = "Dockerfile"
"""The file that says how an image is built."""

_IMAGE: Final = re.compile(r"[a-z0-9][A-Za-z0-9._:/@-]*")


def decode_image(node: Node, what: str, findings: Findings) -> str | None:
    """Decode ``image``, which is looked up when the tool runs."""
    name = text(node, what, findings)
    if name is not None and not _IMAGE.fullmatch(name):
        findings.add(
            codes.BAD_VALUE, f"{what} is no image name: {name[:80]!r}", node.span, "write e.g. debian:bookworm"
        )
        return None
    return name


def decode_build(node: Node, what: str, findings: Findings, *, folder: Folder) -> Build | None:
    """Decode ``build``. The folder's files are a part of the tool, so that what was reviewed is what is built."""
    name = text(node, what, findings)
    if name is None:
        return None
    try:
        path = relative_path(name)
        files = tuple(folder.read(each) for each in folder.match(f"{path}/**/*"))
    except FileError as problem:
        findings.add(codes.FILE, str(problem), node.span, "'build' names a folder beside the spec")
        return None
    if not any(file.path == f"{path}/{RECIPE}" for file in files):
        message = f"there is no {RECIPE} in {folder.shown_path(path)}"
        findings.add(codes.FILE, message, node.span, f"add one, or name the folder that has the {RECIPE}")
        return None
    if len(files) > MAX_FILES or sum(map(_weight, files)) > MAX_TOTAL_BYTES:
        message = f"{folder.shown_path(path)} has more than {MAX_FILES} files or {MAX_TOTAL_BYTES // MIB} MiB"
        findings.add(codes.FILE, message, node.span, "take out what the image does not need")
        return None
    return Build(folder=path, files=files)


def _weight(file: File) -> int:
    return len(file.text.encode() if file.text is not None else file.base64 or "")
