"""Random changes of good specs: bytes, characters, tokens or lines. A number selects a mutation."""

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from project.paths import ROOT

SEEDS: Final = tuple(
    sorted(
        path
        for folder in ("specs", "docs/guides/examples", "tests/corpus")
        for path in (ROOT / folder).iterdir()
        if path.suffix in {".yaml", ".toml"} and path.stem != "toolc"
    )
)
"""The good files that mutations start from."""

_TOKEN: Final = re.compile(r"\w+|[^\w\s]|\s+")
_STRANGE: Final[tuple[str, ...]] = (
    *"\t\r\n\0\x1b\x7f\x85\xa0\u2028\u200b\u202e\ufeff\U000e0041é漢\U0001f600'\"`:,-[]{}#&*!|>%@?=.\\/~$",
    "{{", "}}", "{{ x }}", "{{ x", "- ", ": ", "? ", "<<: *a", "---\n", "...\n", "!!int ", "&a ", "*a",
    "'''", '"""', "\\ud83d", "1e999", "9" * 50, ".nan", "2026-01-01", "null", "[[", "]]",
)  # fmt: skip


def mutate(path: Path, number: int) -> bytes:
    """Return the contents of the file at ``path`` after the mutation with this number."""
    draw = random.Random(f"{path.name} {number}")
    return draw.choice(_MUTATIONS)(path.read_bytes(), draw)


def _flip_bit(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]


def _delete_bytes(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data))
    return data[:place] + data[place + draw.randint(1, 4) :]


def _truncate(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def _insert(data: bytes, draw: random.Random) -> bytes:
    text = data.decode()
    place = draw.randrange(len(text))
    return (text[:place] + draw.choice(_STRANGE) + text[place:]).encode()


def _replace_token(data: bytes, draw: random.Random) -> bytes:
    tokens: list[str] = _TOKEN.findall(data.decode())
    tokens[draw.randrange(len(tokens))] = draw.choice(_STRANGE)
    return "".join(tokens).encode()


def _swap_tokens(data: bytes, draw: random.Random) -> bytes:
    tokens: list[str] = _TOKEN.findall(data.decode())
    one, other = draw.randrange(len(tokens)), draw.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]
    return "".join(tokens).encode()


def _change_line(change: Callable[[str, random.Random], Sequence[str]]) -> Callable[[bytes, random.Random], bytes]:
    def mutation(data: bytes, draw: random.Random) -> bytes:
        lines = data.decode().split("\n")
        place = draw.randrange(len(lines))
        lines[place : place + 1] = change(lines[place], draw)
        return "\n".join(lines).encode()

    return mutation


def _swap_lines(data: bytes, draw: random.Random) -> bytes:
    lines = data.decode().split("\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines).encode()


def _move_line(line: str, draw: random.Random) -> Sequence[str]:
    blanks = len(line) - len(line.lstrip())
    return [" " * max(0, blanks + draw.choice((-4, -2, -1, 1, 2, 4))) + line.lstrip()]


_MUTATIONS: Final[tuple[Callable[[bytes, random.Random], bytes], ...]] = (
    _flip_bit, _delete_bytes, _truncate, _insert, _replace_token, _swap_tokens, _swap_lines,
    _change_line(lambda line, _draw: [line, line]), _change_line(lambda _line, _draw: []),
    _change_line(lambda line, _draw: [line.replace('"', "", 1).replace("'", "", 1)]),
    _change_line(lambda line, _draw: ["\t" + line.lstrip()]), _change_line(_move_line),
)  # fmt: skip
