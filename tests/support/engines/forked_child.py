"""What a forked child sees."""

import os
from collections.abc import Callable


def in_child(check: Callable[[], object]) -> bool:
    """Return whether ``check`` returns something true in a forked child."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if check() else 1
        finally:
            os._exit(status)
    return os.waitpid(child, 0) == (child, 0)
