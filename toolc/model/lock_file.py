"""``toolc.lock``: the digests of the reviewed tools. Merging a change to this file approves the tools in it.

The file has one line about the base image and one line per tool, sorted by name. Changes therefore conflict in Git only
if they concern the same tool::

    # toolc.lock 1: what was reviewed; written by "toolc lock"
    base=any
    look surface=sha256:1f... effect=sha256:9a...
    plot surface=sha256:03... effect=sha256:77... image=manifest:sha256:5c... package=numpy==2.1.0@sha256:e8...

The digests do not depend on toolc's version or on the format of a provider, so an upgrade of toolc changes no line.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.errors import ToolcError
from toolc.model.names import LOCK_NAME, TOOL_NAME
from toolc.model.registry import RegisteredTool
from toolc.model.spec.code_backends import PluginBackend
from toolc.model.text import lazy_re, render_size

HEADER: Final = '# toolc.lock 1: what was reviewed; written by "toolc lock"'

MAX_BYTES: Final = 64 * 1024 * 1024
"""The maximum size of a lock file. In a pull request, the file may be a link to an endless device."""

ANY: Final = "any"
"""The value of ``base`` in a lock file that does not restrict the base image."""

_BASE: Final = "base="

_FIRST: Final = lazy_re(r"# toolc\.lock ([0-9]+)(?::.*)?")
_DIGEST: Final = lazy_re(r"sha256:[0-9a-f]{64}")
_IMAGE: Final = lazy_re(r"(?:(?:manifest|config):)?sha256:[0-9a-f]{64}")
_PACKAGE: Final = lazy_re(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+_-]+@sha256:[0-9a-f]{64}")
_PATTERNS: Final = {"image": _IMAGE, "package": _PACKAGE}
_CONFLICT: Final = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")

_APPROVE: Final = "review the changes (toolc diff), run toolc lock, and have the new lock file reviewed"

Pin = Callable[[RegisteredTool], tuple[str | None, tuple[str, ...]]]
"""Returns the image and the packages of a tool, as in ``LockedTool``. Raises ``InfrastructureError``."""


class LockError(ToolcError):
    """A damaged lock file, or a tool that it does not approve. The message says what changed and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedTool:
    """The approved digests, image and packages of one tool.

    ``image`` identifies the image that the spec names, and is None if the spec does not name one. It is
    ``manifest:sha256:...`` (the digest in its registry), ``config:sha256:...`` for an image that is not in a
    registry, or a bare digest, which is the id in the engine that wrote the lock. ``packages`` are all packages to
    which its requirements resolve, each as ``name==version@sha256:...``.
    """

    name: str
    surface: str
    effect: str
    image: str | None = None
    packages: tuple[str, ...] = ()

    def line(self) -> str:
        """Return the line of this tool in the file."""
        words = [self.name, f"surface={self.surface}", f"effect={self.effect}"]
        words += [f"image={self.image}"] if self.image else []
        return " ".join([*words, *(f"package={each}" for each in self.packages)])

    @property
    def requirements(self) -> tuple[str, ...]:
        """The packages in pip's requirement format, each with its required hash."""
        return tuple(each.replace("@sha256:", " --hash=sha256:") for each in self.packages)


