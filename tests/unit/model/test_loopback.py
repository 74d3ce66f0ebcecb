"""Tests for the listeners of a sandbox: addresses of names, loopback addresses, and the proxy."""

from hypothesis import given
from hypothesis import strategies as st

from toolc.model.destinations import is_loopback, parse_destination
from toolc.model.plan import LoopbackProxy, PortForward, loopback_proxy, proxy_environment


def found(*allow: str) -> LoopbackProxy:
    return loopback_proxy([parse_destination(each) for each in allow])


def test_an_empty_allow_list_has_no_listeners() -> None:
    assert found() == LoopbackProxy()
    assert proxy_environment(found()) == ()


def test_each_name_has_its_own_address_with_all_its_ports() -> None:
    assert found("b.example:443", "a.example:22", "b.example:80") == LoopbackProxy(
        hosts=(
            ("127.0.1.1", "a.example"),
            ("127.0.1.1", "a.example."),
            ("127.0.1.2", "b.example"),
            ("127.0.1.2", "b.example."),
        ),
        forwards=(
            PortForward(address="127.0.1.1", port=22, host="a.example"),
            PortForward(address="127.0.1.2", port=80, host="b.example"),
            PortForward(address="127.0.1.2", port=443, host="b.example"),
        ),
        proxy="127.0.1.3",
        direct=("127.0.0.1", "::1", "a.example", "b.example", "localhost"),
    )


def test_loopback_addresses_are_used_unchanged() -> None:
    assert found("127.0.0.1:8080", "[::1]:8080", "127.9.9.9:1").forwards == (
        PortForward(address="127.0.0.1", port=8080, host="127.0.0.1"),
        PortForward(address="127.9.9.9", port=1, host="127.9.9.9"),
        PortForward(address="::1", port=8080, host="::1"),
    )


def test_a_listed_address_has_priority_over_localhost() -> None:
    assert found("localhost:80").forwards == (PortForward(address="127.0.0.1", port=80, host="localhost"),)
    assert found("localhost:80", "127.0.0.1:80").forwards == (
        PortForward(address="127.0.0.1", port=80, host="127.0.0.1"),
    )


def test_names_do_not_get_listed_addresses() -> None:
    listening = found("a.example:80", "b.example:80", "127.0.1.1:80", "127.0.1.2:443", "*.b.example:80")
    assert listening.hosts[::2] == (("127.0.1.3", "a.example"), ("127.0.1.4", "b.example"))
    assert listening.proxy == "127.0.1.5"


def test_other_destinations_use_the_proxy() -> None:
    for entry in ("*.example.com:443", "public:443", "10.0.0.5:5432", "[2001:db8::1]:443"):
        assert found(entry) == LoopbackProxy(proxy="127.0.1.1", direct=("127.0.0.1", "::1", "localhost"))


def test_names_with_allowed_subdomains_use_the_proxy() -> None:
    assert "api.example.com" in found("api.example.com:443", "*.example.org:443").direct
    assert "example.com" not in found("example.com:443", "*.example.com:443").direct
    assert "example.com" not in found("example.com:443", "*.b.example.com:443").direct
    assert "a.example.com" not in found("a.example.com:443", "*.example.com:443").direct
    assert "example.com" not in found("example.com:443", "public:443").direct


def test_proxy_variables_are_set_in_upper_and_lower_case() -> None:
    environment = {each.name: each.value for each in proxy_environment(found("*.example.com:443", "127.0.0.5:80"))}
    proxy, direct = "http://127.0.1.1:3128", "127.0.0.1,127.0.0.5,::1,localhost"
    assert environment == {
        "http_proxy": proxy,
        "https_proxy": proxy,
        "all_proxy": proxy,
        "no_proxy": direct,
        "HTTP_PROXY": proxy,
        "HTTPS_PROXY": proxy,
        "ALL_PROXY": proxy,
        "NO_PROXY": direct,
        "NODE_USE_ENV_PROXY": "1",
    }


HOSTS = st.sampled_from(["a.example", "b.example", "localhost", "127.0.0.1", "127.0.1.1", "127.0.1.2", "10.0.0.1"])


@given(st.lists(st.tuples(HOSTS, st.sampled_from([80, 443])), max_size=12))
def test_the_order_of_entries_does_not_matter(entries: list[tuple[str, int]]) -> None:
    texts = [f"{host}:{port}" for host, port in entries]
    listening = found(*texts)
    assert found(*sorted(texts, reverse=True)) == listening
    places = [(each.address, each.port) for each in listening.forwards]
    assert len(places) == len(set(places))
    assert all(is_loopback(address) for address, _ in places)
    reachable = {(each.host, each.port) for each in listening.forwards}
    assert all(
        (host, port) in reachable or host == "10.0.0.1" or (host == "localhost" and ("127.0.0.1", port) in reachable)
        for host, port in entries
    )
