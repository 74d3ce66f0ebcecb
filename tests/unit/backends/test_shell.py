"""The shell backend: the plan of a call, and the result of its outcome."""

import pytest

from toolc.backends.backend_protocol import PlanError
from toolc.backends.shell import MAX_ARGUMENT_BYTES, Shell
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.result import Capture, Image, Outcome, Text, ToolFailure, ToolResult
from toolc.model.spec.code_backends import Argv, ExitError, File, Script, ShellBackend, WhenGroup
from toolc.model.spec.sandbox import EnvVar, SandboxSpec
from toolc.model.spec.tool import ResultSpec, ToolSpec
from toolc.model.template import Filter, Placeholder, Template

PNG = b"\x89PNG\r\n\x1a\nrest"


def text(*parts: str | Placeholder) -> Template:
    return Template(parts)


def name(parameter: str, *keys: str) -> Placeholder:
    return Placeholder(parameter, keys)


def plan(backend: ShellBackend, /, **arguments: JsonValue) -> Plan:
    return plan_with_env(backend, (), arguments)


def plan_with_env(backend: ShellBackend, env: tuple[EnvVar, ...], arguments: JsonObject) -> Plan:
    tool = ToolSpec(
        name="t", description="d", parameters=Schema({"type": "object"}), backend=backend, sandbox=SandboxSpec(env=env)
    )
    return Shell().plan(backend, BoundCall(tool=tool, arguments=arguments, call_id="call_1"), Profile())


def argv(*elements: Template | WhenGroup, allow_dash: tuple[str, ...] = (), **arguments: JsonValue) -> tuple[str, ...]:
    backend = ShellBackend(command=Argv(elements=elements), allow_dash=allow_dash)
    invocation = plan(backend, **arguments).invocation
    assert isinstance(invocation, Exec)
    return invocation.argv


@pytest.mark.parametrize("command", [Argv(elements=(text("x"),)), Script(text="x", interpreter=("/bin/sh",))])
@pytest.mark.parametrize("progress", [False, True])
def test_the_plan_states_whether_a_program_reports_progress(command: Argv | Script, progress: bool) -> None:
    invocation = plan(ShellBackend(command=command, progress=progress)).invocation
    assert isinstance(invocation, Exec)
    assert invocation.progress is progress


def captured(data: bytes, cut_bytes: int = 0) -> Capture:
    return Capture(head=data, total_bytes=len(data) + cut_bytes)


def read(
    backend: ShellBackend | None = None,
    *,
    status: int = 0,
    stdout: bytes = b"",
    stderr: bytes = b"",
    result: ResultSpec | None = None,
) -> ToolResult:
    outcome = Outcome(ending="exited", status=status, stdout=captured(stdout), stderr=captured(stderr))
    return Shell().read(backend or ShellBackend(command=Argv(elements=())), result or ResultSpec(), outcome)


def shell(success: tuple[int, ...] | None = (0,), *errors: ExitError) -> ShellBackend:
    return ShellBackend(command=Argv(elements=()), success_exit_codes=success, errors=errors)


# argv


X = text(name("x"))
DASHED = "-rf"


@pytest.mark.parametrize(
    ("elements", "arguments", "expected"),
    [
        ((X,), {"x": "a b; $(rm -rf /)\n'\""}, ("a b; $(rm -rf /)\n'\"",)), ((X,), {"x": ["a", "b c"]}, ("a", "b c")),
        ((X,), {"x": []}, ()), ((X,), {"x": [1, True, {"k": "v"}]}, ("1", "true", '{"k":"v"}')),
        ((X,), {"x": {"k": [1, 2]}}, ('{"k":[1,2]}',)), ((X,), {"x": None}, ("null",)), ((X,), {"x": ""}, ("",)),
        ((text("--n=", name("x"), "!"),), {"x": 3}, ("--n=3!",)),
        ((text("x=", name("x")),), {"x": ["a", 1]}, ('x=["a",1]',)),
        ((text("--n=", name("x")),), {"x": "-5"}, ("--n=-5",)), ((text("--"), X), {"x": DASHED}, ("--", DASHED)),
        ((text(Placeholder("o", ("tags",), (Filter("join", ","),))),), {"o": {"tags": ["a", "b"]}}, ("a,b",)),
        ((WhenGroup(when="y", argv=(text("--y"),)),), {}, ()),
    ],
)  # fmt: skip
def test_the_arguments_of_a_program(
    elements: tuple[Template | WhenGroup, ...], arguments: JsonObject, expected: tuple[str, ...]
) -> None:
    assert argv(text("c"), *elements, allow_dash=(), **arguments) == ("c", *expected)


