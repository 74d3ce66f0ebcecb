"""Control sequences of terminals are removed, and a line that overwrites itself has its last state."""

from time import process_time

import pytest

from toolc.backends.terminal_text import MAX_LINE, TerminalStream, sequences_in, shown_bytes, shown_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1m\x1b[32mPASS\x1b[0m \x1b[38;2;1;2;3mx\x1b[m", "PASS x"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"), ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07a\x1b]2;title\x1b\\b", "ab"),
        ("a\x1bPq#0\x1b\\b\x1b_G\x1b\\c\x1b^p\x1b\\d\x1bXs\x1b\\e", "abcde"),
        ("a\x1b7b\x1b8c\x1bcd\x1b(Be\x1b#8f", "abcdef"), ("\x9b31mred\x9b0m \x9d8;;u\x9clink\x90q\x9c", "red link"),
        ("a\x1b[2Jb\x1b[10;20Hc\x1b[3Ad", "abcd"), ("bell\x07 shift\x0e\x0f", "bell shift"),
        ("cut\x1b", "cut"), ("cut\x1b[3", "cut"), ("cut\x1b]8;;http", "cut"), ("cut\x1bPq", "cut"),
        ("a\x1b\x1b[1mb", "ab"), ("\x1b[1\x1b[2mx", "x"), ("\x1b]8;;http\nnext line", "\nnext line"),
        ("tab\t nul\0 form\x0c", "tab\t nul\0 form\x0c"), ("é\x85ü", "é\x85ü"),
    ],
)  # fmt: skip
def test_sequences_are_removed(text: str, shown: str) -> None:
    assert shown_text(text) == shown
    assert shown_text(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10%\r50%\r100%\n", "100%\n"), ("10%\r50%\r", "50%"), ("abcdef\rxy\n", "xycdef\n"),
        ("long text\rok       \n", "ok\n"),
        ("Downloading 100%\r\x1b[Kdone\n", "done\n"), ("one\x1b[2K\rtwo\n", "two\n"),
        ("\x1b[1Gstep 1\x1b[0K\x1b[1Gstep\x1b[K\n", "step\n"), ("abc\x08\x08xy\n", "axy\n"), ("\x08\x08a\n", "a\n"),
        ("a\r\nb\r\n", "a\r\nb\r\n"), ("\x1b[1ma\x1b[m\r\nb\r\n", "a\nb\r\n"), ("a\r\r\n", "a\n"), ("\r\n", "\r\n"),
    ],
)  # fmt: skip
def test_of_a_line_that_overwrites_itself_only_the_last_state_is_shown(text: str, shown: str) -> None:
    assert shown_text(text) == shown
    assert shown_text(shown) == shown


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\x9b31mred\x9b0m", b"red"), (b"\x9d0;title\x9cx", b"x"), (b"caf\xe9 \x9eluti", b"caf\xe9 \x9eluti"),
        (b"\xff\x1b[1mx", b"\xffx"), ("\u2014 \x9b1mü".encode(), "\u2014 ü".encode()), (b"\xe2\x80", b"\xe2\x80"),
    ],
)  # fmt: skip
def test_a_byte_that_is_not_utf8_begins_only_a_whole_sequence(data: bytes, shown: bytes) -> None:
    assert shown_bytes(data) == shown


DATA = "\x1b[1mä\x1b[0m\r\n10%\r100% \x1b]8;;http://x\x07€\x1b]8;;\x07\nrest \x9b31mred\r".encode()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_stream_in_pieces_shows_the_same(size: int) -> None:
    stream = TerminalStream()
    parts = [stream.feed(DATA[at : at + size]) for at in range(0, len(DATA), size)]
    assert b"".join(parts) + stream.finish() == shown_bytes(DATA) == "ä\n100% €\nrest red".encode()
    assert stream.finish() == b""


def test_a_line_is_held_back_until_its_end() -> None:
    stream = TerminalStream()
    assert (stream.feed(b"a\nb"), stream.feed(b"c\r"), stream.feed(b"d\n")) == (b"a\n", b"", b"dc\n")


def test_a_long_line_is_passed_on_in_parts() -> None:
    stream = TerminalStream()
    parts = [stream.feed("é".encode() * 1000) for _ in range(1000)]
    assert max(map(len, parts)) <= MAX_LINE + 2000
    assert (b"".join(parts) + stream.finish()).decode() == "é" * 1_000_000


def test_a_long_progress_bar_has_only_its_last_state() -> None:
    stream = TerminalStream()
    shown = b"".join(stream.feed(b"%d%%\r" % number) for number in range(100_000)) + stream.finish()
    assert shown == b"99999%"


@pytest.mark.parametrize(
    "data",
    [
        b"10%\r" * 300_000, b"\x1b]" * 500_000, b"\x1b[" * 500_000, "\x9d".encode() * 500_000, b"\x9d" * 1_000_000,
        b"a" * 300_000 + b"\rx" * 300_000, b"\x08" * 1_000_000, b"\x1bP" + b"a" * 1_000_000, b"\x1b[2Kx" * 200_000,
    ],
)  # fmt: skip
def test_the_time_is_linear(data: bytes) -> None:
    began = process_time()
    stream = TerminalStream()
    for at in range(0, len(data), 32_768):
        stream.feed(data[at : at + 32_768])
    stream.finish()
    shown_bytes(data)
    sequences_in(data)
    assert process_time() - began < 10


def test_the_places_of_sequences_are_known() -> None:
    assert sequences_in(b"a\x1b[1mb\x1b]8;;u\x07c\x1b[") == [(1, 5), (6, 13), (14, 16)]
    assert sequences_in(b"plain \xe9\x80 text") == []
