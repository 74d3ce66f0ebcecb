import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.model.errors import SandboxDiedError
from toolc.runtime.secrets.redaction import RedactedStream, Redactor

VALUE = 'pa/ss+w0rd "é&\\<1>\n2'
REDACTOR = Redactor({"TOKEN": VALUE})
MARK = "[secret TOKEN]"

FORMS = {
    "as it is": VALUE, "in a URL": quote(VALUE, safe=""), "in a URL's path": quote(VALUE),
    "in a form": quote_plus(VALUE),
    "in a URL, lower case": quote(VALUE, safe="").replace("%2F", "%2f").replace("%2B", "%2b").lower(),
    "in JSON": json.dumps(VALUE)[1:-1], "in JSON, not ASCII": json.dumps(VALUE, ensure_ascii=False)[1:-1],
    "in JSON in JSON": json.dumps(json.dumps(VALUE))[3:-3],
    "in JavaScript": json.dumps(VALUE)[1:-1].replace("/", "\\/"), "in HTML": html.escape(VALUE),
    "in hexadecimal": VALUE.encode().hex(), "in hexadecimal, upper case": VALUE.encode().hex().upper(),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_every_encoding_is_found(name: str) -> None:
    assert REDACTOR.text(f"a {FORMS[name]} b") == f"a {MARK} b"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "user:"])
