"""The CI guide and its files: each command of the hooks, the action and the template runs in a repository.

A program that keeps comments in a file replaces ``gh`` and ``curl``, the clients of the code hosts.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import ROOT
from repositories import Repository

ACTION: Any = yaml.safe_load((ROOT / ".github/actions/toolc/action.yml").read_text(encoding="utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}
WORKFLOW: Any = yaml.safe_load((ROOT / "docs/guides/ci/github.yml").read_text(encoding="utf-8"))
GITLAB: Any = yaml.safe_load((ROOT / "docs/guides/ci/gitlab.yml").read_text(encoding="utf-8"))
HOOKS: Any = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
MARKER = "<!-- toolc diff -->"

SPEC = """\
toolc: 1
name: hello
label: Say hello
description: Say hello to the whole world. Use it to see that tools work, and for nothing else.
backend: {shell: {argv: [echo, hello]}}
tests: [{args: {}, expect: {text: "hello\\n"}}]
"""
WIDER = SPEC + 'sandbox: {network: {allow: ["api.example.com:443"]}}\n'

HOST = r"""
import json, os, subprocess, sys
from pathlib import Path

store = Path(os.environ["COMMENTS"])
found = json.loads(store.read_text())
words = sys.argv[1:]
def option(*names):
    return next((words[i + 1] for i, word in enumerate(words) if word in names), None)
method = option("--method", "--request") or "GET"
body = (option("--field", "--data-urlencode") or "").removeprefix("body@").removeprefix("body=@")
path = next(word for word in words if "repos/" in word or word.startswith("https://"))
number = path.rpartition("/")[2]
if method == "GET" and path.endswith("/user"):
    print(json.dumps({"id": 7}))
elif method == "GET":
    query = option("--jq")
    program = ["jq", "-r", query] if query else ["cat"]
    subprocess.run(program, input=json.dumps(found).encode(), check=True)
elif method == "POST":
    mine = {"user": {"login": "github-actions[bot]"}, "author": {"id": 7}}
    found.append({"id": 100 + len(found), "body": Path(body).read_text(), **mine})
elif method in ("PATCH", "PUT"):
    next(each for each in found if str(each["id"]) == number)["body"] = Path(body).read_text()
else:
    found = [each for each in found if str(each["id"]) != number]
store.write_text(json.dumps(found))
"""
FOREIGN_COMMENT = {"id": 1, "user": {"login": "mallory"}, "author": {"id": 3}, "body": f"{MARKER} pay me"}


@pytest.fixture
def pull_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Create the merge of ``main`` and a branch that allows a host; ``toolc`` is on the path."""
    repository = Repository.make(tmp_path / "r")
    monkeypatch.chdir(repository.top)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "toolc").write_text(f'#!/bin/sh\nexec {sys.executable} -m toolc "$@"\n')
    for name in ("gh", "curl"):
        (programs / name).write_text(f"#!{sys.executable}\n{HOST}")
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("COMMENTS", str(tmp_path / "comments.json"))
    (tmp_path / "comments.json").write_text(json.dumps([FOREIGN_COMMENT]))
    repository.commit({"specs/hello.yaml": SPEC})
    repository.git("switch", "--quiet", "--create", "wider")
    repository.write({"specs/hello.yaml": WIDER})
    script("toolc lock specs", {})
    repository.commit({})
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "wider")
    return repository


def script(text: str, more: Mapping[str, str], status: int = 0) -> str:
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", text]
    done = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def step(name: str, *, status: int = 0, **inputs: str) -> str:
    """Run a step of the action with its defaults and the variables of a runner for a pull request."""
    known = {f"inputs.{key}": each["default"] for key, each in ACTION["inputs"].items()}
    known |= {f"inputs.{key.replace('_', '-')}": value for key, value in inputs.items()}
    known |= {"runner.temp": "../temp", "github.token": "t", "github.event.pull_request.number": "5"}

    def expand(text: str) -> str:
        return re.sub(r"\$\{\{ ([^}]+) \}\}", lambda match: str(known[match[1]]), text)

    env = {key: expand(value) for key, value in STEPS[name].get("env", {}).items()}
    runner = {"GITHUB_REPOSITORY": "example/tools", "GITHUB_STEP_SUMMARY": "../summary.md"}
    return script(STEPS[name]["run"], {**runner, **env}, status)


def comments() -> list[Any]:
    found = json.loads(Path(os.environ["COMMENTS"]).read_text(encoding="utf-8"))
    assert found[0] == FOREIGN_COMMENT, "the comment of another user is not changed"
    return [each["body"] for each in found[1:]]


