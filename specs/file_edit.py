"""The tool file_edit: replace exact text in a file, or apply a unified diff, and show near misses."""

import difflib
import fcntl
import os
import re
import time
from contextlib import contextmanager, suppress

from files import explained, inside, no_encoding, not_text, ordinary, replace

MAX_BYTES = 5 * 2**20
WAIT_SECONDS = 5
"""How long a call waits for another one that edits the same file."""
SEARCH_SECONDS = 1.5
"""How long each of the two steps of the search for similar lines takes at most."""
MAX_PLACES = 5
"""The maximum number of places that a message or a result shows."""
MAX_LINES = 12
"""The maximum number of lines of one place that are shown."""
MIN_SIMILARITY = 0.6
HUNK = re.compile(r"@@(?: -([0-9]+)(?:,[0-9]+)? \+[0-9]+(?:,[0-9]+)? @@)?")


def file_edit(path, expected_count, encoding, ctx, old_text=None, new_text=None, diff=None):
    """Change a file in one of two ways, all of it or nothing, and return the changed lines."""
    is_replacement = old_text is not None and new_text is not None and diff is None
    if not is_replacement and (diff is None or old_text is not None or new_text is not None):
        raise ctx.error("invalid_args", "give either old_text and new_text, or diff alone")
    target = inside(path, ctx)
    with locked(target, path, ctx):
        return edited(target, path, encoding, (old_text, new_text, expected_count), diff, ctx)


def edited(target, path, encoding, replacement, diff, ctx):
    """Change the file and return the changed lines. The caller holds its lock."""
    before = read_data(target, path, ctx)
    text = decoded(before, path, encoding, ctx)
    line_end = "\r\n" if "\r\n" in text and not re.search(r"(?<!\r)\n", text) else "\n"
    text = text.replace("\r\n", "\n") if line_end == "\r\n" else text
    if diff is None:
        old, new, expected = replacement
        if line_end == "\r\n":
            old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
        changed, places = replaced(text, old, new, expected, path, ctx)
    else:
        changed, places = patched(text, diff.replace("\r\n", "\n"), path, ctx)
    after = changed.replace("\n", line_end) if line_end == "\r\n" else changed
    write_text(target, after, before, path, encoding, ctx)
    return outcome(path, changed.split("\n"), places, ctx)


def replaced(text, old, new, expected, path, ctx):
    """Return the text with every ``old`` replaced, and (first line, number of lines) of each replacement."""
    if old == new:
        raise ctx.error("invalid_args", "old_text and new_text are equal, so nothing would change")
    found = [match.start() for match in re.finditer(re.escape(old), text)]
    if not found:
        message = f"old_text does not occur in {path}"
        raise ctx.error("invalid_args", message + near_misses(text.split("\n"), old.split("\n")))
    overlapping = text.find(old, found[0] + 1) if len(found) == 1 else -1
    found += [overlapping] if overlapping >= 0 else []
    lines = [text.count("\n", 0, start) + 1 for start in found]
    if len(found) != expected:
        message = (
            f"old_text occurs {times(len(found))} in {path}, not {times(expected)}: at {numbered(lines)}. "
            "Add the lines before or after to old_text to select one place, or set expected_count to the number "
            "of places that you want to change"
        )
        raise ctx.error("invalid_args", message + shown_places(text.split("\n"), lines, old.count("\n") + 1))
    if overlapping >= 0:
        message = f"the places of old_text in {path} overlap, at {numbered(lines)}; replace one after the other"
        raise ctx.error("invalid_args", message)
    added = new.count("\n") - old.count("\n")
    places = [(line + index * added, new.count("\n") + 1) for index, line in enumerate(lines)]
    return text.replace(old, new), places


def patched(text, diff, path, ctx):
    """Return the text with all hunks of a unified diff applied, and (first line, number of lines) of each."""
    lines, result, places, position = text.split("\n"), [], [], 0
    for hunk in parsed(diff, ctx):
        start = hunk.place(lines, position, path, ctx)
        result += lines[position:start]
        places.append((len(result) + 1, len(hunk.new)))
        result += hunk.new
        position = start + len(hunk.old)
        is_end = lines[position:] in ([], [""])
        if is_end and hunk.new_ends_bare and not hunk.old_ends_bare:
            position = len(lines)
        elif is_end and hunk.old_ends_bare and not hunk.new_ends_bare:
            result.append("")
    changed = "\n".join(result + lines[position:])
    if changed == text:
        raise ctx.error("invalid_args", "the diff changes nothing")
    return changed, places