@pytest.mark.parametrize("after", ["", "x", "xy"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_found_at_any_alignment(before: str, after: str, encode) -> None:  # type: ignore[no-untyped-def]
    encoded = encode((before + VALUE + after).encode()).decode()
    found = REDACTOR.text(f"<{encoded}>")
    assert MARK in found
    # No whole byte of the secret remains around the mark.
    assert len(found) - len(MARK) - 2 <= len(base64.b64encode((before + after).encode())) + 8


TEXT = "Authorization: Basic dXNlcjpwYXNz\nlorem ipsum dolor sit amet, consectetur adipiscing elit\n"


def wrapped(data: bytes, width: int, end: str) -> str:
    encoded = base64.b64encode(data).decode()
    return end.join(encoded[at : at + width] for at in range(0, len(encoded), width))


@pytest.mark.parametrize("width", [64, 76, 20])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\\\n"])
@pytest.mark.parametrize("before", [0, 1, 2, 3, 40, 47, 48, 49, 80])
@pytest.mark.parametrize("size", [9, 40, 200])
def test_base64_is_found_in_lines_wherever_the_secret_begins(width: int, end: str, before: int, size: int) -> None:
    secret = ("github_pat_" + "0a1B2c3D4e" * 20)[:size]
    found = Redactor({"KEY": secret}).text(wrapped((TEXT[:before] + secret + TEXT).encode(), width, end))
    assert "[secret KEY]" in found
    around = re.sub(r"\s|\\+[rn]", "", found.replace("[secret KEY]", ""))
    # No whole byte of the secret remains around the mark.
    assert len(around) <= len(base64.b64encode((TEXT[:before] + TEXT).encode())) + 4


def test_lower_case_encodings_are_found() -> None:
    assert Redactor({"KEY": "A1b2C3d4"}).text("https://a1b2c3d4.evil.test") == "https://[secret KEY].evil.test"


def test_other_text_is_unchanged() -> None:
    assert REDACTOR.text("pa/ss+w0rd") == "pa/ss+w0rd"
    assert not Redactor()
    assert Redactor().text(VALUE) == VALUE


def test_a_secret_that_begins_with_another_keeps_its_own_name() -> None:
    redactor = Redactor({"SHORT": "abcdefgh", "LONG": "abcdefghij"})
    assert redactor.text("abcdefghij abcdefgh") == "[secret LONG] [secret SHORT]"


def test_each_long_line_of_a_key_is_a_secret() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nshort\n-----END KEY-----\n"
    redactor = Redactor({"KEY": key})
    assert redactor.text("  MIIEvQIBADANBgkqhkiG\n  short\n-----END KEY-----") == (
        "  [secret KEY]\n  short\n-----END KEY-----"
    )


def test_json_is_redacted_in_strings_and_keys() -> None:
    assert REDACTOR.json({VALUE: [VALUE, 1, None, {"a": f"<{VALUE}>"}]}) == {MARK: [MARK, 1, None, {"a": f"<{MARK}>"}]}


def test_a_secret_that_is_added_later_is_found() -> None:
    redactor = Redactor()
    stream = RedactedStream(redactor)
    assert stream.feed(b"first-token") == b"first-token"
    redactor.add("access_token", "first-token")
    assert stream.feed(b" first-token") + stream.finish() == b" [secret access_token]"


def test_errors_of_toolc_are_redacted() -> None:
    with pytest.raises(SandboxDiedError) as caught, REDACTOR.errors():
        raise SandboxDiedError(f"output: {VALUE}")
    assert str(caught.value) == f"output: {MARK}"


def redacted_in_pieces(redactor: Redactor, data: bytes, sizes: list[int]) -> bytes:
    stream, final = RedactedStream(redactor), b""
    for size in sizes:
        final += stream.feed(data[:size])
        data = data[size:]
    return final + stream.feed(data) + stream.finish()


@given(st.sampled_from(sorted(FORMS)), st.lists(st.integers(1, 12), max_size=40), st.binary(max_size=20))
def test_a_stream_is_redacted_in_any_pieces(name: str, cuts: list[int], noise: bytes) -> None:
    data = noise + FORMS[name].encode() + b"." + FORMS[name].encode()
    found = redacted_in_pieces(REDACTOR, data, cuts)
    assert found.endswith(f"{MARK}.{MARK}".encode())
    assert VALUE.encode() not in found


@given(
    st.sampled_from([64, 76]),
    st.sampled_from(["\n", "\r\n", "\\n", "\\r\\n"]),
    st.binary(max_size=100),
    st.lists(st.integers(1, 90), max_size=20),
)
def test_lines_of_base64_are_redacted_in_any_pieces(width: int, end: str, before: bytes, cuts: list[int]) -> None:
    data = wrapped(before + VALUE.encode() * 2 + before, width, end).encode()
    found = redacted_in_pieces(REDACTOR, data, cuts)
    assert found.count(MARK.encode()) == 2


@pytest.mark.parametrize("cut", range(29))
def test_overlapping_secrets_are_redacted_at_any_cut(cut: int) -> None:
    stream = RedactedStream(Redactor({"FIRST": "first-token-abc", "SECOND": "abc-second-token"}))
    data = b"first-token-abc-second-token."
    assert stream.feed(data[:cut]) + stream.feed(data[cut:]) + stream.finish() == b"[secret FIRST]."


def test_only_the_beginning_of_a_secret_is_held_back() -> None:
    stream = RedactedStream(Redactor({"TOKEN": "correct horse"}))
    assert stream.feed(b"correct hors") == b""
    assert stream.feed(b"es") == b"[secret TOKEN]s"
    assert stream.feed(b"50 % done\n") == b"50 % done\n"


def test_line_breaks_do_not_delay_the_output() -> None:
    stream = RedactedStream(REDACTOR)
    start = base64.b64encode(VALUE.encode())[:4]
    final = stream.feed(start)
    for _ in range(100):
        final += stream.feed(b"\n" * 1000)
    assert final == start + b"\n" * 100_000


def test_a_number_that_is_a_secret_is_redacted() -> None:
    redactor = Redactor({"PIN": "48151623"})
    assert redactor.json([48151623, {"a": -48151623}, 4815162, True, None]) == [
        "[secret PIN]",
        {"a": "-[secret PIN]"},
        4815162,
        True,
        None,
    ]
    assert Redactor({"KEY": "correct-horse"}).json([1, 2.5, True]) == [1, 2.5, True]


def test_fixed_keys_are_not_redacted_in_details() -> None:
    redactor = Redactor({"KEY": "truncated"})
    assert redactor.values({"truncated": ["truncated", {"truncated": False}]}) == {
        "truncated": ["[secret KEY]", {"truncated": False}]
    }


@pytest.mark.parametrize("visible", range(21))
def test_the_head_of_a_cut_text_has_no_part_of_a_secret(visible: int) -> None:
    value = "s3cret/of-20-letters"
    redactor = Redactor({"KEY": value})
    rest = "x" * (100 - visible)
    assert redactor.head(rest + value[:visible], 100) == rest + ("[secret KEY]"[:visible] if visible == 20 else "")


def test_the_head_of_a_longer_text_is_redacted_before_it_is_cut() -> None:
    redactor = Redactor({"KEY": "s3cret/of-20-letters"})
    assert redactor.head("x" * 90 + "s3cret/of-20-letters" + "y" * 100, 100) == "x" * 90 + "[secret KE"
    assert redactor.head("s3cret/of-20", 100) == "s3cret/of-20"


def cut_redactor(**secrets: str) -> Redactor:
    redactor = Redactor(secrets)
    redactor.cut_mark = "<cut>"
    return redactor


@pytest.mark.parametrize("visible", range(20))
def test_no_part_of_a_secret_remains_at_a_cut(visible: int) -> None:
    redactor = cut_redactor(KEY="s3cret/of-20-letters")
    head, tail = "s3cret/of-20-letters"[:visible], "s3cret/of-20-letters"[20 - visible :]
    assert redactor.text(f"before {head}<cut> 9 bytes <cut>{tail} after") == "before  9 bytes  after"


def test_other_text_and_whole_secrets_remain_at_a_cut() -> None:
    redactor = cut_redactor(KEY="s3cret/of-20-letters")
    assert redactor.text("grün s3cret/of-20-letters über<cut>...") == "grün [secret KEY] über..."
    assert redactor.text("<cut>! s3cret/of-20-letters über") == "! [secret KEY] über"
    redactor = cut_redactor(KEY="q3cret/of-20-letters")
    assert redactor.text("<cut>q3cret/of-20-letters über") == "[secret KEY] über"


def test_a_secret_with_equal_prefix_and_suffix_is_removed_at_a_cut() -> None:
    redactor = cut_redactor(KEY="s3cret/of-20-letters", OTHER="ters-and-more-letters")
    assert redactor.text("<cut>s3cret/of-20-letters über") == " über"
    assert redactor.text("<cut>ters-and-more-letters über") == " über"
    assert redactor.text("<cut>letters-and-more-letters über") == " über"


def test_cut_marks_are_removed_without_secrets() -> None:
    redactor = cut_redactor()
    assert redactor
    assert redactor.json({"message": "abc<cut>..."}) == {"message": "abc..."}


@pytest.mark.slow
@given(
    st.lists(st.text("ab", min_size=8, max_size=12), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12)), max_size=8),
    st.lists(st.integers(1, 9), max_size=40),
    st.integers(0, 60),
)
def test_overlapping_secrets_are_redacted_in_any_pieces(
    values: list[str], pieces: list[tuple[int, int]], cuts: list[int], at: int
) -> None:
    redactor = Redactor({f"KEY_{number}": value for number, value in enumerate(values)})
    text = "".join(values[which % len(values)][start:] for which, start in pieces)
    final = redacted_in_pieces(redactor, text.encode(), cuts)
    redactor.cut_mark = "<cut>"
    cut = redactor.text(f"{text[:at]}<cut> ... <cut>{text[at:]}")
    head = redactor.head(text[:at], at)
    assert [value for value in values if value in f"{final.decode()}|{cut}|{head}"] == []


INTERRUPTED = b"a \x1b[31ms3cr3t\x1b[0m-value\x1b]8;;http://x\x07-of-a-tool b"


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_a_secret_that_control_sequences_interrupt_is_found(size: int) -> None:
    redactor = Redactor({"TOKEN": "s3cr3t-value-of-a-tool"})
    stream = RedactedStream(redactor)
    pieces = [stream.feed(INTERRUPTED[at : at + size]) for at in range(0, len(INTERRUPTED), size)]
    assert b"".join(pieces) + stream.finish() == b"a \x1b[31m[secret TOKEN] b"
    assert redactor.text(INTERRUPTED.decode()) == "a \x1b[31m[secret TOKEN] b"


def test_an_endless_sequence_does_not_hold_back_the_output() -> None:
    stream = RedactedStream(Redactor({"TOKEN": "s3cr3t-value-of-a-tool"}))
    assert stream.feed(b"s3cr3t\x1b]0;") == b""
    assert len(b"".join(stream.feed(b"x" * 1000) for _ in range(100))) > 80_000
