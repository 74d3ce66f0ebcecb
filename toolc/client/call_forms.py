"""Derive the forms of a call from one method: blocking, awaited, and as an iterator of events.

The method, such as ``_run``, checks the options and returns the call without starting it. It accepts ``on_event`` and
``cancellation``, which the forms pass to the call. Except for the blocking form, the call runs on a separate thread.
Cancelling the task, or closing the iterator, cancels the call and waits for its end.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import nullcontext
from functools import partial, wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from toolc.model.events import Event, Listener
from toolc.runtime.caller import ignore_event
from toolc.runtime.cancellation import Cancellation, check_open
from toolc.runtime.execution import async_calls
from toolc.runtime.execution.async_calls import CallRunner

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
E = TypeVar("E")

_Method: TypeAlias = Callable[Concatenate[S, P], T]
_Prepare: TypeAlias = Callable[Concatenate[S, P], CallRunner[T]]


def blocking(prepare: _Prepare[S, P, T]) -> _Method[S, P, T]:
    """Return the form that runs the call on the thread of the caller."""

    @wraps(prepare)
    def form(owner: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        call, (on_event, cancellation) = prepare(owner, *args, **kwargs), _own(kwargs)
        with nullcontext(cancellation) if cancellation else Cancellation() as given:
            return call(on_event or ignore_event, given)

    returns = str(prepare.__annotations__["return"]).removeprefix("CallRunner[").removesuffix("]")
    _describe(form, prepare, "run", returns, prepare.__doc__ or "")
    return form


def awaited(method: _Method[S, P, T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return a blocking ``method`` with the option ``cancellation`` for ``asyncio``."""

    @wraps(method)
    async def form(owner: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        on_event, cancellation = _own(kwargs)
        check_open(cancellation)
        run: Callable[..., T] = partial(getattr(owner, method.__name__), *args)  # a subclass may have another method

        def call(listener: Listener, own: Cancellation) -> T:
            kwargs.update({"cancellation": own} | ({"on_event": listener} if on_event else {}))
            return run(**kwargs)

        return await async_calls.result(call, on_event, cancellation)

    form.__name__ = f"a{method.__name__}"
    form.__doc__ = f"""Like ``{method.__name__}``, for ``asyncio``.

        Cancelling the task cancels the call and waits for its end. ``on_event`` is called on the thread of the event
        loop. Other functions are called on the thread of the call.
        """
    return form


def streamed(
    prepare: _Prepare[S, P, T], last: Callable[[T], tuple[E, ...]]
) -> Callable[Concatenate[S, P], Generator[Event | E, None, T]]:
    """Return the form that yields the events of a call, then the events that ``last`` derives from its result."""

    @wraps(prepare)
    def form(owner: S, /, *args: P.args, **kwargs: P.kwargs) -> Generator[Event | E, None, T]:
        return async_calls.stream_events(prepare(owner, *args, **kwargs), *_own(kwargs), last)

    text = """, but yield the events. The last one has the result.

        The call starts with the first ``next``. Closing the iterator (``contextlib.closing``) cancels the call and
        waits until its sandbox is closed. ``on_event`` is called before each event is yielded. Other functions are
        called on the thread of the call.
        """
    _describe(form, prepare, "stream", Generator, f"Like ``{prepare.__name__[1:]}``{text}")
    return form


def async_streamed(
    prepare: _Prepare[S, P, T], last: Callable[[T], tuple[E, ...]]
) -> Callable[Concatenate[S, P], AsyncGenerator[Event | E, None]]:
    """Return the form of ``streamed`` for ``asyncio``."""

    @wraps(prepare)
    def form(owner: S, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Event | E, None]:
        return async_calls.async_events(prepare(owner, *args, **kwargs), *_own(kwargs), last)

    text = "Like ``stream`` for one call, for ``asyncio``. To stop early, use ``contextlib.aclosing``."
    _describe(form, prepare, "astream", AsyncGenerator, text)
    return form


def _own(options: dict[str, Any]) -> tuple[Listener | None, Cancellation | None]:
    """Return the caller's own listener and cancellation."""
    return options.get("on_event"), options.get("cancellation")


def _describe(
    form: Callable[..., object], prepare: Callable[..., object], name: str, returns: object, text: str
) -> None:
    vars(form)["__signature__"] = signature(prepare).replace(return_annotation=returns)
    form.__name__ = prepare.__name__[1:].replace("run", name)
    form.__doc__ = text
