"""``docs/reference/engine-behavior.md`` is generated from the cases of the conformance suite."""

import textwrap
from typing import Final

from attempts_beyond import CHAPTERS as ATTEMPTS
from conformance_case import Case, Difference
from conformance_suite import BY_NAME, CHAPTERS
from engines.configurations import CONFIGURATIONS, PODMAN
from project.data_files import load_yaml
from project.paths import DOCS

COLUMNS: Final = (*CONFIGURATIONS, PODMAN.name)

PAGE = DOCS / "reference" / "engine-behavior.md"

SAME_AS: Final[dict[str, str]] = load_yaml("conformance/inspect-ai")
"""The case that corresponds to each test of inspect_ai."""

HEAD = """\
# Engine behavior

`pytest tests/conformance --golden` writes this page from the cases of the conformance suite; do not edit it. Each
row is a tool that is called on every engine. "same" means that the result is the expected one and the same on all
engines. Numbered differences are explained below and are tested too.

`docker` is a container, `docker+gvisor` a container with gVisor (`min_isolation: gvisor`). `oci root` and `oci
user` are the oci engine started by root, and by an ordinary user with delegated control groups. `podman` is the
docker engine with Podman in place of Docker. The comparison ignores that the tools of an ordinary user run as user 0
of a user namespace. The cases ran on Linux 6.18 with cgroup v1, Docker 20.10, Podman 4.3, runc 1.1.5 and gVisor
20221219; for other versions see [platforms](platforms.md).
"""


def test_page_is_up_to_date(golden: bool) -> None:
    page = render()
    if golden:
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page, "run: pytest tests/conformance --golden"


def test_behaviours_have_unique_names() -> None:
    assert len(BY_NAME) == sum(len(cases) for cases in CHAPTERS.values()) >= 80
    assert len({case.tool for case in BY_NAME.values()}) == len(BY_NAME)


def test_differences_are_of_existing_configurations() -> None:
    assert {each for case in BY_NAME.values() for each in case.differs} <= set(COLUMNS)


def test_every_test_of_inspect_ai_has_a_case() -> None:
    assert len(SAME_AS) == 44
    assert set(SAME_AS.values()) <= set(BY_NAME)


def render() -> str:
    reasons = list(dict.fromkeys(each.why for case in BY_NAME.values() for each in case.differs.values()))
    parts = [HEAD]
    for chapter, cases in CHAPTERS.items():
        parts.append(f"## {chapter}\n\n{_table(cases, reasons)}")
    parts.append(f"## Differences\n\n{_numbered(reasons)}")
    parts.append(f"## Attempts on the host and the kernel\n\n{_attempted()}")
    parts.append(f"## Cases of inspect_ai\n\n{_same_as()}")
    return "\n".join(parts)


def _table(cases: tuple[Case, ...], reasons: list[str]) -> str:
    lines = [f"| behavior | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    for case in cases:
        cells = [_cell(case.differs.get(each), reasons) for each in COLUMNS]
        lines.append(f"| {case.name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _cell(difference: Difference | None, reasons: list[str]) -> str:
    return "same" if difference is None else f"differs ({reasons.index(difference.why) + 1})"


def _numbered(reasons: list[str]) -> str:
    return "\n".join([*(f"{number}. {reason}" for number, reason in enumerate(reasons, 1)), ""])


ALIKE: Final = (
    "a device of its own for", "a netlink socket for", "a connection to", "a socket for", "a socket of the family",
    "listing", "mount of", "opening", "reading", "the socket", "writing to",
)  # fmt: skip
"""Prefixes of attempts that share a line of the page."""


def _attempted() -> str:
    """Return the attempts in addition to the probes, per chapter, with one line per kind."""
    about = (
        "The cases of the chapter above attempt the following, in addition to the probes of\n"
        "[`toolc doctor --probe`](../guides/checking-a-host.md). Each runs in a separate process.\n"
        "Every attempt is refused unless a difference is listed.\n"
    )
    parts = [about]
    for chapter, attempts in ATTEMPTS.items():
        lines: dict[str, list[str]] = {}
        for name in attempts:
            begins = next((each for each in ALIKE if name.startswith(f"{each} ")), "")
            words = begins or (name if " " in name else "the system calls")
            lines.setdefault(words, []).append("" if words == name else name.removeprefix(begins).strip())
        parts.append(f"### {chapter}\n")
        parts += [_bullet(f"{words} {', '.join(named)}".strip()) for words, named in lines.items()]
        parts.append("")
    return "\n".join(parts)


def _bullet(text: str) -> str:
    return textwrap.fill(f"- {text}", 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _same_as() -> str:
    lines = ["| Test of inspect_ai | Behavior |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {ours} |" for name, ours in SAME_AS.items()), ""])
