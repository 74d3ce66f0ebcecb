"""Make many concurrent calls, and check that they leak no resources."""

import json
import time

from killing import CLEANUP_SECONDS, HERE, setup
from leftovers import Before, Owned, adopting, seconds_until_clean
from many_calls import MAY_GROW


def seconds_for(name: str, calls: int, threads: int, program: str = "many_calls.py") -> float:
    """Return the seconds that ``program`` takes for ``threads`` and then ``calls`` calls, on ``threads`` threads.

    Raise ``AssertionError`` if a result is wrong or a resource is leaked.
    """
    with setup(name) as owner, adopting():
        daemon = owner.daemon()
        before = Before.look(daemon)
        began = time.monotonic()
        arguments = (*owner.engine_arguments(), str(calls), str(threads), str(owner.workspace / "hello.yaml"))
        with owner.start(str(HERE / program), *arguments) as process:
            output, _ = process.communicate()
        seconds = time.monotonic() - began
        assert process.returncode == 0, f"exit status {process.returncode}\n{output}"
        found = json.loads(output)
        _check(found)
        owned = Owned(label=found["label"], top=owner.top, daemon=daemon, before=before)
        seconds_until_clean(owned, CLEANUP_SECONDS)
        return seconds


def _check(found: dict[str, dict[str, int]]) -> None:
    before, during, after = found["before"], found["during"], found["after"]
    assert found["right"], found
    assert all(during[name] <= before[name] + most for name, most in MAY_GROW.items()), found
    # The only child is the janitor. The descriptors are the standard ones, its pipe and that of the listing.
    assert (after["threads"], after["children"]) == (1, 1), found
    assert after["descriptors"] <= 6, found
