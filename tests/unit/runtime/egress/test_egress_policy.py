import ipaddress

import pytest
from engines.bypass_attempts import ADDRESSES, ALLOW, HOSTS
from hypothesis import given
from hypothesis import strategies as st

from toolc.model.destinations import format_destination, parse_destination
from toolc.model.spec.sandbox import Destination
from toolc.runtime.egress.egress_policy import admit, decide, why_not_public

LIST = tuple(parse_destination(each) for each in ALLOW)


def entries(*texts: str) -> tuple[Destination, ...]:
    return tuple(parse_destination(each) for each in texts)


@pytest.mark.parametrize(("host", "port"), [each[:2] for each in HOSTS], ids=[what for _, _, what in HOSTS])
def test_no_spelling_bypasses_the_list(host: str, port: int) -> None:
    decision = decide(LIST, host, port)
    assert decision.entry is None
    assert decision.reason
    assert decision.host.isprintable()


each_private_address = pytest.mark.parametrize(
    "address", [each for each, _ in ADDRESSES], ids=[f"{what}: {each}" for each, what in ADDRESSES]
)


@each_private_address
@pytest.mark.parametrize("host", ["api.example.com", "a.example.org"])
def test_a_name_may_not_resolve_to_a_private_address(address: str, host: str) -> None:
    admission = admit(decide(LIST, host, 443), LIST, [address])
    assert admission.addresses == ()
    assert admission.reason


@each_private_address
def test_public_allows_only_public_addresses(address: str) -> None:
    allow = entries("public:443")
    assert admit(decide(allow, "any.example.net", 443), allow, [address]).addresses == ()
    spelled = f"[{address}]" if ":" in address else address
    decision = decide(allow, spelled, 443)
    assert decision.entry is None or admit(decision, allow, [decision.host]).addresses == ()


def test_there_are_more_than_two_hundred_bypass_attempts() -> None:
    assert len(HOSTS) + len(ADDRESSES) > 200
    assert len({host for host, _, _ in HOSTS}) > 150


@pytest.mark.parametrize(
    ("host", "port", "entry"),
    [
        ("api.example.com", 443, "api.example.com:443"), ("API.Example.COM", 443, "api.example.com:443"),
        ("api.example.com.", 443, "api.example.com:443"), ("api.example.com", 80, "api.example.com:80"),
        ("a.example.org", 443, "*.example.org:443"), ("a.b.Example.org.", 443, "*.example.org:443"),
        ("10.1.2.3", 443, "10.1.2.3:443"),
    ],
)  # fmt: skip
def test_an_entry_allows_its_host_in_any_case(host: str, port: int, entry: str) -> None:
    found = decide(LIST, host, port).entry
    assert found is not None
    assert format_destination(found) == entry


def test_an_empty_list_allows_nothing() -> None:
    decision = decide((), "api.example.com", 443)
    assert decision.entry is None
    assert decision.reason == "no entry of network.allow covers api.example.com:443"
    assert decision.remedy == "api.example.com:443"


def test_public_allows_names_with_a_dot_and_public_addresses_at_its_port() -> None:
    allow = entries("public:443")
    assert decide(allow, "anything.example", 443).entry
    assert decide(allow, "8.8.8.8", 443).entry
    assert decide(allow, "[2a00:1450::1]", 443).entry
    assert not decide(allow, "intranet", 443).entry
    assert not decide(allow, "anything.example", 80).entry


def test_only_allowed_addresses_are_tried() -> None:
    decision = decide(LIST, "api.example.com", 443)
    found = admit(decision, LIST, ["127.0.0.1", "1.1.1.1", "::1", "2a00:1450::1", "1.1.1.1"])
    assert found.addresses == ("1.1.1.1", "2a00:1450::1")


def test_a_private_address_must_be_listed() -> None:
    decision = decide(LIST, "api.example.com", 443)
    assert admit(decision, LIST, ["10.1.2.3"]).addresses == ("10.1.2.3",)
    refused = admit(decision, LIST, ["10.1.2.4"])
    assert refused.reason == (
        "api.example.com resolves to 10.1.2.4, which is an address of a private network; "
        "only an entry 10.1.2.4:443 would allow that"
    )
    assert refused.remedy == "10.1.2.4:443"
    # Listed for another port only.
    assert admit(decide(LIST, "api.example.com", 80), LIST, ["10.1.2.3"]).addresses == ()


def test_an_address_entry_allows_only_that_address() -> None:
    allow = entries("127.0.0.1:8080", "[::1]:8080", "169.254.169.254:80")
    for host, port in (("127.0.0.1", 8080), ("[::1]", 8080), ("169.254.169.254", 80)):
        decision = decide(allow, host, port)
        assert admit(decision, allow, [decision.host]).addresses == (decision.host,)
    assert not decide(allow, "127.0.0.2", 8080).entry
    assert not decide(allow, "localhost", 8080).entry


def test_localhost_allows_only_loopback_addresses() -> None:
    allow = entries("localhost:8080")
    decision = decide(allow, "localhost", 8080)
    assert admit(decision, allow, ["127.0.0.1", "::1", "10.0.0.1", "8.8.8.8"]).addresses == ("127.0.0.1", "::1")
    assert not decide(allow, "127.0.0.1", 8080).entry


def test_a_name_without_an_address_is_reported() -> None:
    assert admit(decide(LIST, "api.example.com", 443), LIST, []).reason == "api.example.com has no address"


@given(st.ip_addresses())
def test_admitted_addresses_are_public_or_listed(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    for host in ("api.example.com", "a.example.org"):
        admitted = admit(decide(LIST, host, 443), LIST, [str(address)]).addresses
        named = str(address) == "10.1.2.3"
        assert bool(admitted) == (named or why_not_public(address) is None)
        if admitted and not named:
            assert address.is_global
            assert not address.is_multicast


@pytest.mark.slow
@given(st.text(max_size=40), st.integers(-10, 70_000))
def test_the_decision_is_the_same_for_the_canonical_host(host: str, port: int) -> None:
    decision = decide(LIST, host, port)
    if decision.entry is None:
        return
    again = f"[{decision.host}]" if ":" in decision.host else decision.host
    assert decide(LIST, again, port) == decision


@given(st.from_regex(r"[a-zA-Z0-9.\-:\[\]%@#/\\]{0,30}", fullmatch=True))
def test_only_listed_names_are_allowed(host: str) -> None:
    decision = decide(LIST, host, 443)
    if decision.entry is not None:
        assert decision.host in {"api.example.com", "10.1.2.3"} or decision.host.endswith(".example.org")