class Hunk:
    """One part of a unified diff: the lines that it expects, and those that it puts in their place."""

    def __init__(self, number, stated_line):
        self.number = number
        self.stated_line = stated_line
        self.old = []
        self.new = []
        self.old_ends_bare = self.new_ends_bare = False

    def add(self, sign, line):
        if sign != "+":
            self.old.append(line)
        if sign != "-":
            self.new.append(line)

    def end_bare(self, sign):
        """Record that the line before has no line end (``\\ No newline at end of file``)."""
        self.old_ends_bare |= sign != "+"
        self.new_ends_bare |= sign != "-"

    def place(self, lines, after, path, ctx):
        """Return the index of the first line to replace: the stated line, or the only other place that matches."""
        stated = None if self.stated_line is None else self.stated_line - 1
        if not self.old:
            if stated is None or not after <= stated + 1 <= len(lines):
                message = f"hunk {self.number} has only new lines; add the unchanged lines around them"
                raise ctx.error("invalid_args", message)
            return stated + 1
        size = len(self.old)
        found = [start for start in range(after, len(lines) - size + 1) if lines[start : start + size] == self.old]
        if stated in found:
            return stated
        if len(found) == 1:
            return found[0]
        if found:
            numbers = [start + 1 for start in found]
            message = (
                f"hunk {self.number} of the diff matches {times(len(found))} in {path}, at {numbered(numbers)}, and "
                "not at the line in its header; add unchanged lines around it, or correct the line"
            )
            raise ctx.error("invalid_args", message + shown_places(lines, numbers, size))
        message = f"the lines that hunk {self.number} of the diff expects do not occur in {path}"
        raise ctx.error("invalid_args", message + near_misses(lines, self.old))


def parsed(diff, ctx):
    """Return the hunks of a unified diff of one file. Their counts of lines are ignored: models often miscount."""
    lines = [line for line in diff.rstrip("\n").split("\n") if not line.startswith("```")]
    hunks, sign, files = [], None, 0
    for index, line in enumerate(lines):
        header = HUNK.match(line)
        is_file = line.startswith("--- ") and lines[index + 1 : index + 2] and lines[index + 1].startswith("+++ ")
        if is_file or line.startswith("diff --git "):
            files += is_file
            sign = None
        elif header:
            hunks.append(Hunk(len(hunks) + 1, int(header[1]) if header[1] else None))
            sign = " "
        elif sign is None:
            continue  # the headers of the file
        elif line.startswith("\\"):
            hunks[-1].end_bare(sign)
        elif line[:1] in (" ", "+", "-", ""):
            sign = line[:1] or " "
            hunks[-1].add(sign, line[1:])
        else:
            message = f"line {index + 1} of the diff begins with {line[0]!r}; expected ' ', '-' or '+'"
            raise ctx.error("invalid_args", message)
    if not hunks:
        raise ctx.error("invalid_args", "diff has no hunk; begin each with a line such as '@@ -12,3 +12,4 @@'")
    if files > 1:
        raise ctx.error("invalid_args", f"the diff changes {files} files; call file_edit once for each")
    return hunks


def near_misses(lines, wanted):
    """Return a description of the places that are most similar to the lines ``wanted``."""
    anchor = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[anchor].strip()[:500])
    candidates, scored, start = [], [], time.monotonic()
    for index, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:500])
        if matcher.real_quick_ratio() >= MIN_SIMILARITY and (bound := matcher.quick_ratio()) >= MIN_SIMILARITY:
            candidates.append((-bound, index))
        if time.monotonic() - start > SEARCH_SECONDS:
            break
    for _, index in sorted(candidates):  # the most promising ones first
        matcher.set_seq1(lines[index].strip()[:500])
        scored.append((matcher.ratio(), -max(0, index - anchor)))
        if time.monotonic() - start > 2 * SEARCH_SECONDS:
            break
    starts = dict.fromkeys(-start for ratio, start in sorted(scored, reverse=True) if ratio >= MIN_SIMILARITY)
    if not starts:
        return "; nothing in it is similar. Read the file again"
    best = sorted(list(starts)[:50], key=lambda start: -similarity(lines[start : start + len(wanted)], wanted))
    first = best[0]
    is_space = squeezed(lines[first : first + len(wanted)]) == squeezed(wanted)
    why = "; the first place differs only in white space" if is_space else ""
    return f"{why}. The most similar places:" + shown_places(lines, [start + 1 for start in best[:3]], len(wanted))


