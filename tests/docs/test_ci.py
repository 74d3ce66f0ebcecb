"""The CI guide and its files: each command of the hooks, the action and the template runs in a repository.

A program that keeps comments in a file replaces ``gh`` and ``curl``, the clients of the code hosts.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from project.paths import ROOT
from reviews.repositories import Repository

from toolc.version import __version__

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


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a package that adds this toolc and what it needs to an environment, without a network."""
    path = tmp_path_factory.mktemp("wheel") / "checker-1.0-py3-none-any.whl"
    info = "checker-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("checker.pth", "\n".join([str(ROOT), *(each for each in sys.path if "-packages" in each)]))
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: checker\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", f"checker.pth,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the workspace of a runner, the current folder."""
    monkeypatch.setenv("PATH", f"{programs(tmp_path)}:{os.environ['PATH']}")
    monkeypatch.setenv("COMMENTS", str(tmp_path / "comments.json"))
    (tmp_path / "comments.json").write_text(json.dumps([FOREIGN_COMMENT]))
    (tmp_path / "temp").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def programs(folder: Path) -> Path:
    """Create a folder of programs: ``python3`` is the Python of the tests."""
    made = folder / "programs"
    made.mkdir()
    (made / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for name in ("gh", "curl"):
        (made / name).write_text(f"#!{sys.executable}\n{HOST}")
    for program in made.iterdir():
        program.chmod(0o755)
    return made


@pytest.fixture(scope="session")
def checker(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a runner's folder for temporary files after the installation."""
    temp = tmp_path_factory.mktemp("runner")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{programs(temp)}:{os.environ['PATH']}")
        step("install", temp=temp, package=str(wheel))
    return temp


@pytest.fixture
def installed(checker: Path, runner: Path) -> None:
    """Install what the action runs."""
    shutil.copytree(checker / "toolc", runner.parent / "temp/toolc", ignore=shutil.ignore_patterns("venv"))


@pytest.fixture
def pull_request(installed: None, runner: Path) -> Repository:
    """Create checkouts: ``base``, and ``head``, the merge of a branch that allows a host."""
    return merge(runner, {"specs/hello.yaml": SPEC}, {"specs/hello.yaml": WIDER})


def merge(workspace: Path, base: Mapping[str, str], change: Mapping[str, str]) -> Repository:
    """Create the checkouts of a workflow for a pull request that changes files and the lock file."""
    repository = Repository.make(workspace / "head")
    repository.commit(base)
    subprocess.run(["git", "clone", "--quiet", workspace / "head", workspace / "base"], check=True)
    repository.git("switch", "--quiet", "--create", "wider")
    repository.write(change)
    toolc("lock", "specs", folder=repository.top)
    repository.commit({})
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "wider")
    return repository


