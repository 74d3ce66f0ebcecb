"""The environment variables of every call."""

import pytest

from toolc.backends.backend_protocol import environment
from toolc.model.spec.sandbox import EnvVar, SandboxSpec


def variables(sandbox: SandboxSpec) -> dict[str, str]:
    return {each.name: each.value for each in environment(sandbox, "c")}


def test_without_a_workspace_there_are_no_git_settings() -> None:
    assert set(variables(SandboxSpec())) == {"PATH", "HOME", "LOGNAME", "USER", "LANG", "TOOLC_CALL_ID"}


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_git_trusts_the_workspace_of_any_owner(mode: str) -> None:
    found = variables(SandboxSpec(workspace="ro" if mode == "ro" else "rw"))
    assert {name: value for name, value in found.items() if name.startswith("GIT")} == {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }


def test_in_a_transaction_reading_git_commands_do_not_write() -> None:
    found = variables(SandboxSpec(workspace="transaction"))
    assert (found["GIT_OPTIONAL_LOCKS"], found["GIT_CONFIG_COUNT"]) == ("0", "2")
    assert (found["GIT_CONFIG_KEY_1"], found["GIT_CONFIG_VALUE_1"]) == ("diff.autoRefreshIndex", "false")


def test_variables_of_the_spec_have_priority() -> None:
    assert (
        variables(SandboxSpec(workspace="rw", env=(EnvVar(name="GIT_CONFIG_COUNT", value="0"),)))["GIT_CONFIG_COUNT"]
        == "0"
    )
