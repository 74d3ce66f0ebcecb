"""Decode limits that depend on each other, entries of allow-lists, and folders of images."""

from dataclasses import replace
from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD, compile_text, found_in

from toolc.model.destinations import parse_destination
from toolc.model.registry_io import register
from toolc.model.spec.sandbox import Destination

TMP_DEFAULT, MEMORY_DEFAULT = "64MiB", "256MiB"


@pytest.mark.parametrize(
    "limits", ["memory: 80MiB", "tmp: 240MiB", "tmp: 100MiB, memory: 116MiB", "tmp: 1KiB, memory: 16385KiB"]
)
def test_memory_that_holds_tmp_and_16_mib_is_enough(limits: str, tmp_path: Path) -> None:
    assert not compile_text(tmp_path, f"{HEAD}{ECHO}sandbox: {{limits: {{{limits}}}}}\n").diagnostics.sorted()


@pytest.mark.parametrize(
    ("limits", "sizes", "at", "remedy"),
    [
        ("memory: 81919KiB", (TMP_DEFAULT, "81919KiB"), "memory: ", "memory: 80MiB or more, or tmp: 65535KiB or less"),
        ("tmp: 241MiB", ("241MiB", MEMORY_DEFAULT), "tmp: ", "memory: 257MiB or more, or tmp: 240MiB or less"),
        ("memory: 1GiB, tmp: 2GiB", ("2GiB", "1GiB"), "tmp: ", "memory: 2064MiB or more, or tmp: 1008MiB or less"),
        ("memory: 16385KiB", (TMP_DEFAULT, "16385KiB"), "memory: ", "memory: 80MiB or more, or tmp: 1KiB or less"),
        ("memory: 16MiB", (TMP_DEFAULT, "16MiB"), "memory: ", "memory: 80MiB"),  # no size of /tmp fits
    ],
)
def test_memory_that_does_not_hold_tmp_and_16_mib_is_reported(
    limits: str, sizes: tuple[str, str], at: str, remedy: str, tmp_path: Path
) -> None:
    text = f"{HEAD}{ECHO}sandbox: {{limits: {{{limits}}}}}\n"
    (found,) = compile_text(tmp_path, text).diagnostics.sorted()
    tmp, memory = sizes
    assert found.code.number == "TC507"
    assert found.message == f"'tmp' ({tmp}) must be at least 16MiB less than 'memory' ({memory})"
    assert found.hint == f"files in /tmp count as memory; write {remedy}"
    assert text.splitlines()[found.span.start.line - 1][: found.span.start.column - 1].endswith(at)


ALLOW = "sandbox: {{network: {{allow: [{}]}}}}\n"


def allowed(folder: Path, entries: str) -> tuple[Destination, ...]:
    (tool,) = compile_text(folder, HEAD + ECHO + ALLOW.format(entries)).tools
    return tool.sandbox.network.allow


def test_an_entry_may_allow_any_host_in_requests(tmp_path: Path) -> None:
    entries = """{to: "*.Example.com:80", any_host: true}, '*.example.com:80'"""
    plain = parse_destination("*.example.com:80")
    assert allowed(tmp_path, entries) == (plain, replace(plain, any_host=True))
    assert allowed(tmp_path, '{to: "a.example.com:80", any_host: false}') == allowed(tmp_path, '"a.example.com:80"')


def test_an_entry_is_the_same_in_both_forms(tmp_path: Path) -> None:
    registered = [
        register(compile_text(tmp_path, HEAD + ECHO + ALLOW.format(entry)).tools[0])
        for entry in ('"a.example.com:80"', '{to: "a.example.com:80"}', '{to: "a.example.com:80", any_host: true}')
    ]
    assert registered[0] == registered[1]
    assert b"any_host" not in registered[0].stored
    assert b'"any_host":true' in registered[2].stored
    assert len({each.effect_digest for each in registered}) == 2


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{any_host: true}", "TC102 'allow'[0] has no 'to'"),
        ("{to: a.example.com}", "TC108 'to': 'a.example.com' is not a host and a port"),
        (
            '{to: "a.example.com:80", any_host: maybe}',
            "TC108 'any_host' must be true or false, but is the text 'maybe'",
        ),
        ('{to: "a.example.com:80", anyhost: true}', "TC101 'allow'[0] has no key 'anyhost'"),
    ],
)
def test_a_wrong_entry_is_reported(entry: str, message: str, tmp_path: Path) -> None:
    (found,) = found_in(tmp_path, HEAD + ECHO + ALLOW.format(entry))
    assert found.partition(" ")[2].startswith(message)


@pytest.mark.parametrize(("workspace", "errors"), [("none", 1), ("ro", 1), ("rw", 0), ("transaction", 0)])
def test_a_limit_of_a_workspace_that_cannot_be_written_is_reported(workspace: str, errors: int, tmp_path: Path) -> None:
    text = f"{HEAD}{ECHO}sandbox: {{workspace: {workspace}, limits: {{workspace: 1GiB}}}}\n"
    found = compile_text(tmp_path, text).diagnostics.sorted()
    message = "'limits.workspace' limits what a call writes, but the tool cannot write to a workspace"
    assert [(each.code.number, each.message) for each in found if each.is_error] == [("TC507", message)] * errors


@pytest.mark.parametrize(
    ("build", "message"),
    [
        ("../up", "'../up' leads outside the spec's folder"), ("/etc", "'/etc' is not a relative path"),
        ("missing", "no file matches 'missing/**/*' in "), ("empty", "there is no Dockerfile in "),
    ],
)  # fmt: skip
def test_a_folder_without_a_recipe_is_reported(build: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.txt").write_text("a", encoding="utf-8")
    (found,) = found_in(tmp_path, f"{HEAD}{ECHO}sandbox: {{build: {build}}}\n")
    assert found.startswith(f"5:18 TC111 {message}")
