"""Agent Skills as people publish them: the files of each, and a call of each of its scripts."""

from dataclasses import dataclass

from toolc.model.json_schema import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """The files of a skill by path. ``calls`` has the arguments of each tool, and its output.

    ``left_out`` are the scripts that are not imported.
    """

    files: dict[str, str]
    calls: dict[str, tuple[JsonObject, str]]
    left_out: tuple[str, ...] = ()


WORDS = Skill(
    files={
        "SKILL.md": """\
---
name: word-tools
description: Count and list the words of text files. Use it when asked about the length of a text.
license: MIT
---
# Word tools

Run `python scripts/count.py notes.txt --top 1` to count the words, and read
[the notes](references/notes.md) before you answer.

    bash scripts/lines.sh notes.txt
""",
        "scripts/count.py": '''\
"""Count the most frequent words of a file.

Words of assets/stop.txt do not count.
"""
import argparse
from collections import Counter
from pathlib import Path

from words import split

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--top", type=int, default=2)
    args = parser.parse_args()
    stop = (Path(__file__).parent.parent / "assets/stop.txt").read_text().split()
    counted = Counter(word for word in split(Path(args.file).read_text()) if word not in stop)
    for word, number in counted.most_common(args.top):
        print(word, number)
''',
        "scripts/words.py": "def split(text):\n    return text.split()\n",
        "scripts/lines.sh": '#!/bin/bash\n# Count the lines of a file.\n# It must be text.\n\nset -eu\nwc -l < "$1"\n',
        "scripts/show.sh": """\
#!/bin/bash
# Show words.
#
# Usage: show.sh [-n] [-m MARK] WORD...
#   -n       with a number
#   -m MARK  which mark they have
while getopts "nm:" option; do
  case $option in n) number=1 ;; m) mark=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
echo "n=$number m=$mark $*"
""",
        "scripts/chart.js": "console.log('chart')\n",
        "scripts/plot": "#!/usr/bin/env -S node --no-warnings\nconsole.log('plot')\n",
        "assets/stop.txt": "the a\n",
        "references/notes.md": "# Notes\n",
    },
    calls={
        "word_tools_count": ({"file": "notes.txt", "top": 1}, "cat 2\n"),
        "word_tools_lines": ({"command_line": ["notes.txt"]}, "2\n"),
        "word_tools_show": ({"n": True, "m": "-2", "arguments": ["-n", "notes.txt"]}, "n=1 m=-2 -n notes.txt\n"),
    },
    left_out=("chart.js", "plot", "words.py"),
)

SLUGS = Skill(
    files={
        "SKILL.md": (
            "---\nname: slugs\ndescription: >-\n  Write slugs for titles.\n  Use it for URLs.\n---\n"
            "Run scripts/slug.py with the title.\n"
        ),
        "scripts/slug.py": "import re\nimport sys\n\nprint(re.sub(r'\\W+', '-', ' '.join(sys.argv[1:]).lower()))\n",
    },
    calls={"slugs_slug": ({"command_line": ["A", "Title"]}, "a-title\n")},
)

TABLES = Skill(
    files={
        "SKILL.md": (
            "---\nname: table-sums\ndescription: Sum a column of a CSV file in the workspace.\n"
            "allowed-tools: Bash(python:*)\nmetadata: {version: '2'}\n---\n"
            "```\npython scripts/sum_column.py 'a b.csv' price\n```\n"
        ),
        "scripts/sum_column.py": '''\
import csv
import sys


def main(path, column):
    """Print the sum."""
    with open(path, newline="") as file:
        print(sum(float(row[column]) for row in csv.DictReader(file)))


if __name__ == "__main__":
    main(*sys.argv[1:])
''',
        "scripts/__init__.py": "",
    },
    calls={"table_sums_sum_column": ({"command_line": ["a b.csv", "price"]}, "3.5\n")},
)

SKILLS = {"word-tools": WORDS, "slugs": SLUGS, "table-sums": TABLES}
WORKSPACE = {"notes.txt": "the cat a cat\nsees a dog\n", "a b.csv": "name,price\ntea,1.5\nmilk,2\n"}
