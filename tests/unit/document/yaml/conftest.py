"""The two parsers of PyYAML."""

import pytest
import yaml


@pytest.fixture(params=["libyaml", "pure"])
def both_parsers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with libyaml's parser and with the one of a PyYAML that was built without it."""
    if request.param == "pure":
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
