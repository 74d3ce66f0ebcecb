"""The table of backends."""

import pytest

from toolc.backends import BACKEND_KINDS, load_backend
from toolc.model.spec.code_backends import PluginBackend, PythonBackend, ShellBackend
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.mcp_backend import McpBackend


def test_backend_kinds_match_the_spec_tags() -> None:
    assert set(BACKEND_KINDS) == {
        each.tag for each in (HttpBackend, McpBackend, PluginBackend, PythonBackend, ShellBackend)
    }


@pytest.mark.parametrize("kind", BACKEND_KINDS)
def test_each_kind_has_its_backend(kind: str) -> None:
    assert type(load_backend(kind)).__module__ == f"toolc.backends.{kind}"


def test_an_unknown_kind_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        load_backend("base")
