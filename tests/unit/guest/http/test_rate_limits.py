"""The wait that rate-limit headers of real servers request."""

import time
from email.utils import formatdate

import pytest
from http_responses import response

from toolc.guest.http.response_errors import is_rate_limited, retry_after


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("30", 30.0), (" 0 ", 0.0), ("1.5", 1.5), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("-5", None),
        ("soon", None), ("120 seconds", None), ("Wed, 32 Oct 2099 07:28:00 GMT", None), ("9" * 400, None),
        ("\xb2", None), ("", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(header: str, seconds: float | None) -> None:
    assert retry_after(response(status=429, retry_after=header)) == seconds


def test_a_date_is_converted_to_seconds() -> None:
    seconds = retry_after(response(status=503, retry_after=formatdate(time.time() + 7200, usegmt=True)))
    assert seconds is not None
    assert 3600 < seconds <= 7200


def test_an_exhausted_limit_has_its_reset_time() -> None:
    brave = response(status=429, x_ratelimit_remaining="0, 14523", x_ratelimit_reset="1, 1419704")
    assert retry_after(brave) == 1.0
    month = response(status=429, x_ratelimit_remaining="1, 0", x_ratelimit_reset="1, 1419704")
    assert retry_after(month) == 1419704.0
    both = response(status=429, x_ratelimit_remaining="0, 0", x_ratelimit_reset="1, 50")
    assert retry_after(both) == 50.0
    draft = response(status=429, ratelimit_remaining="0", ratelimit_reset="50")
    assert retry_after(draft) == 50.0
    assert retry_after(response(status=429, x_ratelimit_reset="7")) == 7.0


@pytest.mark.parametrize("unit", [1, 1000])
def test_a_reset_time_can_be_in_seconds_or_milliseconds(unit: int) -> None:
    at = str((int(time.time()) + 7200) * unit)
    seconds = retry_after(response(status=403, x_ratelimit_remaining="0", x_ratelimit_reset=at))
    assert seconds is not None
    assert 3600 < seconds <= 7200


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (404, {"x_ratelimit_remaining": "59", "x_ratelimit_reset": "50"}),
        (429, {"x_ratelimit_remaining": "none", "x_ratelimit_reset": "soon"}),
        (429, {"x_ratelimit_remaining": "0, 0"}),
    ],
)
def test_a_limit_that_is_not_exhausted_has_no_time(status: int, headers: dict[str, str]) -> None:
    assert retry_after(response(b"", status, **headers)) is None


def test_retry_after_has_priority_over_the_limits() -> None:
    assert retry_after(response(status=429, retry_after="0", x_ratelimit_remaining="0", x_ratelimit_reset="9")) == 0.0


@pytest.mark.parametrize(
    ("status", "headers", "limited"),
    [
        (429, {}, True), (403, {}, False), (403, {"x_ratelimit_remaining": "12"}, False),
        (403, {"x_ratelimit_remaining": "0"}, True), (403, {"retry_after": "60"}, True),
        (401, {"x_ratelimit_remaining": "0"}, False),
    ],
)  # fmt: skip
def test_a_403_can_be_a_rate_limit(status: int, headers: dict[str, str], limited: bool) -> None:
    assert is_rate_limited(response(b"", status, **headers)) is limited
