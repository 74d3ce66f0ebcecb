"""Backends that send requests: the place of the request in a spec."""

from toolc.model.spec.http_backend import HttpBackend


def test_the_request_of_an_http_tool_is_below_its_kind() -> None:
    assert HttpBackend.request_route == ("backend", HttpBackend.tag)
