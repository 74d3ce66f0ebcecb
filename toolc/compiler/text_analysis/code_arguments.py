"""Find the words of a command that a program runs as code, such as the text after ``sh -c``.

Only the programs listed here are recognized. If another program (``env``, ``sudo``, ``timeout``, ``xargs``,
``find -exec`` and so on) starts the command, the search continues after the words of that program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from toolc.compiler.text_analysis.shell_script import Command, Expansion, Word
from toolc.dataclass import dataclass, replace
from toolc.model.text import lazy_re

SHELLS: Final = frozenset({"ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "zsh"})

COMMAND_NAME: Final = "the shell"
"""The form of a command whose name is an argument without quotes."""

_MAX_PIPES: Final = 10
"""The maximum number of commands of a pipe that are followed to find the input of a program.

Real scripts have fewer. The limit bounds the work, because a pipe is followed from each of its commands.
"""

_MAX_WRAPPERS: Final = 8
"""The maximum number of programs that start each other, as in ``sudo env timeout 5 sh``.

Real scripts have two or three.
"""


class _Interpreter(NamedTuple):
    """How a program receives code: the options before it, options with another value, and whether it reads stdin.

    ``variable`` is the text with which code in this language reads an environment variable. ``{}`` is its name.
    """

    names: str
    code: str
    valued: tuple[str, ...]
    variable: str
    reads_stdin: bool = True


_SHELL: Final = _Interpreter(
    "|".join(sorted(SHELLS)), "-[A-Za-z]*c[A-Za-z]*", ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"), '"${}"'
)
_INTERPRETERS: Final = (
    _SHELL,
    _Interpreter(r"(?:python|pypy)[0-9.]*", "-[A-Za-z]*?c", ("-W", "-X", "-m"), 'os.environ["{}"]'),
    _Interpreter("node|nodejs|bun", "-e|-p|-pe|--eval=?|--print=?",
                 ("-r", "--require", "--import", "-C", "--conditions"), "process.env.{}"),
    _Interpreter("perl[0-9.]*", "-[acflnpswtTuUWX0-9]*[eE]", ("-I",), "$ENV{{{}}}"),
    _Interpreter("ruby[0-9.]*", "-[alnpsw0-9]*e", ("-I", "-r", "-C"), 'ENV["{}"]'),
    _Interpreter("php[0-9.]*", "-r", ("-d", "-c"), 'getenv("{}")'),
    _Interpreter("lua[0-9.]*|luajit", "-e", ("-l",), 'os.getenv("{}")'),
    _Interpreter("Rscript", "-e", (), 'Sys.getenv("{}")', reads_stdin=False),
    _Interpreter("julia", "-e|-E|--eval=?", (), 'ENV["{}"]', reads_stdin=False),
    _Interpreter("pwsh|powershell", "-c|-[Cc]ommand", (), "$env:{}", reads_stdin=False),
)  # fmt: skip

_CODE_OPTIONS: Final = frozenset({"-c", "--command"})


class _CodeWords(NamedTuple):
    """Which words of a program are code.

    - ``valued``: its short options with a separate value, or None if it has no options.
    - ``operands``: the number of operands before the code, or None if the code follows one of ``options``.
    - ``options``: options whose value is code.
    - ``stops``: options that prevent a word from being code.
    - ``is_all``: whether all further words are code, up to the first word that ``end`` matches, or after it.
    - ``is_value``: whether a word counts only if it is a single value. A value in constant text is often harmless.
    - ``is_shell`` and ``variable``: see ``Code``.
    """

    valued: str | None = None
    operands: int | None = 0
    options: frozenset[str] = frozenset()
    stops: tuple[str, ...] = ()
    is_all: bool = False
    end: str = "(?!)"
    is_value: bool = False
    is_shell: bool = False
    variable: str = ""


_AWK: Final = _CodeWords("Fev", 0, frozenset({"-e", "--source"}), ("-f", "--file"), variable='ENVIRON["{}"]')
_AFTER_OPTION: Final = _CodeWords(None, None, _CODE_OPTIONS, is_shell=True)
_CODE_WORDS: Final = {
    "eval": _CodeWords(is_all=True, is_shell=True, variable=_SHELL.variable),
    "trap": _CodeWords(is_shell=True, variable=_SHELL.variable),
    "parallel": _CodeWords("jaINSLdCE", is_all=True, end=":::+[+]?", is_shell=True, variable=_SHELL.variable),
    "watch": _CodeWords("nqs", stops=("-x", "--exec"), is_all=True, is_shell=True, variable=_SHELL.variable),
    "ssh": _CodeWords("BbcDEeFIiJLlmOopQRSWw", 1, is_all=True),
    "sed": _CodeWords("el", 0, frozenset({"-e", "--expression"}), ("--sandbox", "-f", "--file"), is_value=True),
    "deno": _CodeWords(None, None, frozenset({"eval"})),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(("flock", "runuser", "script", "su"), _AFTER_OPTION),
}

_WRAPPERS: Final[dict[str, tuple[str, int]]] = {
    "builtin": ("", 0), "busybox": ("", 0), "chroot": ("", 1), "command": ("", 0), "doas": ("uC", 0),
    "dumb-init": ("", 0), "env": ("uCS", 0), "exec": ("a", 0), "flock": ("wE", 1), "gosu": ("", 1),
    "ionice": ("cnp", 0), "nice": ("n", 0), "nohup": ("", 0), "setsid": ("", 0), "stdbuf": ("ioe", 0),
    "strace": ("eops", 0), "su-exec": ("", 1), "sudo": ("ugpCchDRrTtU", 0), "time": ("fo", 0), "timeout": ("ks", 1),
    "tini": ("", 0), "unshare": ("", 0), "setpriv": ("", 0),
}  # fmt: skip
"""Programs that start the command after their options. The values are options with a separate value, and operands."""

_LONG_OPTIONS: Final = frozenset(
    {
        "--adjustment", "--chdir", "--class", "--error", "--group", "--input", "--kill-after", "--output", "--signal",
        "--unset", "--user",
    }
)  # fmt: skip
"""Long options of ``_WRAPPERS`` with a separate value."""

_XARGS_VALUED: Final = "adELnPsIJR"
_CONTAINERS: Final = frozenset({"docker", "kubectl", "nerdctl", "podman"})
_SETTING: Final = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True, slots=True)
class Code:
    """Text that runs as code. ``form`` names the form in messages, for example ``sh -c``.

    ``word`` is the code, or None if its words are read from standard input or inserted for ``{}``. ``arguments`` are
    the words that shell code receives as ``$0``, ``$1`` and so on. ``variable`` is the text with which the code reads
    the environment variable ``{}``, or empty if it cannot.
    """

    form: str
    word: Word | None
    is_shell: bool = True
    arguments: tuple[Word, ...] = ()
    variable: str = ""


def code_of(command: Command) -> Iterator[Code]:
    """Yield the code that a simple command runs."""
    if not command.variable:
        yield from _code(command.words, command)


def inputs_of(command: Command) -> Iterator[Word]:
    """Yield the words that a command certainly reads: here-documents, and words that ``echo`` and its like print."""
    source: Command | None = command
    for _ in range(_MAX_PIPES):
        if source is None:
            return
        yield from source.inputs
        source = source.upstream
        if source is not None and source.words and source.words[0].constant in {"echo", "printf"}:
            yield from source.words[1:]


def _code(words: Sequence[Word], command: Command | None, depth: int = 0) -> Iterator[Code]:
    """Yield the code of a command. If ``depth`` other programs started it, ``command`` is None."""
    words = _unwrapped(words)
    if not words or depth > _MAX_WRAPPERS:
        return
    if words[0].constant is None:
        parts = words[0].parts
        if len(parts) == 1 and isinstance(parts[0], Expansion) and parts[0].is_split:
            yield Code(COMMAND_NAME, words[0])
        return
    name = words[0].constant.rpartition("/")[2]
    if find := _PROGRAMS.get(name):
        yield from find(name, words, depth)
    elif program := _CODE_WORDS.get(name):
        yield from _code_words(name, program, words)
    elif interpreter := _interpreter(name):
        yield from _interpreted(name, interpreter, words, command)


def _code_words(name: str, program: _CodeWords, words: Sequence[Word]) -> Iterator[Code]:
    """Yield the code of a program that ``_CODE_WORDS`` describes."""
    at = 1 if program.valued is None else _operands(words, program.valued)
    # GNU sed accepts options after operands. For other programs, these are words of another command.
    options = [*takewhile(lambda word: word.constant != "--", words[1:])] if name == "sed" else words[1:at]
    if any(_start(word).startswith(program.stops) for word in options if program.stops):
        return
    if program.operands:  # options may follow them
        at += program.operands - 1
        at += _operands(words[at:], program.valued or "")
    end = next((index for index, word in enumerate(words) if re.fullmatch(program.end, _start(word))), len(words))
    pairs = pairwise(words[1:] if program.operands is None else options)
    valued = [(f"{name} {option.constant}", word) for option, word in pairs if option.constant in program.options]
    operands = (words[at:end] or words[end + 1 :]) if program.is_all else words[at : at + 1]
    found = [(name, word) for _, word in valued] or [(name, word) for word in operands]
    if program.operands is None:
        found = valued[:1]
    # 'eval' joins its words, so one of several is not a script.
    is_shell = program.is_shell and (name != "eval" or len(words) == 2)
    for form, word in found:
        if not program.is_value or (len(word.parts) == 1 and isinstance(word.parts[0], Expansion)):
            yield Code(form, word, is_shell=is_shell, variable=program.variable)


def _interpreter(name: str) -> _Interpreter | None:
    return next((each for each in _INTERPRETERS if re.fullmatch(each.names, name)), None)


def _unwrapped(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words of the command that a program such as ``env`` or ``sudo`` starts."""
    for _ in range(_MAX_WRAPPERS):
        name = (words[0].constant or "").rpartition("/")[2] if words else ""
        if name not in _WRAPPERS or (name == "flock" and any(word.constant in _CODE_OPTIONS for word in words)):
            break
        valued, operands = _WRAPPERS[name]
        at = _operands(words, valued)
        while at < len(words) and name in {"doas", "env", "sudo"} and _SETTING.match(_start(words[at])):
            at += 1
        words = words[at + operands :]
    return words


