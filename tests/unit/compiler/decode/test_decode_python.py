"""Decode ``backend.python``: code is parsed, never run, and findings have positions in the code."""

from pathlib import Path

import pytest
from compiling.compiled import HEAD, compile_text, found_in, tool_of

from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.spec.code_backends import File, PythonBackend
from toolc.reporters.text import render

FILE = HEAD + "parameters: {who: {type: string}}\nbackend: {python: {file: hello.py}}\n"


def python(folder: Path, code: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "hello.py").write_text(code, encoding="utf-8", newline="")


def test_named_files_are_part_of_the_tool(tmp_path: Path) -> None:
    python(tmp_path, "from lib import greet\n\ndef hello(who, *, ctx): ...\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "lib" / "data.bin").write_bytes(b"\xff")

    backend = tool_of(tmp_path, FILE.replace("hello.py", "hello.py, files: ['lib/*', '*.py']")).backend

    assert backend == PythonBackend(
        entry="hello.py",
        function="hello",
        files=(
            File(path="hello.py", text="from lib import greet\n\ndef hello(who, *, ctx): ...\n"),
            File(path="lib/__init__.py", text=""),
            File(path="lib/data.bin", base64="/w=="),
        ),
    )


def test_inline_code_is_a_file_named_after_the_tool(tmp_path: Path) -> None:
    text = HEAD.replace("hello", "say-hello", 1) + "backend: {python: {code: 'def say_hello(): ...'}}\n"

    assert tool_of(tmp_path, text).backend == PythonBackend(
        entry="say-hello.py", function="say_hello", files=(File(path="say-hello.py", text="def say_hello(): ..."),)
    )


def test_a_syntax_error_is_shown_in_the_python_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    python(tmp_path / "specs", "def hello(who):\r\n    return '\xe9' who\r\n")
    (tmp_path / "specs" / "tool.yaml").write_text(FILE, encoding="utf-8")

    found = render(compile_specs([Path("specs/tool.yaml")]).diagnostics, color=False)

    assert found.startswith("specs/hello.py:2:16: error TC112: specs/hello.py is not valid Python: ")
    assert "\n  2 |     return 'é' who\n    |                ^" in found


@pytest.mark.parametrize(
    "code",
    [
        "def hello(who): ...", "async def hello(*, who, ctx): ...", "def hello(**anything): ...",
        "def hello(who, more=1, *args, extra=None): ...",
        "try:\n    import x\nexcept ImportError:\n    def hello(who): ...", "if 1:\n    def hello(who): ...",
        "hello = lambda who: who", "hello: object = print", "from textwrap import hello",
        "from textwrap import greet as hello",
        "from textwrap import *", "@cache\ndef hello(nobody, knows): ...", "\ufeffdef hello(who): ...",
        "def hello(who):\n    return '\\d'",
    ],
)  # fmt: skip
def test_functions_that_accept_the_parameters(tmp_path: Path, code: str) -> None:
    python(tmp_path, code)

    assert found_in(tmp_path, FILE) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def run(who): ...", ["5:26 TC112 {py} defines no function 'hello'"]),
        ("class A:\n    def hello(who): ...", ["5:26 TC112 {py} defines no function 'hello'"]),
        ("def f():\n    def hello(who): ...", ["5:26 TC112 {py} defines no function 'hello'"]),
        ("x = '\xe9'; hello = 1\ndef hello(whom): ...", [
            "2:1 TC411 the function 'hello' does not accept the parameter 'who'",
            "2:11 TC411 the function requires 'whom', but the tool has no such parameter",
        ]),
        ("if 1:\n  def hello(ctx, é, who): ...", [
            "2:18 TC411 the function requires 'é', but the tool has no such parameter",
        ]),
        ("def hello(é=1, *, whom, **who): ...", [
            "1:19 TC411 the function requires 'whom', but the tool has no such parameter",
        ]),
        ("def hello(who, /): ...", [
            "1:1 TC411 the function 'hello' does not accept the parameter 'who'",
            "1:11 TC411 'who' is positional-only, but arguments are passed by name",
        ]),
        ("x = " + "(" * 5000, ["1:1 TC112 {py} is not valid Python"]),
        ("\0", ["TC112 {py} is not valid Python"]),
    ],
)  # fmt: skip
def test_functions_that_do_not_accept_the_parameters(tmp_path: Path, code: str, found: list[str]) -> None:
    python(tmp_path, code)

    lines = found_in(tmp_path, FILE)

    assert len(lines) == len(found)
    for line, expected in zip(lines, found, strict=True):
        wanted_start = expected.replace("{py}", f"{tmp_path.as_posix()}/hello.py").split("TC", 1)
        assert f"TC{wanted_start[1]}" in line
        assert wanted_start[0] in line or "not valid" in line


