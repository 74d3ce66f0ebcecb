"""``python next_owner.py ENGINE ISOLATION WORKSPACE``: make one call, like the next process of a user."""

import sys
from pathlib import Path

from workspaces.transaction_cases import call, tool

from toolc.sandbox.selection import load


def main() -> None:
    name, isolation, workspace = sys.argv[1:]
    engine = load(name)
    result = call(engine, tool("cat a", min_isolation=isolation), Path(workspace))  # type: ignore[arg-type]
    engine.close()
    if result.is_error:
        sys.exit(f"the next call failed: {result.content}")


if __name__ == "__main__":
    main()