def _operands(words: Sequence[Word], valued: str) -> int:
    """Return the index of the first word after the options."""
    at = 1
    while at < len(words) and len(text := _start(words[at])) > 1 and text[0] == "-":
        at += 1
        if text == "--":
            break
        if text in _LONG_OPTIONS or (len(text) == 2 and text[1] in valued and words[at - 1].constant is not None):
            at += 1
    return min(at, len(words))


def _start(word: Word) -> str:
    """Return the constant text at the start of a word."""
    return word.parts[0] if word.parts and isinstance(word.parts[0], str) else ""


def _interpreted(
    name: str, interpreter: _Interpreter, words: Sequence[Word], command: Command | None
) -> Iterator[Code]:
    """Yield the code after an option such as ``-c``, or on standard input if there is neither code nor a file."""
    at, option = 1, ""
    while at < len(words) and (start := _start(words[at]))[:1] in {"-", "+"} and start not in {"-", "--"}:
        match = re.match(interpreter.code, start)
        if match and interpreter is _SHELL and match.end() == len(start):
            option = option or start
        elif match and interpreter is not _SHELL:
            option = match[0]
            rest = _without_start(words[at], match.end())
            is_attached = bool(rest.parts)
            code = rest if is_attached else words[at + 1] if at + 1 < len(words) else None
            yield Code(f"{name} {option}", code, is_shell=False, variable=interpreter.variable)
            at += not is_attached
        elif start in interpreter.valued:
            at += 1
            if start == "-m":
                return
        at += 1
    if interpreter is _SHELL and option:
        at += at < len(words) and words[at].constant in {"-", "--"}
        code = words[at] if at < len(words) else None
        yield Code(f"{name} {option}", code, arguments=tuple(words[at + 1 :]), variable=_SHELL.variable)
    elif not option and at < len(words) and words[at].written_by:
        yield _file_code(f"{name} <(...)", words[at], is_shell=interpreter is _SHELL, variable=interpreter.variable)
    elif not option and command is not None and interpreter.reads_stdin and _reads_stdin(words, at):
        is_shell = interpreter is _SHELL
        for word in inputs_of(command):
            yield Code(f"{name} (standard input)", word, is_shell=is_shell, variable=interpreter.variable)


