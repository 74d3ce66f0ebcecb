"""Check of credentials: TC605 (literal values in places for credentials).

The check reads the nodes of a tool, not its decoded spec, so that it finds credentials even in an invalid tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import PurePosixPath
from typing import Final, Literal
from urllib.parse import parse_qsl

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.schema.parameters import parameter_entries
from toolc.compiler.text_analysis.credentials import (
    Certainty,
    credential_header,
    credential_name,
    credentials_in,
    is_token,
    is_unexpanded,
    literal_credential,
    unexpanded_name,
    without_scheme,
)
from toolc.compiler.text_analysis.shell_script import read_script
from toolc.data import credential_rules as rules
from toolc.dataclass import dataclass
from toolc.document.edits import is_toml
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence, strings
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.source import SourceText, Span
from toolc.model.text import lazy_re

_OPTION: Final = lazy_re(r"(?s)--?(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>.+))?")
_HEADER: Final = lazy_re(r"(?s)(?P<name>[A-Za-z][\w-]*):\s*(?P<value>\S.*)")
_VARIABLE: Final = lazy_re(r"(?P<name>[A-Z][A-Z0-9_]*)=(?P<value>\S+)")
_USER_OPTIONS: Final = frozenset({"-u", "--user", "--proxy-user"})
_PROGRAMS: Final = rules.HTTP_CLIENTS | rules.PASSWORD_IN_OPTION | frozenset(rules.PASSWORD_OPTIONS)
"""The programs that matter. Only these are remembered, so that the work per word does not grow."""

_INSTRUCTION: Final = lazy_re(r"(?im)^[ \t]*(?:ENV|ARG)[ \t]+(?P<rest>(?:[^\\\n]|\\(?:.|\n))*)")
_ASSIGNMENT: Final = lazy_re(r"""(?P<name>\b[A-Za-z_]\w*+)=(?P<value>"[^"\n]*"|'[^'\n]*'|\S*)""")
_OLD_ASSIGNMENT: Final = lazy_re(r"(?P<name>[A-Za-z_]\w*+)[ \t]+(?P<value>.*\S)")
"""The form ``ENV NAME VALUE`` with one variable."""

_REVOKE: Final = "if the value was ever pushed, revoke it, because it stays in the Git history"


@dataclass(frozen=True, slots=True)
class Place:
    """A literal credential, with its scalar, the value in it, and the name of the place for messages.

    ``secret`` is the suggested name of its secret. ``form`` says how the secret is used there. The broker inserts it
    into a value or as a query field, the process has it as a variable, or only a called tool uses it. ``host`` receives
    it, and ``key`` is the key with the value. ``number`` is how often the same text occurs in the scalar before the
    value.
    """

    scalar: Scalar
    value: str
    what: str
    secret: str
    form: Literal["broker", "query", "env", "called"]
    host: str = ""
    key: str = ""
    number: int = 0


