"""Decode plugins, composites, agents, sandboxes and results."""

from pathlib import Path

import pytest
from compiling.compiled import HEAD, compile_text, found_in, tool_of

from toolc.compiler.decode.tool import PROVIDERS as NAMED_PROVIDERS
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.code_backends import File, PluginBackend, PythonBackend, ShellBackend
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.spec.sandbox import Build, Destination, EnvVar, SecretEnvVar, TransactionSpec
from toolc.model.spec.tool import Retry
from toolc.model.template import JsonEntry, JsonMap, Placeholder, Template

ECHO = "backend: {shell: {argv: [echo, hello]}}\n"


def test_a_spec_can_name_every_provider() -> None:
    assert set(NAMED_PROVIDERS) == set(PROVIDER_NAMES)


def test_a_plugin_may_have_secrets_in_its_environment(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text("pass\n", encoding="utf-8")
    tool = tool_of(
        tmp_path,
        HEAD + "backend: {plugin: {command: [python3, tool.py], files: ['*.py']}}\n"
        "sandbox: {env: {B: b, A: 'x {{ secrets.KEY }}'}, secrets: {KEY: {expose: env}}, lifetime: session}\n",
    )

    file = File(path="tool.py", text="pass\n")
    assert tool.backend == PluginBackend(command=("python3", "tool.py"), files=(file,))
    assert tool.sandbox.env == (EnvVar(name="B", value="b"),)
    value = Template(("x ", Placeholder("secrets", ("KEY",))))
    assert tool.sandbox.secret_env == (SecretEnvVar(name="A", value=value),)


PLUGIN = "backend: {plugin: {command: [python3, tool.py], files: [tool.py]}}\n"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "backend: {plugin: {command: [python3, ./tool.py]}}\n",
            "4:39 TC111 'tool.py' is next to the spec, but the plugin's process would not find it",
        ),
        (
            PLUGIN + "sandbox: {env: {A: '{{ secrets.KEY }}'}, secrets: {KEY: {hosts: [example.com]}}}\n",
            "5:17 TC108 the plugin would receive 'KEY', which is not exposed to it",
        ),
        (
            PLUGIN + "sandbox: {workspace: transaction, lifetime: session}\n",
            "5:35 TC108 a transaction begins and ends with a call, but the calls of a session share a sandbox",
        ),
        (
            "backend: {http: {url: 'https://example.com/'}}\nsandbox: {lifetime: session}\n",
            "5:11 TC108 'backend.http' has no process that could be kept between calls",
        ),
        (
            PLUGIN + "sandbox: {lifetime: fork}\n",
            (
                "5:11 TC108 a fork server makes processes for 'backend.python' and 'backend.shell', not for "
                "'backend.plugin'"
            ),
        ),
        (
            ECHO + "sandbox: {lifetime: fork, network: {allow: ['example.com:443']}}\n",
            "5:11 TC108 the calls of a fork server have no network",
        ),
        (
            ECHO + "sandbox: {lifetime: fork, workspace: transaction}\n",
            "5:11 TC108 a transaction begins and ends with a call, but the calls of a fork server share its workspace",
        ),
        (
            ECHO + "sandbox: {lifetime: fork, image: 'debian:bookworm'}\n",
            "5:11 TC108 a fork server has capabilities, so its Python must not come from the image of a tool",
        ),
        (
            ECHO + "sandbox: {lifetime: fork, min_isolation: gvisor}\n",
            "5:11 TC108 a fork server isolates calls by namespaces, which 'min_isolation: gvisor' forbids",
        ),
    ],
)
def test_invalid_plugins_and_sessions_are_rejected(tmp_path: Path, text: str, finding: str) -> None:
    (tmp_path / "tool.py").write_text("pass\n", encoding="utf-8")
    assert found_in(tmp_path, HEAD + text) == [finding]


@pytest.mark.parametrize("sandbox", ["lifetime: fork", "lifetime: fork, workspace: rw, secrets: {KEY: {expose: env}}"])
def test_a_shell_tool_may_have_a_fork_server(tmp_path: Path, sandbox: str) -> None:
    assert tool_of(tmp_path, f"{HEAD}{ECHO}sandbox: {{{sandbox}}}\n").sandbox.lifetime == "fork"


def test_command_words_without_a_file_are_accepted(tmp_path: Path) -> None:
    text = "backend: {plugin: {command: [python3, -m, '*.py', /opt/tool.py, ../tool.py, other]}}\n"
    (tmp_path / "tool.py").write_text("pass\n", encoding="utf-8")
    assert found_in(tmp_path, HEAD + text) == []


