"""Decode ``backend.python``: a function in a file or in inline code, which is parsed with ``ast`` and never run."""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import Final

from toolc.compiler.decode.python_function import PythonSource, check_function, parse_python
from toolc.compiler.decode.python_imports import Imports
from toolc.compiler.decode.sandbox import file_size
from toolc.compiler.project.files import (
    MAX_FILES,
    MAX_TOTAL_BYTES,
    SpecFolder,
    case_conflicts,
    match_files,
    read_or_report,
    report_carriage_returns,
)
from toolc.data.python_modules import package_name
from toolc.document.declared import alternative, read_keys
from toolc.document.map_reader import Findings, Reader, first_line, list_of, map_parser, mismatch, sequence, text
from toolc.document.nodes import Mapping, Node, Scalar
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.source import SourceText, Span
from toolc.model.spec.code_backends import File, PythonBackend
from toolc.model.text import lazy_re, render_size

_EVALUATORS: Final = frozenset({"eval", "exec"})
_SHELLS: Final = frozenset(
    {
        "asyncio.create_subprocess_shell", "os.popen", "os.system", "subprocess.getoutput",
        "subprocess.getstatusoutput",
    }
)  # fmt: skip
_PARSE_HINT: Final = "parse the value instead, for example with json.loads or ast.literal_eval"
_LIST_HINT: Final = "name the program and its arguments in a list, without a shell"