def _file_code(form: str, word: Word, *, is_shell: bool, variable: str) -> Code:
    """Return the code in a file that a command of the script writes, as in ``source <(command)``."""
    return Code(form, replace(word, parts=(word.written_by,)), is_shell=is_shell, variable=variable)


def _source(name: str, words: Sequence[Word], _depth: int) -> Iterator[Code]:
    if len(words) > 1 and words[1].written_by:
        yield _file_code(f"{name} <(...)", words[1], is_shell=True, variable=_SHELL.variable)


def _reads_stdin(words: Sequence[Word], at: int) -> bool:
    """Return whether an interpreter whose first operand is at ``at`` reads its program from standard input."""
    options = {word.constant for word in words[1:at]}
    return at >= len(words) or words[at].constant in {"-", "/dev/stdin"} or "-s" in options


def _without_start(word: Word, length: int) -> Word:
    """Return a word without the first ``length`` characters, which are constant."""
    rest = _start(word)[length:]
    return replace(word, parts=(*([rest] if rest else []), *word.parts[1:]))


def _xargs(_name: str, words: Sequence[Word], depth: int) -> Iterator[Code]:
    """Yield the code of the command that ``xargs`` starts. If ``xargs`` reads or completes it, its word is None."""
    mark = ""
    at = _operands(words, _XARGS_VALUED)
    for index, word in enumerate(words[1:at], 1):
        text = word.constant or ""
        if text == "-I" and index + 1 < at:
            mark = words[index + 1].constant or ""
        elif text.startswith(("-I", "-i", "--replace")):
            mark = re.sub(r"-[Ii]|--replace=?", "", text, count=1) or "{}"
    yield from _completed("xargs", _code(words[at:], None, depth + 1), mark)