def test_steps_can_refer_to_earlier_steps(tmp_path: Path) -> None:
    text = f"""
toolc: 1
tools:
  - {{name: hello, description: Say hello to one person., {ECHO.strip()}, parameters: {{}} }}
  - name: twice
    description: Say hello two times.
    backend:
      composite:
        strategy: sequential
        steps:
          - {{id: one, tool: hello}}
          - {{id: two, tool: hello, if: "steps.one.text != 'x'", timeout: 5s, continue_on_error: true}}
"""
    compilation = compile_text(tmp_path, text)
    backend = compilation.tools[1].backend

    assert [str(each.code.number) for each in compilation.diagnostics.sorted() if each.is_error] == []
    assert isinstance(backend, CompositeBackend)
    assert backend.steps == (
        Step(id="one", tool="hello"),
        Step(id="two", tool="hello", condition="steps.one.text != 'x'", timeout_ms=5000, continue_on_error=True),
    )


def test_unknown_strategies_do_not_hide_unknown_tools(tmp_path: Path) -> None:
    steps = "[{id: one, tool: greet}, {id: two, tool: [hello]}]"
    found = found_in(tmp_path, f"{HEAD}backend: {{composite: {{strategy: sequence, steps: {steps}}}}}\n")
    assert [each.partition(" must be")[0] for each in found] == [
        "4:33 TC108 'strategy'",
        "4:67 TC105 there is no tool 'greet'",
        "4:91 TC108 'tool'",
    ]


def test_a_transaction_has_a_commit_mode_and_patterns(tmp_path: Path) -> None:
    short = tool_of(tmp_path, HEAD + ECHO + "sandbox: {workspace: transaction}\n").sandbox
    long = tool_of(
        tmp_path, HEAD + ECHO + "sandbox: {workspace: {mode: transaction, commit: success, writes: [src/**, ./a]}}\n"
    ).sandbox

    assert (short.workspace, short.transaction) == ("transaction", TransactionSpec(commit="ask", writes=()))
    assert long.transaction == TransactionSpec(commit="success", writes=("a", "src/**"))
    assert tool_of(tmp_path, HEAD + ECHO + "sandbox: {workspace: {mode: rw}}\n").sandbox.transaction is None


def test_allow_lists_are_sorted_without_duplicates(tmp_path: Path) -> None:
    allow = "[b.example:443, 'A.example.:443', a.example:443, a.example:80]"
    tool = tool_of(tmp_path, f"{HEAD}{ECHO}sandbox: {{network: {{allow: {allow}}}}}\n")

    assert tool.sandbox.network.allow == tuple(
        Destination(kind="exact", host=host, port=port)
        for host, port in (("a.example", 80), ("a.example", 443), ("b.example", 443))
    )


@pytest.mark.parametrize("written", ["none", "host", "true", "[api.example.com]"])
def test_hint_for_a_network_that_is_not_a_map(tmp_path: Path, written: str) -> None:
    (found,) = compile_text(tmp_path, f"{HEAD}{ECHO}sandbox: {{network: {written}}}\n").diagnostics.sorted()
    assert found.message.startswith("'network' must be a map, but is ")
    assert found.hint == "write {allow: [api.example.com:443]}; remove 'network' if the tool needs none"