_REQUIREMENT: Final = lazy_re(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?P<extras>\[[A-Za-z0-9._, -]*\])?==(?P<version>\S+)"
)
# PEP 440 without local versions ("1.2.3+local"), which package indexes do not have.
_VERSION: Final = lazy_re(r"(?i)(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*(?:[-_.]?(?:a|b|rc|post|dev)[-_.]?[0-9]*)*")
_HASH: Final = lazy_re(r"--hash=sha256:[0-9a-f]{64}")
_MODULE: Final = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_NAME: Final = lazy_re(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def report_text_as_code(tree: ast.Module, source: PythonSource, findings: Findings) -> None:
    """Report each call in ``tree`` that may run text from a model as code."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or isinstance(node.args[0], ast.Constant):
            continue
        name = _dotted(node.func)
        if name in _EVALUATORS:
            what, hint = f"{name}() runs text as Python code", _PARSE_HINT
        elif name in _SHELLS or _uses_shell(node):
            what, hint = "a shell runs this text as code", _LIST_HINT
        else:
            continue
        findings.add(codes.TEXT_AS_CODE, what, source.span_of(node, len(name)), hint)


def _dotted(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
        case _:
            return ""


def _uses_shell(call: ast.Call) -> bool:
    return any(
        keyword.arg == "shell" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in call.keywords
    )


def requirements(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    """Decode a list of ``name==version`` into canonical form, without duplicates, sorted.

    Each may have the digests of its wheels in pip's syntax (``--hash=sha256:...``). If one has them, all must.
    """
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.strip().endswith(".txt"):
        mismatch(node, what, "a list", findings, f"copy the lines of {node.value}: write [requests==2.32.3, ...]")
        return None
    list_node = sequence(node, what, findings)
    if list_node is None:
        return None
    kept: dict[str, tuple[str, Node]] = {}
    for index, item in enumerate(list_node.items):
        pinned = _requirement(item, f"{what}[{index}]", findings)
        if pinned is None:
            continue
        name = re.split(r"[\[=]", pinned, maxsplit=1)[0]
        if name in kept:
            findings.add(codes.BAD_VALUE, f"the package '{name}' is listed twice", item.span, "keep one of them")
        kept[name] = pinned, item
    _check_hashes(kept, findings)
    return tuple(sorted(pinned for pinned, _ in kept.values()))


def _check_hashes(kept: dict[str, tuple[str, Node]], findings: Findings) -> None:
    """Report packages without digests if another has some: pip would then refuse to install them."""
    without = {name: item for name, (pinned, item) in kept.items() if not _HASH.search(pinned)}
    if len(without) == len(kept):
        return
    for name, item in without.items():
        message = f"the package '{name}' has no --hash, but others have one"
        findings.add(codes.BAD_VALUE, message, item.span, "give a hash to each package, or to none")


def _requirement(node: Node, what: str, findings: Findings) -> str | None:
    """Decode one requirement: normalise its name as package indexes do, and sort its extras and hashes."""
    value = text(node, what, findings)
    if value is None:
        return None
    package, *hashes = re.split(r"(?<!\s)\s++(?=--hash)", value.strip())
    match = _REQUIREMENT.fullmatch(package)
    if match is None or not _VERSION.fullmatch(match["version"]):
        message = f"{what} is not a package with an exact version: {value[:80]!r}"
        findings.add(codes.BAD_VALUE, message, node.span, _version_hint(value))
        return None
    digests = sorted({each.lower() for each in hashes})
    if wrong := next((each for each in digests if not _HASH.fullmatch(each)), None):
        message = f"{what} has a hash that is not SHA-256: {wrong[:80]!r}"
        findings.add(codes.BAD_VALUE, message, node.span, "write --hash=sha256: and 64 hexadecimal digits")
        return None
    written = (each.strip() for each in (match["extras"] or "[]")[1:-1].split(","))
    extras = ",".join(sorted({_canonical(each) for each in written if each}))
    pinned = f"{_canonical(match['name'])}{f'[{extras}]' if extras else ''}=={match['version']}"
    return " ".join((pinned, *digests))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _version_hint(value: str) -> str:
    name = _NAME.match(value.strip())
    if "://" in value or "@" in value or name is None:
        return "write the name of a package and its version, e.g. pandas==2.2.3"
    package = package_name(name[0])
    if package != _canonical(name[0]):
        return f"the package of the module '{name[0]}' is {package}: write {package}==1.2.3"
    return f"pin it, as in {name[0]}==1.2.3"


@map_parser("backend.python")
def decode_python(
    reader: Reader, *, folder: SpecFolder, parameters: Schema | None, tool_name: str, has_image: bool
) -> PythonBackend | None:
    """Decode ``backend.python``.

    Without ``function:``, the function has the name of the tool (with ``_`` for each ``-``). ``tool_name`` is empty
    and ``parameters`` is None if they could not be read. ``has_image`` is whether the sandbox has its own image.
    """
    kind = alternative(reader, PythonBackend)
    found = read_keys(
        reader, PythonBackend, file=partial(_file, folder=folder), files=list_of(partial(_match, folder=folder)),
        code=partial(_code, name=f"{tool_name or 'tool'}.py"), requirements=requirements, preload=list_of(_module),
    )  # fmt: skip
    pinned, preload = found.get("requirements", ()), found.get("preload", ())
    knows_packages = reader.damaged.isdisjoint({"requirements", "preload"})
    function = found.get("function") or tool_name.replace("-", "_")
    if kind not in found:
        return None
    entry, python = found[kind]
    files = _gather(entry, found.get("files", ()), reader.node, reader.findings, folder)
    _check(python, function, _function_span(reader.node), parameters, reader.findings)
    packages = frozenset(re.split(r"[\[=]", each, maxsplit=1)[0] for each in pinned)
    by_path = {file.path: file for file in files}
    imports = Imports(
        node=reader.node, entry=entry.path, files=by_path, packages=packages, folder=folder,
        has_image=has_image or not knows_packages, findings=reader.findings,
    )  # fmt: skip
    imports.check(python)
    imports.check_preloaded(preload)
    modules = tuple(module for module, _ in preload)
    return PythonBackend(entry=entry.path, function=function, files=files, requirements=pinned, preload=modules)


def _module(node: Node, what: str, findings: Findings) -> tuple[str, Node] | None:
    """Decode the dotted name of a module."""
    name = text(node, what, findings)
    if name is None:
        return None
    if not _MODULE.fullmatch(name):
        hint = "write its name as in an import statement, e.g. json or numpy.linalg"
        findings.add(codes.BAD_VALUE, f"{what} is not the name of a module: {name[:80]!r}", node.span, hint)
        return None
    return name, node


def _file(node: Node, what: str, findings: Findings, folder: SpecFolder) -> tuple[File, PythonSource] | None:
    name = text(node, what, findings)
    file = read_or_report(folder, name, node.span, findings) if name is not None else None
    if file is None:
        return None
    python = _python_file(file, node.span, findings, folder)
    return (file, python) if python else None


def _code(node: Node, what: str, findings: Findings, name: str) -> tuple[File, PythonSource] | None:
    code = text(node, what, findings)
    if code is None:
        return None
    start = findings.code_line(node.span, code)
    source = findings.source_of(node.span)
    return File(path=name, text=code), PythonSource("the code", code, source, first_line(node.span), start)


def _match(node: Node, what: str, findings: Findings, folder: SpecFolder) -> tuple[File, ...] | None:
    files = match_files(node, what, findings, folder=folder)
    for file in files or ():
        source = _python_file(file, node.span, findings, folder) if file.path.endswith(".py") else None
        if source and (tree := parse_python(source, findings)):
            report_text_as_code(tree, source, findings)
    return files


def _python_file(file: File, span: Span, findings: Findings, folder: SpecFolder) -> PythonSource | None:
    path = folder.display_path_of(file.path)
    if file.text is None:
        findings.add(codes.NOT_UTF8, f"{path} is not UTF-8", span, "save it as UTF-8")
        return None
    report_carriage_returns(file.text, path, span, findings)
    source = SourceText(path, file.text)
    findings.diagnostics.add_source(source)
    return PythonSource(path, file.text, source, source.whole_file())


def _gather(
    entry: File, more: tuple[tuple[File, ...], ...], node: Mapping, findings: Findings, folder: SpecFolder
) -> tuple[File, ...]:
    """Return the entry file and the files that ``files:`` matched, without duplicates, sorted by path."""
    files = {file.path: file for group in more for file in group}
    span = first_line((node.get("files") or node).span)
    if files.get(entry.path, entry) != entry:
        message = f"{folder.display_path_of(entry.path)} has the same path as the inline code"
        findings.add(codes.BAD_VALUE, message, span, "rename that file, or remove it from 'files'")
    files[entry.path] = entry
    if len(files) > MAX_FILES or sum(map(file_size, files.values())) > MAX_TOTAL_BYTES:
        message = f"a tool may have at most {MAX_FILES} files and {render_size(MAX_TOTAL_BYTES)}, but this one has more"
        findings.add(codes.FILE, message, span)
    for first, second in case_conflicts(sorted(files)):
        findings.add(codes.LETTER_CASE, f"{second} and {first} differ only in letter case", span, "rename one")
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
