"""Decode the project file."""

import re
from pathlib import Path

import pytest
from compiling.project_cases import TOOL, compiled, expected, lines, report, write

from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.errors import UsageError
from toolc.model.spec.code_backends import ShellBackend
from toolc.model.spec.sandbox import Limits

pytestmark = pytest.mark.usefixtures("own_folder")


def test_tool_defaults_override_file_and_project_defaults() -> None:
    write(
        toolc="defaults:\n  sandbox: {env: {A: p, B: p, C: p}, limits: {timeout: 1s, pids: 25, files: 50}}\n"
        "  backend: {shell: {argv: [echo], allow_dash: [x], success_exit_codes: [0, 1]}}\n",
        specs__tools="""\
toolc: 1
defaults: {sandbox: {env: {B: f, C: f}, limits: {timeout: 2s, pids: 26}}}
tools:
  - name: hello
    description: Say hello to the whole world.
    parameters: {x: {type: string, maxLength: 9}, z: {type: string, maxLength: 9}}
    backend: {shell: {script: 'echo "$ARG_x"; echo "$ARG_z"', allow_dash: [z]}}
    sandbox: {env: {C: t}, limits: {timeout: 3s}}
""",
    )
    compilation = compile_specs([Path("specs")])
    assert lines(compilation) == []
    (tool,) = compilation.tools
    assert [(each.name, each.value) for each in tool.sandbox.env] == [("A", "p"), ("B", "f"), ("C", "t")]
    assert tool.sandbox.limits == Limits(timeout_ms=3000, pids=26, files=50)
    assert isinstance(tool.backend, ShellBackend)
    assert tool.backend.allow_dash == ("z",)
    assert tool.backend.success_exit_codes == (0, 1)


@pytest.mark.parametrize(
    ("default", "own"),
    [
        ("body: {json: {a: 1}}", "body: {file: {path: a.txt}}"),
        ('auth: {bearer: "{{ secrets.A }}"}', 'auth: {basic: {username: "{{ secrets.A }}", password: b}}'),
        ("pagination: {page: {parameter: p}}", "pagination: {link: true}"),
    ],
)
def test_a_default_that_excludes_a_key_of_the_tool_does_not_apply(default: str, own: str) -> None:
    backend = "{http: {method: POST, url: 'https://a.example/b', %s}}"
    alone = TOOL.replace("{shell: {argv: [echo, hello]}}", backend % own)
    assert lines(compiled(f"defaults: {{backend: {backend % default}}}\n", alone)) == lines(compiled("", alone))


def test_a_single_tool_has_the_project_defaults() -> None:
    compilation = compiled("defaults: {sandbox: {workspace: ro}}\n")
    assert compilation.tools[0].sandbox.workspace == "ro"


def test_findings_about_defaults_are_in_the_project_file() -> None:
    project = """\
defaults:
  owner: me
  sandbox:
    limits: {timeout: 5}
    env: {HOME: 7, WHO: "{{ who }}"}
  backend: {shell: {stdin: "{{ whoo }}"}}
"""
    assert report(compiled(project)) == (
        """\
toolc.yaml:2:3: error TC108: 'owner' identifies a tool and cannot have a default
  2 |   owner: me
    |   ^^^^^
    = help: write 'owner' in each tool

toolc.yaml:4:23: error TC109: 'timeout' must be a duration such as '500ms', '30s' or '10m', but 5 has no unit
  4 |     limits: {timeout: 5}
    |                       ^
    = help: write 5s

toolc.yaml:5:17: error TC108: env.HOME must be a string, but is the number 7
  5 |     env: {HOME: 7, WHO: "{{ who }}"}
    |                 ^
    = help: put it in quotes: "7"

toolc.yaml:5:26: error TC114: an environment variable is a constant and cannot contain a placeholder
  5 |     env: {HOME: 7, WHO: "{{ who }}"}
    |                          ^^
    = help: pass parameters through 'argv' or 'stdin'; a script receives them as ARG_<name>

toolc.yaml:6:29: error TC406: there is no parameter 'whoo'
  6 |   backend: {shell: {stdin: "{{ whoo }}"}}
    |                             ^^^^^^^^^^
    = help: the tool declares no parameters

5 errors
"""
    )


def test_findings_in_default_code_are_in_the_project_file() -> None:
    project = "defaults:\n  backend:\n    python:\n      code: |\n        def hello(x):\n            return 1\n"
    tool = TOOL.replace("{shell: {argv: [echo, hello]}}", "{python: {function: hello}}")
    assert lines(compiled(project, tool)) == [
        "toolc.yaml:5:19 error TC411 the function requires 'x', but the tool has no such parameter"
    ]