def toolc(*arguments: str, folder: Path) -> str:
    command = [sys.executable, "-I", "-m", "toolc", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def script(text: str, more: Mapping[str, str], status: int = 0, *, folder: Path | None = None) -> str:
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", text]
    env = {**os.environ, **more}
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def step(name: str, *, status: int = 0, temp: Path | None = None, **inputs: str) -> str:
    """Run a step of the action with its defaults and the variables of a runner for a pull request."""
    temp = temp or Path.cwd().parent / "temp"
    outputs = temp / "outputs"
    known = {f"inputs.{key}": each["default"] for key, each in ACTION["inputs"].items()} | {"inputs.path": "head"}
    known |= {f"inputs.{key.replace('_', '-')}": value for key, value in inputs.items()}
    known |= {"runner.temp": str(temp), "github.token": "t", "github.event.pull_request.number": "5"}
    known["steps.install.outputs.policy"] = ""
    for line in outputs.read_text(encoding="utf-8").splitlines() if outputs.exists() else []:
        key, _, value = line.partition("=")
        known[f"steps.install.outputs.{key}"] = value

    def expand(text: str) -> str:
        return re.sub(r"\$\{\{ ([^}]+) \}\}", lambda match: str(known[match[1]]), text)

    env = {key: expand(value) for key, value in STEPS[name].get("env", {}).items()}
    env |= {"GITHUB_REPOSITORY": "octo/tools", "GITHUB_STEP_SUMMARY": str(temp / "summary.md")}
    folder = Path(expand(STEPS[name].get("working-directory", ".")))
    return script(STEPS[name]["run"], env | {"GITHUB_OUTPUT": str(outputs)}, status, folder=folder)


def comments() -> list[Any]:
    found = json.loads(Path(os.environ["COMMENTS"]).read_text(encoding="utf-8"))
    assert found[0] == FOREIGN_COMMENT, "the comment of another user is not changed"
    return [each["body"] for each in found[1:]]


@pytest.mark.slow
@pytest.mark.integrations
def test_the_action_reviews_a_pull_request_in_one_comment(pull_request: Repository) -> None:
    for name in ("check", "build", "lock", "diff", "comment"):
        step(name)
    (comment,) = comments()
    assert comment.startswith(MARKER)
    assert "RSK01: a call may now reach api.example.com" in comment
    assert Path("../temp/summary.md").read_text(encoding="utf-8") == comment
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
def test_the_action_runs_the_tests(pull_request: Repository) -> None:
    step("test")


@pytest.mark.integrations  # a new environment with pip
@pytest.mark.slow
def test_the_action_fails_on_errors(pull_request: Repository, wheel: Path) -> None:
    Path("central.yml").write_text("policy: {hosts: []}\n", encoding="utf-8")
    pull_request.write({"central.yml": "policy: {}\n"})
    step("install", policy="central.yml", package=str(wheel))
    assert "TC902" in step("check", status=1), "the policy of the workspace, not of the pull request"
    pull_request.write({"specs/hello.yaml": SPEC})
    assert "hello" in step("lock", status=1)


@pytest.mark.integrations  # a new environment with pip
@pytest.mark.slow
def test_a_policy_that_does_not_exist_fails_the_job(runner: Path) -> None:
    step("install", policy="missing.yml", status=1)


def test_inputs_are_not_inserted_into_scripts() -> None:
    for name, each in STEPS.items():
        assert "${{" not in each.get("run", ""), name
    assert '-I -m pip install --disable-pip-version-check --quiet "$PACKAGE"' in STEPS["install"]["run"]
    repository = "github.event.pull_request.head.repo.full_name == github.repository && "
    assert STEPS["comment"]["if"].startswith(repository), "a fork's token may not write"
    for upload in (each for each in STEPS.values() if "uses" in each):
        assert upload["if"].endswith("&& !github.event.pull_request.head.repo.fork }}")
    assert [each["with"]["category"] for each in STEPS.values() if "uses" in each] == ["toolc-check", "toolc-diff"]


@pytest.mark.slow
def test_names_with_quotes_are_safe(pull_request: Repository) -> None:
    step("check", specs="$(touch owned); echo '", status=2)
    assert [*Path().rglob("owned")] == []


def test_the_workflow_has_the_least_permissions_and_is_safe_for_forks() -> None:
    # YAML 1.1 reads `on` as true.
    assert set(WORKFLOW[True]) == {"pull_request"}, "pull_request_target: forks could write"
    assert "edited" in WORKFLOW[True]["pull_request"]["types"], "another base is another review"
    assert WORKFLOW["permissions"] == {"contents": "read", "pull-requests": "write", "security-events": "write"}
    job = WORKFLOW["jobs"]["review"]
    assert "github.event.pull_request.base.ref" in job["name"], "a review into another branch is another check"
    assert all("${{" not in each.get("run", "") for each in job["steps"])
    assert set(job["steps"][-1]["with"]) <= set(ACTION["inputs"])
    assert job["steps"][-1]["with"]["fail-on"] == ACTION["inputs"]["fail-on"]["default"] == "breaking,risk:high"
    assert GITLAB["variables"]["FAIL_ON"] == "breaking,risk:high"


def test_the_workflow_takes_the_checker_from_the_base_and_a_release() -> None:
    base, head, _, action = WORKFLOW["jobs"]["review"]["steps"]
    assert base["with"] == {
        "ref": "refs/heads/${{ github.event.pull_request.base.ref }}",
        "path": "base",
        "persist-credentials": False,
    }
    assert head["with"] == {"path": "head", "fetch-depth": 2, "persist-credentials": False}
    assert action["uses"] == "./base/.github/actions/toolc"
    assert action["with"]["path"] == "head"
    assert action["with"]["package"] == GITLAB["variables"]["TOOLC"] == f"toolc=={__version__}"


OWN_CHECKER = {
    **{f"{name}.py": "open('owned', 'w').close()\nraise SystemExit\n" for name in ("sitecustomize", "venv", "click")},
    **{f"{name}/__main__.py": "open('owned', 'w').close()\n" for name in ("toolc", "pip", "venv")},
    **{f"{name}/__init__.py": "open('owned', 'w').close()\n" for name in ("toolc", "pip", "yaml", "json")},
    "usercustomize.py": "open('owned', 'w').close()\n",
    "pip.conf": "[global]\nindex-url = http://127.0.0.1:1/\nno-such-option = 1\n[install]\ntarget = owned\n",
    "setup.cfg": "[install]\nprefix = owned\n",
    "pyproject.toml": "[project]\nname = 'toolc'\nversion = '99'\n[build-system]\nrequires = ['./owned']\n",
    ".python-version": "2.7\n",
    ".github/actions/toolc/action.yml": "runs: {using: composite, steps: []}\n",
    ".github/workflows/tools.yml": "on: pull_request\njobs: {}\n",
}


@pytest.mark.integrations  # a new environment with pip
@pytest.mark.slow
@pytest.mark.parametrize("checkout", [".", "head"])
def test_a_checker_in_the_pull_request_is_not_used(
    checkout: str, runner: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge(runner, {"specs/hello.yaml": SPEC}, {"specs/hello.yaml": WIDER, **OWN_CHECKER})
    if checkout == ".":
        # A workflow that reviews the workspace itself.
        monkeypatch.chdir("head")
        (runner / "temp").symlink_to(runner.parent / "temp")
    for name in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONUSERBASE"):
        monkeypatch.setenv(name, str(runner / "head"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "pip.conf")
    monkeypatch.setenv("PYTHONINSPECT", "1")
    step("install", package=str(wheel))
    for name in ("check", "build", "lock", "diff"):
        step(name, path=checkout)
    assert "RSK01" in (runner.parent / "temp/toolc/comment.md").read_text(encoding="utf-8")
    assert "1 high" in step("fail", path=checkout, status=1)
    assert [*runner.rglob("owned"), *runner.parent.rglob("temp/owned")] == []


def accept_all(repository: Repository, base: str) -> str:
    """Return a file that accepts all changes since ``base``."""
    found = re.findall(r"\[([0-9a-f]{12})\]", toolc("diff", base, "--path", "specs", folder=repository.top))
    entries = [f'  - {{fingerprint: "{each}", reason: I want it, who: ann}}\n' for each in found]
    return "accepted:\n" + "".join(entries)


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["", "review: {accept_from: base}\n"])
def test_a_pull_request_cannot_accept_itself(installed: None, runner: Path, settings: str) -> None:
    base = {"specs/hello.yaml": SPEC} | ({"specs/toolc.yaml": settings} if settings else {})
    repository = merge(runner, base, {"specs/hello.yaml": WIDER, "specs/toolc.yaml": "review: {accept_from: head}\n"})
    repository.git("switch", "--quiet", "wider")
    repository.commit({"toolc.accepted.yaml": accept_all(repository, "main^1")})
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "wider")
    assert "critical" in step("fail", base="HEAD~2", status=1)


@pytest.mark.slow
def test_a_link_to_the_base_is_not_compared_with_itself(installed: None, runner: Path) -> None:
    repository = Repository.make(runner / "head")
    repository.commit({"specs/hello.yaml": SPEC})
    subprocess.run(["git", "clone", "--quiet", "head", "base"], check=True)
    repository.git("rm", "--quiet", "-r", "specs")
    (repository.top / "specs").symlink_to("../base/specs")
    repository.commit({})
    step("fail", status=2)


def request_merge(workspace: Path, change: Mapping[str, str], later: Mapping[str, str]) -> dict[str, str]:
    """Create the checkout of a runner of GitLab, the current folder, and return the variables of its job.

    ``later`` is what the target branch gets after the source branch started.
    """
    origin = Repository.make(workspace.parent / "origin")
    origin.commit({"specs/hello.yaml": SPEC})
    origin.git("switch", "--quiet", "--create", "wider")
    origin.write(change)
    toolc("lock", "specs", folder=origin.top)
    source = origin.commit({})
    origin.git("switch", "--quiet", "main")
    origin.commit(later)
    subprocess.run(["git", "clone", "--quiet", origin.top, workspace / "checkout"], check=True)
    os.chdir(workspace / "checkout")
    subprocess.run(["git", "checkout", "--quiet", source], check=True)
    return {**GITLAB["variables"], "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_COMMIT_SHA": source}


def job(name: str, variables: Mapping[str, str], status: int = 0) -> str:
    """Run a job of the template: its variables, ``before_script`` and ``script`` in one shell."""
    known = {**GITLAB[".toolc"], **GITLAB[name]}
    lines = [*(known["before_script"] if "extends" in known else []), *known["script"]]
    return script("\n".join(lines), {**variables, **known.get("variables", {})}, status)


@pytest.mark.integrations  # a new environment with pip
@pytest.mark.slow
@pytest.mark.needs_engine
def test_the_template_for_gitlab_does_the_same(runner: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runner)
    variables = request_merge(runner, {"specs/hello.yaml": WIDER, **OWN_CHECKER}, {"README.md": "later"})
    variables["TOOLC"] = str(wheel)
    monkeypatch.setenv("PYTHONPATH", ".")
    monkeypatch.setenv("PIP_CONFIG_FILE", "pip.conf")
    assert "changes: 1 high" in job("toolc review", variables, status=1)
    job("toolc review", {**variables, "FAIL_ON": "risk:critical"})
    (comment,) = Path().glob("toolc-comment.md")
    assert comment.read_text(encoding="utf-8").startswith(MARKER)
    for name in GITLAB["toolc review"]["artifacts"]["paths"]:
        assert Path(name).stat().st_size
    monkeypatch.delenv("PYTHONPATH")
    variables |= {"CI_API_V4_URL": "https://git.example.com/api/v4", "CI_PROJECT_ID": "9", "CI_MERGE_REQUEST_IID": "5"}
    variables |= {"TOOLC_TOKEN": "t"}
    for _ in range(2):
        job("toolc comment", variables)
        assert comments() == [comment.read_text(encoding="utf-8")]
    comment.write_text("", encoding="utf-8")
    job("toolc comment", variables)
    assert comments() == []
    job("toolc test", variables)
    assert 'failures="0"' in Path("toolc-test.xml").read_text(encoding="utf-8")
    assert [*runner.rglob("owned")] == []


@pytest.mark.integrations  # a new environment with pip
@pytest.mark.slow
def test_gitlab_compares_with_the_target_branch_as_it_is(
    runner: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runner)
    variables = request_merge(runner, {"specs/hello.yaml": WIDER}, {"toolc.yaml": "policy: {hosts: []}\n"})
    assert "TC902" in job("toolc review", {**variables, "TOOLC": str(wheel)}, status=1)


@pytest.mark.integrations  # a new environment with pip
@pytest.mark.slow
def test_links_in_a_merge_request_are_not_reports(runner: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runner)
    secret = runner.parent / "secret"
    secret.write_text("s3cret")
    variables = {**request_merge(runner, {"specs/hello.yaml": WIDER}, {}), "TOOLC": str(wheel)}
    variables |= {"CI_API_V4_URL": "https://git.example.com/api/v4", "CI_PROJECT_ID": "9", "CI_MERGE_REQUEST_IID": "5"}
    Path("toolc-comment.md").symlink_to(secret)
    assert "there is no report" in job("toolc comment", {**variables, "TOOLC_TOKEN": "t"}, status=1)
    Path("toolc-diff.sarif").symlink_to(secret)
    job("toolc review", variables, status=1)
    assert secret.read_text() == "s3cret"
    assert comments() == []


@pytest.mark.slow
def test_the_pre_commit_hooks_run(pull_request: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pull_request.top)
    monkeypatch.setenv("PATH", f"{Path('../../temp/toolc').resolve()}:{os.environ['PATH']}")
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
    run = [re.findall(r'"\$OUT/toolc" (\w+) ', STEPS[name].get("run", ""))[:1] for name in STEPS]
    assert set(commands) == {name for names in run for name in names}
