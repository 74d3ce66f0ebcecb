"""Random ECMA-262 patterns with texts, and what Node finds with the ``u`` flag."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from toolc.validation.ecma_pattern import translate
from toolc.validation.ecma_tree import PatternError, UnsupportedPatternError

Case: TypeAlias = tuple[str, list[str], list[bool] | None]
"""A pattern, texts, and for each text whether the pattern matches; None if the pattern is a syntax error."""

ALPHABET: Final = "aab bcABZ_09-.]}\n\r\t\v\u2028\u00a0\ufeff\u0085éßжДλ٣中😀\x00\x1c/$^\\{"
"""Characters of texts: those that the classes of Python and of ECMA-262 treat differently, and common ones."""

_ATOMS: Final = (
    "a", "b", "c", "ab", "A", "_", "0", "-", " ", ".", "é", "ж", "😀", "/", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S",
    "\\b", "\\B", "^", "$", "\\n", "\\r", "\\t", "\\v", "\\f", "\\0", "\\cJ", "\\x41", "\\u0416", "\\u{1F600}",
    "\\ud83d\\ude00", "\\.", "\\/", "\\]", "\\}", "\\{", "\\$", "\\^", "\\\\", "\\p{L}", "\\p{Lu}", "\\P{L}",
    "\\p{Nd}", "\\p{digit}", "\\p{gc=Zs}", "\\p{ASCII}", "\\p{White_Space}", "\\p{Lowercase}", "[^]", "[]",
)  # fmt: skip
_MEMBERS: Final = (
    "a", "b", "c", "A", "Z", "_", "0", "9", ".", " ", "é", "ж", "😀", "[", "&&", "--", "~~", "||", "^", "$", "\\d",
    "\\D", "\\w", "\\W", "\\s", "\\S", "\\-", "\\b", "\\]", "\\n", "\\u2028", "\\p{Ll}", "\\P{Lu}", "a-c", "A-Z",
    "0-9", "+--", "\\x00-\\x1f", "ж-я", "\\u{1F600}-\\u{1F64F}",
)  # fmt: skip
_WRONG: Final = (
    "(?P<n>a)", "\\A", "\\Z", "\\h", "(?i)", "a++", "(?>a)", "]", "}", "{", "\\-", "\\_", "\\a", "\\8", "[b-a]",
    "(?#x)", "\\k<x>", "\\k", "(?<1>a)", "a{2,1}", "**", "\\u{110000}", "\\xg", "\\c1", "(", ")", "[a", "\\p{Foo}",
    "\\pL", "\\01", "[\\w-a]", "(?=a)*", "^*", "{2}", "(?<a>b)(?<a>c)", "a{,3}", "[\\B]", "[\\c]", "\\u12", "?",
)  # fmt: skip
"""Parts that are errors in ECMA-262."""

_QUANTIFIERS: Final = ("*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}", "*?", "+?", "??", "{1,3}?")


def generate(seed: int, count: int, *, wrong: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Yield ``count`` patterns, each with eight texts. With ``wrong``, each pattern contains an error."""
    rng = random.Random(seed)
    for _ in range(count):
        groups: list[str] = []
        pattern = _alternatives(rng, 3, groups)
        if wrong:
            at = rng.randrange(len(pattern) + 1)
            pattern = pattern[:at] + rng.choice(_WRONG) + pattern[at:]
        texts = ["".join(rng.choices(ALPHABET, k=rng.randrange(9))) for _ in range(7)]
        yield pattern, [*texts, "".join(rng.choices("ab", k=rng.randrange(6)))]


def _alternatives(rng: random.Random, depth: int, groups: list[str]) -> str:
    return "|".join(_sequence(rng, depth, groups) for _ in range(rng.choice((1, 1, 1, 2, 3))))


def _sequence(rng: random.Random, depth: int, groups: list[str]) -> str:
    return "".join(_term(rng, depth, groups) for _ in range(rng.choice((0, 1, 1, 2, 3))))


def _term(rng: random.Random, depth: int, groups: list[str]) -> str:
    kind = rng.random()
    if kind < 0.15:
        return f"[{rng.choice(('', '', '^'))}{''.join(rng.choices(_MEMBERS, k=rng.randrange(1, 4)))}]{_quantifier(rng)}"
    if kind < 0.45 and depth:
        return _group(rng, depth, groups)
    if kind < 0.52 and groups:
        return rng.choice(groups) + _quantifier(rng)
    atom = rng.choice(_ATOMS)
    return atom if atom in {"^", "$", "\\b", "\\B"} else atom + _quantifier(rng)


def _group(rng: random.Random, depth: int, groups: list[str]) -> str:
    opening = rng.choice(("(", "(", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<"))
    if opening == "(?<":
        name = f"n{rng.randrange(10**6)}"
        groups.append(f"\\k<{name}>")
        opening = f"(?<{name}>"
    text = f"{opening}{_alternatives(rng, depth - 1, groups)})"
    return text if opening in {"(?=", "(?!", "(?<=", "(?<!"} else text + _quantifier(rng)


def _quantifier(rng: random.Random) -> str:
    return rng.choice(_QUANTIFIERS) if rng.random() < 0.35 else ""


def with_answers_of_node(cases: Iterable[tuple[str, list[str]]]) -> list[Case]:
    """Return the patterns and texts with what Node finds."""
    # Without "y", V8 also searches within a surrogate pair, as in /(?!.)(?<!.)/u.exec("\U0001f600").
    program = """
      const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
      const found = cases.map(([pattern, texts]) => {
        let tested;
        try { tested = new RegExp(pattern, "uy"); } catch { return null; }
        return texts.map(text => {
          for (let at = 0; at <= text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) {
            tested.lastIndex = at;
            if (tested.test(text)) return true;
          }
          return false;
        });
      });
      console.log(JSON.stringify(found));
    """
    given = list(cases)
    done = subprocess.run(["node", "-e", program], input=json.dumps(given), capture_output=True, text=True, check=True)
    return [(*case, found) for case, found in zip(given, json.loads(done.stdout), strict=True)]


def difference(case: Case) -> str:
    """Return how toolc reads a pattern differently, ``unsupported`` if it refuses it, or an empty string."""
    pattern, texts, expected = case
    try:
        found = translate(pattern)
    except UnsupportedPatternError:
        return "unsupported"
    except PatternError as error:
        return "" if expected is None else f"{pattern!r} is refused: {error}"
    if found.remarks or expected is None:
        return (
            "" if expected is None and found.remarks else f"{pattern!r}: {'remarks' if found.remarks else 'no error'}"
        )
    matched = [re.search(found.python, text) is not None for text in texts]
    return "" if matched == expected else f"{pattern!r} matches {matched}, not {expected}: {texts}"


def main() -> None:
    """Print the table of tests/data/ecma-patterns.json."""
    cases = with_answers_of_node([*generate(1, 1500), *generate(2, 500, wrong=True)])
    sys.stdout.write("[\n" + ",\n".join(map(json.dumps, cases)) + "\n]\n")


if __name__ == "__main__":
    main()