def test_the_spec_can_allow_a_dash_by_name() -> None:
    assert argv(text("c"), X, x=-5, allow_dash=("x",)) == ("c", "-5")


@pytest.mark.parametrize(
    ("elements", "arguments", "message"),
    [
        ((X,), {"x": DASHED}, "^x: '-rf' starts with '-'"), ((X,), {"x": "--"}, "^x: '--' starts with '-'"),
        ((X,), {"x": "-"}, "^x: '-' starts with '-'"), ((X,), {"x": -5}, "^x: -5 is negative, .* not negative$"),
        ((X,), {"x": [1, -0.5]}, "^x: -0.5 is negative"), ((X,), {"x": [1, "-5"]}, "^x: '-5' starts .* './-5'$"),
        ((X,), {"x": ["ok", DASHED]}, "^x: '-rf' starts with '-'"),
        ((text(name("x"), ".txt"),), {"x": DASHED}, "^x: "),
        ((text(name("empty"), name("x")),), {"x": DASHED, "empty": ""}, "^x: "),
        ((text(name("x"), name("empty")),), {"x": DASHED, "empty": ""}, "^x: "),
        ((WhenGroup(when="y", argv=(text("--"),)), X), {"x": DASHED}, "^x: '-rf'"),
        ((text(name("y")), X), {"x": DASHED, "y": "--"}, "^x: '-rf'"), ((X,), {"x": "a\0b"}, "^x: a NUL .* `stdin` "),
        ((X,), {"x": ["a" * 100_000] * 25}, "`stdin`"),
        ((text(name("o", "k")),), {"o": {}}, "argument 'o' has no key 'k'"),
    ],
)  # fmt: skip
def test_invalid_program_arguments_are_rejected(
    elements: tuple[Template | WhenGroup, ...], arguments: JsonObject, message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        argv(text("rm"), *elements, allow_dash=("y",), **arguments)


def test_an_empty_command_is_an_argument_error() -> None:
    with pytest.raises(PlanError, match="the command is empty with these arguments"):
        argv(X, x=[])


EMPTY: list[JsonValue] = [None, False, "", [], {}]


@pytest.mark.parametrize(
    ("value", "rendered"), [(0, "0"), (True, "true"), ("a", "a"), (["a"], "a"), *((each, None) for each in EMPTY)]
)
def test_a_when_group_is_omitted_if_its_argument_is_false_or_empty(value: JsonValue, rendered: str | None) -> None:
    group = WhenGroup(when="x", argv=(text("--x"), text(name("x"))))
    assert argv(text("c"), group, x=value) == (("c",) if rendered is None else ("c", "--x", rendered))


def test_the_size_of_an_argument_is_limited() -> None:
    longest = "ä" * (MAX_ARGUMENT_BYTES // 2) + "x"
    assert argv(text("c"), text(name("x")), x=longest) == ("c", longest)
    with pytest.raises(PlanError, match=r"^x: the argument has 131072 bytes; .* `stdin` "):
        argv(text("c"), text(name("x")), x=longest + "x")


# scripts, stdin and the environment


def test_a_script_is_a_file_and_its_parameters_are_variables() -> None:
    backend = ShellBackend(command=Script(text='echo "$ARG_a"\n'))
    planned = plan(backend, a="x; y", n=1.5, flag=True, items=["ä", {"k": None}], nothing=None)
    assert planned.invocation == Exec(
        argv=("/bin/sh", "-eu", "/tool/script"), files=(File(path="script", text='echo "$ARG_a"\n'),)
    )
    variables = {v.name: v.value for v in planned.env if v.name.startswith("ARG_")}
    assert variables == {
        "ARG_a": "x; y",
        "ARG_n": "1.5",
        "ARG_flag": "true",
        "ARG_items": '["ä",{"k":null}]',
        "ARG_nothing": "null",
    }


def test_an_absent_argument_has_no_variable() -> None:
    assert not any(v.name.startswith("ARG_") for v in plan(ShellBackend(command=Script(text=""))).env)


@pytest.mark.parametrize("value", ["a\0b", "a" * MAX_ARGUMENT_BYTES])
def test_a_variable_that_cannot_be_passed_is_rejected(value: str) -> None:
    with pytest.raises(PlanError, match=r"^long: .* `stdin` "):
        plan(ShellBackend(command=Script(text="")), long=value)


def test_the_environment_has_the_base_and_the_spec_and_not_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_SECRET", "x")
    backend = ShellBackend(command=Argv(elements=(text("env"),)))
    env = plan_with_env(backend, (EnvVar(name="LANG", value="de_DE"), EnvVar(name="MODE", value="fast")), {}).env
    assert {v.name: v.value for v in env} == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/tmp",
        "LOGNAME": "tool",
        "USER": "tool",
        "LANG": "de_DE",
        "TOOLC_CALL_ID": "call_1",
        "MODE": "fast",
    }


def test_stdin_is_rendered_unchanged_and_empty_by_default() -> None:
    assert plan(ShellBackend(command=Argv(elements=(text("cat"),)))).stdin == b""
    backend = ShellBackend(command=Argv(elements=(text("cat"),)), stdin=text("<", name("x"), ">\n"))
    assert plan(backend, x="ä\0\r\n" + "a" * 200_000).stdin == b"<\xc3\xa4\0\r\n" + b"a" * 200_000 + b">\n"


# results


@pytest.mark.parametrize(
    ("status", "stdout", "stderr", "expected"),
    [
        (0, b"out\n", b"err\n", "out\n"),
        (0, b"", b"", ""),
        (3, b"out", b"err\n", "out\n[stderr]\nerr\n[exit status 3]"),
        (1, b"", b"err", "err\n[exit status 1]"),
        (1, b"", b"", "[exit status 1]"),
    ],
)
def test_the_text_of_a_result(status: int, stdout: bytes, stderr: bytes, expected: str) -> None:
    error = ToolFailure("exit_status", f"the command ended with exit status {status}") if status else None
    content = (Text(expected),) if expected else ()
    assert read(status=status, stdout=stdout, stderr=stderr) == ToolResult(content=content, error=error)


def test_the_spec_defines_the_success_codes() -> None:
    assert not read(shell((0, 1)), status=1, stdout=b"none\n").is_error
    assert read(shell((1,)), status=0).is_error


def test_with_any_a_nonzero_exit_is_a_result_with_both_streams() -> None:
    assert read(shell(None), status=2, stdout=b"out\n", stderr=b"err\n") == ToolResult(
        content=(Text("out\n[stderr]\nerr\n[exit status 2]"),)
    )
    assert read(shell(None), status=0, stdout=b"out\n", stderr=b"err\n").text == "out\n"


def test_the_error_map_has_priority_over_success_codes() -> None:
    backend = shell(None, ExitError(status=2, kind="invalid_args"))
    result = read(backend, status=2, stderr=b"bad flag")
    assert result.error == ToolFailure("invalid_args", "the command ended with exit status 2")


def test_127_is_not_found_unless_the_spec_says_otherwise() -> None:
    for backend, kind in ((shell(), "not_found"), (shell((0,), ExitError(status=127, kind="file")), "file")):
        error = read(backend, status=127).error
        assert error is not None
        assert error.kind == kind
    assert not read(shell(None), status=127).is_error


def test_a_command_that_could_not_be_started_is_not_found() -> None:
    outcome = Outcome(ending="not_started", reason="command not found: frobnicate")
    result = Shell().read(shell(), ResultSpec(), outcome)
    assert result.error == ToolFailure("not_found", "command not found: frobnicate")


def test_a_command_for_which_no_process_or_descriptor_is_left_has_failed() -> None:
    outcome = Outcome(ending="not_started", status=126, reason="Too many open files")
    result = Shell().read(shell(), ResultSpec(), outcome)
    assert result.error == ToolFailure("execution", "Too many open files")


def test_the_signal_is_named() -> None:
    outcome = Outcome(ending="signaled", status=11, stdout=captured(b"half"))
    result = Shell().read(shell(None), ResultSpec(), outcome)
    assert result.error == ToolFailure("exit_status", "the command was killed by SIGSEGV")
    assert result.text == "half\n[killed by SIGSEGV]"


def test_json_is_data_and_text() -> None:
    result = read(stdout=b' {"a": [1, 2.5]}\n', result=ResultSpec(format="json"))
    assert result == ToolResult(content=(Text('{"a": [1, 2.5]}'),), structured=({"a": [1, 2.5]},))


@pytest.mark.parametrize(
    ("stdout", "why"),
    [
        (b"hello\n", "line 1 column 1: Expecting value"),
        (b"", "line 1 column 1: Expecting value"),
        (b"{} {}", "line 1 column 4: Extra data"),
        (b"[NaN]", "NaN is not JSON"),
        (b'"\xff"', "byte 1 is not UTF-8"),
        (b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_output_that_is_not_json_is_a_serialization_error(stdout: bytes, why: str) -> None:
    error = read(stdout=stdout, result=ResultSpec(format="json")).error
    assert error == ToolFailure("serialization", f"the command's output is not JSON: {why}")


def test_an_unpaired_surrogate_is_replaced() -> None:
    result = read(stdout=b'["\\ud800", "\\ud83d\\ude00"]', result=ResultSpec(format="json"))
    assert result.structured == (["\ufffd", "\U0001f600"],)


def test_an_image_is_detected_by_its_first_bytes() -> None:
    assert read(stdout=PNG, result=ResultSpec(format="image")).content == (Image(PNG, "image/png"),)


def test_output_that_is_not_an_image_is_a_serialization_error() -> None:
    error = read(stdout=b"<svg/>", result=ResultSpec(format="image")).error
    assert error == ToolFailure("serialization", "the command's output is not a PNG, JPEG, GIF or WebP image")


@pytest.mark.parametrize("format_", ["json", "image"])
def test_truncated_json_or_images_are_output_limit_errors(format_: str) -> None:
    result = ResultSpec(format="json" if format_ == "json" else "image")
    outcome = Outcome(ending="exited", stdout=captured(PNG, cut_bytes=1000))
    error = Shell().read(shell(), result, outcome).error
    assert error is not None
    assert error.kind == "output_limit"
    assert error.message.startswith(f"the command wrote {len(PNG) + 1000} bytes")


def test_truncated_text_is_a_result_with_a_note() -> None:
    outcome = Outcome(ending="exited", stdout=Capture(head=b"aa", tail=b"zz", total_bytes=10))
    assert Shell().read(shell(), ResultSpec(), outcome) == ToolResult(content=(Text("aa\n[6 bytes cut]\nzz"),))


def test_format_none_returns_only_errors() -> None:
    assert read(stdout=b"noise", result=ResultSpec(format="none")) == ToolResult(content=())
    assert read(stdout=b"noise", status=1, result=ResultSpec(format="none")).text == "noise\n[exit status 1]"
