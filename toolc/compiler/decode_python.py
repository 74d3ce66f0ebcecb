"""``backend.python``: a function in a file beside the spec, or in inline code. Read with ``ast``, never run."""

from __future__ import annotations

from toolc.compiler.decode_function import PythonSource, check_function, parse_python
from toolc.compiler.files import MAX_FILES, MAX_TOTAL_BYTES, FileError, Folder
from toolc.compiler.letter_case import clashes
from toolc.compiler.line_ends import report_carriage_returns
from toolc.compiler.python_code import report_text_as_code
from toolc.compiler.requirements import requirements
from toolc.document.map_reader import Findings, Reader, first_line, list_of, mapping, text
from toolc.document.nodes import Mapping, Node, Scalar
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.source import SourceText, Span
from toolc.model.spec.code_backends import File, PythonBackend
from toolc.model.spec.sandbox import MIB


def decode_python(
    node: Node, what: str, findings: Findings, folder: Folder, parameters: Schema | None, *, tool_name: str
) -> PythonBackend | None:
    """Decode ``backend.python``.

    Without ``function:`` it is the function called like the tool (with ``_`` for each ``-``).
    ``tool_name`` is empty, and ``parameters`` None, where they could not be read.
    """
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "backend.python", findings)
    pinned = reader.optional("requirements", requirements) or ()
    source = None
    match reader.one_of("file", "code"):
        case "file":
            source = reader.optional("file", lambda node, what, findings: _file(node, what, findings, folder))
        case "code":
            name = f"{tool_name or 'tool'}.py"
            source = reader.optional("code", lambda node, what, findings: _code(node, what, findings, name))
        case _:
            pass
    function = reader.optional("function", text) or tool_name.replace("-", "_")
    more = (
        reader.optional("files", list_of(lambda node, what, findings: _match(node, what, findings, folder))) or ()
    )
    reader.close()
    if source is None:
        return None
    entry, python = source
    files = _gather(entry, more, found, findings, folder)
    _check(python, function, _function_span(found), parameters, findings)
    return PythonBackend(entry=entry.path, function=function, files=files, requirements=pinned)


def _file(node: Node, what: str, findings: Findings, folder: Folder) -> tuple[File, PythonSource] | None:
    name = text(node, what, findings)
    file = _read(name, node.span, findings, folder) if name is not None else None
    if file is None:
        return None
    python = _python_file(file, node.span, findings, folder)
    return (file, python) if python else None


def _code(node: Node, what: str, findings: Findings, name: str) -> tuple[File, PythonSource] | None:
    code = text(node, what, findings)
    if code is None:
        return None
    start = findings.code_line(node.span, code)
    shown = findings.source_of(node.span)
    return File(path=name, text=code), PythonSource("the code", code, shown, first_line(node.span), start)


def _match(node: Node, what: str, findings: Findings, folder: Folder) -> tuple[File, ...] | None:
    pattern = text(node, what, findings)
    if pattern is None:
        return None
    try:
        names = folder.match(pattern)
    except FileError as problem:
        findings.add(codes.FILE, str(problem), node.span, problem.hint)
        return None
    files = [_read(name, node.span, findings, folder) for name in names]
    for file in files:
        if (
            file is not None
            and file.path.endswith(".py")
            and (source := _python_file(file, node.span, findings, folder))
            and (tree := parse_python(source, findings))
        ):
            report_text_as_code(tree, source, findings)
    return tuple(file for file in files if file is not None)


def _read(name: str, span: Span, findings: Findings, folder: Folder) -> File | None:
    try:
        return folder.read(name)
    except FileError as problem:
        findings.add(codes.FILE, str(problem), span, problem.hint)
        return None


def _python_file(file: File, span: Span, findings: Findings, folder: Folder) -> PythonSource | None:
    shown = folder.shown_path(file.path)
    if file.text is None:
        findings.add(codes.NOT_UTF8, f"{shown} is not UTF-8", span, "save it as UTF-8")
        return None
    report_carriage_returns(file.text, shown, span, findings)
    source = SourceText(shown, file.text)
    findings.diagnostics.add_source(source)
    return PythonSource(shown, file.text, source, source.whole_file())


def _gather(
    entry: File, more: tuple[tuple[File, ...], ...], node: Mapping, findings: Findings, folder: Folder
) -> tuple[File, ...]:
    """The entry and what ``files:`` matched, each path once, sorted."""
    files = {file.path: file for group in more for file in group}
    span = first_line((node.get("files") or node).span)
    if files.get(entry.path, entry) != entry:
        message = f"{folder.shown_path(entry.path)} would stand where the inline code stands"
        findings.add(codes.BAD_VALUE, message, span, "rename that file, or leave it out of 'files'")
    files[entry.path] = entry
    weight = sum(len(file.text.encode() if file.text is not None else file.base64 or "") for file in files.values())
    if len(files) > MAX_FILES or weight > MAX_TOTAL_BYTES:
        message = f"a tool may have {MAX_FILES} files and {MAX_TOTAL_BYTES // MIB} MiB, but this one has more"
        findings.add(codes.FILE, message, span)
    for first, second in clashes(sorted(files)):
        findings.add(codes.LETTER_CASE, f"{second} is {first} where letter case does not count", span, "rename one")
    return tuple(sorted(files.values(), key=lambda file: file.path))


def _function_span(node: Mapping) -> Span:
    named = node.get("function") or node.get("file") or node.get("code") or node
    return named.span if isinstance(named, Scalar) and not node.get("code") else first_line(named.span)


def _check(python: PythonSource, function: str, span: Span, parameters: Schema | None, findings: Findings) -> None:
    tree = parse_python(python, findings)
    if tree is not None:
        report_text_as_code(tree, python, findings)
    if tree is not None and function:
        check_function(tree, python, function, span, parameters, findings)
