"""Calls in a real guest in separate namespaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from namespace_sandbox import NamespaceSandbox

from toolc.model.events import Stream
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Invocation, Plan, Profile, PythonCall
from toolc.model.result import Content, Outcome
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import EnvVar, Limits
from toolc.runtime.wire.call_loop import converse

PATH = EnvVar(name="PATH", value="/usr/bin:/bin")


def stopped(run: Callable[[int], Outcome]) -> Outcome:
    """Return the outcome of a call that its deadline ends, after it has written something.

    If half a second was too short, run it again with a longer deadline.
    """
    outcome = run(500)
    return outcome if outcome.stdout.total_bytes or outcome.ending != "timed_out" else run(50_000)


@dataclass
class Guest:
    """Runs each call in a separate sandbox. ``progress`` and ``output`` are those of the last call."""

    progress: list[tuple[float | None, str]] = field(default_factory=list)
    output: list[tuple[Stream, str | tuple[Content, ...]]] = field(default_factory=list)

    def run(
        self,
        invocation: Invocation,
        *,
        stdin: bytes = b"",
        env: tuple[EnvVar, ...] = (PATH,),
        limits: Limits | None = None,
        timeout_ms: int = 100_000,
    ) -> Outcome:
        plan = Plan(
            profile=Profile(limits=limits or Limits()), invocation=invocation, call_id="c-1", env=env, stdin=stdin
        )
        self.progress, self.output = [], []
        sandbox = NamespaceSandbox()
        try:
            outcome = converse(
                sandbox,
                plan,
                timeout_ms=timeout_ms,
                cancellation=None,
                on_progress=self._report,
                on_output=lambda stream, text: self.output.append((stream, text)),
            )
        finally:
            sandbox.close()
        assert sandbox.error_output() == ""
        return outcome

    def _report(self, percent: float | None, message: str, content: tuple[Content, ...]) -> None:
        self.progress.append((percent, message))
        if content:
            self.output.append(("content", content))

    def shell(self, script: str, *arguments: str, stdin: bytes = b"", timeout_ms: int = 100_000) -> Outcome:
        return self.run(Exec(argv=("/bin/sh", "-c", script, "sh", *arguments)), stdin=stdin, timeout_ms=timeout_ms)

    def program(self, code: str, *, timeout_ms: int = 100_000, limits: Limits | None = None) -> Outcome:
        """Run a Python program."""
        return self.run(
            Exec(argv=("/usr/bin/python3", "/tool/program.py"), files=(File(path="program.py", text=code),)),
            timeout_ms=timeout_ms,
            limits=limits,
        )

    def function(
        self, code: str, arguments: JsonObject | None = None, *files: File, timeout_ms: int = 100_000
    ) -> Outcome:
        """Call the function ``run`` of ``code``."""
        return self.run(
            PythonCall(
                entry="tool.py",
                function="run",
                arguments=arguments or {},
                files=(File(path="tool.py", text=code), *files),
            ),
            timeout_ms=timeout_ms,
        )
