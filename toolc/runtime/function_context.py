"""``ctx`` of a function in the host's process: what a sandboxed tool's ``ctx`` has, and whether to stop."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, cast

from toolc.backends.content import MalformedError, read_content
from toolc.guest.context import Context, ToolError, Updates
from toolc.guest.context import content_of as blocks_of
from toolc.model.json_schema import JsonValue
from toolc.runtime.own_blocks import shown
from toolc.runtime.reports import UpdateSink

NO_PIPE: Final = -1
"""The descriptor of what is told in this process."""


class HostUpdates(Updates):
    """Passes on what a function tells; both sinks do nothing once its call is over."""

    def __init__(self, text: Callable[[str], None], update: UpdateSink) -> None:
        super().__init__(NO_PIPE)
        self._text = text
        self._update = update

    def text(self, words: str) -> None:
        """Tell a piece of text."""
        self._text(words)

    def blocks(self, blocks: list[dict[str, object]], percent: float | None = None, message: str = "") -> None:
        """Tell content blocks, checked as a result's are, and how far the work is. Raises ``ToolError``."""
        try:
            content = read_content(cast("JsonValue", blocks))
        except MalformedError as error:
            raise ToolError("serialization", f"the content of a report: {error}") from None
        self._update(percent, message, content)


class FunctionContext(Context):
    """The call as the function may see it."""

    def __init__(self, call_id: str, updates: HostUpdates, is_over: Callable[[], bool]) -> None:
        super().__init__(call_id, NO_PIPE, updates)
        self._is_over = is_over

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more: the call was cancelled, or its time is up."""
        return self._is_over()

    def progress(self, percent: float | None, message: str = "", content: object = None) -> None:
        """Tell the caller how far the work is: 0 to 100, or None where that is unknown, and a few words.

        ``content`` is what there is to show already, as ``result`` takes it, or of toolc's own blocks.
        """
        blocks = [] if content is None else blocks_of(shown(content))
        percent = None if percent is None else min(100.0, max(0.0, float(percent)))
        self._updates.blocks(blocks, percent, str(message)[:1000])

    def log(self, text: object) -> None:
        """Write to the logger ``toolc.function``: for the tool's author, never for the model."""
        logging.getLogger("toolc.function").info("%s: %s", self.call_id, text)
