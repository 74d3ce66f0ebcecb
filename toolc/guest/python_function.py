"""Call the function of a Python tool in the worker's interpreter and write its answer.

The tool's module is named ``__tool__``. The standard library precedes the tool's own files on the module search
path, so a tool file called ``statistics`` does not replace the standard module of that name.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable
from io import TextIOWrapper
from types import AsyncGeneratorType, CodeType, GeneratorType, ModuleType

from toolc.guest import answer, connections
from toolc.guest.answer import GeneratorOutput
from toolc.guest.context import Context, Updates
from toolc.guest.job import TOOL_DIRECTORY, Job, PreparationError, PythonFunction
from toolc.guest.preload import SITE_PACKAGES, FailedImport, flush_output
from toolc.guest.processes import Pipes, write_all
from toolc.guest.streams import STARTED

MODULE_NAME = "__tool__"


def run(job: Job, python: PythonFunction, pipes: Pipes, failed: FailedImport | None) -> int:
    """Call the function and write its answer to the reply pipe. Return the exit status for this process.

    Raises ``PreparationError`` if the entry file cannot be read.
    """
    write_all(pipes.reply[1], GuestFunction(job, python, pipes, failed).call(job.call_id, python.arguments))
    return 0


class GuestFunction:
    """A tool's function in this interpreter. The first call loads its module, and later calls reuse it.

    ``failed`` is the module that could not be imported before the call, if any. It makes every call fail.
    """

    def __init__(self, job: Job, python: PythonFunction, pipes: Pipes, failed: FailedImport | None) -> None:
        """Set up the interpreter for the tool. Raises ``PreparationError`` if the entry file cannot be read."""
        _set_up_interpreter(job, python)
        self._code = _read(os.path.join(TOOL_DIRECTORY, python.entry))
        self._python = python
        self._failed = failed
        self._control = pipes.control[1]
        self._updates = Updates(pipes.yielded[1])
        self._module: ModuleType | None = None
        self._process = os.getpid()
        os.write(self._control, STARTED + b"\n")

    def call(self, call_id: str, arguments: dict[str, object]) -> bytes:
        """Return the answer of the function, which may be an error. Flush the function's output."""
        try:
            reply = answer.success(self._call(Context(call_id, self._control, self._updates), arguments))
        except BaseException as error:  # noqa: BLE001  any exception of a tool is its result
            reply = _failed(error)
        if os.getpid() != self._process:
            os._exit(0)  # a process forked by the tool returned to this point; only the original process answers
        flush_output()
        return reply

    def _call(self, context: Context, arguments: dict[str, object]) -> object:
        if self._failed is not None:
            raise context.error("execution", self._failed.message) from self._failed.error
        if self._module is None:
            self._module = _load_module(self._code, os.path.join(TOOL_DIRECTORY, self._python.entry))
        function = getattr(self._module, self._python.function, None)
        if not callable(function):
            raise context.error("execution", "%s has no function %s" % (self._python.entry, self._python.function))
        arguments = dict(arguments)
        if "ctx" in _parameters(function):
            arguments["ctx"] = context
        return _complete(function(**arguments), GeneratorOutput(context, self._updates))


def _set_up_interpreter(job: Job, python: PythonFunction) -> None:
    """Make this interpreter look as if it had been started only for the tool."""
    os.environ.clear()
    os.environ.update(job.environment)
    # Python's default: writing to a closed pipe raises an exception instead of killing the process.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # Create new streams: the original ones were opened for the descriptors of the host connection.
    sys.stdin = sys.__stdin__ = _stream(0, "r", "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "w", "backslashreplace")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "w", "backslashreplace")  # type: ignore[misc]
    path = os.path.join(TOOL_DIRECTORY, python.entry)
    sys.argv = [path]
    sys.dont_write_bytecode = True
    connections.watch()
    own = [os.path.dirname(path), TOOL_DIRECTORY]
    # Modules that were imported before the call may already have added the folders.
    sys.path[:] = [each for each in sys.path if each not in SITE_PACKAGES]
    sys.path += [*dict.fromkeys(own), *SITE_PACKAGES]


def _stream(fd: int, mode: str, errors: str) -> TextIOWrapper:
    # Use line buffering, so that a killed call keeps the output written before.
    return TextIOWrapper(open(fd, mode + "b", closefd=False), "utf-8", errors, line_buffering=True)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise PreparationError("%s: %s" % (path, error.strerror)) from error


def _load_module(code: bytes, path: str) -> ModuleType:
    module = ModuleType(MODULE_NAME)
    module.__file__ = path
    sys.modules[MODULE_NAME] = module
    exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  running the tool's code is intended
    return module


def _parameters(function: object) -> tuple[str, ...]:
    """Return the parameter names of a function, which may be decorated. Importing ``inspect`` would take 11 ms."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if not isinstance(code, CodeType):
        return ()
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _complete(value: object, yields: GeneratorOutput) -> object:
    """Await a coroutine or run a generator to its end. Return any other value unchanged."""
    if isinstance(value, GeneratorType):
        return _run_generator(value, yields)
    if isinstance(value, AsyncGeneratorType):
        value = _run_async_generator(value, yields)
    if isinstance(value, Awaitable):
        import asyncio  # lazy: +39 ms; only async tools need it

        return asyncio.run(_awaited(value))
    return value


async def _awaited(value: Awaitable[object]) -> object:
    return await value


def _run_generator(generator: GeneratorType[object, None, object], yields: GeneratorOutput) -> object:
    while True:
        try:
            item = next(generator)
        except StopIteration as stop:
            return yields.result() if stop.value is None else stop.value
        yields.add(item)


async def _run_async_generator(generator: AsyncGeneratorType[object, None], yields: GeneratorOutput) -> object:
    async for item in generator:
        yields.add(item)
    return yields.result()


def _failed(error: BaseException) -> bytes:
    try:
        return answer.failure(error)
    except (RecursionError, MemoryError):
        # The tool's frames have been released, so there is memory again for a short answer.
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return answer.failure(error)
