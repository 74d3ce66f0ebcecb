"""Modules that a Python tool imports before its call, in a real guest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from namespace_sandbox import NamespaceSandbox, changed_bundle

from toolc.backends.python import Python
from toolc.guest.launch_args import preload_argument
from toolc.model.errors import SandboxDiedError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan, Profile, PythonCall
from toolc.model.result import Outcome
from toolc.model.spec.code_backends import File, PythonBackend
from toolc.model.spec.tool import ResultSpec
from toolc.runtime.wire import readiness
from toolc.runtime.wire.call_loop import converse, ignore_progress
from toolc.runtime.wire.readiness import confirm_ready, make_ready

BACKEND = PythonBackend(entry="tool.py", function="run", files=())
LOADED = "import sys\ndef run(names=()):\n    return [each for each in names if each in sys.modules]\n"


class Site:
    """A folder of packages, and calls in new sandboxes that have it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_warm = False

    def add(self, name: str, code: str) -> None:
        (self.folder / f"{name}.py").write_text(code, encoding="utf-8")

    def call(
        self, *preload: str, code: str = LOADED, arguments: JsonObject | None = None, timeout_ms: int = 100_000
    ) -> Outcome:
        """Return the outcome of a call in a new sandbox that imports ``preload`` first."""
        invocation = PythonCall(
            entry="tool.py", function="run", arguments=arguments or {}, files=(File(path="tool.py", text=code),)
        )
        plan = Plan(profile=Profile(), invocation=invocation, call_id="c")
        sandbox = NamespaceSandbox(words=(preload_argument(preload),), site=str(self.folder))
        try:
            ready = None
            if self.is_warm:
                make_ready(sandbox, Profile())
                ready = confirm_ready(sandbox, Profile())
            return converse(
                sandbox, plan, timeout_ms=timeout_ms, cancellation=None, on_progress=ignore_progress, ready=ready
            )
        finally:
            sandbox.close()
            assert sandbox.error_output() == ""


@pytest.fixture(params=["cold", "warm"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    if os.geteuid() != 0:
        pytest.skip("these tests create namespaces, which requires root")
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(folder.stat().st_mode | 0o011)
    folder = tmp_path / "site"
    folder.mkdir(mode=0o755)
    made = Site(folder)
    made.add("mine", "def value():\n    return 7\n")
    made.is_warm = request.param == "warm"
    return made


def reply(outcome: Outcome) -> JsonObject:
    assert outcome.reply is not None
    answer: JsonObject = json.loads(outcome.reply.data())
    return answer


def error_message(outcome: Outcome) -> str:
    result = Python().read(BACKEND, ResultSpec(), outcome)
    assert result.error is not None
    assert result.error.kind == "execution"
    return result.error.message


def test_the_modules_are_imported_before_the_call(site: Site) -> None:
    names: JsonObject = {"names": ["wave", "xml.dom", "mine", "csv"]}
    found = reply(site.call("wave", "xml.dom", "mine", arguments=names))["structured"]
    assert found == [["wave", "xml.dom", "mine"]]


def test_without_preload_no_package_is_imported(site: Site) -> None:
    assert reply(site.call(arguments={"names": ["wave", "mine"]}))["structured"] == [[]]


def test_the_call_runs_in_the_process_that_imported_them(site: Site) -> None:
    site.add("seen", "import os\nPROCESS = os.getpid()\n")
    code = "import os\ndef run():\n    import seen\n    return [seen.PROCESS == os.getpid(), os.getpid() > 1]\n"
    assert reply(site.call("seen", code=code))["structured"] == [[True, True]]


def test_a_module_that_cannot_be_imported_is_the_error_of_the_call(site: Site) -> None:
    site.add("broken", "raise KeyError('nothing')\n")
    assert error_message(site.call("json", "missing")) == (
        "the module 'missing' in preload cannot be imported: ModuleNotFoundError: No module named 'missing'"
    )
    assert (
        error_message(site.call("broken")) == "the module 'broken' in preload cannot be imported: KeyError: 'nothing'"
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit(3)", "the module 'ends' in preload cannot be imported: SystemExit: 3"),
        ("import os; os._exit(3)", "status 3 and without a response while it imported the module 'ends' in preload"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL while it imported the module 'ends' in preload"),
        ("import os\nif os.fork() == 0: raise ValueError", "the function's process ended with status 0"),
    ],
)  # fmt: skip
def test_a_module_that_ends_its_process_is_the_error_of_the_call(site: Site, code: str, message: str) -> None:
    site.add("ends", code)
    outcome = site.call("ends", code="import os\ndef run():\n    os._exit(0)\n")
    assert message in error_message(outcome)


FORGE = """
import os, sys, threading
frame = sys._getframe()
while frame.f_code.co_name != "import_modules":
    frame = frame.f_back
control = frame.f_locals["control"]
def forge(*lines):
    os.write(control, b"".join(line + b"\\n" for line in lines))
"""


@pytest.mark.parametrize(
    "line", [b'{"failed": "forged"}', b'{"not_started": "forged"}', b'{"message": "forged"}', b'{"done": {}}']
)
def test_what_a_module_writes_to_the_control_pipe_has_no_effect(site: Site, line: bytes) -> None:
    site.add("forger", f"{FORGE}\nforge({line!r})")
    assert reply(site.call("forger", code="def run():\n    return 'true'\n"))["content"] == [
        {"type": "text", "text": "true"}
    ]


def test_a_module_can_only_make_its_own_call_fail(site: Site) -> None:
    site.add(
        "forger", f"""{FORGE}\nforge(b'{{"loaded": true}}', b'{{"message": "early"}}', b'{{"failed": "forged"}}')"""
    )
    with pytest.raises(SandboxDiedError, match=r"^the sandbox could not start the call: forged$"):
        site.call("forger")


def test_a_module_that_never_loads_takes_the_time_of_the_call(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add("slow", "import time; time.sleep(1000)\n")
    site.is_warm = True
    monkeypatch.setattr(readiness, "bundle", lambda: changed_bundle("LOAD_SECONDS = 30.0", "LOAD_SECONDS = 0.1"))
    assert site.call("slow", timeout_ms=300).ending == "timed_out"


def test_what_a_module_prints_is_not_output_of_the_call(site: Site) -> None:
    site.add("loud", "import sys\nprint('out')\nprint('err', file=sys.stderr)\n")
    outcome = site.call("loud", code="def run():\n    print('mine')\n")
    assert (outcome.stdout.text(), outcome.stderr.text()) == ("mine\n", "")


def test_a_module_gets_nothing_of_the_call(site: Site) -> None:
    site.add("curious", "import os\nFOUND = [os.listdir('/tool'), sorted(os.environ)]\n")
    code = "def run():\n    import curious\n    return curious.FOUND\n"
    found = reply(site.call("curious", code=code))["structured"]
    assert isinstance(found, list)
    assert isinstance(found[0], list)
    assert found[0][0] == []
    assert "TOOLC_CALL_ID" not in str(found)


def test_the_search_path_is_the_same_with_and_without_modules(site: Site) -> None:
    code = "import sys\ndef run():\n    return sys.path\n"
    assert reply(site.call("json", code=code)) == reply(site.call(code=code))
