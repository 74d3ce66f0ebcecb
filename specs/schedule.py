"""The tools of schedule.yaml and of the command ``toolc schedule``: tasks and their times, in a SQLite file."""

import json
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError
from store import Store

STORE = Store("schedule.sqlite", 0x746C_7363, 1, [
    """CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT NOT NULL, at TEXT, every TEXT, cron TEXT,
        time_zone TEXT NOT NULL, tool TEXT, arguments TEXT, last_run TEXT
    )""",
    "CREATE INDEX due ON entries (at)",
])  # fmt: skip
UNITS = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
INTERVAL = re.compile("([1-9][0-9]{0,5})(min|h|d|w)")
DAMAGED = (ValueError, LookupError, TypeError, OverflowError, OSError, CronSimError)
"""The errors of an entry that a program other than these tools has written."""
MAX_MISSED = 1000
"""The maximum number of missed runs that are counted."""
GRACE = timedelta(minutes=1)
"""How long ago the first time of an entry may be: "now" has passed when the call starts."""
FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9990, 1, 1, tzinfo=UTC)
"""The times that an entry can have."""
NICKNAMES = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * SUN", "@monthly": "0 0 1 * *"}
CRON_FIELDS = "minute, hour, day of the month, month, day of the week"


def schedule_create(  # noqa: PLR0913, PLR0917  one argument per parameter
    what, ctx, at=None, every=None, cron=None, time_zone=None, tool=None, arguments=None
):
    """Add an entry and return it, with its first time in UTC."""
    timing = first_time(ctx, at, every, cron, time_zone)
    if at is not None:
        refuse_past(timing[0], at, ctx)
    values = (what, *timing, tool, None if arguments is None else json.dumps(arguments))
    with STORE.changing(ctx) as store:
        added = store.execute(
            "INSERT INTO entries (what, at, every, cron, time_zone, tool, arguments) VALUES (?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        return entry(store, added.lastrowid, ctx)


def schedule_list(limit, done, ctx, after=None, before=None):
    """Return the entries between two times, the next one first; with ``done``, only those that are done."""
    # Text in UTC and of one length sorts as the times do.
    first = "" if after is None else text_of(moment(after, "after", None, ctx))
    last = "9999" if before is None else text_of(moment(before, "before", None, ctx))
    with STORE.reading(ctx) as store:
        if store is None:
            return {"entries": []}
        found = store.execute(
            "SELECT * FROM entries WHERE CASE WHEN ? THEN at IS NULL ELSE at >= ? AND at < ? END "
            "ORDER BY at, id LIMIT ?",
            (done, first, last, limit),
        )
        return {"entries": [undamaged(row, as_entry, ctx) for row in found]}


def schedule_update(  # noqa: PLR0913, PLR0917  one argument per parameter
    id,  # noqa: A002  its name for models
    ctx,
    what=None,
    at=None,
    every=None,
    cron=None,
    time_zone=None,
    tool=None,
    arguments=None,
):
    """Change an entry and return it. What is not given stays."""
    if all(each is None for each in (what, at, every, cron, time_zone, tool, arguments)):
        choices = "what, at, every, cron, time_zone, tool or arguments"
        raise ctx.error("invalid_args", f"there is nothing to change; give {choices}")
    with STORE.changing(ctx) as store:
        before = entry(store, id, ctx)
        timing = changed_time(ctx, before, at, every, cron, time_zone)
        if at is not None:
            refuse_past(timing[0], at, ctx)
        stored = json.dumps(before["arguments"] if arguments is None else arguments)
        values = (what or before["what"], *timing, tool or before["tool"], stored, id)
        store.execute(
            "UPDATE entries SET what = ?, at = ?, every = ?, cron = ?, time_zone = ?, tool = ?, arguments = ? "
            "WHERE id = ?",
            values,
        )
        return entry(store, id, ctx)


def schedule_delete(id, ctx):  # noqa: A002  as above
    """Remove an entry and return it, without its arguments if these are damaged."""
    with STORE.changing(ctx) as store:
        removed = row_of(store, id, ctx)
        store.execute("DELETE FROM entries WHERE id = ?", (id,))
    try:
        return as_entry(removed)
    except DAMAGED:
        return {**dict(removed), "arguments": None}


def schedule_due(limit, ctx, now=None):
    """Return the entries that are due, with the number of runs that were missed since. Nothing changes."""
    present = datetime.now(UTC) if now is None else moment(now, "now", None, ctx)
    with STORE.reading(ctx) as store:
        return {"entries": [] if store is None else [due for due, _ in due_entries(store, present, limit, ctx)]}


def schedule_take(limit, ctx, now=None):
    """Return the same entries, and move each to its next time, so that no other runner gets it."""
    present = datetime.now(UTC) if now is None else moment(now, "now", None, ctx)
    with STORE.reading(ctx) as store:
        if store is None or not due_entries(store, present, 1, ctx):
            return {"entries": []}
    with STORE.changing(ctx) as store:
        taken = due_entries(store, present, limit, ctx)
        for due, following in taken:
            values = (following and text_of(following), text_of(present), due["id"])
            store.execute("UPDATE entries SET at = ?, last_run = ? WHERE id = ?", values)
        return {"entries": [due for due, _ in taken]}


def due_entries(store, present, limit, ctx):
    """Return entries with ``due`` and ``missed``, and the time of each after ``present``; None if it has none."""
    found = store.execute("SELECT * FROM entries WHERE at <= ? ORDER BY at, id LIMIT ?", (text_of(present), limit))
    return [undamaged(row, lambda row: due_entry(row, present), ctx) for row in found.fetchall()]


def due_entry(row, present):
    each = as_entry(row)
    missed, following = later_runs(each, present)
    return {**each, "due": each["at"], "missed": missed}, following


def later_runs(each, present):
    """Return how many runs after the due one have passed as well, and the first one after ``present``."""
    due = parsed(each["at"])
    if each["every"] is not None:
        step = step_of(each["every"])
        missed = (present - due) // step
        return missed, shifted(due, step, missed + 1)
    if each["cron"] is None:
        return 0, None
    missed, following = 0, due
    for following in cron_times(each["cron"], each["time_zone"], due):
        if following > present or missed == MAX_MISSED:
            break
        missed += 1
    if following <= present:
        following = next(cron_times(each["cron"], each["time_zone"], present), None)
    return missed, following


def first_time(ctx, at, every, cron, time_zone):
    """Return the columns ``at``, ``every``, ``cron`` and ``time_zone`` of a new entry."""
    zone = zone_of(time_zone, ctx)
    if cron is not None and (at is not None or every is not None):
        raise ctx.error("invalid_args", "cron cannot be combined with at or every; give one of them")
    if at is None and every is None and cron is None:
        raise ctx.error("invalid_args", "give a time: at, every or cron")
    now = datetime.now(UTC).replace(microsecond=0)
    if every is not None:
        step = interval(every, ctx)
        first = shifted(now, step, 1) if at is None else moment(at, "at", time_zone and zone, ctx)
        if first is None:
            raise ctx.error("invalid_args", f"every: {every!r} is too long; the first run would be after {LAST.year}")
    elif cron is not None:
        first = first_of_cron(cron, zone, now, ctx)
    else:
        first = moment(at, "at", time_zone and zone, ctx)
    return text_of(first), every, cron, zone.key


def refuse_past(first, at, ctx):
    """Raise an error if the first time, which was given as ``at``, is not in the future."""
    now = datetime.now(UTC)
    if parsed(first) < now - GRACE:
        message = f"at: {at!r} is in the past: it is {text_of(now)} now; give the next time at which the task is due"
        raise ctx.error("invalid_args", message)


def changed_time(ctx, before, at, every, cron, time_zone):
    """Return the same columns of an entry that is changed. What is not given stays, if it fits to what is given."""
    zone = time_zone or before["time_zone"]
    if cron is not None or (every is not None and (before["cron"] or not before["at"])):
        return first_time(ctx, at, every, cron, zone)
    if at is not None or every is not None:
        return first_time(ctx, at or before["at"], every or before["every"], None, zone)
    if time_zone is not None and before["cron"]:
        return first_time(ctx, None, None, before["cron"], zone)
    return before["at"], before["every"], before["cron"], zone_of(zone, ctx).key


def shifted(time, step, count):
    """Return the time after ``count`` intervals; None if it is later than an entry can have."""
    try:
        later = time + count * step
    except OverflowError:
        return None
    return later if later < LAST else None


def cron_times(cron, time_zone, start):
    """Yield the times after ``start``, in UTC.

    As with Debian's cron, a run at a time that a change of the clock skips is after it, and a time that it repeats has
    one run. Runs every few minutes or hours follow the elapsed time.
    """
    for local in CronSim(cron, start.astimezone(ZoneInfo(time_zone))):
        time = local.astimezone(UTC)
        if time > start:
            yield time


def first_of_cron(cron, zone, now, ctx):
    """Return the first time of a cron line. Raises an error that says what is wrong with it."""
    fields = cron.split()
    if len(fields) != 5:
        hint = "; seconds are not supported" if len(fields) == 6 else ""
        if cron.strip() in NICKNAMES:
            hint = f"; write {NICKNAMES[cron.strip()]!r}"
        message = f"cron: {cron!r} has {len(fields)} field{'s' * (len(fields) != 1)}, expected 5: {CRON_FIELDS}{hint}"
        raise ctx.error("invalid_args", message)
    try:
        first = next(cron_times(cron, zone.key, now), None)
    except CronSimError as error:
        message = f"cron: {cron!r} is not valid: {error}; the fields are {CRON_FIELDS}"
        raise ctx.error("invalid_args", message) from None
    if first is None:
        raise ctx.error("invalid_args", f"cron: {cron!r} matches no date")
    return first


def interval(every, ctx):
    try:
        return step_of(every)
    except ValueError as error:
        raise ctx.error("invalid_args", f"every: {error}") from None


def step_of(every):
    found = INTERVAL.fullmatch(every)
    if not found:
        hint = "; m can be minutes or months: write min, or use cron for months" if every[-1:] == "m" else ""
        raise ValueError(f"{every!r} is not an interval such as 30min, 2h, 1d or 1w{hint}")
    return int(found[1]) * UNITS[found[2]]


def zone_of(name, ctx):
    try:
        if name == "localtime":  # that of the image, and not of the user
            raise ZoneInfoNotFoundError
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        wanted = name.strip().replace(" ", "_").lower()
        similar = [each for each in sorted(available_timezones()) if f"/{each}".lower().endswith(f"/{wanted}")]
        example = (similar or ["Europe/Berlin"])[0]
        message = f"time_zone: there is no time zone {name!r}; write a name such as {example!r}"
        raise ctx.error("invalid_args", message) from None


def moment(text, name, zone, ctx):
    """Return a time in UTC; one without an offset is the local time in ``zone``, if that is not None."""
    try:
        time = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text.strip())).replace(microsecond=0)
        if time.tzinfo is None:
            if zone is None:
                raise ValueError("it has no offset from UTC" + (", and there is no time_zone" if name == "at" else ""))
            local = time.replace(tzinfo=zone)
            if local.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != time:
                raise ValueError(f"the clocks in {zone.key} skip this time")
            time = local
        time = time.astimezone(UTC)
        if not FIRST <= time < LAST:
            raise ValueError(f"it must be between {FIRST.year} and {LAST.year}")
        return time
    except (ValueError, OverflowError) as error:
        message = f"{name}: {text!r} is not a time such as '2099-03-01T09:00:00+01:00': {error}"
        raise ctx.error("invalid_args", message) from None


def text_of(time):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def parsed(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def as_entry(row):
    """Return a row with its arguments as an object. Raises one of ``DAMAGED``."""
    arguments = json.loads(row["arguments"] or "null")
    if not isinstance(arguments, (dict, type(None))):
        raise ValueError("its arguments are not an object")
    return {**dict(row), "arguments": arguments}


def undamaged(row, read, ctx):
    """Return ``read(row)``. Raises an error with the id of an entry that another program damaged."""
    try:
        return read(row)
    except DAMAGED as error:
        repair = "" if read is as_entry else "set its time again with schedule_update, or "
        message = f"entry {row['id']} is damaged: {error}; {repair}remove it with schedule_delete"
        raise ctx.error("file", f"{STORE.name}: {message}") from None


def entry(store, number, ctx):
    return undamaged(row_of(store, number, ctx), as_entry, ctx)


def row_of(store, number, ctx):
    row = store.execute("SELECT * FROM entries WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise ctx.error("not_found", f"there is no entry {number} in the schedule; see schedule_list")
    return row
