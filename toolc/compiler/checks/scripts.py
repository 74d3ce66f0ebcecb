"""The shell script of a tool, with its text, its positions in the spec file, and edits of that file."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.text_analysis.code_arguments import SHELLS
from toolc.compiler.text_analysis.shell_script import ShellScript, read_script
from toolc.dataclass import dataclass
from toolc.document.edits import is_toml, text_at
from toolc.document.nodes import Scalar
from toolc.model.diagnostics import Edit
from toolc.model.source import SourceText, Span
from toolc.model.spec.code_backends import Script, ShellBackend

MAX_FINDINGS: Final = 20
"""The maximum number of findings of one check in one script or text. Further findings usually have the same cause."""

_SPECIAL: Final = frozenset("{}[],#:&*!|>%@`")
"""Characters that may end or change a plain scalar of YAML."""

# Three checks read the script of a tool, one after the other.
_read_script: Final = lru_cache(maxsize=4)(read_script)


@dataclass(frozen=True, slots=True)
class LocatedText:
    """A string of a spec, with its ``text``, the file, and the node that holds it (None if it is in another file).

    ``node_span`` is the position to report if a part of the text cannot be located.
    """

    text: str
    source: SourceText
    node: Scalar | None
    node_span: Span

    def span(self, start: int, end: int) -> Span:
        """Return the position of ``start:end`` of the text, or of the whole text if it is written in another way."""
        written = self.text[start:end].split("\n", 1)[0]
        if self.node is None or not written:
            return self.node_span
        return self.source.locate(self.node_span, written, self.text.count(written, 0, start))

    def replace(self, start: int, end: int, text: str) -> Edit | None:
        """Return the edit that replaces ``start:end`` of the text, with the quotes that the file uses.

        Return None if the string has escapes or variables, because the right edit is then not certain.
        """
        node = self.node
        if node is None or node.vars:
            return None
        raw, span, written = text_at(self.source, self.node_span), self.span(start, end), self.text[start:end]
        if not raw or self.source.between(span) != written or "\n" in written:
            return None
        quote = raw[0]
        if node.plain and not is_toml(self.source) and quote not in "|>":
            return self._replace_plain(raw, start, end, text, span)
        if quote == '"':
            return Edit(span, text.replace("\\", "\\\\").replace('"', '\\"'))
        if quote == "'" and is_toml(self.source):
            return None if "'" in text and not raw.startswith("'''") else Edit(span, text)
        return Edit(span, text.replace("'", "''") if quote == "'" else text)

    def _replace_plain(self, raw: str, start: int, end: int, text: str, span: Span) -> Edit | None:
        """Return the edit of an unquoted scalar. It adds quotes if the new text needs them."""
        if start and _SPECIAL.isdisjoint(set(text).difference(self.text[start:end])):
            return Edit(span, text)
        if raw != self.text:
            return None
        value = self.text[:start] + text + self.text[end:]
        is_simple = '"' not in value and "\\" not in value
        return Edit(self.node_span, f'"{value}"' if is_simple else "'" + value.replace("'", "''") + "'")


@dataclass(frozen=True, slots=True)
class ScriptText(LocatedText):
    """A shell script of a tool."""

    @property
    def script(self) -> ShellScript:
        """The commands of the script."""
        return _read_script(self.text)


def shell_script(tool: LocatedTool) -> ScriptText | None:
    """Return the shell script of a tool, or None if it has no script or a script in another language."""
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend) or not isinstance(backend.command, Script):
        return None
    return script_text(tool, backend.command) if is_shell(backend.command) else None


def script_text(tool: LocatedTool, script: Script) -> ScriptText:
    """Return the script of a tool in any language, with its position."""
    node = tool.node_at("backend", "shell", "script")
    route = ("backend", "shell", "script" if node is not None else "file")
    holder = node if isinstance(node, Scalar) and node.span.path == tool.source.path else None
    inline = holder if holder is not None and holder.value == script.text else None
    return ScriptText(script.text, tool.source, inline, tool.span(*route))


def is_shell(script: Script) -> bool:
    """Return whether the interpreter of a script is a shell with POSIX syntax."""
    names = (word.rpartition("/")[2] for word in script.interpreter)
    return next((name for name in names if name != "env"), "") in SHELLS - {"fish"}
