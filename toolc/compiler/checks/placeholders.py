"""Check TC414: placeholders that stay literal, because their form is not replaced in this place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.checks.credentials import literal_credentials
from toolc.compiler.checks.helpers import used_arguments
from toolc.compiler.checks.script_arguments import assigned_variables
from toolc.compiler.checks.scripts import MAX_FINDINGS, LocatedText, ScriptText, is_shell, script_text
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.templates.parse import expression_ranges
from toolc.compiler.text_analysis.python_syntax import syntax_tree
from toolc.compiler.text_analysis.shell_script import RegionKind
from toolc.dataclass import dataclass
from toolc.document.edits import fix
from toolc.document.nodes import strings
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.spec.code_backends import Script, ShellBackend
from toolc.model.text import lazy_re

_SPELLINGS: Final = lazy_re(
    r"""(?x)
      \$?\{\{[ \t]*+(?P<secrets>secrets\.)?+(?P<braces>[A-Za-z_]\w*+)(?P<keys>(?:\.\w++)*+(?:\[[^\[\]{}\n]{0,60}\])?+)
      [ \t]*+(?:\|[^{}\n]{0,100})?\}\}
    | \$\{(?P<dollar_brace>[A-Za-z_]\w*+)\}
    | \$(?P<dollar>[A-Za-z_]\w*+)
    | (?<![{$\#])\{(?P<brace>[A-Za-z_]\w*+)\}(?!\})
    | (?<![<\w])<(?P<angle>[A-Za-z_]\w*+)>
    """
)
"""The spellings ``{{ x }}``, ``${x}``, ``$x``, ``{x}`` and ``<x>``."""

_FROM_ENVIRONMENT: Final = {
    "python": 'os.environ["ARG_{}"]', "node": "process.env.ARG_{}", "ruby": 'ENV["ARG_{}"]', "perl": "$ENV{{ARG_{}}}",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A spelling of the declared parameter or secret ``name`` at ``start:end`` of a text.

    ``kind`` is a group of ``_SPELLINGS``, and ``inside`` the name as written. ``keys`` follow the name in braces.
    """

    text: LocatedText
    start: int
    end: int
    kind: str
    inside: str
    keys: str
    name: str
    is_secret: bool

    @property
    def written(self) -> str:
        """The whole spelling."""
        return self.text.text[self.start : self.end]

    @property
    def before(self) -> str:
        """The character before the spelling, or an empty string."""
        return self.text.text[max(0, self.start - 1) : self.start]

    @property
    def after(self) -> str:
        """The character after the spelling, or an empty string."""
        return self.text.text[self.end : self.end + 1]

    def literal(self, spelling: str, hint: str = "", replacement: str = "") -> Diagnostic:
        """Return the finding. ``spelling`` is the valid spelling, if there is one. The fix writes ``replacement``."""
        edit = self.text.replace(self.start, self.end, replacement or spelling)
        message = f"'{self.written[:80]}' is not replaced here and stays unchanged"
        made = fix(f"write {spelling}", edit) if spelling else None
        span = self.text.span(self.start, self.end)
        return Diagnostic(codes.MISSPELLED_PLACEHOLDER, message, span, hint or f"write {spelling}", made)

    def in_code(self, hint: str, replacement: str = "") -> Diagnostic:
        """Return the finding for a spelling in code that is not a shell script."""
        edit = self.text.replace(self.start, self.end, replacement)
        message = f"'{self.written[:80]}' stays literal, because code is not a template"
        made = fix(f"write {replacement}", edit) if replacement else None
        return Diagnostic(codes.PLACEHOLDER_IN_CODE, message, self.text.span(self.start, self.end), hint, made)


@tool_check("TC414", needs={"backend", "parameters", "sandbox"})
def check_placeholder_spellings(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each placeholder that stays literal, because its form belongs to another language or place."""
    backend = tool.spec.backend
    if backend.tag == "http":
        yield from islice(_request(tool), MAX_FINDINGS)
    elif backend.tag == "python":
        for text in _texts(tool, "python", "code"):
            yield from islice(_python(tool, text), MAX_FINDINGS)
    elif isinstance(backend, ShellBackend) and isinstance(backend.command, Script):
        script = script_text(tool, backend.command)
        found = _script(tool, script) if is_shell(backend.command) else _code(tool, script, backend.command)
        yield from islice(found, MAX_FINDINGS)
    elif isinstance(backend, ShellBackend):
        yield from islice(_command(tool), MAX_FINDINGS)


def _texts(tool: LocatedTool, *keys: str) -> Iterator[LocatedText]:
    """Yield every string at or below a key of the backend."""
    for node, value in strings(tool.node_at("backend", *keys)):
        yield LocatedText(value, tool.source, node, node.span)


def _spellings(tool: LocatedTool, text: LocatedText) -> Iterator[_Spelling]:
    """Yield the spellings of declared parameters and secrets in a text."""
    secrets = {each.name for each in tool.spec.sandbox.secrets}
    for match in _SPELLINGS.finditer(text.text):
        kind = "braces" if match["braces"] else match.lastgroup or ""
        name = match[kind].removeprefix("ARG_")
        is_secret = bool(match["secrets"]) or name not in tool.spec.all_parameters.properties
        if is_secret and (name := match[kind]) not in secrets:
            continue
        yield _Spelling(text, match.start(), match.end(), kind, match[kind], match["keys"] or "", name, is_secret)


def _script(tool: LocatedTool, script: ScriptText) -> Iterator[Diagnostic]:
    """Yield the placeholders of a shell script that the shell does not replace with an argument."""
    spellings = [*_spellings(tool, script)]
    if not spellings:
        return
    assigned = assigned_variables(script)
    sandbox = tool.spec.sandbox
    others = {*assigned, *(each.name for each in sandbox.env), *(each.name for each in sandbox.secrets)}
    unset = {each.start for each in script.script.expansions if each.name not in others and "*" not in assigned}
    used = {*re.findall(r"ARG_(\w++)", script.text)}
    for each in spellings:
        place = script.script.kind_at(each.start)
        is_text = place in {"single", "literal"} or each.is_secret
        if place != "comment" and (each.kind == "braces" or not (is_text or _is_other_syntax(each, unset, used))):
            used.add(each.name)
            yield _in_script(tool, each, place)


def _is_other_syntax(each: _Spelling, unset: AbstractSet[int], used: AbstractSet[str]) -> bool:
    """Return whether ``$x``, ``{x}`` or ``<x>`` in a script may have another meaning than a parameter.

    ``unset`` are the positions of variables that nothing sets, and ``used`` the parameters that the script uses.
    """
    if each.kind in {"dollar", "dollar_brace"}:
        is_external = each.name.isupper() or each.name.endswith("_proxy") or each.inside != each.name
        return is_external or each.start not in unset
    is_descriptor = each.kind == "brace" and each.after in {"<", ">"}
    is_element = each.kind == "angle" and f"</{each.name}>" in each.text.text
    return is_descriptor or is_element or each.name in used


def _in_script(tool: LocatedTool, each: _Spelling, place: RegionKind) -> Diagnostic:
    """Return the finding for a placeholder in a script, which the shell reads as ``place``."""
    variable = each.name if each.is_secret else f"ARG_{each.name}"
    exposure = next((secret.expose for secret in tool.spec.sandbox.secrets if secret.name == each.name), "")
    if each.is_secret and exposure == "broker":
        return each.literal("", f'a script cannot use this secret; set expose: env and write "${variable}"')
    if each.is_secret and exposure == "file":
        return each.literal("", f'the secret is in a file; write $(cat "${variable}_FILE")')
    if place == "literal":
        return each.literal("", f"write ${variable}, and the delimiter of the here-document without quotes")
    if each.keys:
        hint = f"${variable} is the whole value, and JSON if it is an object or list; read the part e.g. with jq"
        return each.literal("", hint)
    plain = f"${{{variable}}}" if each.after.isalnum() or each.after in {"_", "["} else f"${variable}"
    if place in {"double", "heredoc"}:
        return each.literal(plain)
    return each.literal(f'"{plain}"', replacement=f"'\"{plain}\"'" if place == "single" else "")


def _code(tool: LocatedTool, script: ScriptText, command: Script) -> Iterator[Diagnostic]:
    """Yield each ``{{ name }}`` in a script in another language, where braces may have a meaning."""
    words = [word.rpartition("/")[2] for word in command.interpreter]
    reads = next((form for name, form in _FROM_ENVIRONMENT.items() if any(word.startswith(name) for word in words)), "")
    for each in _in_braces(tool, script):
        spelling = reads.format(each.name) if reads else f"the environment variable ARG_{each.name}"
        yield each.in_code(f"read the argument with {spelling}")


def _in_braces(tool: LocatedTool, text: LocatedText) -> Iterator[_Spelling]:
    """Yield each ``{{ name }}`` of a parameter in code."""
    for each in _spellings(tool, text):
        if each.kind == "braces" and not each.is_secret and not each.keys.startswith("."):
            yield each


def _python(tool: LocatedTool, text: LocatedText) -> Iterator[Diagnostic]:
    """Yield each ``{{ name }}`` in Python code in which nothing else renders templates or formats text."""
    code = text.text
    if "{{" not in code or re.search(r"\b(?:jinja2|Template|mustache|chevron)\b|\.format\(", code):
        return
    formatted = _formatted_lines(code)
    line, counted = 1, 0
    for each in _in_braces(tool, text):
        line, counted = line + code.count("\n", counted, each.start), each.start
        if line in formatted:
            continue
        before = code[code.rfind("\n", 0, each.start) + 1 : each.start]
        is_expression = {"'", '"', "#"}.isdisjoint(before) and each.after not in {"'", '"'} and not each.keys
        hint = f'write {each.name}, the argument of the function, or f"{{{each.name}}}" inside a text'
        yield each.in_code(hint, each.name if is_expression else "")


def _formatted_lines(code: str) -> frozenset[int]:
    """Return the lines of f-strings, in which a double brace is a literal brace."""
    try:
        tree = syntax_tree(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)


def _command(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Yield the placeholders of ``argv`` and ``stdin``, in which only ``{{ name }}`` has a meaning."""
    texts = (*_texts(tool, "shell", "argv"), *_texts(tool, "shell", "stdin"))
    found = [each for text in texts for each in _outside_expressions(tool, text)]
    used = used_arguments(tool.spec.backend) if found else ()
    for each in found:
        is_argument = each.inside != each.name and each.kind in {"dollar", "dollar_brace"}
        if not each.is_secret and (is_argument or each.name not in used):
            yield each.literal(f"{{{{ {each.name} }}}}")


def _outside_expressions(tool: LocatedTool, text: LocatedText) -> Iterator[_Spelling]:
    """Yield the spellings in a template outside its expressions, because ``{{ '{name}' }}`` is a literal ``{name}``."""
    spellings = [*_spellings(tool, text)]
    ranges = expression_ranges(text.text if spellings else "")
    start, end = next(ranges, (len(text.text), len(text.text)))
    for each in spellings:
        while end <= each.start and end < len(text.text):
            start, end = next(ranges, (len(text.text), len(text.text)))
        if each.start <= start and each.kind != "braces":
            yield each


def _request(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Yield the placeholders of a request, in which only ``{{ name }}`` and ``{{ secrets.NAME }}`` have a meaning."""
    backend = tool.spec.backend
    used = used_arguments(backend)
    segments = {each.name for each in backend.path} if backend.tag == "http" else set()
    credentials = {place.scalar.span for place in literal_credentials(tool)}  # reported as such
    for key in ("url", "path", "query", "headers", "cookies", "auth", "body"):
        in_url = key == "url"
        for text in _texts(tool, "http", key):
            for each in _outside_expressions(tool, text) if in_url or text.node_span not in credentials else ():
                is_segment = in_url and each.kind == "brace" and each.inside in segments
                if not is_segment and _is_meant(each, in_url=in_url, is_used=each.name in used):
                    yield _in_request(each, in_url=in_url)


def _is_meant(each: _Spelling, *, in_url: bool, is_used: bool) -> bool:
    """Return whether a spelling in a request is a placeholder, and not text for the service.

    Most spellings can also be text for the service, such as ``/Products/$count`` in OData, ``query($id: ID!)`` in
    GraphQL, or a template that the service fills in. They count only if the parameter is not used in another way.
    """
    is_whole = each.written == each.text.text
    if each.kind == "dollar":
        is_quoted = each.before == each.after == '"'
        if in_url:
            is_place = each.before in {"/", "="} and each.after in {"", "/", "?", "&", "."}
        else:
            scheme = each.text.text[: each.start].rstrip(" ") if not each.after else "-"
            is_place = is_quoted or scheme in {"", "Basic", "Bearer", "Token"}
        return is_place and not is_used
    return each.kind == "dollar_brace" or (each.kind == "brace" and (in_url or is_whole)) or not is_used


def _in_request(each: _Spelling, *, in_url: bool) -> Diagnostic:
    """Return the finding for a placeholder in a request."""
    spelling = f"{{{{ {'secrets.' if each.is_secret else ''}{each.name} }}}}"
    if in_url and each.is_secret:
        return each.literal("", f"a URL cannot contain a secret; use auth, headers or query with {spelling}")
    query = each.text.text[: each.start].rpartition("?")
    if in_url and query[1]:
        key = query[2].rpartition("&")[2].rstrip("=")
        return each.literal("", f'remove it from the URL, and write query: {{{key}: "{spelling}"}}')
    return each.literal(spelling)