def test_the_files_of_a_build_are_part_of_the_tool(tmp_path: Path) -> None:
    (tmp_path / "image" / "etc").mkdir(parents=True)
    (tmp_path / "image" / "Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    (tmp_path / "image" / "etc" / "x").write_text("x", encoding="utf-8")

    sandbox = tool_of(tmp_path, HEAD + ECHO + "sandbox: {build: ./image}\n").sandbox

    assert sandbox.build == Build(
        folder="image", files=(File(path="image/Dockerfile", text="FROM scratch\n"), File(path="image/etc/x", text="x"))
    )
    assert found_in(tmp_path, HEAD + ECHO + "sandbox: {build: image/etc}\n") == [
        f"5:18 TC111 there is no Dockerfile in {tmp_path}/image/etc"
    ]


def test_requirement_names_are_normalized(tmp_path: Path) -> None:
    tool = tool_of(
        tmp_path,
        HEAD + "backend: {python: {code: 'def hello(): pass', "
        "requirements: ['Typing_Extensions==4.12.2', 'Aio.Http[Speedups,a]==3.10.0rc1']}}\n",
    )

    assert isinstance(tool.backend, PythonBackend)
    assert tool.backend.requirements == ("aio-http[a,speedups]==3.10.0rc1", "typing-extensions==4.12.2")


def requiring(tmp_path: Path, *lines: str) -> str:
    return f"{HEAD}backend: {{python: {{code: 'def hello(): pass', requirements: {list(lines)}}}}}\n"


def test_requirements_may_have_hashes(tmp_path: Path) -> None:
    one, other = "--hash=sha256:" + "a1" * 32, "--hash=sha256:" + "B2" * 32
    tool = tool_of(tmp_path, requiring(tmp_path, f"Two==2  {other}   {one}", f"one[x]==1 {one}"))

    assert isinstance(tool.backend, PythonBackend)
    assert tool.backend.requirements == (f"one[x]==1 {one}", f"two==2 {one} {other.lower()}")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["one==1 --hash=md5:00"], "'requirements'[0] has a hash that is not SHA-256: '--hash=md5:00'"),
        (["one==1 --hash=sha256:00"], "'requirements'[0] has a hash that is not SHA-256: '--hash=sha256:00'"),
        (["one==1 --hash=sha256:" + "00" * 32, "two==2"], "the package 'two' has no --hash, but others have one"),
        (["one==1 -e /tmp"], "'requirements'[0] is not a package with an exact version: 'one==1 -e /tmp'"),
    ],
)
def test_ineffective_hashes_are_rejected(tmp_path: Path, lines: list[str], found: str) -> None:
    (problem,) = found_in(tmp_path, requiring(tmp_path, *lines))
    assert found in problem


def preloading(modules: str) -> str:
    return f"{HEAD}backend: {{python: {{code: 'def hello(): pass', preload: {modules}}}}}\n"


def test_preloaded_modules_keep_their_order(tmp_path: Path) -> None:
    tool = tool_of(tmp_path, preloading("[xml.dom, json]"))

    assert isinstance(tool.backend, PythonBackend)
    assert tool.backend.preload == ("xml.dom", "json")


@pytest.mark.parametrize(
    ("modules", "found"),
    [
        ("json", "must be a list"),
        ("[json, json]", "TC108 the module 'json' is listed twice"),
        ("['a b']", "TC108 'preload'[0] is not the name of a module: 'a b'"),
        ("[hello]", "TC108 'hello' is a file of the tool, which a sandbox receives with the call"),
        ("[numpy.linalg]", "TC415 'numpy' is not in the standard library, and the tool installs no packages"),
    ],
)
def test_modules_that_do_not_exist_before_the_call_are_rejected(tmp_path: Path, modules: str, found: str) -> None:
    (problem,) = found_in(tmp_path, preloading(modules))
    assert found in problem


@pytest.mark.parametrize("idempotent", ["true", "false"])
def test_only_idempotent_tools_can_have_retries(tmp_path: Path, idempotent: str) -> None:
    annotations = f"annotations: {{idempotent: {idempotent}}}\n"
    text = f"{HEAD}{ECHO}{annotations}retry: {{backoff: 1s, kinds: [timeout, network]}}\n"
    found = [each for each in found_in(tmp_path, text) if "TC108" in each]

    assert len(found) == (idempotent == "false")
    assert compile_text(tmp_path, text).tools[0].retry == Retry(kinds=("network", "timeout"))


def test_the_result_schema_is_stored_separately(tmp_path: Path) -> None:
    tool = tool_of(tmp_path, HEAD + ECHO + "result: {format: json, schema: {type: object}}\n")

    assert tool.result_schema is not None
    assert tool.result_schema.value == {"type": "object"}


def test_arguments_of_a_step_are_json(tmp_path: Path) -> None:
    text = """
toolc: 1
tools:
  - name: greet
    description: Say hello to one person.
    parameters: {who: {type: string, maxLength: 9, description: Whom}}
    backend: {shell: {argv: [echo, "{{ who }}"], allow_dash: [who]}}
  - name: greet_ada
    description: Say hello to Ada, and to nobody else.
    backend: {composite: {strategy: parallel, steps: [{id: one, tool: greet, args: {who: Ada}}]}}
"""
    tools = compile_text(tmp_path, text).tools
    backend = tools[1].backend

    assert isinstance(tools[0].backend, ShellBackend)
    assert isinstance(backend, CompositeBackend)
    assert backend.steps[0].args == JsonMap(entries=(JsonEntry(key="who", value=Template(("Ada",))),))
