"""What a failed call says about a module or a connection that its sandbox lacks."""

from __future__ import annotations

import re

import pytest
from project.paths import ROOT

from toolc.model.json_schema import Schema
from toolc.model.result import Text, ToolFailure, ToolResult
from toolc.model.spec.code_backends import Argv, File, PythonBackend, Script, ShellBackend
from toolc.model.spec.sandbox import Destination, SandboxSpec
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Template
from toolc.runtime.sandboxed.failure_hints import _SHELL_TOOLS, explain_failure

FAILED = ToolFailure("execution", "failed")


def tool(backend: PythonBackend | ShellBackend, **sandbox: str) -> ToolSpec:
    image = SandboxSpec(image=sandbox.get("image"))
    return ToolSpec(name="a", description="", parameters=Schema({}), backend=backend, sandbox=image)


def python(text: str = "", *requirements: str) -> PythonBackend:
    return PythonBackend(
        entry="a.py", function="a", files=(File(path="a.py", text=text),), requirements=tuple(requirements)
    )


def shell(text: str) -> ShellBackend:
    return ShellBackend(command=Script(text=text))


def last_line(text: str, of: ToolSpec, *allow: Destination) -> str:
    result = ToolResult(content=(Text(text),), error=FAILED)
    return explain_failure(result, of, allow).text.removeprefix(text).strip("[]\n")


def missing(name: str, of: ToolSpec) -> str:
    return last_line(f"ModuleNotFoundError: No module named '{name}'", of)


def test_a_missing_module_has_the_hint_of_the_check() -> None:
    start = "'yaml' is not in the sandbox; add "
    assert missing("yaml", tool(python())) == (
        start + "requirements: [pyyaml==VERSION], or set sandbox.image to an image that has it"
    )
    assert missing("yaml.loader", tool(python("", "flask==3.0.3"))) == start + "pyyaml==VERSION to 'requirements'"
    in_image = tool(python(), image="python:3.12")
    assert missing("yaml", in_image) == start + "requirements: [pyyaml==VERSION], or install it in the image"
    assert missing("helpers", tool(python())).endswith("; for a file next to the spec, add files: [helpers.py")
    assert missing("imp", tool(python())) == (
        "the Python of this sandbox does not have the module 'imp' of the standard library"
    )


def test_a_missing_module_of_another_program_is_not_explained() -> None:
    assert missing("yaml", tool(shell("python3 x.py"))) == ""


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("command not found: ffmpeg", "'ffmpeg' is not in the base image; set sandbox.image to an image that has it"),
        ("/tool/script: 3: jq: not found", "'jq' is not in the base image; set sandbox.image to toolc/shell-tools:"),
        ("bash: line 1: g++: command not found", "'g++' is not in the base image; set sandbox.image to an image"),
        ("error: the file a: not found in b", ""),
        ("fatal: branch: main: not found", ""),
        ("command not found: /opt/x", ""),
    ],
)
def test_a_missing_program_is_in_another_image(text: str, note: str) -> None:
    found = last_line(text, tool(shell("")))
    assert found.startswith(note)
    assert bool(found) == bool(note)
    assert last_line(text, tool(shell(""), image="debian:12")) == ""
    assert last_line(text, tool(python())) == ""


def test_the_image_with_more_programs_has_those_that_are_named() -> None:
    dockerfile = (ROOT / "sandbox-images/shell-tools/Dockerfile").read_text(encoding="utf-8")
    assert {*_SHELL_TOOLS.values()} <= {*re.findall(r"[a-z0-9-]+", dockerfile)}


CLOSED = "not connected: the tool has no network; add {} to sandbox.network.allow"


@pytest.mark.parametrize(
    ("text", "program", "destination"),
    [
        ("URLError: no [connecting to api.example.com port 443]", "", "api.example.com:443"),
        ("OSError: no [connecting to 93.184.216.34 port 80]", "", "93.184.216.34:80"),
        ("HTTPSConnectionPool(host='a.example.com', port=8443): Max retries", "", "a.example.com:8443"),
        ("curl: (6) Could not resolve host: a.example.com", "curl http://a.example.com/x", "a.example.com:80"),
        ("curl: (6) Could not resolve host: a.example.com", "curl https://a.example.com:8080", "a.example.com:8080"),
        ("curl: (6) Could not resolve host: a.example.com", "", "a.example.com:443"),
        ("curl: (7) Failed to connect to 93.184.216.34 port 80 after 0 ms", "", "93.184.216.34:80"),
        ("fatal: Could not resolve host: github.com", "", "github.com:443"),
        ("wget: unable to resolve host address \u2018a.example.com\u2019", "", "a.example.com:443"),
        ("wget: bad address 'a.example.com'", "", "a.example.com:443"),
        ("Error: getaddrinfo EAI_AGAIN a.example.com", "", "a.example.com:443"),
        ("dial tcp: lookup a.example.com on 1.1.1.1:53: no", "", "a.example.com:443"),
        ("ssh: Could not resolve hostname a.example.com: no", "", "a.example.com:443"),
        ("Temporary failure in name resolution", "get https://a.example.com/x", "a.example.com:443"),
        ("connect: Network is unreachable", "", "the host"),
    ],
)  # fmt: skip
def test_a_closed_network_names_the_entry_to_add(text: str, program: str, destination: str) -> None:
    assert last_line(text, tool(shell(program))) == CLOSED.format(destination)


def test_the_port_is_that_of_a_url_in_the_command() -> None:
    words = ShellBackend(command=Argv(elements=(Template(("curl",)), Template(("http://a.example.com",)))))
    text = "curl: (6) Could not resolve host: a.example.com"
    assert last_line(text, tool(words)) == CLOSED.format("a.example.com:80")


def test_with_an_allow_list_only_other_hosts_are_explained() -> None:
    allowed = Destination(kind="exact", host="a.example.com", port=443)
    assert last_line("Could not resolve host: a.example.com", tool(shell("")), allowed) == ""
    assert last_line("Could not resolve host: b.example.com", tool(shell("")), allowed) == (
        "not connected: no entry of network.allow covers b.example.com:443; "
        "to allow it, add b.example.com:443 to sandbox.network.allow"
    )
    assert last_line("Name or service not known", tool(shell("")), allowed) == ""


@pytest.mark.parametrize("text", ["failed", "Failed to connect to localhost port 80", "connection refused"])
def test_other_failures_are_not_explained(text: str) -> None:
    assert last_line(text, tool(shell(""))) == ""


def test_a_successful_result_is_not_changed() -> None:
    result = ToolResult(content=(Text("Could not resolve host: a.example.com"),))
    assert explain_failure(result, tool(shell("")), ()) is result
