"""The backend ``shell``: runs a program with arguments, or a script with its parameters in the environment."""

from typing import Final

from toolc.backends.backend_protocol import Backend, PlanError, environment
from toolc.backends.content import combined_output, program_failure, signal_name, with_note
from toolc.guest.context import image_type
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject, JsonValue, parse_json
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.result import Image, Outcome, Text, ToolResult, failure
from toolc.model.spec.code_backends import Argv, ErrorKind, File, Script, ShellBackend
from toolc.model.spec.sandbox import EnvVar
from toolc.model.spec.tool import ResultSpec
from toolc.model.template import Placeholder, Template, TemplateError, as_text, evaluate

MAX_ARGUMENT_BYTES: Final = 131_071
"""The maximum size of an argument or ``NAME=value``, in bytes (Linux: MAX_ARG_STRLEN without the final NUL)."""

MAX_TOTAL_BYTES: Final = 2_000_000
"""The maximum size of all arguments and variables, in bytes (Linux: a quarter of the stack limit, 2 MiB by default)."""

SCRIPT: Final = "script"
"""The file name of the script in ``/tool``."""

CANNOT_RUN: Final = 126
COMMAND_NOT_FOUND: Final = 127
"""The exit status of a shell if it cannot find a command (POSIX, 2.8.2)."""


