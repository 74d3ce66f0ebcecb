from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD, compile_text

from toolc.compiler.checks.helpers import text_may_contain

TOML = 'toolc = 1\nname = "hello"\ndescription = "Say hello to the whole world."\nbackend.shell.argv = ["echo"]\n'


def holds(folder: Path, label: str, name: str = "tool.yaml") -> bool:
    text = f"{HEAD}label: {label}\n{ECHO}" if name == "tool.yaml" else f"{TOML}label = {label}\n"
    (tool,) = compile_text(folder, text, name).located
    return text_may_contain(tool, ("secrets", "@"))


def test_text_of_the_file_is_searched(tmp_path: Path) -> None:
    assert not holds(tmp_path, r"'\d and \. and a secret'")
    assert holds(tmp_path, "the secrets")
    assert holds(tmp_path, "me@example.com")


@pytest.mark.parametrize(
    ("label", "name"),
    [
        (r'"\x73ecrets"', "tool.yaml"),
        (r'"\u0073ecrets"', "tool.yaml"),
        ('"sec\\\n  rets"', "tool.yaml"),
        (r'"\u0073ecrets"', "tool.toml"),
        (r'"\U00000073ecrets"', "tool.toml"),
        ('"""sec\\  \n rets"""', "tool.toml"),
    ],
)
def test_escapes_are_assumed_to_contain_it(tmp_path: Path, label: str, name: str) -> None:
    assert holds(tmp_path, label, name)


def test_project_variables_and_defaults_are_assumed_to_contain_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "toolc.yaml").write_text("vars: {what: secrets}\n")
    assert holds(tmp_path, '"{{ vars.what }}"')
    assert not holds(tmp_path, "nothing")
    (tmp_path / "toolc.yaml").write_text("defaults: {sandbox: {env: {WHAT: secrets}}}\n")
    assert holds(tmp_path, "nothing")
