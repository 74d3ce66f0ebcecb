"""Count lines of code: not blank, not only a comment, not part of a docstring.

``python tests/architecture/code_lines.py [FOLDER]`` prints the lines of each folder directly below FOLDER, and the sum.
"""

import ast
import sys
from collections import Counter
from functools import cache
from pathlib import Path


def code_lines(text: str) -> int:
    """Return the number of lines of a Python source that are code."""
    lines = {number for number, line in enumerate(text.splitlines(), 1) if line.strip()[:1] not in {"", "#"}}
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for position, child in enumerate(body if isinstance(body, list) else []):
            is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            # The docstring of a definition, or the text below a constant or field.
            if is_text and isinstance(child.value.value, str) and (position or isinstance(node, documented)):
                lines -= {*range(child.lineno, (child.end_lineno or child.lineno) + 1)}
    return len(lines)


def page_lines(text: str) -> int:
    """Return the number of lines of JavaScript or CSS that are neither blank nor only a comment.

    A comment of several lines begins and ends on lines of its own.
    """
    count, is_comment = 0, False
    for line in map(str.strip, text.splitlines()):
        is_comment = is_comment or (line.startswith("/*") and "*/" not in line)
        is_whole = line.startswith("//") or (line.startswith("/*") and line.endswith("*/"))
        count += bool(line) and not is_comment and not is_whole
        is_comment = is_comment and not line.endswith("*/")
    return count


@cache
def lines_by_package(folder: Path) -> Counter[str]:
    """Return the lines of each folder directly below ``folder``; those of its own modules are under ``.``."""
    counts = Counter[str]()
    for path in sorted(folder.rglob("*.py")):
        first, *others = path.relative_to(folder).parts
        counts[first if others else "."] += code_lines(path.read_text(encoding="utf-8"))
    return counts


if __name__ == "__main__":
    found = lines_by_package(Path(sys.argv[1] if len(sys.argv) > 1 else "toolc"))
    for package, count in found.most_common():
        print(f"{count:7,} {package}")
    print(f"{found.total():7,} lines of code")
