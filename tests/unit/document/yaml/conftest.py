"""The two parsers of PyYAML."""

import pytest
import yaml


@pytest.fixture(params=["libyaml", "pure"])
def both_parsers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with the parser of libyaml and with that of a PyYAML without libyaml."""
    if request.param == "pure":
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
