"""What a call tells of how far it is: as fast as somebody reads, without secrets, and bounded."""

from __future__ import annotations

from toolc.guest.flow_control import FREE_REPORTS
from toolc.model.result import Content, Image, Text
from toolc.runtime.output.progress import LEAST, Reports
from toolc.runtime.secrets.redaction import Redactor

Told = list[tuple[float | None, str, tuple[Content, ...]]]


def reports(told: Told, limit: int = 1000) -> Reports:
    return Reports(limit, Redactor({"KEY": "correct-horse"}), lambda *said: told.append(said))


def test_words_are_cut_and_content_is_without_secrets() -> None:
    told: Told = []
    shown: tuple[Content, ...] = (Text("correct-horse"), Image(b"GIF89a correct-horse", "image/gif"))
    reports(told).take(40, "x" * 2000, shown)
    assert told == [(40, "x" * 1000, (Text("[secret KEY]"), Image(b"GIF89a [secret KEY]", "image/gif")))]


def test_no_piece_of_a_secret_stands_where_words_are_cut() -> None:
    told: Told = []
    made = reports(told)
    for before in (980, 990, 1000):
        made.take(40, "x" * before + "correct-horse" + "y" * 50)
    # Cut before it came here.
    made.take(40, "x" * 990 + "correct-ho")
    assert [message for _, message, _ in told] == [
        "x" * 980 + "[secret KEY]" + "y" * 8,
        "x" * 990 + "[secret KE",
        "x" * 1000,
        "x" * 990,
    ]


def test_a_flood_of_reports_is_thinned_and_the_last_is_told() -> None:
    told: Told = []
    made = reports(told)
    for number in range(5 * FREE_REPORTS):
        made.take(None, str(number))
    assert told[FREE_REPORTS - 1] == (None, str(FREE_REPORTS - 1), ())
    assert len(told) < 3 * FREE_REPORTS
    made.finish()
    made.finish()
    assert [message for _, message, _ in told].count(str(5 * FREE_REPORTS - 1)) == 1


def test_no_more_content_is_told_than_the_limit_and_reports_go_on() -> None:
    told: Told = []
    made = reports(told, limit=500)
    picture = Image(b"GIF89a" + bytes(294), "image/gif")
    for number in range(3):
        made.take(None, str(number), (picture,))
    assert told == [(None, "0", (picture,)), (None, "1", ()), (None, "2", ())]


def test_content_that_does_not_fit_and_says_nothing_else_is_left_out() -> None:
    told: Told = []
    made = reports(told, limit=10 * LEAST)
    for _ in range(100):
        made.take(None, "", (Text(""),))
    made.finish()
    assert told == [(None, "", (Text(""),))] * 10


def test_reports_whose_content_does_not_fit_are_thinned_too() -> None:
    told: Told = []
    made = reports(told, limit=0)
    for number in range(5 * FREE_REPORTS):
        made.take(1, str(number), (Text("shown"),))
    made.finish()
    assert len(told) < 3 * FREE_REPORTS
    assert told[-1] == (1, str(5 * FREE_REPORTS - 1), ())
