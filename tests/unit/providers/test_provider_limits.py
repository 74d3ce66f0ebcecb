"""The file of limits, and the tables of the documentation."""

import datetime

from project.paths import ROOT

from toolc.model.names import PROVIDER_NAMES
from toolc.providers.json_schema.keywords import rules_of
from toolc.providers.provider_limits import NAMES, all_limits, exceeded_limits, limits_of


def test_each_limit_is_known_and_has_a_date_and_a_source() -> None:
    for limit in all_limits():
        assert limit.name in NAMES
        assert set(limit.providers) <= set(PROVIDER_NAMES)
        assert limit.value > 0
        assert datetime.date(2025, 1, 1) < limit.date
        assert limit.source


def test_a_provider_has_one_limit_of_each_name() -> None:
    for provider in PROVIDER_NAMES:
        names = [limit.name for limit in all_limits() if provider in limit.providers]
        assert len(names) == len(set(names)) == len(limits_of(provider))


def test_a_request_beyond_a_limit_is_described_with_the_date_of_the_limit() -> None:
    (found,) = exceeded_limits("openai_chat", [f"tool_{number}" for number in range(130)])
    assert found.describe() == "130 tools in one request (at most 128, as of 2025-11-29)"


def rows() -> list[list[str]]:
    """Return the cells of each row of a table in the documentation."""
    text = (ROOT / "docs" / "reference" / "providers.md").read_text(encoding="utf-8")
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]


def test_the_documentation_has_every_limit() -> None:
    documented = {(cells[0], cells[1], cells[2]) for cells in rows() if len(cells) == 3}
    for limit in all_limits():
        providers = ", ".join(f"`{name}`" for name in limit.providers)
        assert (providers, f"{limit.value:,} {limit.what}", str(limit.date)) in documented


def test_the_documentation_has_the_rule_of_every_keyword() -> None:
    documented = {cells[0].strip("`"): cells[1:] for cells in rows() if len(cells) == 6}
    words = {"keep": "kept", "fold": "folded", "drop": "dropped", "refuse": "refused"}
    columns = [rules_of("openai"), rules_of("anthropic"), rules_of("cohere"), rules_of("gemini"), rules_of("ollama")]
    for keyword in columns[0]:
        if keyword not in documented:
            assert all(rules[keyword] == "fold" for rules in columns)
            assert f"`{keyword}`" in (ROOT / "docs" / "reference" / "providers.md").read_text(encoding="utf-8")
        else:
            expected = [words.get(str(rules[keyword]), "partly") for rules in columns]
            assert documented[keyword] == expected, keyword
