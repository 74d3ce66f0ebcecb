"""Load a file as a document: read its bytes, decode them, and parse YAML or TOML by the suffix of the file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from toolc.document.nodes import Document, Mapping, Node, Scalar, Sequence
from toolc.document.suggestions import looks_like_spec
from toolc.document.syntax_errors import SyntaxProblem, detect_foreign_content
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics, Edit, Fix
from toolc.model.source import BOM, SourceText, Span, byte_order_mark
from toolc.model.text import lazy_re, render_size

MAX_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of a file, in bytes. This is eighty times the largest file of the test corpus.

Compiling a file of this size takes seconds.
"""

_FEW_BYTES: Final = 64 * 1024

MAX_CHARACTERS: Final = 20
"""The maximum number of forbidden characters that are reported per file. A binary file has many.

The first few show what the file is.
"""

_LOCAL: Final = frozenset({codes.DUPLICATE_KEY, codes.CUSTOM_TAG})
"""Errors that do not change the meaning of the rest of a file: the first of two keys, or the tagged value, is used."""

# Neither YAML nor TOML allows control characters (except tabs and line ends) or a lone carriage return.
_FORBIDDEN: Final = lazy_re("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
_ORDINARY: Final = bytes(code for code in range(256) if code in b"\t\n" or (code >= 0x20 and code != 0x7F))


def load_data(data: bytes, path: Path, name: str, diagnostics: Diagnostics) -> Document | None:
    """Return the document with the contents ``data``, or None if there was an error. Findings call the file ``name``.

    Files named ``*.toml`` are read as TOML, all others as YAML. Problems are added to ``diagnostics``, and no exception
    is raised. If a file can be parsed but has no key ``toolc`` and does not look like a document, it is not a spec of
    the user, and gets one warning instead of its errors. If all errors concern only their own places, a document is
    returned in spite of them, so that other mistakes in the file are also reported.
    """
    problems = Diagnostics()
    source, root = _parse(data, path, name, diagnostics, problems)
    if problem := _misnamed(source, root):
        problem.report(diagnostics)
        return None
    if _is_foreign(root, problems):
        diagnostics.add(
            codes.NOT_A_SPEC,
            f"{name} is not a spec: it has no key 'toolc'",
            source.whole_file(),
            "a spec file starts with 'toolc: 1' ('toolc = 1' in TOML)",
        )
        return None
    if not isinstance(root, Mapping) or root.get("toolc") or problems.has_errors or looks_like_spec(root):
        for each in problems.sorted():
            diagnostics.append(each)
    is_complete = all(each.code in _LOCAL for each in problems.sorted() if each.is_error)
    return Document(source, root) if isinstance(root, Mapping) and is_complete else None


def load_project(path: Path, name: str, diagnostics: Diagnostics, *, what: str = "a project file") -> Document | None:
    """Return the project file at ``path``, or None after reporting why it is invalid. ``what`` names it in findings."""
    problems = Diagnostics()
    data = read(path, name, diagnostics)
    if data is None:
        return None
    source, root = _parse(data, path, name, diagnostics, problems)
    severities = {*_severities(root)}
    for each in problems.sorted():
        if each.code is not codes.YAML_DISAGREEMENT or each.span not in severities:
            diagnostics.append(each)
    if problems.has_errors:
        return None
    if root is None:
        root = Mapping({}, source.whole_file())
    if not isinstance(root, Mapping):
        diagnostics.add(codes.BAD_VALUE, f"{what} must be a map", source.whole_file())
        return None
    return Document(source, root)


def read(path: Path, name: str, diagnostics: Diagnostics) -> bytes | None:
    """Return the contents of the file at ``path``, or None after reporting that it is too large or not readable."""
    try:
        with path.open("rb") as file:
            data = file.read(_FEW_BYTES)
            if len(data) == _FEW_BYTES:  # reading the maximum size would allocate megabytes for each file
                data += file.read(MAX_BYTES + 1 - _FEW_BYTES)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        diagnostics.add(codes.FILE, f"cannot read {name}: {reason}", SourceText(name, "").whole_file())
        return None
    if len(data) > MAX_BYTES:
        diagnostics.add(
            codes.TOO_BIG,
            f"{name} is larger than {render_size(MAX_BYTES)}",
            SourceText(name, "").whole_file(),
            "split it into several files",
        )
        return None
    return data


def _severities(root: Node | None) -> Iterator[Span]:
    """Yield the spans of severities, because YAML 1.1 reads the severity ``off`` as a boolean."""
    lint = root.get("lint") if isinstance(root, Mapping) else None
    severity = lint.get("severity") if isinstance(lint, Mapping) else None
    for entry in severity.entries if isinstance(severity, Mapping) else ():
        if isinstance(entry.value, Scalar) and entry.value.value == "off":
            yield entry.value.span


def _parse(
    data: bytes, path: Path, name: str, diagnostics: Diagnostics, problems: Diagnostics
) -> tuple[SourceText, Node | None]:
    """Return the text of a file and its root node. Problems with the text are added to ``problems``."""
    source = _decode(data, name, problems)
    diagnostics.add_source(source)
    if path.suffix.lower() == ".toml":
        from toolc.document.toml.toml_parser import parse_toml as parse  # lazy: +7 ms; most files are YAML
    else:
        from toolc.document.yaml.yaml_parser import parse_yaml as parse  # lazy: +16 ms; TOML files do not need it
    return source, None if problems.has_errors else parse(source, problems)


def _misnamed(source: SourceText, root: Node | None) -> SyntaxProblem | None:
    """Return the problem of a file that could be parsed and is probably meant as a spec, but is not a map."""
    if isinstance(root, Scalar):
        return detect_foreign_content(source) if "toolc" in source.text else None
    items = root.items if isinstance(root, Sequence) else ()
    entry = next((match for each in items if isinstance(each, Mapping) and (match := each.entry("toolc"))), None)
    if entry is None:
        return None
    hint = "put 'toolc: 1' at the start, and the list under 'tools:'"
    return SyntaxProblem(codes.BAD_VALUE, "a spec is a map, and this file is a list", entry.key_span, hint)


def _is_foreign(root: Node | None, problems: Diagnostics) -> bool:
    """Return whether a file could be parsed, but is neither a spec nor a document."""
    if root is None:
        return not problems.has_errors
    if not isinstance(root, Mapping):
        return True
    return root.get("toolc") is None and problems.has_errors and not looks_like_spec(root)


def _wide_encoding(data: bytes) -> str:
    """Return the encoding of an ASCII text in UTF-16 without a byte order mark, or an empty string for other texts."""
    for odd, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(data) > 1 and not data[odd::2].strip(b"\0") and b"\0" not in data[1 - odd :: 2]:
            return encoding
    return ""


def _decode(data: bytes, name: str, problems: Diagnostics) -> SourceText:
    """Return the text of a file. Bytes that are not valid text are replaced, with an error in ``problems``."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = len(data[: error.start].decode("utf-8"))
        source = SourceText(name, data.decode("utf-8", "replace"))
        utf_16 = data[:2] in {b"\xff\xfe", b"\xfe\xff"}
        message = "the file is UTF-16" if utf_16 else f"the byte 0x{data[error.start]:02x} is not UTF-8"
        hint = "save the file as UTF-8"
        if b"\0" in data and not utf_16:
            message, hint = f"{message}: this is a binary file", "a spec is text: YAML or TOML"
        problems.add(codes.NOT_UTF8, message, source.span(good, good + 1), hint)
        return source
    if encoding := _wide_encoding(data):
        source = SourceText(name, data.decode(encoding, "replace"))
        problems.add(codes.NOT_UTF8, "the file is UTF-16", source.span(0, 1), "save the file as UTF-8")
        return source
    source = SourceText(name, text.removeprefix(BOM))
    if source.text != text:
        problems.add(
            codes.BYTE_ORDER_MARK,
            "the file starts with a byte order mark",
            source.whole_file(),
            "save the file as UTF-8 without BOM",
            Fix("remove the byte order mark", (Edit(byte_order_mark(name), ""),), safe=True),
        )
    if not data.translate(None, _ORDINARY):  # ten times as fast as the search below if there are none
        return source
    for match in islice(_FORBIDDEN.finditer(source.text), MAX_CHARACTERS):
        what = "a carriage return without a line feed" if match[0] == "\r" else f"U+{ord(match[0]):04X}"
        problems.add(
            codes.STRAY_CHARACTER,
            f"{what} is not allowed in a spec",
            source.span(match.start(), match.end()),
            "delete it, or write it as an escape in double quotes",
        )
    return source
