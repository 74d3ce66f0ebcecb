"""Check TC414: placeholders written in a form that is not replaced in this place, so that they stay literal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from toolc.compiler.checks.base import tool_check
from toolc.compiler.checks.credentials import literal_credentials
from toolc.compiler.checks.script_arguments import assigned_variables
from toolc.compiler.checks.scripts import MAX_FINDINGS, LocatedText, ScriptText, is_shell, script_text
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.templates.parse import PARAMETER_PREFIXES, expression_ranges
from toolc.compiler.text_analysis.python_syntax import syntax_tree
from toolc.document.edits import fix
from toolc.document.nodes import Mapping, Node, Scalar, Sequence, strings
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.spec.code_backends import Script, ShellBackend

_PATH: Final = r"[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+){0,3}+"
_PREFIXED: Final = rf"(?:(?:{'|'.join(sorted(PARAMETER_PREFIXES))})\.)?+[A-Za-z_]\w*+"
_SPELLINGS: Final = re.compile(
    rf"""
      \$\{{\{{[ \t]*(?P<dollar_braces>{_PATH})[ \t]*\}}\}}
    | \{{\{{-?[ \t]*\$?(?P<braces>{_PATH})(?:\[[^\[\]{{}}\n]{{0,60}}\])?+[ \t]*(?:\|[^{{}}\n]{{0,100}})?-?\}}\}}
    | \$\{{(?P<dollar_brace>{_PATH})\}}
    | \$\{{\#?(?P<operator>[A-Za-z_]\w*+)(?:[:?+=,^/%@\#-][^{{}}\n]{{0,100}})?\}}
    | \$(?P<dollar>{_PREFIXED})
    | \$\((?P<parentheses>[A-Za-z_]\w*+)\)
    | \#\{{(?P<number_sign>[A-Za-z_]\w*+)\}}
    | <%=?[ \t]{{0,8}}(?P<erb>{_PATH})[ \t]{{0,8}}%>
    | \{{%-?[ \t]{{0,8}}(?:if|elif|unless|for[ \t]+\w{{1,64}}[ \t]+in)[ \t]+(?:not[ \t]+)?+(?P<statement>{_PATH})
      [^%\n]{{0,80}}%\}}
    | (?<![{{$\#])\{{(?P<brace>[A-Za-z_]\w*+)\}}(?!\}})
    | (?<![<\w])<(?P<angle>[A-Za-z_]\w*+)>
    | %\((?P<percent>[A-Za-z_]\w*+)\)s
    | (?<=/):(?P<colon>[A-Za-z_]\w*+)(?=[/?]|\Z)
    """,
    re.VERBOSE,
)
"""Every spelling of a placeholder in other languages, templates and CI systems."""

_AMBIGUOUS: Final = re.compile(
    r"""
      %(?P<percents>[A-Za-z_]\w*+)%
    | \{\{-?[ \t]*\.(?P<dot>[A-Za-z_]\w*+)[ \t]*-?\}\}
    | \$env:(?P<powershell>[A-Za-z_]\w*+)
    | \$(?P<upper>[A-Z_][A-Z0-9_]*+)(?![a-z])
    | \$\{(?P<upper_brace>[A-Z_][A-Z0-9_]*+)(?:[:?+=,^/%@\#-][^{}\n]{0,100})?\}
    | (?<![^\s"=]):(?P<colon>[A-Za-z_]\w*+)(?![\w:/])
    | (?<!\\)\$(?P<position>[1-9])(?!\d)
    """,
    re.VERBOSE,
)
"""Spellings that are reported only for a parameter that a shell script does not use in another way."""

_UNCERTAIN: Final = frozenset({"angle", "percent", "colon", "parentheses", "number_sign", "erb", "statement"})
"""Spellings that are also ordinary text: they are reported only if the parameter is not used in another way."""

_GRAPHQL: Final = re.compile(
    r"\s*+(?:#[^\n]*+\n\s*+)*+(?:(?:query|mutation|subscription|fragment)\b|\{\s*+\w++\s*+[({:\w])"
    r"|[\s\S]{0,2000}?\"query\"\s*+:\s*+\"\s*+(?:query|mutation|subscription|fragment|\{)"
)
_ODATA: Final = frozenset(
    {
        "all", "batch", "count", "crossjoin", "each", "entity", "filter", "links", "metadata", "query", "ref", "root",
        "value",
    }
)  # fmt: skip
"""System segments of a path in OData, as in ``/Products/$count``."""

_STANDARD_VARIABLES: Final = frozenset(
    {
        "COLUMNS", "EDITOR", "EUID", "GID", "HOME", "HOST", "HOSTNAME", "HOSTTYPE", "IFS", "LANG", "LANGUAGE", "LINENO",
        "LINES", "LOGNAME", "MAIL", "OLDPWD", "OPTARG", "OPTIND", "OSTYPE", "PAGER", "PATH", "PPID", "PS1", "PWD",
        "RANDOM", "SECONDS", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "UID", "USER", "USERNAME",
    }
)  # fmt: skip
"""Variables that a shell or a system sets."""

_COMMANDS: Final = frozenset({"arch", "cat", "date", "env", "hostname", "id", "ls", "nproc", "pwd", "uname", "whoami"})
"""Commands that scripts often run as ``$(date)``, and that are also common names of parameters."""

_FROM_ENVIRONMENT: Final = {
    "python": 'os.environ["ARG_{}"]', "node": "process.env.ARG_{}", "ruby": 'ENV["ARG_{}"]', "perl": "$ENV{{ARG_{}}}",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Name:
    """What a spelling refers to. ``kind`` is ``parameter``, ``secret`` or ``env`` (a variable of the sandbox)."""

    kind: str
    name: str


@dataclass(frozen=True)
class _Names:
    """The names that a tool declares."""

    tool: LocatedTool

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The parameters by their names without regard to case."""
        return {name.casefold(): name for name in self.tool.spec.parameters.properties}

    @cached_property
    def secrets(self) -> dict[str, str]:
        """The secrets with their exposure."""
        return {each.name: each.expose for each in self.tool.spec.sandbox.secrets}

    @cached_property
    def env(self) -> frozenset[str]:
        """The constant variables of the sandbox."""
        return frozenset(each.name for each in self.tool.spec.sandbox.env)

    @property
    def are_empty(self) -> bool:
        """Whether the tool declares nothing that a placeholder could name."""
        return not (self.parameters or self.secrets or self.env)

    def find(self, path: str, *, any_case: bool = False) -> _Name | None:
        """Return what ``path``, such as ``name`` or ``args.name``, refers to, or None if it is not declared."""
        prefix, _, name = path.rpartition(".")
        prefix = prefix.rpartition(".")[2]
        if prefix and prefix not in {*PARAMETER_PREFIXES, "env", "local", "secret", "secrets", "var"}:
            return None
        if prefix in {"", "local", "var", *PARAMETER_PREFIXES}:
            name = name if name in self.tool.spec.parameters.properties else name.removeprefix("ARG_")
            known = self.parameters.get(name.casefold())
            if known is not None and (known == name or any_case or prefix):
                return _Name("parameter", known)
        if name in self.secrets and prefix not in PARAMETER_PREFIXES:
            return _Name("secret", name)
        return _Name("env", name) if name in self.env and prefix in {"", "env"} else None

    def find_part(self, path: str) -> _Name | None:
        """Return the parameter of which ``path``, such as ``name.key`` or ``args.name.key``, is a part."""
        first, _, rest = path.partition(".")
        name = rest.partition(".")[0] if first in PARAMETER_PREFIXES and first not in self.parameters else first
        return _Name("parameter", name) if name in self.tool.spec.parameters.properties else None


@tool_check("TC414", needs={"backend", "parameters", "sandbox"})
def check_placeholder_spellings(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each placeholder that stays literal, because it is written as in another language or place."""
    names = _Names(tool)
    if names.are_empty:
        return
    backend = tool.spec.backend
    if backend.tag == "http":
        yield from islice(_http(tool, names), MAX_FINDINGS)
    elif isinstance(backend, ShellBackend):
        if isinstance(backend.command, Script):
            script = script_text(tool, backend.command)
            is_read = is_shell(backend.command)
            found = _script(script, names) if is_read else _code(script, backend.command, names)
            yield from islice(found, MAX_FINDINGS)
        else:
            yield from islice(_command(tool, names), MAX_FINDINGS)
    elif backend.tag == "python":
        node = tool.node_at("backend", "python", "code")
        if isinstance(node, Scalar) and isinstance(node.value, str):
            yield from islice(_python(LocatedText(node.value, tool.source, node, node.span), names), MAX_FINDINGS)


def _literal(
    text: LocatedText, match: re.Match[str], spelling: str, hint: str = "", replacement: str = ""
) -> Diagnostic:
    """Return the finding about one spelling. ``spelling`` is the valid one; the fix writes ``replacement``."""
    start, end = match.span()
    made = fix(f"write {spelling}", text.replace(start, end, replacement or spelling)) if spelling else None
    message = f"'{match[0][:80]}' is not replaced here: it stays as it is written"
    return Diagnostic(codes.MISSPELLED_PLACEHOLDER, message, text.span(start, end), hint or f"write {spelling}", made)


def _script(script: ScriptText, names: _Names) -> Iterator[Diagnostic]:
    """Yield the placeholders of a shell script that the shell does not replace by an argument."""
    assigned: frozenset[str] | None = None
    expanded: set[int] = set()
    used = {*re.findall(r"ARG_(\w++)", script.text), *re.findall(r"</\w++>", script.text)}
    for match in _SPELLINGS.finditer(script.text):
        kind = match.lastgroup or ""
        path = match[kind]
        is_variable = kind in {"dollar", "dollar_brace", "operator"}
        found = names.find(path, any_case=is_variable and path.startswith("ARG_"))
        if found is None and kind in {"braces", "dollar_braces"}:
            found = names.find_part(path)
        place = script.script.kind_at(match.start()) if found else "comment"
        if place == "comment" or found is None:
            continue
        if is_variable:
            if assigned is None:
                assigned = assigned_variables(script)
                expanded = {each.start for each in script.script.expansions}
            wrong = _wrong_variable(path, names, assigned) if place not in {"single", "literal"} else None
            if wrong is None or match.start() not in expanded:
                continue
        elif kind not in {"braces", "dollar_braces"} and not _is_unused(kind, found, match, place, used):
            continue
        used.add(found.name)
        yield _in_script(script, match, found, place, names)
    assigned = assigned_variables(script) if assigned is None else assigned
    yield from _of_unused_parameters(script, names, used, assigned)


def _of_unused_parameters(
    script: ScriptText, names: _Names, used: set[str], assigned: frozenset[str]
) -> Iterator[Diagnostic]:
    """Yield ``%name%``, ``{{ .name }}``, ``$env:name``, ``:name``, ``$1`` and ``$NAME`` of unused parameters."""
    declared = [*names.tool.spec.parameters.properties]
    expanded = {each.start for each in script.script.expansions}
    known = assigned | names.env | names.secrets.keys() | _STANDARD_VARIABLES
    has_positions = re.search(r"\(\)|\bfunction\b|\bset\s+--|\bshift\b", script.text)
    for match in _AMBIGUOUS.finditer(script.text):
        kind = match.lastgroup or ""
        name = match[kind]
        if kind == "position":
            at = int(name) - 1
            name = declared[at] if at < len(declared) and not has_positions else ""
        elif kind.startswith("upper"):
            is_set = match.start() not in expanded or "*" in assigned or name in known
            name = "" if is_set else names.parameters.get(name.casefold(), "")
        place = script.script.kind_at(match.start()) if name in declared and name not in used else "comment"
        if place not in {"comment", "single", "literal"} and not (kind == "colon" and place == "heredoc"):
            yield _in_script(script, match, _Name("parameter", name), place, names)


def _is_unused(kind: str, found: _Name, match: re.Match[str], place: str, used: set[str]) -> bool:
    """Return whether ``{name}``, ``<name>`` or ``%(name)s`` is surely a placeholder: the parameter is not used."""
    if found.kind != "parameter" or found.name in used or place in {"single", "literal"}:
        return False
    following = match.string[match.end() : match.end() + 1]
    if kind == "brace" and following in {"<", ">"}:  # a file descriptor of bash
        return False
    if kind == "parentheses" and found.name in _COMMANDS:
        return False
    return kind != "colon" and not (kind == "angle" and f"</{match[kind]}>" in used)


def _wrong_variable(path: str, names: _Names, assigned: frozenset[str]) -> str | None:
    """Return the variable that ``$path`` names if nothing sets it, else None."""
    first = path.partition(".")[0]
    is_argument = first.startswith("ARG_") and first[4:] in names.tool.spec.parameters.properties
    if is_argument or first in assigned or first in names.env or first in names.secrets:
        return None
    if "*" in assigned or (first.isupper() and not first.startswith("ARG_")) or first.endswith("_proxy"):
        return None
    return first


def _in_script(script: ScriptText, match: re.Match[str], found: _Name, place: str, names: _Names) -> Diagnostic:
    variable = f"ARG_{found.name}" if found.kind == "parameter" else found.name
    if found.kind == "secret" and names.secrets[found.name] == "broker":
        hint = f'a script cannot use this secret; set expose: env and write "${variable}"'
        return _literal(script, match, "", hint)
    if found.kind == "secret" and names.secrets[found.name] == "file":
        spelling = f'$(cat "${variable}_FILE")'
        return _literal(script, match, "", f"the secret is in a file: write {spelling}")
    if place == "literal":
        hint = f"write ${variable}, and the delimiter of the here-document without quotes"
        return _literal(script, match, "", hint)
    if match.lastgroup == "statement":
        example = f'write e.g. if [ "${variable}" = true ]; then ...; fi'
        if "for" in match[0].split():
            example = f"read the items of ${variable}, which is JSON, e.g. with jq"
        hint = f"a script is not a template: {example}"
        return _literal(script, match, "", hint)
    if match.lastgroup in {"braces", "dollar_braces"} and (
        names.find(match[match.lastgroup]) is None or "[" in match[0]
    ):
        hint = f"${variable} is the whole value, and JSON if it is an object or list: read the part e.g. with jq"
        return _literal(script, match, "", hint)
    if match.lastgroup in {"operator", "upper_brace"}:
        return _literal(script, match, match[0].replace(match[match.lastgroup], variable, 1))
    following = script.text[match.end() : match.end() + 1]
    plain = f"${{{variable}}}" if following.isalnum() or following in {"_", "["} else f"${variable}"
    if place in {"double", "heredoc"}:
        return _literal(script, match, plain)
    spelling = f'"{plain}"'
    return _literal(script, match, spelling, replacement=f"'{spelling}'" if place == "single" else spelling)


def _code(script: ScriptText, command: Script, names: _Names) -> Iterator[Diagnostic]:
    """Yield the ``{{ name }}`` of a script in another language, where braces may have a meaning."""
    words = [word.rpartition("/")[2] for word in command.interpreter]
    reads = next((form for name, form in _FROM_ENVIRONMENT.items() if any(word.startswith(name) for word in words)), "")
    for match in _SPELLINGS.finditer(script.text):
        found = names.find(match["braces"]) if match["braces"] else None
        if found is not None and found.kind == "parameter":
            spelling = reads.format(found.name) if reads else f"the environment variable ARG_{found.name}"
            yield _in_code(script, match, f"read the argument with {spelling}")


def _in_code(text: LocatedText, match: re.Match[str], hint: str, replacement: str = "") -> Diagnostic:
    start, end = match.span()
    made = fix(f"write {replacement}", text.replace(start, end, replacement)) if replacement else None
    message = f"'{match[0][:80]}' stays literal: code is not a template"
    return Diagnostic(codes.PLACEHOLDER_IN_CODE, message, text.span(start, end), hint, made)


def _python(text: LocatedText, names: _Names) -> Iterator[Diagnostic]:
    """Yield the ``{{ name }}`` of Python code in which nothing else renders templates or formats text."""
    if "{{" not in text.text or re.search(r"\b(?:jinja2|Template|mustache|chevron)\b|\.format\(", text.text):
        return
    literal = _formatted_lines(text.text)
    line, counted = 1, 0
    for match in _SPELLINGS.finditer(text.text):
        found = names.find(match["braces"]) if match["braces"] else None
        line, counted = line + text.text.count("\n", counted, match.start()), match.start()
        if found is None or found.kind != "parameter" or line in literal:
            continue
        start, end = match.span()
        quotes = text.text[start - 1 : start], text.text[end : end + 1]
        is_expression = not set(quotes) & {"'", '"'} and "[" not in match[0] and _is_expression(text.text, start)
        hint = f'write {found.name}, the argument of the function; inside text: f"{{{found.name}}}"'
        yield _in_code(text, match, hint, found.name if is_expression else "")


def _is_expression(text: str, start: int) -> bool:
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return not set(line) & {"'", '"', "#"}


def _formatted_lines(code: str) -> frozenset[int]:
    """Return the lines of f-strings, in which two braces are a literal one."""
    try:
        tree = syntax_tree(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)


def _command(tool: LocatedTool, names: _Names) -> Iterator[Diagnostic]:
    """Yield the placeholders of ``argv`` and ``stdin``, in which only ``{{ name }}`` has a meaning."""
    nodes = [*strings(tool.node_at("backend", "shell", "argv")), *strings(tool.node_at("backend", "shell", "stdin"))]
    used = _used(nodes) | {
        str(node.value) for node in _when(tool.node_at("backend", "shell", "argv")) if isinstance(node, Scalar)
    }
    for node, value in nodes:
        text = LocatedText(value, tool.source, node, node.span)
        for match in _spellings(value):
            kind = match.lastgroup or ""
            is_variable = kind in {"dollar", "dollar_brace"} and match[kind] not in _STANDARD_VARIABLES
            found = names.find(match[kind], any_case=is_variable) if kind != "braces" else None
            if found is None or found.kind != "parameter" or kind == "dollar_braces":
                continue
            is_argument = kind in {"dollar", "dollar_brace"} and match[kind].startswith("ARG_")
            if is_argument or found.name not in used:
                yield _literal(text, match, f"{{{{ {found.name} }}}}")


def _spellings(template: str) -> Iterator[re.Match[str]]:
    """Yield the spellings in a template, except in its expressions: ``{{ '{name}' }}`` is the literal ``{name}``."""
    ranges = expression_ranges(template)
    start, end = next(ranges, (len(template), len(template)))
    for match in _SPELLINGS.finditer(template):
        while end <= match.start() and end < len(template):
            start, end = next(ranges, (len(template), len(template)))
        if match.start() <= start:
            yield match


def _when(node: Node | None) -> Iterator[Node]:
    for item in node.items if isinstance(node, Sequence) else ():
        if isinstance(item, Mapping) and (when := item.get("when")) is not None:
            yield when


def _used(nodes: list[tuple[Scalar, str]]) -> set[str]:
    return {name for _, text in nodes for name in re.findall(r"\{\{\s*+(\w++)", text)}


def _http(tool: LocatedTool, names: _Names) -> Iterator[Diagnostic]:
    """Yield the placeholders of a request, in which only ``{{ name }}`` and ``{{ secrets.NAME }}`` have a meaning."""
    everything = _used(strings(tool.node_at("backend", "http")))
    url = tool.node_at("backend", "http", "url")
    if isinstance(url, Scalar) and isinstance(url.value, str):
        for match in _spellings(url.value):
            if found := _in_url(match, names, everything):
                text = LocatedText(url.value, tool.source, url, url.span)
                yield _in_request(text, match, found, in_url=True)
    credentials = {place.scalar.span for place in literal_credentials(tool)}  # reported as such
    for key in ("query", "headers", "auth", "body"):
        values = [each for each in _values(tool.node_at("backend", "http", key)) if each[0].span not in credentials]
        sent = _used([(node, text) for node, text, _ in values]) if key in {"body", "query"} else set[str]()
        for node, value, is_operator in values:
            is_graphql = "{" in value and bool(_GRAPHQL.match(value))
            for match in _spellings(value):
                found = _in_value(match, names)
                kind = match.lastgroup
                is_text = is_graphql and not (value.lstrip("{ \n").startswith('"') and _is_quoted(match))
                if found is None or (is_text and kind in {"brace", "dollar"}):
                    continue
                is_ambiguous = kind in _UNCERTAIN or (kind == "dollar" and (is_operator or _is_quoted(match)))
                if is_ambiguous and found.name in everything:
                    continue
                if kind == "brace" and match[0] != value and found.name in sent:  # a template for the service
                    continue
                yield _in_request(LocatedText(value, tool.source, node, node.span), match, found, in_url=False)


def _values(node: Node | None) -> list[tuple[Scalar, str, bool]]:
    """Return the strings below ``node``, and whether each is below a key such as ``$group`` (of MongoDB)."""
    found: list[tuple[Scalar, str, bool]] = []
    pending = [(node, False)] if node is not None else []
    while pending:
        each, below = pending.pop()
        if isinstance(each, Scalar):
            if isinstance(each.value, str):
                found.append((each, each.value, below))
        elif isinstance(each, Mapping):
            pending += [(entry.value, below or entry.key.startswith("$")) for entry in reversed(each.entries)]
        else:
            pending += [(item, below) for item in reversed(each.items)]
    return found


def _in_url(match: re.Match[str], names: _Names, used: set[str]) -> _Name | None:
    kind = match.lastgroup or ""
    before = match.string[max(0, match.start() - 1) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    is_segment = before in {"/", "="} and after in {"", "/", "?", "&", "."}
    if kind in {"braces", "dollar_braces"} or (kind == "dollar" and not is_segment):
        return None
    found = names.find(match[kind], any_case=kind == "dollar_brace")
    is_system = kind == "dollar" and before == "/" and match[kind] in _ODATA
    if found is not None and (kind in _UNCERTAIN or is_system) and found.name in used:
        return None
    return found


def _in_value(match: re.Match[str], names: _Names) -> _Name | None:
    kind = match.lastgroup or ""
    if kind in {"colon", "braces"}:
        return None
    found = names.find(match[kind], any_case=kind == "dollar_brace")
    if kind == "dollar_braces":  # the placeholder is replaced, but the '$' before it stays
        return found if found is not None and found.kind == "secret" else None
    if kind == "dollar":
        is_end = found is not None and match.end() == len(match.string)
        scheme = match.string[: match.start()].rstrip(" ") if is_end else "-"
        return found if scheme in {"", "Basic", "Bearer", "Token"} or _is_quoted(match) else None
    return found


def _is_quoted(match: re.Match[str]) -> bool:
    """Return whether a placeholder is a whole string of JSON, as in ``{"name": "$name"}``."""
    return match.string[match.start() - 1 : match.start()] == '"' == match.string[match.end() : match.end() + 1]


def _in_request(text: LocatedText, match: re.Match[str], found: _Name, *, in_url: bool) -> Diagnostic:
    if found.kind == "env":
        hint = "write the value itself: variables of the sandbox are not replaced in a request"
        return _literal(text, match, "", hint)
    if match.lastgroup == "statement":
        hint = f"a template has no statements: write {{{{ {found.name} }}}}, which inserts the whole value"
        return _literal(text, match, "", hint)
    spelling = f"{{{{ {'secrets.' if found.kind == 'secret' else ''}{found.name} }}}}"
    if not in_url:
        return _literal(text, match, spelling)
    if found.kind == "secret":
        return _literal(text, match, "", f"a URL cannot contain a secret: use auth, headers or query with {spelling}")
    before = text.text[: match.start()]
    if "?" in before:
        key = before.rpartition("?")[2].rpartition("&")[2].rstrip("=")
        return _literal(text, match, "", f'remove it from the URL, and write query: {{{key}: "{spelling}"}}')
    return _literal(text, match, spelling)
