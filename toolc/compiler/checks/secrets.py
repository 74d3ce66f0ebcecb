"""Checks of secrets: TC601 (literals), TC602 (exposure), TC603 (declarations), TC604 (variables)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.checks.credentials import declaration, host_of, image_credentials, literal_credentials
from toolc.compiler.checks.helpers import parameters, text_may_contain
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.text_analysis.credentials import find_secrets
from toolc.data.credential_rules import ASKED
from toolc.document.edits import fix, insert_entry, insert_line, is_toml
from toolc.document.nodes import Node, Scalar, strings
from toolc.document.suggestions import suggestion
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Fix
from toolc.model.source import SourceText
from toolc.model.spec.code_backends import PluginBackend, PythonBackend, Script, ShellBackend
from toolc.model.spec.mcp_backend import McpBackend
from toolc.model.text import lazy_re

_NOT_REPLACED: Final = ("label", "description", "deprecated", "parameters", "examples", "tests")
_PLACEHOLDER: Final = lazy_re(r"\{\{-?\s*secrets\b[^}]{0,200}\}\}")

_LITERAL: Final = r"(?!\{\{|\$|/|\*+$|<|true$|false$|none$)[^\s{}]+"
# Both are compiled only if a text may match: start-up time.
_OPTION: Final = rf"--(?:api-?key|access-?token|auth-?token|pass(?:word)?|secret|token)=(?P<value>{_LITERAL})"
_URL: Final = r"(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@{}]{1,100}:(?P<value>[^\s/@{}$<*]{1,200})@"

_DECLARE: Final = "declare it under sandbox.secrets, so that the user who runs the tool provides its value"

_NAMED_SECRET: Final = lazy_re(r"""\{\{-?\s*secrets(?:\.(\w+)|\[\s*['"](\w+)['"]\s*\])[^}]{0,200}\}\}""")
_CODE: Final = frozenset({"script", "code"})

# $NAME, ${NAME}, ${NAME:-default}, %NAME% and ${env:NAME}; names of environment variables are in upper case.
_EXPANSION: Final = lazy_re(
    r"\$\{?[A-Z_][A-Z0-9_]+\b(?:[:?+-][^}]{0,200})?\}?|%[A-Z_][A-Z0-9_]+%|\$\{env[:.][^}]{0,200}\}"
)

_HINT: Final = "revoke it, because it stays in the Git history; declare it under sandbox.secrets and refer to its name"


@tool_check("TC602", needs={"parameters"})
def check_exposed_secrets(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each secret that may become visible to a model, in a process list or in a log.

    A secret is exposed if it is a parameter or a literal in the text of a script. It is also exposed if a placeholder
    (``{{ secrets.TOKEN }}``) is in text for a model or in a test, where it is not replaced. The decoder checks the
    other places and uses the same number. TC605 reports literals in places for credentials.
    """
    for key in _NOT_REPLACED if text_may_contain(tool, ("secrets",)) else ():
        for node, text in strings(tool.node.get(key)):
            for match in _PLACEHOLDER.finditer(text) if "secrets" in text else ():
                yield Diagnostic(
                    codes.MISPLACED_SECRET, f"secrets under '{key}' are not replaced, so this text stays unchanged",
                    tool.source.locate(node.span, match[0]), "refer to secrets only in the backend",
                )  # fmt: skip
    may_ask = not ASKED.isdisjoint(map(str.lower, tool.spec.parameters.properties))
    for entry, _ in parameters(tool) if may_ask else ():
        if entry.key.lower() in ASKED:
            message = f"'{entry.key}' asks the model for a secret, which would appear in the conversation and in logs"
            yield Diagnostic(codes.MISPLACED_SECRET, message, entry.key_span, _DECLARE)
    yield from _literal_values(tool)


def _literal_values(tool: LocatedTool) -> Iterator[Diagnostic]:
    for node, text in strings(tool.node.get("backend")) if text_may_contain(tool, ("=", "@")) else ():
        for mark, pattern, where in (("--", _OPTION, "a command line"), ("://", _URL, "a URL")):
            for match in re.finditer(pattern, text) if mark in text else ():
                span = tool.source.locate(node.span, match["value"])
                yield Diagnostic(codes.MISPLACED_SECRET, f"a secret is written literally in {where}", span, _DECLARE)


@tool_check("TC603", needs={"backend", "sandbox"})
def check_secret_declarations(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each secret that is used but not declared, or declared but not used.

    A secret with ``expose: env`` or ``file`` is always passed to the tool. A secret of the broker is used only
    where ``{{ secrets.NAME }}`` is written.
    """
    declared = {secret.name: secret for secret in tool.spec.sandbox.secrets}
    if tool.node.get("secrets") is not None:  # reported as a key in the wrong place
        return
    if not declared and not text_may_contain(tool, ("secrets",)):
        return
    used: set[str] = set()
    for node in (tool.node.get("backend"), tool.node_at("sandbox", "env")):
        for scalar, match in _references(node):
            name = match[1] or match[2]
            used.add(name)
            if name not in declared:
                written = f"declare it: {declaration(tool, name, _destination(tool))}"
                near = suggestion(name, declared, "the secrets are")
                hint = near if near.endswith("?") else "; or ".join(each for each in (near, written) if each)
                yield Diagnostic(
                    codes.UNDECLARED_SECRET, f"the secret '{name}' is not declared under sandbox.secrets",
                    tool.source.locate(scalar.span, match[0]), hint,
                    _fix_declaration(tool, name) if not near else None,
                )  # fmt: skip
    misspelled = {place.secret for place in literal_credentials(tool)}
    for name, secret in sorted(declared.items()):
        if secret.expose == "broker" and name not in used | misspelled:
            yield Diagnostic(
                codes.UNUSED_SECRET, f"the secret '{name}' is declared but not used",
                tool.key_span("sandbox", "secrets", name),
                f"write {{{{ secrets.{name} }}}} where it is needed, set expose: env, or remove it",
            )  # fmt: skip


def _fix_declaration(tool: LocatedTool, name: str) -> Fix | None:
    """Return the fix that declares a secret for the host of the request, or None if the right edit is not certain."""
    source, host = tool.source, host_of(tool.node_at("backend", "http", "url"))
    if is_toml(source) or tool.defaults or not host:
        return None
    entry = f"{name}: {{hosts: [{host}]}}"
    if (sandbox := tool.node.get("sandbox")) is None:
        edit = insert_line(source, tool.node, f"sandbox: {{secrets: {{{entry}}}}}")
    elif (secrets := tool.node_at("sandbox", "secrets")) is None:
        edit = insert_entry(source, sandbox, f"secrets: {{{entry}}}")
    else:
        edit = insert_entry(source, secrets, entry)
    return fix(f"declare {name} as a secret", edit)


def _destination(tool: LocatedTool) -> str:
    """Return the host that receives the secrets of an HTTP tool, or an empty string for another tool."""
    if tool.node_at("backend", "http") is None:
        return ""
    return host_of(tool.node_at("backend", "http", "url")) or "api.example.com"


def _references(node: Node | None) -> Iterator[tuple[Scalar, re.Match[str]]]:
    for scalar, text in strings(node, _CODE):
        yield from ((scalar, match) for match in _NAMED_SECRET.finditer(text))


@tool_check("TC604", needs={"backend", "sandbox"})
def check_unexpanded_variables(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each reference to an environment variable in ``env`` or in the command of a plugin.

    These values are constants. toolc expands nothing in them, and a build never reads its environment.
    """
    for variable in tool.spec.sandbox.env:
        span = tool.span("sandbox", "env", variable.name)
        if variable.value == "*" or variable.name == "*":
            reference = variable.value
        elif match := _EXPANSION.search(variable.value):
            reference = match[0]
        else:
            continue
        yield Diagnostic(
            codes.ENV_EXPANSION, f"'{reference}' is not expanded, because a variable under 'env' is a constant",
            tool.source.locate(span, reference),
            "write the value itself; put secrets and values that differ per user under sandbox.secrets",
        )  # fmt: skip
    backend = tool.spec.backend
    if isinstance(backend, PluginBackend):
        yield from _variables_in_command(tool, backend.command, "plugin", "command")
    elif isinstance(backend, McpBackend):
        yield from _variables_in_command(tool, backend.server.command, "mcp", "server", "command")


def _variables_in_command(tool: LocatedTool, command: tuple[str, ...], *route: str) -> Iterator[Diagnostic]:
    for index, word in enumerate(command):
        match = _EXPANSION.search(word)
        # A word with spaces is code, as after 'sh -c', and the variables in it belong to that code.
        if match and not re.search(r"\s", word):
            yield Diagnostic(
                codes.ENV_EXPANSION,
                f"'{match[0]}' is not expanded, because the words of 'command' are constants",
                tool.source.locate(tool.span("backend", *route, index), match[0]),
                "let the process read a variable of sandbox.env; put secrets and values that differ per user "
                "under sandbox.secrets, with expose: env",
            )


def check_text_for_secrets(source: SourceText) -> Iterator[Diagnostic]:
    """Yield a finding for each secret that is written in a file."""
    for secret in find_secrets(source.text):
        span = source.span(secret.start, secret.end)
        yield Diagnostic(codes.SECRET, f"this looks like {secret.kind}", span, _HINT)


@tool_check("TC601", needs={"backend"})
def check_literal_secrets(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each secret in the files that are packed into the tool."""
    for path, text in _packed_files(tool):
        location = PurePosixPath(tool.path).parent / path
        yield from check_text_for_secrets(SourceText(location.as_posix(), text))


@tool_check("TC601", needs={"sandbox"})
def check_image_for_secrets(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each secret in the files of ``sandbox.build``, except those that TC605 reports."""
    build = tool.spec.sandbox.build
    for file in build.files if build else ():
        source = SourceText((PurePosixPath(tool.path).parent / file.path).as_posix(), file.text or "")
        known = {start for _, start, _ in image_credentials(source.text)}
        starts = {source.span(start, start).start for start in known}
        yield from (each for each in check_text_for_secrets(source) if each.span.start not in starts)


def _packed_files(tool: LocatedTool) -> Iterator[tuple[str, str]]:
    match tool.spec.backend:
        case PythonBackend(files=files):
            inline = tool.node_at("backend", "python", "code") is not None
            entry = tool.spec.backend.entry
            yield from ((each.path, each.text) for each in files if each.text and not (inline and each.path == entry))
        case ShellBackend(command=Script(text=text)):
            node = tool.node_at("backend", "shell", "file")
            if isinstance(node, Scalar):
                yield str(node.value), text
        case _:
            pass
