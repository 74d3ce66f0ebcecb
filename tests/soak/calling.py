"""Make many calls, by one or several processes at a time, and check that they leak no resources."""

import contextlib
import json
import math
import time

from killing import CLEANUP_SECONDS, HERE, setup
from leftovers import Before, Owned, adopting, seconds_until_clean
from many_calls import MAY_GROW


def seconds_for(name: str, calls: int, threads: int, program: str = "many_calls.py", owners: int = 1) -> float:
    """Return the seconds that ``program`` takes for ``calls`` calls on ``threads`` threads, in ``owners`` processes.

    Each process makes its share of the calls. Raise ``AssertionError`` if a result is wrong or a resource is leaked.
    """
    with contextlib.ExitStack() as stack:
        setups = [stack.enter_context(setup(name)) for _ in range(owners)]
        stack.enter_context(adopting())
        before = [Before.look(owner.daemon(), owner.top) for owner in setups]
        began = time.monotonic()
        share = str(math.ceil(calls / owners))
        processes = []
        for owner in setups:
            arguments = (*owner.engine_arguments(), share, str(threads), str(owner.workspace / "hello.yaml"))
            processes.append(stack.enter_context(owner.start(str(HERE / program), *arguments)))
        outputs = [process.communicate()[0] for process in processes]
        seconds = time.monotonic() - began
        for owner, process, output, first in zip(setups, processes, outputs, before, strict=True):
            assert process.returncode == 0, f"exit status {process.returncode}\n{output}"
            found = json.loads(output)
            _check(found)
            owned = Owned(label=found["label"], top=owner.top, daemon=owner.daemon(), before=first)
            seconds_until_clean(owned, CLEANUP_SECONDS)
        return seconds


def _check(found: dict[str, dict[str, int]]) -> None:
    before, during, after = found["before"], found["during"], found["after"]
    assert found["right"], found
    assert all(during[name] <= before[name] + most for name, most in MAY_GROW.items()), found
    # The only child is the janitor. The descriptors are the standard ones, its pipe and that of the listing.
    assert (after["threads"], after["children"]) == (1, 1), found
    assert after["descriptors"] <= 6, found