def test_errors_in_the_project_file_have_positions(golden: bool) -> None:
    project = """\
toolc: 1
exlude: []
policy: {}
exclude: [/etc, ../up, ok/*.yaml, 7]
out: ..
vars: {a-b: 1, c: [1], d: "{{ vars.c }}", e: null}
toolsets: {web: [hello, helo], db: [7]}
lint:
  select: [TC2, TX1]
  ignore: [TC101, TC1, tc204]
  severity: {TC001: off, TC204: bad, TC2044: error, TC1: warning, TC101: error}
  hosts: [docs.example.io, "https://docs.example.io"]
"""
    found = report(compiled(project))
    assert found == expected("compiler/project-file", found, golden=golden)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: !x y\n", "toolc.yaml:1:4 error TC006 the tag !x has no meaning in a spec"),
        ("- a\n", "toolc.yaml:1:1 error TC108 a project file must be a map"),
        ("out: a\nout: b\n", "toolc.yaml:2:1 error TC002 the key 'out' is already on line 1"),
    ],
)
def test_an_invalid_project_file_is_an_error(text: str, found: str) -> None:
    assert lines(compiled(text)) == [found]


def test_approvers_in_the_project_file_are_an_error_that_names_the_page_about_the_code_host() -> None:
    found = report(compiled("review: {approvers: [alice]}\n"))
    assert found.startswith("toolc.yaml:1:10: error TC101: 'review' has no key 'approvers'\n")
    assert "the rules of the code host decide who approves; see docs/guides/continuous-integration.md#who-app" in found
    assert "head" not in found, "not advice that lets a pull request accept its own changes"


def test_unknown_variables_are_not_reported_if_the_project_file_is_invalid() -> None:
    tool = TOOL.replace("the whole", "{{ vars.which }}")
    assert lines(compiled("vars: {which: *x}\n", tool)) == [
        "toolc.yaml:1:15 error TC005 there is no anchor with this name above the alias"
    ]


def test_off_is_a_severity_and_no_is_not() -> None:
    assert lines(compiled("lint: {severity: {TC204: off}}\n")) == []
    assert [line.split()[2] for line in lines(compiled("lint: {severity: {TC204: no}}\nvars: {a: off}\n"))] == [
        "TC003",
        "TC108",
        "TC003",
    ]


def test_an_empty_project_file_is_valid() -> None:
    assert lines(compiled("")) == []
    assert lines(compiled("# nothing yet\n")) == []


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("specs/a.yaml", ["b", "c"]), ("specs", []), ("specs/sub/**", ["a", "b"]), ("specs/*", []), ("*/?.yaml", ["c"]),
        ("a.yaml", ["b", "c"]), ("sub", ["a", "b"]), ("**/c.yaml", ["a", "b"]), ("specs/**/[bc].yaml", ["a"]),
        ("nothing", ["a", "b", "c"]), ("specs/a", ["a", "b", "c"]),
    ],
)  # fmt: skip
def test_excluded_files_are_skipped(pattern: str, left: list[str]) -> None:
    write(
        toolc=f"exclude: ['{pattern}']\n",
        keep=TOOL.replace("hello", "keep"),
        specs__a=TOOL.replace("hello", "aaa"),
        specs__b=TOOL.replace("hello", "bbb"),
        specs__sub__c=TOOL.replace("hello", "ccc"),
    )
    names = [tool.name for tool in compile_specs([Path()]).tools]
    assert names == sorted([*(3 * each for each in left), "keep"])


def test_a_named_file_is_compiled_even_if_excluded() -> None:
    write(toolc="exclude: [specs]\n", specs__a=TOOL)
    assert [tool.name for tool in compile_specs([Path("specs/a.yaml")]).tools] == ["hello"]


def test_excluding_all_files_is_an_error() -> None:
    write(top__toolc="exclude: [specs]\n", top__specs__a=TOOL)
    message = (
        "top/specs: no specs found, because 'exclude' in top/toolc.yaml excludes all files; "
        "pass a file to compile it anyway, or change 'exclude'"
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        compile_specs([Path("top/specs")])


def test_specs_have_one_output_folder_relative_to_the_project_file() -> None:
    write(one__toolc="out: made\n", one__a=TOOL, two__toolc="out: made\n", two__a=TOOL.replace("hello", "bye"))
    assert compile_specs([Path("one")]).out == Path.cwd() / "one" / "made"
    with pytest.raises(UsageError, match="set different output folders"):
        _ = compile_specs([Path()]).out
