"""What a plugin tells before it answers: as fast as somebody reads, without secrets, and bounded."""

from __future__ import annotations

from toolc.backends.plugin_lines import Update
from toolc.guest.pace import FREE_REPORTS
from toolc.result import Content, Image, Text
from toolc.runtime.plugin_updates import PluginUpdates
from toolc.runtime.redaction import Redactor

Told = list[tuple[float | None, str, tuple[Content, ...]]]


def updates(told: Told, limit: int = 1000) -> PluginUpdates:
    return PluginUpdates(limit, Redactor({"KEY": "correct-horse"}), lambda *said: told.append(said))


def test_words_are_cut_and_content_is_without_secrets() -> None:
    told: Told = []
    shown: tuple[Content, ...] = (Text("correct-horse"), Image(b"GIF89a correct-horse", "image/gif"))
    updates(told).take(Update(40, "x" * 2000, shown))
    assert told == [
        (40, "x" * 1000, (Text("[secret KEY]"), Image(b"GIF89a [secret KEY]", "image/gif"))),
    ]


def test_a_flood_of_reports_is_thinned_and_the_last_is_told() -> None:
    told: Told = []
    made = updates(told)
    for number in range(5 * FREE_REPORTS):
        made.take(Update(message=str(number)))
    assert told[FREE_REPORTS - 1] == (None, str(FREE_REPORTS - 1), ())
    assert len(told) < 3 * FREE_REPORTS
    made.finish()
    made.finish()
    assert [message for _, message, _ in told].count(str(5 * FREE_REPORTS - 1)) == 1


def test_no_more_content_is_told_than_the_limit_and_reports_go_on() -> None:
    told: Told = []
    made = updates(told, limit=500)
    picture = Image(b"GIF89a" + bytes(294), "image/gif")
    for number in range(3):
        made.take(Update(message=str(number), content=(picture,)))
    assert told == [(None, "0", (picture,)), (None, "1", ()), (None, "2", ())]