class Shell:
    """The backend kind ``shell``."""

    def plan(self, backend: ShellBackend, call: BoundCall, profile: Profile) -> Plan:
        """Return the program to run, its stdin and its environment. Raises ``PlanError``."""
        env = environment(call.tool.sandbox, call.call_id)
        try:
            if isinstance(backend.command, Script):
                argv: tuple[str, ...] = (*backend.command.interpreter, f"/tool/{SCRIPT}")
                files: tuple[File, ...] = (File(path=SCRIPT, text=backend.command.text),)
                env += _arg_variables(call.arguments)
            else:
                argv, files = _argv(backend.command, backend.allow_dash, call.arguments), ()
            stdin = backend.stdin.render(call.arguments).encode() if backend.stdin else b""
        except TemplateError as error:
            raise PlanError(str(error)) from None
        # The kernel adds a NUL and a pointer to each.
        size = sum(len(text.encode()) + 9 for text in (*argv, *(v.name + v.value for v in env)))
        if size > MAX_TOTAL_BYTES:
            raise PlanError(
                f"the arguments have {size} bytes; the maximum for a program is {MAX_TOTAL_BYTES}; "
                "send less, or pass them through `stdin` in the spec"
            )
        invocation = Exec(argv=argv, files=files, progress=backend.progress)
        return Plan(profile=profile, invocation=invocation, call_id=call.call_id, env=env, stdin=stdin)

    def read(self, backend: ShellBackend, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """Return the result for an exit status, with stdout in the format ``result.format``."""
        if outcome.ending == "not_started":
            reason = outcome.reason or "the command could not be started"
            return failure("execution" if outcome.status == CANNOT_RUN else "not_found", reason)
        if outcome.ending == "broken":
            return program_failure(
                "execution", f"the session violated the protocol: {outcome.reason}", outcome, outcome.reason
            )
        if outcome.ending != "exited":
            name = signal_name(outcome.status)
            return program_failure("exit_status", f"the command was killed by {name}", outcome, f"killed by {name}")
        note = f"exit status {outcome.status}"
        kind = _kind(backend, outcome.status)
        if kind is not None:
            return program_failure(kind, f"the command ended with {note}", outcome, note)
        if backend.success_exit_codes is None and outcome.status != 0:
            return ToolResult(content=(Text(with_note(combined_output(outcome), note)),))
        stdout = outcome.stdout
        match result.format:
            case "none":
                return ToolResult(content=())
            case "text":
                text = stdout.text()
                return ToolResult(content=(Text(text),) if text else ())
            case "json" | "image" if stdout.truncated:
                message = (
                    f"the command wrote {stdout.total_bytes} bytes, more than its output limit, and {result.format} "
                    "output cannot be truncated; request less data"
                )
                return failure("output_limit", message)
            case "json":
                return _read_json(outcome)
            case "image":
                mime_type = image_type(stdout.data())
                if mime_type is None:
                    return failure("serialization", "the command's output is not a PNG, JPEG, GIF or WebP image")
                return ToolResult(content=(Image(stdout.data(), mime_type),))


def _kind(backend: ShellBackend, status: int) -> ErrorKind | None:
    for each in backend.errors:
        if each.status == status:
            return each.kind
    if backend.success_exit_codes is None or status in backend.success_exit_codes:
        return None
    return "not_found" if status == COMMAND_NOT_FOUND else "exit_status"


def _read_json(outcome: Outcome) -> ToolResult:
    data = outcome.stdout.data()
    try:
        value = parse_json(data)
    except ValueError as error:
        message = f"the command's output is not JSON: {error}"
        return program_failure("serialization", message, outcome, message)
    return ToolResult(content=(Text(outcome.stdout.text().strip()),), structured=(value,))


def _arg_variables(arguments: JsonObject) -> tuple[EnvVar, ...]:
    variables = []
    for name, value in arguments.items():
        text = as_text(value)
        _check_size(name, f"ARG_{name}={text}")
        variables.append(EnvVar(name=f"ARG_{name}", value=text))
    return tuple(variables)


def _argv(command: Argv, allow_dash: tuple[str, ...], arguments: JsonObject) -> tuple[str, ...]:
    """Return the program and its arguments. An element gives one argument, or one per item if it is an array."""
    templates: list[Template] = []
    for element in command.elements:
        if isinstance(element, Template):
            templates.append(element)
        elif (value := arguments.get(element.when)) or type(value) in (int, float):  # 0 is not empty
            templates += element.argv
    argv: list[str] = []
    after_separator = False
    for template in templates:
        after_separator = after_separator or template.parts == ("--",)
        may_dash = template.names if after_separator else allow_dash
        values = [part if isinstance(part, str) else evaluate(part, arguments) for part in template.parts]
        # The spec provides the first character. Only the caller's text can be mistaken for an option.
        source: str | Placeholder | None = template.sole_placeholder
        if source is not None and isinstance(array := values[0], list):
            texts = [as_text(item) for item in array]
        else:
            pieces = [as_text(value) for value in values]
            source = next((part for part, piece in zip(template.parts, pieces, strict=True) if piece), None)
            texts = ["".join(pieces)]
        for text in texts:
            if text.startswith("-") and isinstance(source, Placeholder) and source.name not in may_dash:
                raise PlanError(f"{source.name}: {_as_option(text, evaluate(source, arguments))}")
            _check_size(", ".join(sorted(template.names)), text)
        argv += texts
    if not argv or not argv[0]:
        raise PlanError("the command is empty with these arguments; pass arguments that name a program")
    return tuple(argv)


def _as_option(text: str, value: JsonValue) -> str:
    """Return the message for a value that starts with ``-``, or for an array with such a text."""
    if isinstance(value, int | float) or (isinstance(value, list) and not any(isinstance(each, str) for each in value)):
        return f"{text[:60]} is negative, so the command would read it as an option; use a number that is not negative"
    shown = f"{text[:60]!r} starts with '-', so the command would read it as an option"
    return f"{shown}; for a file, use './{text[:60]}'"


def _check_size(name: str, text: str) -> None:
    if "\0" in text:
        raise PlanError(f"{name}: a NUL character cannot be passed as an argument; pass it through `stdin` in the spec")
    size = len(text.encode())
    if size > MAX_ARGUMENT_BYTES:
        raise PlanError(
            f"{name}: the argument has {size} bytes; the maximum is {MAX_ARGUMENT_BYTES}; "
            "send less, or pass it through `stdin` in the spec"
        )


BACKEND: Final[Backend[ShellBackend]] = Shell()
