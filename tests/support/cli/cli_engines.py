"""The engines that are available for tests of the command line."""

import pytest

from toolc.model.errors import NoEngineError
from toolc.model.names import AUTO, engine_names
from toolc.model.plan import Profile
from toolc.sandbox.selection import select


def engines() -> list[object]:
    """Return a parameter for each engine; unavailable ones are skipped with the reason."""
    return [_parameter(name) for name in engine_names() if name != AUTO]


def _parameter(name: str) -> object:
    try:
        select(name, Profile())
    except NoEngineError as error:
        return pytest.param(name, marks=pytest.mark.skip(reason=str(error)))
    return pytest.param(name)
