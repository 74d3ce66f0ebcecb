"""Select the engine for a call: the first that works on this host and meets the demands of the call's profile."""

import importlib
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.model.errors import NoEngineError, UsageError
from toolc.model.names import AUTO, ENGINES, engine_names
from toolc.model.plan import LimitName, Profile
from toolc.sandbox.interface import DaemonEngine, Engine, EngineStatus, format_fallbacks, offer, unenforced


@dataclass(frozen=True, slots=True)
class EngineSelection:
    """The selected engine. ``notes`` say why each engine before it was not selected.

    ``unenforced`` are the limits that it does not enforce here, which the user has accepted. ``instead`` says what is
    limited in their place.
    """

    engine: Engine
    notes: tuple[str, ...] = ()
    unenforced: tuple[LimitName, ...] = ()
    instead: str = ""


def selection_of(engine: Engine, profile: Profile, notes: tuple[str, ...] = ()) -> EngineSelection:
    """Return the selection of an engine that does not refuse ``profile``, with the limits it does not enforce."""
    offered = offer(engine.capabilities(), profile.min_isolation)
    weak = unenforced(offered, profile.limits)
    return EngineSelection(engine, notes, weak, format_fallbacks(offered, weak))


@dataclass(slots=True)
class _Loaded:
    """The engines of this process, and the status of those that work."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    engines: dict[str, Engine] = field(default_factory=dict)
    available: dict[str, EngineStatus] = field(default_factory=dict)
    calls: set[object] = field(default_factory=set)

    def forget(self) -> None:
        """Start over in a forked child, which has no threads of its parent and may run as another user."""
        self.lock = threading.Lock()
        self.engines, self.available, self.calls = {}, {}, set()


_LOADED: Final = _Loaded()
os.register_at_fork(after_in_child=_LOADED.forget)


def select(name: str, profile: Profile) -> EngineSelection:
    """Return the engine called ``name``, or for ``auto`` the first available one that does not refuse ``profile``.

    An engine chosen by name is never replaced. Raises ``UsageError`` for an unknown name, and ``NoEngineError`` if no
    engine can run the call.
    """
    if name not in engine_names():
        raise UsageError(f"there is no engine {name!r}; choose one of: {', '.join(engine_names())}")
    if name != AUTO:
        if objection := _objection(name, profile):
            raise NoEngineError(f"the {name} engine cannot run this call: {objection}")
        return selection_of(load(name), profile)
    objections: dict[str, _Objection] = {}
    for each in ENGINES:
        if (objection := _objection(each, profile)) is None:
            # These notes are part of every call, so they have no remedies. `toolc doctor` prints those.
            notes = (f"{other}: {found.reason}" for other, found in objections.items())
            return selection_of(load(each), profile, tuple(notes))
        objections[each] = objection
    sentences = (_sentence(f"{each}: {found}") for each, found in objections.items())
    raise NoEngineError("no engine on this host can run this call. " + " ".join(sentences))


def check_works(name: str) -> None:
    """Raise ``NoEngineError`` if the engine called ``name``, or for ``auto`` every engine, does not work here."""
    found = {each: probe(each) for each in (ENGINES if name == AUTO else (name,))}
    if not any(each.available for each in found.values()):
        reasons = (f"{name}: {_Objection(each.reason, each.remedy)}" for name, each in found.items())
        raise NoEngineError("no engine works on this host, so no call could run. " + " ".join(map(_sentence, reasons)))


def load(name: str) -> Engine:
    """Return the engine of this name. Each process has one."""
    with _LOADED.lock:
        if name not in _LOADED.engines:
            _LOADED.engines[name] = importlib.import_module(f"toolc.sandbox.{name}.engine").engine()
        return _LOADED.engines[name]


def pull(image: str) -> None:
    """Pull an image for the engines of this host, if one of them can and lacks it. Raises ``InfrastructureError``."""
    images = importlib.import_module("toolc.sandbox.docker.base_image")
    images.pull_missing(image, images.optional_client())


@contextmanager
def in_use() -> Iterator[None]:
    """Keep the engines of this process open until the end of the block."""
    call = object()
    with _LOADED.lock:
        _LOADED.calls.add(call)
    try:
        yield
    finally:
        with _LOADED.lock:
            _LOADED.calls.discard(call)


def close_unused() -> None:
    """Close the engines of this process, unless a call is running. The next start opens them again."""
    with _LOADED.lock, ExitStack() as closings:
        if not _LOADED.calls:
            for engine in _LOADED.engines.values():
                # Close each engine, even if another one raises an error.
                closings.callback(engine.close)


def begin_probe(name: str) -> None:
    """Let the engine that ``select`` tries first begin its probe, so that its daemon responds while others work."""
    engine = load(ENGINES[0] if name == AUTO else name)
    if isinstance(engine, DaemonEngine):
        engine.begin_probe()


def probe(name: str) -> EngineStatus:
    """Return the status of this engine here. Only success is cached, because a daemon may be started later."""
    found = _LOADED.available.get(name) or load(name).probe()
    if found.available:
        _LOADED.available[name] = found
    return found


@dataclass(frozen=True, slots=True)
class _Objection:
    """Why an engine cannot run a call here, and the remedy unless the reason contains it."""

    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{_sentence(self.reason)} {self.remedy}" if self.remedy else self.reason


def _objection(name: str, profile: Profile) -> _Objection | None:
    """Return why this engine cannot run ``profile`` here, or None if it can."""
    found = probe(name)
    if not found.available:
        return _Objection(found.reason, found.remedy)
    reason = load(name).unsupported_reason(profile)
    return None if reason is None else _Objection(reason)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