def test_a_parameter_that_may_be_absent_needs_a_default(tmp_path: Path) -> None:
    optional = FILE.replace("type: string", "type: string, optional: true")
    python(tmp_path, "def hello(who): ...")
    assert found_in(tmp_path, optional) == [
        "1:11 TC411 the parameter 'who' may be absent, but the function has no default for it"
    ]
    python(tmp_path, "def hello(who=None): ...")
    assert found_in(tmp_path, optional) == []


def test_the_code_is_never_run(tmp_path: Path) -> None:
    python(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')\ndef hello(who): ...\n")

    assert found_in(tmp_path, FILE) == []
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("backend", "found"),
    [
        (
            "{file: hello.py, code: x}",
            "backend.python has both 'file' and 'code'; it must have exactly one of 'file', 'code'",
        ),
        ("{function: f}", "backend.python has none of 'file', 'code'"),
        ("{file: hello.py, requirements: [x]}", "'requirements'[0] is not a package with an exact version: 'x'"),
        ("{file: bad.py}", "bad.py is not UTF-8"),
        ("{file: hello.py, files: [bad.py]}", "bad.py is not UTF-8"),
        ("{file: hello.py, files: [worse.py]}", "worse.py is not valid Python"),
        ("{code: 'def hello(who): 1', files: [hello.py]}", "hello.py has the same path as the inline code"),
        ("{file: hello.py, function: greet}", "defines no function 'greet'"),
    ],
)
def test_invalid_python_backends_are_rejected(tmp_path: Path, backend: str, found: str) -> None:
    python(tmp_path, "def hello(who): ...\n")
    (tmp_path / "bad.py").write_bytes(b"# caf\xe9\n")
    (tmp_path / "worse.py").write_bytes(b"def\n")

    assert found in "\n".join(found_in(tmp_path, FILE.replace("{file: hello.py}", backend)))


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("'def hello(whom): ...'", (6, 22)),
        ('"def hello(whom):\\n    ..."', (6, 22)),
        ('"x = \\"é\\"\\ndef hello(whom): ..."', (6, 11)),
        ("|\n      def hello(whom): ...\n", (7, 17)),
        ("|2-\n\n      # comment\n      if 1:\n        def hello(whom): ...\n", (10, 19)),
    ],
)
def test_errors_in_inline_code_have_positions(tmp_path: Path, code: str, place: tuple[int, int]) -> None:
    text = f"{HEAD}backend:\n  python:\n    code: {code}"

    (found,) = compile_text(tmp_path, text).diagnostics.sorted()

    assert found.code.number == "TC411"
    assert (found.span.start.line, found.span.start.column) == place


def test_errors_in_inline_code_of_toml_have_positions(tmp_path: Path) -> None:
    text = (
        'toolc = 1\nname = "hello"\ndescription = "Say hello to the whole world."\n'
        "backend.python.code = '''\nx = 1\ndef hello(whom):\n    ...\n'''\n"
    )

    (found,) = compile_text(tmp_path, text, "tool.toml").diagnostics.sorted()

    assert (found.span.start.line, found.span.start.column, found.code.number) == (6, 11, "TC411")


@pytest.mark.parametrize("line", ['return f"{a b}"', 'return f"a{b +}"'])
def test_errors_in_f_strings_have_visible_positions(tmp_path: Path, line: str) -> None:
    found = found_in(tmp_path, f"{HEAD}backend:\n  python:\n    code: |\n      def hello():\n        {line}\n")

    [place] = [each.split()[0] for each in found]
    row, column = map(int, place.split(":"))

    assert row == 8
    assert column >= 9, "not in the blanks before it"


def test_missing_block_is_reported_at_the_previous_line(tmp_path: Path) -> None:
    code = "backend:\n  python:\n    code: |\n      def hello():\n        if 1:\n             \n"

    [found] = found_in(tmp_path, HEAD + code)

    assert found.startswith("8:9 TC112 ")
