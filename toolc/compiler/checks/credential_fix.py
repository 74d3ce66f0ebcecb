"""How to replace a literal credential: the lines to write, and the fix that declares it as a secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.text_analysis.credentials import is_unexpanded
from toolc.document.edits import fix, insert_entry, insert_line, is_toml, remove_entry
from toolc.document.nodes import Mapping, MappingEntry, Scalar
from toolc.model.diagnostics import Edit, Fix
from toolc.model.source import SourceText, Span

_REVOKE: Final = "revoke the value if it was ever shared: it is also in the history"


@dataclass(frozen=True, slots=True)
class Place:
    """A literal credential: its scalar, the value in it, and what the place is called in messages.

    ``secret`` is the suggested name of its secret. ``form`` is how the secret is used there: inserted by the broker
    into a value or as a query field, as a variable of the process, or only by a called tool. ``host`` receives it,
    and ``key`` is the key with the value. ``number`` is how often the scalar has the same text before the value.
    """

    scalar: Scalar
    value: str
    what: str
    secret: str
    form: Literal["broker", "query", "env", "called"]
    host: str = ""
    key: str = ""
    number: int = 0


def hint_of(tool: LocatedTool, place: Place) -> str:
    """Return the lines to write instead of a literal credential, in the syntax of the file."""
    toml = is_toml(tool.source)
    name, reference = place.secret, f'"{_with_reference(place)}"'
    if place.form == "called":
        return f"declare the secret in the spec of the tool that uses it, and remove the value; {_REVOKE}"
    if place.form == "env":
        declared = declaration(tool, name)
        lines = [f"declare it as a secret, which sets the variable {name}, and remove the value:", f"  {declared}"]
    else:
        host = place.host or "api.example.com"
        declared = declaration(tool, name, host)
        written = f"{place.key} = {reference}" if toml else f"{place.key}: {reference}"
        if place.form == "query":
            written = f"query = {{{written}}}" if toml else f"query: {{{written}}}"
        lines = ["declare it as a secret, and refer to its name:", f"  {written}", f"  {declared}"]
    if is_unexpanded(place.value):
        return "\n".join(lines)
    if place.key:
        public = '{public = VALUE, reason = "…"}' if toml else "{public: VALUE, reason: …}"
        lines.append(f"if the value is meant to be public, write {place.key}{' =' if toml else ':'} {public}")
    return "\n".join([*lines, _REVOKE])


def declaration(tool: LocatedTool, name: str, host: str = "") -> str:
    """Return the line that declares a secret for ``host``, or as a variable, in the syntax of the file."""
    if is_toml(tool.source):
        return f"sandbox.secrets.{name} = {{" + (f'hosts = ["{host}"]' if host else 'expose = "env"') + "}"
    return f"sandbox: {{secrets: {{{name}: {{" + (f"hosts: [{host}]" if host else "expose: env") + "}}}"


def fix_of(tool: LocatedTool, place: Place) -> Fix | None:
    """Return the fix that declares the secret and refers to it; None if the file cannot be edited with certainty."""
    source = tool.source
    if is_toml(source) or tool.defaults or place.scalar.vars or place.scalar.span.path != source.path:
        return None
    name, description = place.secret, f"declare {place.secret} as a secret"
    if place.form == "env" and place.key:
        return _fix_variable(tool, place.key, description)
    if place.form != "broker" or not place.host:
        return None
    edits: list[Edit | None] = [_reference(source, place)]
    declared = tool.node_at("sandbox", "secrets", name)
    if declared is None:
        edits.append(_declare(tool, f"{name}: {{hosts: [{place.host}]}}"))
    return fix(description, *edits)


def fix_declaration(tool: LocatedTool, name: str, host: str) -> Fix | None:
    """Return the fix that declares a secret for ``host``; None if the file cannot be edited with certainty."""
    if is_toml(tool.source) or tool.defaults or not host:
        return None
    return fix(f"declare {name} as a secret", _declare(tool, f"{name}: {{hosts: [{host}]}}"))


def _reference(source: SourceText, place: Place) -> Edit | None:
    """Return the edit that replaces the value by a reference to the secret, if it is written on one line."""
    span, value = place.scalar.span, str(place.scalar.value)
    written = source.between(span)
    if written not in {value, f'"{value}"', f"'{value}'"} or value.count(place.value) != 1 or '"' in value:
        return None
    return Edit(span, f'"{_with_reference(place)}"')


def _with_reference(place: Place) -> str:
    """Return the value with a reference to the secret instead of the credential; a scheme before it is kept."""
    text = str(place.scalar.value)
    whole = text if place.form == "broker" and text.count(place.value) == 1 else place.value
    return whole.replace(place.value, f"{{{{ secrets.{place.secret} }}}}")


def _fix_variable(tool: LocatedTool, key: str, description: str) -> Fix | None:
    """Return the fix that replaces a variable by a secret that is exposed under the same name."""
    sandbox, env = tool.node.get("sandbox"), tool.node_at("sandbox", "env")
    assert isinstance(sandbox, Mapping)
    assert isinstance(env, Mapping)
    declaration = f"{key}: {{expose: env}}"
    if tool.node_at("sandbox", "secrets", key) is not None:
        return None
    if len(env.entries) == 1 and sandbox.entry("secrets") is None:
        entry = sandbox.by_key["env"]
        return fix(description, Edit(_entry_span(entry), f"secrets: {{{declaration}}}"))
    removed, added = remove_entry(tool.source, env.by_key[key]), _declare(tool, declaration)
    if removed is None or added is None or removed.span.start <= added.span.start <= removed.span.end:
        return None
    return fix(description, removed, added)


def _entry_span(entry: MappingEntry) -> Span:
    return Span(entry.key_span.path, entry.key_span.start, entry.value.span.end)


def _declare(tool: LocatedTool, declaration: str) -> Edit | None:
    """Return the edit that adds an entry to ``sandbox.secrets``, which may not exist yet."""
    sandbox = tool.node.get("sandbox")
    if sandbox is None:
        return insert_line(tool.source, tool.node, f"sandbox: {{secrets: {{{declaration}}}}}")
    secrets = sandbox.get("secrets") if isinstance(sandbox, Mapping) else None
    if secrets is None:
        return insert_entry(tool.source, sandbox, f"secrets: {{{declaration}}}")
    return insert_entry(tool.source, secrets, declaration)
