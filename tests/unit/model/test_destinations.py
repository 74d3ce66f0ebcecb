"""Hosts and destinations have one canonical spelling; ambiguous ones are rejected."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.model.destinations import HostError, canonical_host, covers, parse_destination
from toolc.model.spec.sandbox import Destination


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("api.example.com:443", "api.example.com", 443), ("API.Example.COM.:0443", "api.example.com", 443),
        ("localhost:1", "localhost", 1), ("a_b.example:65535", "a_b.example", 65535), ("10.0.0.5:80", "10.0.0.5", 80),
        ("[2001:DB8:0:0::1]:5432", "2001:db8::1", 5432),
    ],
)  # fmt: skip
def test_an_exact_destination_has_one_form(text: str, host: str, port: int) -> None:
    assert parse_destination(text) == Destination(kind="exact", host=host, port=port)


def test_wildcards_and_public_are_separate_kinds() -> None:
    assert parse_destination("*.Example.com:443") == Destination(kind="wildcard", host="example.com", port=443)
    assert parse_destination("public:443") == Destination(kind="public", host="", port=443)


@pytest.mark.parametrize(
    "text",
    [
        "", ":443", "a.example", "a.example:", "a.example:0", "a.example:65536", "a.example:443:1", "a..b:443",
        "-a.example:443", "a-.example:443", f"{'a' * 64}.example:443", f"{'a.' * 127}example:443",
        "a b.example:443",
        "u@a.example:443", "a%2e.example:443", "a.example\0.b:443", "a.example\n:443", "a.example/x:443",
        "a\\b.example:443", "bücher.example:443", "https://a.example:443", "*:443", "*.com:443", "*.0.0.5:443",
        "x*.example.com:443", "*.*.example.com:443", "public:80", "PUBLIC:443", "127.1:80", "0x7f.0.0.1:80",
        "2130706433:80", "010.0.0.1:80", "1.2.3.4.5:80", "a.example.1:80", "::1:443", "[::1]", "[::1%lo]:80",
        "[::ffff:10.0.0.1]:80", "[10.0.0.1]:80", "[a.example]:80", "a.example:\uff14\uff14\uff13",
    ],
)  # fmt: skip
def test_ambiguous_hosts_are_rejected(text: str) -> None:
    with pytest.raises(HostError):
        parse_destination(text)


@given(st.text(max_size=30) | st.from_regex(r"[a-zA-Z0-9.\-\[\]:*%@]{0,30}", fullmatch=True))
def test_a_canonical_host_is_its_own_canonical_form(text: str) -> None:
    try:
        host = canonical_host(text)
    except HostError:
        return
    assert canonical_host(f"[{host}]" if ":" in host else host) == host
    assert host.isascii()
    assert host == host.lower()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("bücher.example", "write xn--bcher-kva.example"),
        ("BÜCHER.example.", "write xn--bcher-kva.example."),
        # Two names in the IDNA of 2008, and one in that of 2003.
        ("faß.example", "write it in ASCII"),
        ("\uff41.example", "write it in ASCII"),
    ],
)
def test_a_hint_does_not_suggest_another_host(text: str, hint: str) -> None:
    with pytest.raises(HostError) as caught:
        canonical_host(text)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("https://a.example/b", "write a.example:443"), ("http://me@a.example", "write a.example:80"),
        ("ssh://git@a.example/x.git", "write a.example:22"), ("postgres://a.example/b", "write a.example:5432"),
        ("postgresql://a.example", "write a.example:5432"), ("MySQL://a.example", "write a.example:3306"),
        ("ftp://a.example", "write a.example:PORT"), ("https://a.example:8443/b", "write a.example:8443"),
        ("https:///b", "write the host:443"),
    ],
)  # fmt: skip
def test_the_hint_for_a_url_is_its_destination(text: str, hint: str) -> None:
    with pytest.raises(HostError) as caught:
        parse_destination(text)
    assert caught.value.hint == hint


def test_invalid_hosts_are_escaped_in_messages() -> None:
    with pytest.raises(HostError) as caught:
        canonical_host("[\x1b[31m\u202e]")
    assert str(caught.value) == r"'[\x1b[31m\u202e]' is not an IPv6 address"


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("example.com:443", "example.com:443", True), ("*.example.com:443", "a.example.com:443", True),
        ("*.example.com:443", "*.a.example.com:443", True), ("example.com:443", "a.example.com:443", False),
        ("*.example.com:443", "example.com:443", False), ("*.example.com:443", "badexample.com:443", False),
        ("*.example.com:443", "a.example.com:80", False), ("public:443", "example.com:443", False),
        ("*.example.com:443", "public:443", False),
    ],
)  # fmt: skip
def test_entries_that_cover_other_entries(wide: str, narrow: str, expected: bool) -> None:
    assert covers(parse_destination(wide), parse_destination(narrow)) is expected
    any_wide, any_narrow = (replace(parse_destination(each), any_host=True) for each in (wide, narrow))
    assert covers(any_wide, parse_destination(narrow)) is covers(any_wide, any_narrow) is expected
    assert not covers(parse_destination(wide), any_narrow)
