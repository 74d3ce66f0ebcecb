"""The table of backends."""

import pytest

from toolc.backends import BACKEND_KINDS, load_backend
from toolc.model.spec.declared import keys_of, map_class
from toolc.model.spec.tool import Backends


def test_the_tag_of_each_backend_is_its_key_in_a_spec() -> None:
    declared = {each.name: map_class(each.kind) for each in keys_of(Backends)}
    assert {name: vars(cls)["tag"] for name, cls in declared.items()} == {name: name for name in Backends.one_of}


@pytest.mark.parametrize("kind", BACKEND_KINDS)
def test_each_kind_has_its_backend(kind: str) -> None:
    assert type(load_backend(kind)).__module__ == f"toolc.backends.{kind}"


def test_an_unknown_kind_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        load_backend("base")
