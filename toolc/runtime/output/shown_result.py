"""Turn the text of a result into what a terminal would show, so that a model reads no control sequences."""

from typing import Final

from toolc.backends.terminal_text import CONTROL, shown_text
from toolc.dataclass import replace
from toolc.model.result import Outcome, Text, ToolFailure, ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import valid_unicode
from toolc.runtime.output.truncation import truncate_text

_NO_OUTCOME: Final = Outcome(ending="exited")


def show_result(result: ToolResult, spec: ToolSpec, outcome: Outcome = _NO_OUTCOME) -> ToolResult:
    """Return ``result`` with texts in valid Unicode and, unless the spec has ``result.raw``, as a terminal shows them.

    ``details.raw`` has the text as it came, if it differs. ``outcome`` has streams that the text may contain.
    """
    given = tuple(Text(valid_unicode(each.text)) if isinstance(each, Text) else each for each in result.content)
    error = result.error and ToolFailure(result.error.kind, valid_unicode(result.error.message))
    is_plain = not (CONTROL.search(result.text) or (error and CONTROL.search(error.message)))
    if spec.result.raw or (is_plain and not outcome.stdout.shown and not outcome.stderr.shown):
        return replace(result, content=given, error=error)
    content = tuple(Text(shown_text(each.text)) if isinstance(each, Text) else each for each in given)
    shown = replace(result, content=content, error=error and ToolFailure(error.kind, shown_text(error.message)))
    streams = [each for each in (outcome.stdout, outcome.stderr) if each.shown and each.text() in result.text]
    raw = "".join(each.raw_text() for each in streams) or (
        replace(result, content=given).text if content != given else ""
    )
    if not raw:
        return shown
    return replace(shown, details=shown.details | {"raw": truncate_text(raw, spec.sandbox.limits.output_bytes)})
