"""The updates of a Python tool: one complete line each, limited in length."""

import json
import os
import threading
from collections.abc import Callable

from toolc.guest.context import MAX_TEXT, Updates


def lines(write: Callable[[Updates], None]) -> list[dict[str, object]]:
    """Return what ``write`` sends. It is read concurrently, as it can be more than a pipe holds."""
    reader, writer = os.pipe()

    def work() -> None:
        write(Updates(writer))
        os.close(writer)

    thread = threading.Thread(target=work)
    thread.start()
    with os.fdopen(reader, "rb") as pipe:
        found = [json.loads(line) for line in pipe]
    thread.join()
    return found


def test_a_long_text_is_sent_in_several_lines() -> None:
    text = "ä\n" * MAX_TEXT + "end"
    texts = [str(each["text"]) for each in lines(lambda updates: updates.text(text))]
    assert "".join(texts) == text
    assert max(map(len, texts)) == MAX_TEXT


def test_blocks_are_sent_with_the_progress() -> None:
    block: dict[str, object] = {"type": "text", "text": "a"}
    assert lines(lambda updates: updates.blocks([block], 40.0, "half")) == [
        {"content": [block], "percent": 40.0, "message": "half"}
    ]


def test_an_unpaired_surrogate_is_replaced() -> None:
    assert lines(lambda updates: updates.text("a\ud800")) == [{"text": "a\ufffd"}]


def test_lines_of_several_threads_are_not_mixed() -> None:
    blocks: list[dict[str, object]] = [{"data": "x" * 200_000}]

    def write(updates: Updates) -> None:
        threads = [threading.Thread(target=updates.blocks, args=(blocks,)) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    assert lines(write) == [{"content": blocks, "percent": None, "message": ""}] * 8