def _find(_name: str, words: Sequence[Word], depth: int) -> Iterator[Code]:
    at = 1
    while at < len(words):
        if words[at].constant in {"-exec", "-execdir", "-ok", "-okdir"}:
            end = at + 1
            while end < len(words) and words[end].constant not in {";", "+"}:
                end += 1
            codes = _code(words[at + 1 : end], None, depth + 1)
            for code in _completed(f"find {words[at].constant}", codes, "{}"):
                if code.word is not None or code.form.endswith("{}"):
                    yield code
            at = end
        at += 1


def _completed(prefix: str, codes: Iterator[Code], mark: str) -> Iterator[Code]:
    for code in codes:
        form = f"{prefix} {code.form}"
        yield replace(code, form=form)
        if code.word is not None and mark and any(isinstance(each, str) and mark in each for each in code.word.parts):
            yield Code(f"{form} with {{}}", None)


def _in_container(_name: str, words: Sequence[Word], _depth: int) -> Iterator[Code]:
    """Yield the code of an interpreter that is started in a container. Options of these programs are not parsed."""
    if not any(word.constant in {"exec", "run"} for word in words[1:3]):
        return
    for at in range(2, len(words)):
        name = (words[at].constant or "").rpartition("/")[2]
        if name != "bun" and (interpreter := _interpreter(name)):
            yield from _interpreted(name, interpreter, words[at:], None)
            return


_PROGRAMS: Final[dict[str, Callable[[str, Sequence[Word], int], Iterator[Code]]]] = {
    "xargs": _xargs, "find": _find, "source": _source, ".": _source, **dict.fromkeys(_CONTAINERS, _in_container),
}  # fmt: skip
"""The functions that find the code of programs that neither ``_INTERPRETERS`` nor ``_CODE_WORDS`` describes."""