@dataclass(frozen=True, slots=True)
class Lock:
    """The contents of a lock file. ``path`` is its name in messages.

    ``base`` is the tree of the base image in which tools without an image may run, or ``ANY``. Older files without this
    line mean ``ANY``.
    """

    path: str
    tools: Mapping[str, LockedTool]
    base: str = ANY

    @property
    def allows_any_base(self) -> bool:
        """Whether tools without an image may run in any base image."""
        return self.base == ANY

    @classmethod
    def parse(cls, text: str, path: str) -> "Lock":
        """Parse a lock file. Raises ``LockError`` with the position of the error."""
        lines = text.removeprefix("\ufeff").splitlines()
        first = _FIRST.fullmatch(lines[0]) if lines else None
        if first is None:
            raise LockError(
                f"{path}:1: this is not a lock file, because it lacks the first line '# toolc.lock 1'; run: toolc lock"
            )
        if first[1] != "1":
            raise LockError(
                f"{path}:1: the file has format {first[1]}, but this toolc reads format 1; install a newer toolc"
            )
        tools: dict[str, LockedTool] = {}
        base: str | None = None
        for number, line in enumerate(lines[1:], 2):
            if not line.strip() or line.startswith("#"):
                continue
            if line.startswith(_BASE):
                base = _base(line, f"{path}:{number}", base)
                continue
            tool = _tool(line, f"{path}:{number}")
            if tool.name in tools:
                raise LockError(f"{path}:{number}: the tool {tool.name} is listed twice; run: toolc lock")
            tools[tool.name] = tool
        return cls(path, tools, base or ANY)

    @classmethod
    def read(cls, path: Path) -> "Lock":
        """Read the lock file at ``path``. Raises ``LockError``."""
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            text = data.decode("utf-8")
        except FileNotFoundError:
            option = "" if path == Path(LOCK_NAME) else f" --lock {shlex.quote(str(path))}"
            message = f"{path} does not exist, so no tool is approved; create it with: toolc lock{option}"
            raise LockError(message) from None
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise LockError(f"{path} cannot be read: {reason}") from None
        if len(data) > MAX_BYTES:
            raise LockError(f"{path} is larger than {render_size(MAX_BYTES)}; write it again with: toolc lock")
        return cls.parse(text, str(path))

    def text(self) -> str:
        """Return the contents of the file. The same tools always produce the same bytes."""
        lines = [self.tools[name].line() for name in sorted(self.tools)]
        return "".join(f"{line}\n" for line in [HEADER, f"{_BASE}{self.base}", *lines])

    def check(self, tool: RegisteredTool) -> LockedTool:
        """Return the approved entry of ``tool``. Raises ``LockError`` if it is not approved or has changed."""
        name = tool.spec.name
        locked = self.tools.get(name)
        if locked is None:
            known = self._renamed(tool)
            was = f"; it has the same effect as the approved tool {known}" if known else ""
            raise LockError(f"{self.path} does not approve the tool {name}{was}; {_APPROVE}")
        for kind, approved, actual in (
            ("surface (what a model sees)", locked.surface, tool.surface_digest),
            ("effect (what a call does)", locked.effect, tool.effect_digest),
        ):
            if approved != actual:
                raise LockError(
                    f"the tool {name} is not the one that {self.path} approves: its {kind} has the digest {actual}, "
                    f"and the approved digest is {approved}; {_APPROVE}"
                )
        return locked

    def _renamed(self, tool: RegisteredTool) -> str:
        """Return the name under which the same effect is approved, or an empty string."""
        backend = tool.spec.backend
        if isinstance(backend, PluginBackend) and backend.tool is None:
            return ""  # all tools of one plugin have the same effect digest
        return next((each.name for each in self.tools.values() if each.effect == tool.effect_digest), "")


def _base(line: str, where: str, known: str | None) -> str:
    value = line.removeprefix(_BASE).rstrip()
    if known is not None:
        raise LockError(f"{where}: the base image is listed twice; run: toolc lock")
    if value != ANY and not _DIGEST.fullmatch(value):
        raise LockError(f"{where}: {line[:80]!r} is not valid here; run: toolc lock")
    return value


def _tool(line: str, where: str) -> LockedTool:
    if line.startswith(_CONFLICT):
        raise LockError(f"{where}: this is a merge conflict; resolve it in the specs, then run: toolc lock")
    name, *words = line.split()
    values: dict[str, list[str]] = {}
    for word in words:
        key, _, value = word.partition("=")
        form = _PATTERNS.get(key, _DIGEST)
        if key not in {"surface", "effect", "image", "package"} or not form.fullmatch(value):
            raise LockError(f"{where}: {word[:80]!r} is not valid here; run: toolc lock")
        values.setdefault(key, []).append(value)
    single = [len(values.get(key, [])) for key in ("surface", "effect", "image")]
    if not TOOL_NAME.fullmatch(name) or single[:2] != [1, 1] or single[2] > 1:
        raise LockError(
            f"{where}: expected the name of a tool, its surface, its effect and at most one image; run: toolc lock"
        )
    return LockedTool(
        name=name,
        surface=values["surface"][0],
        effect=values["effect"][0],
        image=values.get("image", [None])[0],
        packages=tuple(values.get("package", [])),
    )


def changed_tools(lock: Lock, tools: Iterable[RegisteredTool]) -> Iterator[str]:
    """Yield one line for each difference between ``tools`` and the lock. ``tools`` must be all tools of the project.

    Images and packages are compared during a call, because that needs an engine.
    """
    listed = [*tools]
    for tool in listed:
        try:
            locked = lock.check(tool)
        except LockError as error:
            yield str(error)
            continue
        if tool.spec.sandbox.image and not locked.image:
            yield f"{lock.path} approves no image for {tool.spec.name}; run: toolc lock"
        if tool.spec.backend.packages and not locked.packages:
            yield f"{lock.path} approves no packages for {tool.spec.name}; run: toolc lock"
    names = {tool.spec.name for tool in listed}
    for name in sorted(lock.tools.keys() - names):
        yield f"{lock.path} approves the tool {name}, which does not exist; if it was removed, run: toolc lock"


def lock_tools(tools: Iterable[RegisteredTool], pin: Pin, path: str, base: str = ANY) -> Lock:
    """Return the lock that approves the current versions of ``tools``, in this base image."""
    locked: dict[str, LockedTool] = {}
    for tool in tools:
        image, packages = pin(tool)
        locked[tool.spec.name] = LockedTool(
            name=tool.spec.name, surface=tool.surface_digest, effect=tool.effect_digest, image=image, packages=packages
        )
    return Lock(path, locked, base)
