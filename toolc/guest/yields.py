"""What a generator yields: told while it runs, and its result if it returns none."""

from __future__ import annotations

from toolc.guest.blocks import block
from toolc.guest.context import Context
from toolc.guest.updates import Updates


class Yields:
    """Takes a generator's values one by one, and tells each at once."""

    def __init__(self, context: Context, updates: Updates) -> None:
        self._context = context
        self._updates = updates
        self._content: list[object] = []
        self._texts: list[str] = []

    def take(self, item: object) -> None:
        """One value: a pair ``percent, message`` is progress, text and pictures are content.

        Raises ``ToolError`` for anything else.
        """
        if isinstance(item, str):
            self._texts.append(item)
            self._updates.text(item)
        elif _is_progress(item):
            self._context.progress(*item)  # type: ignore[misc]
        elif (shown := block(item)) is not None:
            self._join_texts()
            self._content.append(item)
            self._updates.blocks([shown])
        else:
            raise self._context.error(
                "execution",
                "a generator yields text, a picture, or a pair (percent, message), and here is a %s; "
                "return data instead of yielding it" % type(item).__name__,
            )

    def result(self) -> object:
        """All that was yielded, texts in a row as one text; None if there was no content."""
        self._join_texts()
        return self._context.result(self._content) if self._content else None

    def _join_texts(self) -> None:
        if self._texts:
            self._content.append("".join(self._texts))
            self._texts = []


def _is_progress(item: object) -> bool:
    if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], str)):
        return False
    return item[0] is None or (isinstance(item[0], (int, float)) and not isinstance(item[0], bool))