@pytest.mark.slow
def test_the_action_reviews_a_pull_request_in_one_comment(pull_request: Repository) -> None:
    for name in ("check", "build", "lock", "diff", "comment"):
        step(name)
    (comment,) = comments()
    assert comment.startswith(MARKER)
    assert "RSK01: a call may now reach api.example.com" in comment
    assert Path("../summary.md").read_text(encoding="utf-8") == comment
    for name in ("check", "diff"):
        sarif = json.loads(Path(f"../temp/toolc/{name}.sarif").read_text(encoding="utf-8"))
        assert sarif["version"] == "2.1.0"
    assert Path("../temp/toolc/build/registry.json").is_file()
    step("comment")
    assert comments() == [comment]
    Path("../temp/toolc/comment.md").write_text(f"{MARKER}\nother\n", encoding="utf-8")
    step("comment")
    assert comments() == [f"{MARKER}\nother\n"]
    Path("../temp/toolc/comment.md").write_text("", encoding="utf-8")
    step("comment")
    step("comment")
    assert comments() == []
    assert "changes:" in step("fail", fail_on="risk:high", status=1)
    step("fail", fail_on="risk:critical")


@pytest.mark.slow
@pytest.mark.needs_engine
def test_the_action_runs_the_tests_and_fails_on_errors(pull_request: Repository) -> None:
    step("test")
    pull_request.write({"central.yml": "policy: {hosts: []}\n"})
    assert "TC902" in step("check", policy="central.yml", status=1)
    pull_request.write({"specs/hello.yaml": SPEC})
    assert "the tool hello is not the one" in step("lock", status=1)


def test_inputs_are_not_inserted_into_scripts() -> None:
    for name, each in STEPS.items():
        assert "${{" not in each.get("run", ""), name
    assert 'pip install --disable-pip-version-check --quiet "$PACKAGE"' in STEPS["install"]["run"]
    repository = "github.event.pull_request.head.repo.full_name == github.repository && "
    assert STEPS["comment"]["if"].startswith(repository), "a fork's token may not write"
    for upload in (each for each in STEPS.values() if "uses" in each):
        assert upload["if"].endswith("&& !github.event.pull_request.head.repo.fork }}")
    assert [each["with"]["category"] for each in STEPS.values() if "uses" in each] == ["toolc-check", "toolc-diff"]


@pytest.mark.slow
def test_names_with_quotes_are_safe(pull_request: Repository) -> None:
    step("check", specs="$(touch owned); echo '", status=2)
    assert not Path("owned").exists()


def test_the_workflow_has_the_least_permissions_and_is_safe_for_forks() -> None:
    # YAML 1.1 reads `on` as true.
    assert WORKFLOW[True] == {"pull_request": None}, "pull_request_target would give a fork a token that writes"
    assert WORKFLOW["permissions"] == {"contents": "read", "pull-requests": "write", "security-events": "write"}
    checkout, _, action = WORKFLOW["jobs"]["review"]["steps"]
    assert checkout["with"] == {"fetch-depth": 2, "persist-credentials": False}
    assert set(action["with"]) <= set(ACTION["inputs"])


@pytest.mark.slow
@pytest.mark.needs_engine
def test_the_template_for_gitlab_does_the_same(pull_request: Repository) -> None:
    variables = {**GITLAB["variables"], "CI_MERGE_REQUEST_DIFF_BASE_SHA": pull_request.git("rev-parse", "HEAD^1")}
    script("\n".join(GITLAB["toolc review"]["script"]), variables)
    (comment,) = Path().glob("toolc-comment.md")
    assert comment.read_text(encoding="utf-8").startswith(MARKER)
    for name in GITLAB["toolc review"]["artifacts"]["paths"]:
        assert Path(name).stat().st_size
    about = {"CI_API_V4_URL": "https://git.example.com/api/v4", "CI_PROJECT_ID": "9", "CI_MERGE_REQUEST_IID": "5"}
    about |= {"TOOLC_TOKEN": "t"}
    for _ in range(2):
        script("\n".join(GITLAB["toolc comment"]["script"]), {**variables, **about})
        assert comments() == [comment.read_text(encoding="utf-8")]
    comment.write_text("", encoding="utf-8")
    script("\n".join(GITLAB["toolc comment"]["script"]), {**variables, **about})
    assert comments() == []
    script("\n".join(GITLAB["toolc test"]["script"]), variables)
    assert 'failures="0"' in Path("toolc-test.xml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_hooks_for_pre_commit_run(pull_request: Repository) -> None:
    lines = [f"{hook['entry']} {' '.join(hook['args'])}" for hook in HOOKS]
    assert lines == ["toolc check specs", "toolc lock --check specs"]
    for line in lines:
        script(line, {})
    pull_request.write({"specs/hello.yaml": SPEC.replace("argv", "args")})
    script(lines[0], {}, status=1)
    assert [bool(re.search(hook["files"], "specs/a.toml")) for hook in HOOKS] == [True, True]
    assert bool(re.search(HOOKS[1]["files"], "toolc.lock"))


def test_the_page_lists_every_input_and_command() -> None:
    page = (ROOT / "docs/guides/continuous-integration.md").read_text(encoding="utf-8")
    assert [name for name in ACTION["inputs"] if f"| `{name}` |" not in page] == []
    commands = re.findall(r"^toolc (\w+)", page, re.MULTILINE)
    run = [re.findall(r"toolc (\w+) ", STEPS[name].get("run", ""))[:1] for name in STEPS]
    assert set(commands) == {name for names in run for name in names}