@tool_check("TC605", needs=frozenset())
def check_literal_credentials(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each literal value in a place for a credential. The message and the hint do not contain the value."""
    for place in literal_credentials(tool):
        if is_unexpanded(place.value):
            message = f"{place.what} is a reference to an environment variable, which toolc does not expand"
        else:
            message = f"{place.what} is a literal credential"
        span = tool.source.locate(place.scalar.span, place.value, place.number)
        yield Diagnostic(codes.CREDENTIAL, message, span, _hint(tool, place))


@tool_check("TC605", needs={"sandbox"})
def check_image_variables(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each literal credential in a variable of the Dockerfile of ``sandbox.build``."""
    build = tool.spec.sandbox.build
    for file in build.files if build else ():
        if build and file.path == f"{build.folder}/Dockerfile" and file.text:
            source = SourceText((PurePosixPath(tool.path).parent / file.path).as_posix(), file.text)
            for name, start, end in image_credentials(file.text):
                message = f"the variable '{name:.80}' is a literal credential, which everyone with the image can read"
                hint = f"remove it; declare {name:.80} under sandbox.secrets with expose: env, which sets it in a call"
                yield Diagnostic(codes.CREDENTIAL, message, source.span(start, end), hint)


def image_credentials(dockerfile: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each variable in a Dockerfile that is a literal credential, with the start and end of it."""
    for instruction in _INSTRUCTION.finditer(dockerfile):
        at, end = instruction.span("rest")
        old = None if "=" in instruction["rest"].split(maxsplit=1)[0] else _OLD_ASSIGNMENT.match(dockerfile, at, end)
        for match in [old] if old else _ASSIGNMENT.finditer(dockerfile, at, end):
            certainty, value = credential_name(match["name"]), match["value"].strip("\"'")
            if certainty and "$" not in value and (literal := literal_credential(value, certainty)):
                start = dockerfile.index(literal, match.start("value"))
                yield match["name"], start, start + len(literal)


def public_values(tool: LocatedTool) -> Iterator[Span]:
    """Yield the span of each value of ``tool`` that is declared public."""
    nodes = [tool.node.get("backend"), tool.node.get("sandbox")]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Mapping):
            if node.entry("reason") and (value := node.get("public")):
                yield value.span
            nodes += (entry.value for entry in node.entries)
        elif isinstance(node, Sequence):
            nodes += node.items


def _hint(tool: LocatedTool, place: Place) -> str:
    """Return the lines to write instead of a literal credential, in the syntax of the file."""
    toml = is_toml(tool.source)
    name, reference = place.secret, f'"{_with_reference(place)}"'
    if place.form == "called":
        return f"declare the secret in the spec of the tool that uses it, and remove the value; {_REVOKE}"
    if place.form == "env":
        declared = declaration(tool, name)
        lines = [f"declare a secret, which sets the variable {name}, and remove the value:", f"  {declared}"]
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


def _with_reference(place: Place) -> str:
    """Return the value with a reference to the secret instead of the credential. A scheme before it is kept."""
    text = str(place.scalar.value)
    whole = text if place.form == "broker" and text.count(place.value) == 1 else place.value
    return whole.replace(place.value, f"{{{{ secrets.{place.secret} }}}}")


def literal_credentials(tool: LocatedTool) -> Iterator[Place]:
    """Yield each place for a credential in ``tool`` that has a literal value."""
    backend = tool.node.get("backend")
    if isinstance(backend, Mapping):
        for http in (backend.get("http"), tool.node_at("backend", "mcp", "server")):
            if isinstance(http, Mapping):
                yield from _http(http)
        yield from _url(tool.node_at("backend", "agent", "base_url"), "agent.base_url")
        for keys in (("shell", "argv"), ("plugin", "command"), ("mcp", "server", "command")):
            yield from _command(tool.node_at("backend", *keys), f"an item of {keys[-1]}")
        yield from _script(tool.node_at("backend", "shell", "script"))
        yield from _step_arguments(tool.node_at("backend", "composite", "steps"))
    env = tool.node_at("sandbox", "env")
    for entry in env.entries if isinstance(env, Mapping) else ():
        yield from _variable(entry)
    yield from _defaults(tool.node.get("parameters"))


def _http(http: Mapping) -> Iterator[Place]:
    host = host_of(http.get("url"))
    if entry := http.entry("auth"):
        yield from _auth(entry, "auth", host)
    for section, what in (("headers", "the header"), ("query", "the query field"), ("cookies", "the cookie")):
        yield from _fields(http.get(section), what, host)
    body = http.get("body")
    if isinstance(body, Mapping):
        for kind in ("form", "multipart", "json"):
            yield from _body(body.get(kind), host)
    yield from _url(http.get("url"), "url")


def _auth(entry: MappingEntry, what: str, host: str) -> Iterator[Place]:
    """Yield the literal credentials in ``auth``, even if it does not have the form that a spec requires."""
    key, node = entry.key, entry.value
    if isinstance(node, Mapping):
        if node.entry("public") is None:
            for inner in node.entries:
                where = host_of(node.get("token_url")) if key == "oauth2" else host
                yield from _auth(inner, f"{what}.{inner.key}", where)
    elif key == "token_url":
        yield from _url(node, what)
    elif key == "username":
        yield from _value(entry, what, "possible", "API_KEY", host)
    elif key in rules.AUTH or credential_name(key) == "certain":
        yield from _value(entry, what, "certain", rules.AUTH.get(key) or _variable_name(key), host)


def _fields(node: Node | None, what: str, host: str) -> Iterator[Place]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        certainty = (credential_header if what == "the header" else credential_name)(entry.key)
        if certainty:
            styled = entry.value.get("value") if isinstance(entry.value, Mapping) else None
            entry = entry._replace(value=styled) if styled else entry  # noqa: PLW2901  the same field
            suffix = "TOKEN" if entry.key.lower().endswith(("authorization", "cookie")) else _variable_name(entry.key)
            yield from _value(entry, f"{what} '{entry.key}'", certainty, suffix, host)


def _body(node: Node | None, host: str) -> Iterator[Place]:
    """Yield the literal credentials in a body, at any depth."""
    for item in node.items if isinstance(node, Sequence) else ():
        yield from _body(item, host)
    for entry in node.entries if isinstance(node, Mapping) else ():
        if credential_name(entry.key):
            yield from _value(entry, f"the field '{entry.key}'", "certain", _variable_name(entry.key), host)
        if not (isinstance(entry.value, Mapping) and entry.value.entry("public")):
            yield from _body(entry.value, host)


def _value(entry: MappingEntry, what: str, certainty: Certainty, suffix: str, host: str) -> Iterator[Place]:
    scalar = entry.value
    if not isinstance(scalar, Scalar) or not isinstance(scalar.value, str):
        return
    if value := _literal_part(scalar.value, certainty):
        name = unexpanded_name(value) or "_".join(filter(None, (_service(host), suffix)))
        yield Place(scalar, value, what, name, "broker", host=host, key=entry.key)


def _literal_part(text: str, certainty: Certainty) -> str:
    """Return the literal credential in a template, or an empty string."""
    constants = _constants(text)
    if len(constants) == 1:
        rest = without_scheme(text).strip()
        return rest if is_unexpanded(rest) else literal_credential(text, certainty)
    words = (word for constant in constants for word in re.split(r"[\s;,&=:\"']+", constant))
    return next((word for word in words if is_token(word)), "")


def _constants(text: str) -> list[str]:
    """Return the parts of a template around its placeholders."""
    parts, at = list[str](), 0
    while (start := text.find("{{", at)) >= 0 and (end := text.find("}}", start + 2)) >= 0:
        parts.append(text[at:start])
        at = end + 2
    return [*parts, text[at:]]


def _url(node: Node | None, what: str) -> Iterator[Place]:
    """Yield the credentials in the query of a URL. The decoder reports a user name and a password in it."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or "?" not in node.value:
        return
    host = host_of(node)
    for name, value in parse_qsl(node.value.partition("?")[2].partition("#")[0]):
        certainty = credential_name(name)
        if certainty and "{{" not in value and (literal := literal_credential(value, certainty)):
            secret = "_".join(filter(None, (_service(host), _variable_name(name))))
            yield Place(node, literal, f"'{name}' in {what}", secret, "query", host=host, key=name)


def _command(node: Node | None, what: str) -> Iterator[Place]:
    """Yield the credentials in the words of a command line."""
    previous, programs = "", set[str]()
    for scalar, word in strings(node):
        name, value = _in_word(previous, word, programs)
        previous = word
        programs.update(_PROGRAMS & {word.rpartition("/")[2]})
        if value and "{{" not in value:
            yield Place(scalar, value, what, name, "env")


def _script(node: Node | None) -> Iterator[Place]:
    """Yield the credentials in the constant words of a shell script."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or node.vars:
        return
    for command in read_script(node.value).commands:
        for name, word in command.assignments:
            text = word.constant or ""
            if credential_name(name) and is_token(text):
                number = node.value.count(text, 0, word.start)
                yield Place(node, text, f"the variable '{name}'", name, "env", number=number)
        previous, programs = "", set[str]()
        for word in command.words:
            text = word.constant or ""
            name, value = _in_word(previous, text, programs)
            previous = text
            programs.update(_PROGRAMS & {text.rpartition("/")[2]})
            if value and (is_token(value) or not _VARIABLE.fullmatch(text)):
                number = node.value.count(value, 0, word.start)
                yield Place(node, value, "a word of the script", name, "env", number=number)


def _in_word(previous: str, word: str, programs: AbstractSet[str]) -> tuple[str, str]:
    """Return the name and the value of the credential in a word of a command. Both are empty if there is none.

    ``programs`` are those of ``_PROGRAMS`` that the words before it name.
    """
    is_client = not rules.HTTP_CLIENTS.isdisjoint(programs)
    if option := _OPTION.fullmatch(word):
        name, value = option["name"], option["value"] or ""
        if name.endswith("header") and (header := _HEADER.fullmatch(value)):
            name, value = header["name"], header["value"]
    elif is_client and word.startswith("-H") and (header := _HEADER.fullmatch(word, 2)):
        name, value = header["name"], header["value"]
    elif (option := _OPTION.fullmatch(previous)) and previous.startswith("--") and option["value"] is None:
        name, value = option["name"], word
        if (header := _HEADER.fullmatch(word)) and name.endswith("header"):
            name, value = header["name"], header["value"]
    elif pair := _HEADER.fullmatch(word) or _VARIABLE.fullmatch(word):
        name, value = pair["name"], pair["value"]
    else:
        name = value = ""
    if is_client and ":" in word and (previous in _USER_OPTIONS or word.startswith("-u")):
        name, value = "password", word.partition(":")[2]
    if any(rules.PASSWORD_OPTIONS.get(program) == previous for program in programs):
        name, value = "password", word
    if word.startswith("-p") and not rules.PASSWORD_IN_OPTION.isdisjoint(programs):
        # Use the whole word, so that it is hidden wherever it is repeated.
        is_literal = not word.startswith("-p$") and literal_credential(word[2:], "certain")
        return "SSHPASS" if "sshpass" in programs else "MYSQL_PWD", word if is_literal else ""
    # "--secret NAME" is usually the name of a secret, which is not a credential.
    certainty = "possible" if name.lower() == "secret" else credential_name(name)
    if certainty and value and not value.startswith(("$", "*", "<", "{", "@")):
        literal = literal_credential(value, certainty)
        if literal and not is_unexpanded(literal):
            return "TOKEN" if name.lower().endswith("authorization") else _variable_name(name), literal
    return "PASSWORD", _password_in(word)


def _variable(entry: MappingEntry) -> Iterator[Place]:
    scalar = entry.value
    if not isinstance(scalar, Scalar) or not isinstance(scalar.value, str) or "{{" in scalar.value:
        return
    text, certainty = scalar.value, credential_name(entry.key)
    value = _password_in(text)
    # TC604 reports a reference to another variable.
    if not value and certainty and not text.startswith(("$", "*", "%", "<")):
        value = literal_credential(text, certainty)
    if value:
        yield Place(scalar, value, f"the variable '{entry.key}'", entry.key, "env", key=entry.key)


def _password_in(text: str) -> str:
    """Return the first password in a URL or a connection string, or an empty string."""
    return next((text[each.start : each.end] for each in credentials_in(text)), "")


def _step_arguments(node: Node | None) -> Iterator[Place]:
    for step in node.items if isinstance(node, Sequence) else ():
        args = step.get("args") if isinstance(step, Mapping) else None
        for entry in args.entries if isinstance(args, Mapping) else ():
            yield from _visible(entry, entry.value, f"the argument '{entry.key}'")


def _defaults(node: Node | None) -> Iterator[Place]:
    """Yield the default values of parameters whose names are those of credentials."""
    for entry in parameter_entries(node):
        schema = entry.value
        if isinstance(schema, Mapping):
            for key in ("default", "const"):
                yield from _visible(entry, schema.get(key), f"the {key} of '{entry.key}'")


def _visible(entry: MappingEntry, node: Node | None, what: str) -> Iterator[Place]:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(node, Scalar) and isinstance(value, str) and credential_name(entry.key) and is_token(value):
        yield Place(node, value, what, _variable_name(entry.key), "called")


def host_of(node: Node | None) -> str:
    """Return the host of a URL as written, or an empty string."""
    value = node.value if isinstance(node, Scalar) else None
    match = re.match(r"https?://(?:[^/?#@]*@)?(?P<host>[A-Za-z0-9.-]+)", value) if isinstance(value, str) else None
    return match["host"].lower().rstrip(".") if match else ""


def _service(host: str) -> str:
    """Return the name of the service at a host for the name of a secret, such as ``GITHUB`` for ``api.github.com``."""
    labels = host.split(".")
    if len(labels) < 2 or labels[-1].isdigit():
        return ""
    name = labels[-3] if len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3 else labels[-2]
    return _variable_name(name) if name[:1].isalpha() else ""


def _variable_name(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"\W+", "_", spaced).strip("_").upper().removeprefix("X_") or "TOKEN"
