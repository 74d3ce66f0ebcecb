"""One mistake gives one finding: a finding that only follows from another one of the same tool is dropped."""

from pathlib import Path

import pytest
from check_cases import HEAD

from toolc.compiler.pipeline.compile import compile_specs


def codes_of(folder: Path, backend: str) -> list[str]:
    text = f"{HEAD}parameters: {{name: {{type: string}}, other: {{type: string}}}}\nbackend:\n  {backend}\n"
    (folder / "tool.yaml").write_text(text, encoding="utf-8")
    found = compile_specs([folder / "tool.yaml"]).diagnostics.sorted()
    return [f"{each.code.number} {each.message}"[:45] for each in found if each.code.number.startswith("TC4")]


@pytest.mark.parametrize("written", ["{{ name }}", "${name}", "$name", "{name}", "<name>", "$ARG_NAME"])
def test_a_parameter_with_a_misspelled_placeholder_is_not_reported_as_unused(tmp_path: Path, written: str) -> None:
    found = codes_of(tmp_path, f"""shell: {{script: 'echo "Hi {written} and $ARG_other"'}}""")
    assert [each[:5] for each in found] == ["TC406" if "ARG" in written else "TC414"]


def test_code_from_an_argument_is_not_rewritten_as_argv_or_quoted(tmp_path: Path) -> None:
    assert [each[:5] for each in codes_of(tmp_path, "shell: {script: 'eval $ARG_name; echo \"$ARG_other\"'}")] == [
        "TC401"
    ]
    found = codes_of(tmp_path, """shell: {script: 'python3 -c "$ARG_name" "$ARG_other"'}""")
    assert [each[:5] for each in found] == ["TC401"]