def similarity(lines, wanted):
    return difflib.SequenceMatcher(None, "\n".join(lines)[:5000], "\n".join(wanted)[:5000]).ratio()


def squeezed(lines):
    return " ".join(" ".join(lines).split())


def shown_places(lines, numbers, size):
    """Return the lines of some places with their numbers, to append to a message."""
    shown = []
    for number in numbers[:MAX_PLACES]:
        shown.append("")
        shown += numbered_lines(lines, number, size)
    return "\n".join(["", *shown[1:]])


def numbered_lines(lines, number, size):
    last = min(number - 1 + min(size, MAX_LINES), len(lines))
    shown = [f"{index + 1}: {lines[index][:200]}" for index in range(number - 1, last)]
    return shown if size <= MAX_LINES else [*shown, f"[{size - MAX_LINES} more lines]"]


def numbered(numbers):
    shown = ", ".join(map(str, numbers[:20]))
    more = f" and {len(numbers) - 20} more" if len(numbers) > 20 else ""
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{more}"


def times(count):
    return "once" if count == 1 else f"{count} times"


def outcome(path, lines, places, ctx):
    """Return the result: how many places changed, and their lines."""
    text = f"changed {len(places)} place{'s' if len(places) > 1 else ''} in {path}:"
    for number, size in places[:MAX_PLACES]:
        text += "\n\n" + "\n".join(numbered_lines(lines, number, size) or [f"[lines removed before line {number}]"])
    if len(places) > MAX_PLACES:
        text += f"\n\n[{len(places) - MAX_PLACES} more places]"
    data = {"path": path, "changes": len(places), "lines": [number for number, _ in places]}
    return ctx.result(text, structured=data)


@contextmanager
def locked(target, path, ctx):
    """Wait for other calls that edit the file, where sandboxes share the locks of files."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        with opened(target, path, ctx) as file:
            is_busy = False
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                is_busy = True
            except OSError:
                pass  # the file system has no locks
            if not is_busy and is_current(file, target):
                yield
                return
        if time.monotonic() > end:
            message = f"{path} is in use: another program has locked it for more than {WAIT_SECONDS} s; try again"
            raise ctx.error("conflict", message)
        time.sleep(0.02)


def opened(target, path, ctx):
    try:
        return ordinary(target).open("rb")
    except OSError as error:
        raise explained(error, path, ctx) from None


def is_current(file, target):
    """Return whether the open file is the one that has the name now: an edit puts a new one in its place."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), target.stat())
    return False


def read_data(target, path, ctx):
    try:
        if target.stat().st_size > MAX_BYTES:
            raise ctx.error("file", f"{path} is larger than {MAX_BYTES // 2**20} MiB; change it with a program")
        return target.read_bytes()
    except OSError as error:
        raise explained(error, path, ctx) from None


def decoded(data, path, encoding, ctx):
    try:
        return data.decode(encoding)
    except UnicodeError as error:
        raise not_text(path, encoding, error, ctx) from None
    except (LookupError, ValueError):
        raise no_encoding(encoding, ctx) from None


def write_text(target, text, before, path, encoding, ctx):
    """Replace the file, which had the content ``before``, with this text. If it cannot be encoded, nothing changes."""

    def check():
        if target.read_bytes() != before:
            message = f"{path} was changed by another program during this edit, so it was not edited; read it again"
            raise ctx.error("conflict", message)

    try:
        replace(target, text.encode(encoding), check)
    except UnicodeError as error:
        raise ctx.error("serialization", f"the text cannot be written as {encoding}: {error}") from None
    except OSError as error:
        raise explained(error, path, ctx) from None
