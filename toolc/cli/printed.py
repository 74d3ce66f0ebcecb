"""A result as ``toolc run`` prints it: its content on stdout, and beside it what is for the person."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from toolc.cli.common import note
from toolc.cli.live import write
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.model.result import Content, ToolResult


def print_content(result: ToolResult, shown: str, noted: str) -> None:
    """The content, of whose text ``shown`` stands on stdout already, and of stderr's ``noted`` on the terminal."""
    from toolc.model.result import Audio, Image, Text  # start-up time

    terminal = sys.stdout.isatty()
    for block in _joined(result.content) if shown else result.content:
        if isinstance(block, Text):
            text = _not_shown(block.text, shown)
            text = _not_noted(text, noted) if terminal else text
            ended = not terminal or (text or block.text).endswith("\n")
            write(text if ended else text + "\n", sys.stdout)
        elif terminal:
            what = {Image: "an image", Audio: "a recording"}.get(type(block), "a file")
            note(f"{what} of {len(block.data)} bytes ({block.mime_type}); to keep it write: toolc run ... > FILE")
        else:
            sys.stdout.buffer.write(block.data)
    sys.stdout.buffer.flush()


def _joined(content: tuple[Content, ...]) -> tuple[Content, ...]:
    """``content`` with its texts as one, as they were shown."""
    from toolc.model.result import Text  # start-up time

    texts = [block.text for block in content if isinstance(block, Text)]
    return (Text("".join(texts)), *(block for block in content if not isinstance(block, Text)))


def _not_shown(text: str, shown: str) -> str:
    """What of a result's text is still to be printed after ``shown``."""
    from toolc.runtime.sandboxed.plugin_description import STDOUT_SO_FAR  # start-up time

    if text.startswith(shown):
        return text.removeprefix(shown)
    gap = "" if shown.endswith("\n") else "\n"
    message, _, said = text.partition(STDOUT_SO_FAR)
    # A call that was stopped says why first; then comes what stands on the screen already.
    if said.startswith(shown.rstrip()):
        return f"{gap}{message}{said.removeprefix(shown.rstrip())}"
    return f"{gap}{text}"


def _not_noted(text: str, noted: str) -> str:
    """``text`` without what a failure repeats of stderr, as far as that stands on the screen already."""
    said = noted.rstrip()
    if not said:
        return text
    rest = re.sub(rf"(\n?\[stderr(?: so far)?\]\n|\A){re.escape(said)}", "", text, count=1)
    return rest.removeprefix("\n") if noted.endswith("\n") else rest


def print_rest(result: ToolResult, noted: str) -> None:
    """What is for the person and not for a model: what the tool printed, that it failed, which engine ran it.

    Of stderr ``noted`` stands on the terminal already.
    """
    for stream, known in (("stdout", ""), ("stderr", noted)):
        said = result.details.get(stream)
        if isinstance(said, str) and said and not (said == known and said.endswith("\n")):
            text = said.removeprefix(known)
            text = escape_for_terminal(text) if sys.stderr.isatty() else text
            print(text, end="" if text.endswith("\n") else "\n", file=sys.stderr)
    if result.error:
        # A terminal shows why already, as the content; stdout that goes elsewhere leaves nothing to see.
        why = "" if sys.stdout.isatty() else f": {result.error.message}"
        note(escape_for_terminal(f"the tool failed ({result.error.kind}){why}"))
    notes = result.details.get("engine_notes")
    if isinstance(notes, list):
        note(f"ran with the engine {result.details['engine']!r} ({' '.join(map(str, notes))})")


def print_timing(result: ToolResult, load_ms: float) -> None:
    """Where the time went: ``load`` is reading the spec or registry, the rest is the call's own."""
    measured = result.details.get("timing_ms")
    rows = [("load", load_ms)]
    if isinstance(measured, dict):
        rows += [(name, value) for name, value in measured.items() if isinstance(value, float | int)]
    rows.append(("total", sum(value for _, value in rows)))
    for name, value in rows:
        print(f"{name:<8}{value:>10.1f} ms", file=sys.stderr)
