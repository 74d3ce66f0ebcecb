"""Hosts that look like another one: other alphabets, digits and pairs of letters."""

import pytest

from toolc.review.risk.lookalike import imitated

CONFUSABLE = (
    "a\u0430 b\u0432 c\u0441 d\u0501 e\u0435 h\u04bb k\u043a k\u03ba l\u0456 m\u043c n\u0578 o\u043e p\u0440 q\u051b "
    "r\u0433 s\u0455 t\u0442 u\u03c5 v\u0475 w\u051d x\u0445 y\u0443"
)


@pytest.mark.parametrize(("letter", "other"), CONFUSABLE.split())
def test_a_letter_of_another_alphabet(letter: str, other: str) -> None:
    spelled = f"{other}{other}zz{other}".encode("punycode").decode()
    assert imitated(f"xn--{spelled}.com", [f"{letter}{letter}zz{letter}.com"]) == f"{letter}{letter}zz{letter}.com"


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("exarnple.com", "example.com"), ("vvidget.com", "widget.com"), ("clocker.com", "docker.com"),
        ("examp1e.com", "example.com"), ("g00gle.com", "google.com"), ("example-login.com", "example.com"),
    ],
)  # fmt: skip
def test_other_spellings(host: str, known: str) -> None:
    assert imitated(host, [known]) == known


@pytest.mark.parametrize("known", ["192.0.2.1", "other.org", "api.example.com"])
def test_hosts_that_are_not_imitated(known: str) -> None:
    assert imitated("example.com", [known]) == ""
    assert imitated("192.0.2.2", [known]) == ""
