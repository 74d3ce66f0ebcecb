"""Python code that runs text as code."""

from pathlib import Path

import pytest
from compiling.compiled import HEAD, compile_text, found_in

CALLS = {
    "eval(text)": "eval() runs text as Python code",
    "exec(f'{text}')": "exec() runs text as Python code",
    "os.system('ls ' + text)": "a shell runs this text as code",
    "os.popen(text)": "a shell runs this text as code",
    "subprocess.run(text, shell=True)": "a shell runs this text as code",
    "Popen(text, shell=True)": "a shell runs this text as code",
    "subprocess.getoutput(text)": "a shell runs this text as code",
}


def spec(code: str) -> str:
    return f"{HEAD}parameters: {{text: {{type: string}}}}\nbackend:\n  python:\n    code: |\n{code}"


@pytest.mark.parametrize("call", CALLS)
def test_model_text_run_as_code_is_reported(tmp_path: Path, call: str) -> None:
    assert found_in(tmp_path, spec(f"      def hello(text):\n          return {call}\n")) == [
        f"9:18 TC411 {CALLS[call]}"
    ]


@pytest.mark.parametrize(
    "call",
    [
        "eval('1 + 1')", "model.eval(text)", "eval()", "ast.literal_eval(text)", "subprocess.run(['ls', '--', text])",
        "subprocess.run(text, shell=False)", "subprocess.run('ls | wc -l', shell=True)", "re.compile(text)",
        "(lambda x: x)(text)", "a" + ".b" * 2000 + "(text)",
    ],
)  # fmt: skip
def test_safe_code_is_not_reported(tmp_path: Path, call: str) -> None:
    assert found_in(tmp_path, spec(f"      def hello(text):\n          return {call}\n")) == []


def test_every_python_file_of_a_tool_is_checked(tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text("import lib\n\ndef hello():\n    return lib.run('é', '1')\n", encoding="utf-8")
    (tmp_path / "lib.py").write_text("def run(é, text):\n    return é, eval(text)\n", encoding="utf-8")
    text = f"{HEAD}backend: {{python: {{file: hello.py, files: [lib.py]}}}}\n"
    (found,) = compile_text(tmp_path, text).diagnostics.sorted()
    assert str(found.span) == f"{tmp_path.as_posix()}/lib.py:2:15"
    assert found.span.end.column == 19
