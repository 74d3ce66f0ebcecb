"""Print the result of a call: content, errors and timing."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from toolc.cli.common import note
from toolc.cli.output.live import write
from toolc.model.result import Audio, Image, Text
from toolc.reporters.text import escape_for_terminal
from toolc.runtime.sandboxed.interruption import STDOUT_SO_FAR

if TYPE_CHECKING:
    from toolc.model.result import Content, ToolResult


def print_content(result: ToolResult, shown: str, noted: str) -> None:
    """Print the content without what is already on the screen: ``shown`` on stdout and ``noted`` on stderr."""
    terminal = sys.stdout.isatty()
    for block in _joined(result.content) if shown else result.content:
        if isinstance(block, Text):
            text = _remaining_text(block.text, shown)
            text = _without_stderr(text, noted) if terminal else text
            ended = not (text or block.text) or (text or block.text).endswith("\n")
            write(text if ended else text + "\n", sys.stdout)
        elif terminal:
            what = {Image: "an image", Audio: "a recording"}.get(type(block), "a file")
            note(f"{what} of {len(block.data)} bytes ({block.mime_type}); to save it: toolc run ... > FILE")
        else:
            sys.stdout.buffer.write(block.data)
    sys.stdout.buffer.flush()


def _joined(content: tuple[Content, ...]) -> tuple[Content, ...]:
    """Return ``content`` with its texts joined into one, as they were shown."""
    texts = [block.text for block in content if isinstance(block, Text)]
    return (Text("".join(texts)), *(block for block in content if not isinstance(block, Text)))


def _remaining_text(text: str, shown: str) -> str:
    """Return the part of a result's text that has not been printed yet. ``shown`` is the text on the screen."""
    if text.startswith(shown):
        return text.removeprefix(shown)
    gap = "" if shown.endswith("\n") else "\n"
    message, _, stdout = text.partition(STDOUT_SO_FAR)
    # The text of a stopped call starts with the reason, followed by the output that is already on the screen.
    if stdout.startswith(shown.rstrip()):
        return f"{gap}{message}{stdout.removeprefix(shown.rstrip())}"
    return f"{gap}{text}"


def _without_stderr(text: str, noted: str) -> str:
    """Return the text of a failure without its stderr, if ``noted`` shows that it is already on the screen."""
    stderr = noted.rstrip()
    if not stderr:
        return text
    rest = re.sub(rf"(\n?\[stderr(?: so far)?\]\n|\A){re.escape(stderr)}", "", text, count=1)
    return rest.removeprefix("\n") if noted.endswith("\n") else rest


def print_details(result: ToolResult, noted: str) -> None:
    """Print the tool's output, its failure and the engine on stderr, except ``noted``, which is already printed."""
    # What a function printed is its result if it returned nothing.
    streams = (("stderr", noted),) if result.details.get("returned_nothing") else (("stdout", ""), ("stderr", noted))
    for stream, known in streams:
        output = result.details.get(stream)
        if isinstance(output, str) and output and not (output == known and output.endswith("\n")):
            text = output.removeprefix(known)
            text = escape_for_terminal(text) if sys.stderr.isatty() else text
            print(text, end="" if text.endswith("\n") else "\n", file=sys.stderr)
    if result.error:
        # The content is on stdout already, and usually contains the reason.
        is_shown = any(isinstance(each, Text) and result.error.message in each.text for each in result.content)
        why = "" if is_shown or sys.stdout.isatty() else f": {result.error.message}"
        file, line = result.details.get("file"), result.details.get("line")
        place = f" at {file}, line {line}" if file and line else ""
        note(escape_for_terminal(f"the tool failed ({result.error.kind}){place}{why}"))
    notes = result.details.get("engine_notes")
    if isinstance(notes, list):
        note(f"ran with the engine {result.details['engine']!r} ({' '.join(map(str, notes))})")


def print_timing(result: ToolResult, load_ms: float) -> None:
    """Print the durations. ``load`` is the time to read the spec or registry. The other phases belong to the call."""
    measured = result.details.get("timing_ms")
    rows = [("load", load_ms)]
    if isinstance(measured, dict):
        rows += [(name, value) for name, value in measured.items() if isinstance(value, float | int)]
    rows.append(("total", sum(value for _, value in rows)))
    for name, value in rows:
        print(f"{name:<8}{value:>10.2f} ms", file=sys.stderr)
