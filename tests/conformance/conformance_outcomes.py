"""What came of the cases in each configuration. A configuration runs all of them when it is first asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest
from configurations import CONFIGURATIONS
from conformance_batch import run_batch
from conformance_case import Case

from toolc.model.json_schema import JsonObject


class Outcomes:
    """Envelopes by configuration and case."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        self._found: dict[str, dict[str, JsonObject] | str] = {}

    def of(self, configuration: str) -> dict[str, JsonObject]:
        """The envelope of each case by name; skips the test where the configuration is not to be had here."""
        if configuration not in self._found:
            self._found[configuration] = f"{configuration}: it failed before"
            self._found[configuration] = CONFIGURATIONS[configuration].lacks() or self._run(configuration)
        found = self._found[configuration]
        if isinstance(found, str):
            pytest.skip(found)
        return found

    def is_ready(self, configuration: str) -> bool:
        """Whether it is to be had here."""
        try:
            self.of(configuration)
        except pytest.skip.Exception:
            return False
        return True

    def _run(self, configuration: str) -> dict[str, JsonObject]:
        chosen = CONFIGURATIONS[configuration]
        found = chosen.run(lambda engine: {**run_batch(engine, self._cases, chosen.sandbox)})
        return cast("dict[str, JsonObject]", found)
