"""Known vulnerabilities of the programs that sandboxes use, and whether they affect this host and its tools."""

import gzip
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from toolc.model.text import lazy_re

FixStatus: TypeAlias = Literal["affected", "unknown", "fixed"]
"""Whether a version has a flaw. ``unknown`` means that no fix in its branch is recorded."""

_CVE: Final = r"CVE-\d{4}-\d+"
_CANDIDATE: Final = lazy_re(r"(?i)[-.~]?(alpha|beta|rc)[-.]?(\d*)")
_DATE: Final = lazy_re(r"(20\d{6})(?:\.(\d+))?")

PATH: Final = Path(__file__).parent.parent / "data" / "advisories.toml"
"""The table of advisories. The comment at its start describes the format."""

Exposed: TypeAlias = Literal["no", "partly", "yes"]
"""Whether a tool in toolc's sandbox could exploit a flaw. ``partly`` means that the tool alone is not enough."""

Status: TypeAlias = Literal["open", "maybe", "patched"]
"""``patched`` is according to the changelog of the installed package. ``maybe`` means a possible fix by a packager."""

_KERNEL: Final = "kernel"
"""The component whose branches are maintained for years. No list contains all of its fixes."""


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A release: its numbers, and the mark of a release candidate. ``rest`` is the part that a packager added."""

    numbers: tuple[int, ...]
    candidate: tuple[str, int] = ("~", 0)  # sorts after all candidates
    rest: str = ""

    @property
    def branch(self) -> tuple[int, ...]:
        """The first two numbers, which patch releases have in common."""
        return self.numbers[:2]

    @property
    def is_packaged(self) -> bool:
        """Whether a distribution packaged the release and may have added fixes."""
        return bool(self.rest)


def parse(text: str) -> Version | None:
    """Parse a version of a program, kernel or package. Return None if it is not a version.

    Examples: ``v1.4.0-rc.3``, ``1.1.5+ds1-1+deb12u1``, ``6.1.0-18-amd64``, and gVisor's dates:
    ``release-20240212.0``.
    """
    if dated := _DATE.search(text):
        return Version((int(dated[1]), int(dated[2] or 0), 0), rest="" if text.startswith("release-") else text)
    match = re.match(r"v?(\d+(?:\.\d+)*)", text)
    if match is None:
        return None
    numbers = tuple(int(number) for number in match[1].split("."))
    rest = text[match.end() :]
    numbers += (0,) * (3 - len(numbers))
    if found := _CANDIDATE.match(rest):
        return Version(numbers, (found[1].lower(), int(found[2] or 0)), rest[found.end() :])
    return Version(numbers, rest=rest)


def fix_status(version: Version, since: Version, fixed: Sequence[Version], *, every_branch: bool) -> FixStatus:
    """Return whether ``version`` has a flaw introduced in ``since`` and fixed in ``fixed``, one release per branch.

    With ``every_branch``, a branch that is not in ``fixed`` was never fixed. Otherwise the answer is unknown.
    """
    release = Version(version.numbers, version.candidate)
    if release < since:
        return "fixed"
    for each in fixed:
        if each.branch == release.branch:
            return "affected" if release < each else "fixed"
    if release >= max(fixed):
        return "fixed"
    return "affected" if every_branch else "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A program that sandboxes use, or the kernel, with the version that it reports.

    ``package`` is its package in a distribution if it runs on this machine, otherwise empty.
    """

    name: str
    version: str
    package: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    """A known flaw: its component, its effect, whether toolc's sandboxes are exposed, and the remedy."""

    id: str
    component: str
    since: str = "0"
    fixed: tuple[str, ...]
    allows: str
    exposed: Exposed
    because: str
    remedy: str

    @property
    def affected(self) -> str:
        """The affected versions, as text."""
        first = "" if self.since == "0" else f"since {self.since}, "
        return f"{first}fixed in {', '.join(self.fixed)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisoryMatch:
    """An advisory that affects a component of this host. ``note`` explains a status other than ``open``."""

    advisory: Advisory
    component: Component
    status: Status
    note: str = ""


def load(path: Path = PATH) -> tuple[Advisory, ...]:
    """Return the advisories in the order of the table."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(Advisory(**{**entry, "fixed": tuple(entry["fixed"])}) for entry in table["advisory"])


def match_advisories(
    components: Iterable[Component], advisories: Iterable[Advisory], changelog: Callable[[str], str] | None = None
) -> Iterator[AdvisoryMatch]:
    """Yield the advisories that affect these components. ``changelog`` returns the text of a package's changelog."""
    read = changelog or installed_changelog
    by_name: dict[str, list[Component]] = {}
    for component in components:
        by_name.setdefault(component.name, []).append(component)
    for advisory in advisories:
        for component in by_name.get(advisory.component, ()):
            if match := _match(advisory, component, read):
                yield match


def _match(advisory: Advisory, component: Component, changelog: Callable[[str], str]) -> AdvisoryMatch | None:
    version, since = parse(component.version), parse(advisory.since)
    fixed = [release for release in map(parse, advisory.fixed) if release]
    assert since is not None
    if version is None:
        return None
    fix = fix_status(version, since, fixed, every_branch=component.name != _KERNEL)
    if fix == "fixed":
        return None
    status: Status = "open"
    note = ""
    if version.is_packaged and component.package and advisory.id in re.findall(_CVE, changelog(component.package)):
        status, note = "patched", f"the changelog of the package {component.package} lists it as fixed"
    elif version.is_packaged:
        status, note = "maybe", "may be patched by your distribution, which keeps old version numbers and adds fixes"
    elif fix == "unknown":
        status, note = "maybe", "may be patched in this branch of the kernel, for which toolc has no record"
    return AdvisoryMatch(advisory=advisory, component=component, status=status, note=note)


def installed_changelog(package: str) -> str:
    """Return the changelog of a package on Debian and its derivatives, or an empty string."""
    path = Path("/usr/share/doc", package, "changelog.Debian.gz")
    try:
        return gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    except (OSError, EOFError):
        return ""
