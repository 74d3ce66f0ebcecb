"""``docs/policy.md``: its examples are policies that do what the page says, and its table has every key."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from toolc.compiler.compile import compile_specs
from toolc.compiler.policies import CODES
from toolc.compiler.settings import Settings
from toolc.policy.policy import Policy
from toolc.policy_file import read_policy

PAGE = (Path(__file__).parents[1] / "docs" / "policy.md").read_text(encoding="utf-8")
SPEC = """\
toolc: 1
name: fetch
label: Fetch
owner: me
description: Fetch what the service has to say about the weather, for the tests of the page.
annotations: {read_only: true}
parameters: {}
backend: {shell: {argv: [curl, "https://HOST/"]}}
sandbox: {image: "registry.example.com/tools/curl:8", network: {allow: ["HOST:443"]}}
"""


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name in (".git", "specs"):
        Path(name).mkdir()
    found = re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
    for name, text in found:
        Path(name).write_text(text, encoding="utf-8")
    return [name for name, _ in found]


def numbers(host: str, settings: Settings) -> list[str]:
    Path("specs/fetch.yaml").write_text(SPEC.replace("HOST", host), encoding="utf-8")
    found = compile_specs([Path("specs")], settings).diagnostics.sorted()
    return [each.code.number for each in found if each.is_error]


def test_the_examples_are_policies(examples: list[str]) -> None:
    assert examples == ["toolc.yaml", "central.yaml"]
    assert numbers("api.example.com", Settings()) == []
    assert numbers("api.example.org", Settings()) == ["TC902"]
    Path("toolc.yaml").unlink()
    central = Settings(policies=(read_policy("central.yaml"),))
    assert numbers("api.example.org", central) == []
    Path("specs/fetch.yaml").write_text(SPEC.replace("HOST:443", "public:443"), encoding="utf-8")
    found = compile_specs([Path("specs")], central).diagnostics.sorted()
    assert [each.code.number for each in found if each.is_error] == ["TC902"]


def test_the_table_has_every_key_and_every_number() -> None:
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    for key in fields(Policy):
        assert key.name in {"path", "places"} or f"`{key.name}" in table, key.name
    for code in CODES.values():
        assert code.number in table
