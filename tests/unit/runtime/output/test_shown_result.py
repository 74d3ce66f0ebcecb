"""A model reads the text of a result as a terminal shows it, in valid Unicode."""

from dataclasses import replace

from calls.scripted_tools import tool

from toolc.backends.shell import Shell
from toolc.guest import frames
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.result import Image, Outcome, Text, ToolResult
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.sandbox import Limits, SandboxSpec
from toolc.model.spec.tool import ResultSpec, ToolSpec
from toolc.runtime.output.guest_streams import call_outputs
from toolc.runtime.output.shown_result import show_result
from toolc.runtime.secrets.redaction import Redactor

COLORED = "\x1b[1mbold\x1b[0m"
NO_SECRET = Redactor()
SHOWN = ResultSpec()
SECRET = Redactor({"TOKEN": "s3cr3t-value"})
INTERRUPTED = b"\x1b[31ms3cr3t\x1b[0m-value"


def spec(result: ResultSpec = SHOWN, output_bytes: int = 1000) -> ToolSpec:
    return replace(tool("t"), result=result, sandbox=SandboxSpec(limits=Limits(output_bytes=output_bytes)))


def outcome(
    stdout: bytes, redactor: Redactor = NO_SECRET, *, raw: bool = False, status: int = 0
) -> tuple[Outcome, str]:
    """Return the outcome of a program, and the output that listeners of the call received."""
    plan = Plan(profile=Profile(limits=Limits(output_bytes=1000)), invocation=Exec(argv=("x",)), call_id="c")
    outputs = call_outputs(replace(plan, has_raw_text=raw), redactor, lambda *_: None, lambda _: None)
    output = outputs[frames.STDOUT]
    live = b"".join(output.add(stdout[at : at + 7]) for at in range(0, len(stdout), 7)) + output.finish()
    return Outcome(ending="exited", status=status, stdout=output.capture()), live.decode("utf-8", "replace")


def of_program(stdout: bytes, redactor: Redactor = NO_SECRET, result: ResultSpec = SHOWN) -> tuple[ToolResult, str]:
    ended, live = outcome(stdout, redactor, raw=result.raw)
    read = Shell().read(ShellBackend(command=Argv(elements=())), result, ended)
    return show_result(read, spec(result), ended), live


def test_details_have_the_text_as_it_came_only_if_it_differs() -> None:
    result, live = of_program(b"\x1b[1mPASS\x1b[0m\r\n10%\r100%\n")
    assert (result.text, live) == ("PASS\n100%\n", "PASS\n100%\n")
    assert result.details == {"raw": "\x1b[1mPASS\x1b[0m\r\n10%\r100%\n"}
    assert of_program(b"plain\r\ntext\n")[0].details == {}


def test_a_spec_can_keep_the_text_as_it_came() -> None:
    result, live = of_program(b"\x1b[1mPASS\r\n10%\r100%\n", result=ResultSpec(raw=True))
    assert result.text == live == "\x1b[1mPASS\r\n10%\r100%\n"
    assert result.details == {}


def test_what_is_overwritten_does_not_count_against_the_output_limit() -> None:
    result, _ = of_program(b"%d %%\r" * 10_000 + b"done    \n")
    assert result.text == "done\n"
    assert len(str(result.details["raw"])) < 1100


def test_data_and_images_keep_their_bytes() -> None:
    result, _ = of_program(b'\r\n{"a": "\\u001b[1m"}\r\n', result=ResultSpec(format="json"))
    assert result.structured == ({"a": "\x1b[1m"},)
    gif = b"GIF89a\x1b[1m\x9b\r\x08"
    assert of_program(gif, result=ResultSpec(format="image"))[0].content == (Image(gif, "image/gif"),)


def test_texts_of_functions_and_errors_are_shown_too() -> None:
    result = show_result(ToolResult(content=(Text(COLORED), Text("a\ud800"))), spec())
    assert result.content == (Text("bold"), Text("a\ufffd"))
    assert result.details == {"raw": f"{COLORED}\na\ufffd"}
    failed = show_result(ToolResult.failure(COLORED), spec())
    assert (failed.text, failed.error and failed.error.message) == ("bold", "bold")
    long = show_result(ToolResult(content=(Text(COLORED * 100),)), spec(output_bytes=100))
    assert len(str(long.details["raw"])) < 150


def test_a_secret_is_found_in_both_forms() -> None:
    for stdout in (INTERRUPTED, b"s3cr3t-value", b"xxx\rs3cr3t-v\x1b]0;t\x07alue"):
        result, live = of_program(b"a\n" + stdout + b"\nb\n", SECRET)
        assert "[secret TOKEN]" in result.text
        assert "[secret TOKEN]" in live
        assert "[secret TOKEN]" in str(result.details.get("raw", "[secret TOKEN]"))
        assert "s3cr3t" not in f"{result} {live}"
    raw, live = of_program(INTERRUPTED, SECRET, ResultSpec(raw=True))
    assert raw.text == live == "\x1b[31m[secret TOKEN]"


def test_a_secret_that_a_line_puts_together_is_not_shown() -> None:
    result, live = of_program(b"s3cr3t-XX\x08\x08value\n", SECRET)
    assert (result.text, live) == ("[secret TOKEN]\n", "[secret TOKEN]\n")
