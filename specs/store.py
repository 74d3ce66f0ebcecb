"""SQLite files of the workspace: stores that several tools share, and locks where the file system has none."""

import shutil
import sqlite3
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

WORKSPACE = Path("/workspace")
WAIT_SECONDS = 5
"""How long a call waits for another one that changes the file."""
STALE_SECONDS = 60
"""The age of a lock whose call was killed. It is more than the time limit of the tools that take one."""
PAUSE_SECONDS = 0.05
UNSHARED = frozenset({"9p", "fuse.virtiofs", "virtiofs"})
"""File systems of gVisor and of virtual machines: a lock on a file there is not visible in other sandboxes."""


class Store:
    """One file. ``application`` and ``version`` are in its header, so that another file is never changed."""

    def __init__(self, name, application, version, tables):
        self.name = name
        self.path = WORKSPACE / name
        self.application = application
        self.version = version
        self.tables = tables

    @contextmanager
    def reading(self, ctx):
        """Open the file; None if there is none yet."""
        if not self.path.exists() or not self.path.stat().st_size:
            yield None
            return
        with self._errors(ctx), closing(self._readable(ctx)) as store:
            self._check(store, ctx)
            yield store

    @contextmanager
    def changing(self, ctx):
        """Open the file in a transaction, which is rolled back at an error. Another writer waits."""
        with self._errors(ctx), locked(self.path, ctx), closing(self._connected("rwc")) as store, store:
            store.execute("BEGIN IMMEDIATE")
            if not store.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in self.tables:
                    store.execute(statement)
                store.execute(f"PRAGMA application_id = {self.application}")
                store.execute(f"PRAGMA user_version = {self.version}")
            self._check(store, ctx)
            yield store

    def _readable(self, ctx):
        if not has_shared_locks():
            return self._restored(ctx) if is_interrupted(self.path) else self._in_memory(ctx)
        store = self._connected("ro")
        try:
            store.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.Error as error:
            store.close()
            if "readonly" not in str(error):
                raise
            return self._restored(ctx)
        return store

    def _in_memory(self, ctx):
        data = unchanged(self.path, self.path.read_bytes, ctx)
        store = sqlite3.connect(":memory:", isolation_level=None)
        store.deserialize(data)
        store.row_factory = sqlite3.Row
        return store

    def _restored(self, ctx):
        """Open a copy, in which SQLite undoes the change of a killed call: the file itself may be read-only."""
        copy = Path(tempfile.mkdtemp()) / self.name
        end = time.monotonic() + WAIT_SECONDS
        try:
            before = None
            while before is None or versions(self.path) != before:
                if time.monotonic() > end:
                    raise in_use(self.path, ctx)
                before = versions(self.path)
                for source in before:
                    shutil.copyfile(source, copy.with_name(source.name))
        except OSError as error:
            hint = "a call that changed it was interrupted; the next change repairs it"
            raise ctx.error("file", f"{self.name}: {hint} ({error.strerror or error})") from None
        store = sqlite3.connect(copy, isolation_level=None)
        store.row_factory = sqlite3.Row
        return store

    def _connected(self, mode):
        store = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}", uri=True, timeout=WAIT_SECONDS, isolation_level=None
        )
        store.row_factory = sqlite3.Row
        return store

    def _check(self, store, ctx):
        application = store.execute("PRAGMA application_id").fetchone()[0]
        version = store.execute("PRAGMA user_version").fetchone()[0]
        if application != self.application:
            raise ctx.error("file", f"{self.name} belongs to another program; move it away. It was not changed")
        if version != self.version:
            kind = "a newer" if version > self.version else "an older"
            message = f"{self.name} is of {kind} toolc (version {version}, expected {self.version}); it was not changed"
            raise ctx.error("file", message)

    @contextmanager
    def _errors(self, ctx):
        try:
            yield
        except sqlite3.Error as error:
            words = str(error)
            if "locked" in words:
                raise in_use(self.path, ctx) from None
            if "not a database" in words or "malformed" in words:
                hint = f"it is damaged and was not changed; move it away, or try: sqlite3 {self.name} .recover"
            else:
                hint = "nothing was changed"
            raise ctx.error("file", f"{self.name}: {words}: {hint}") from None


def has_shared_locks():
    """Return whether a lock on a file of the workspace is visible in other sandboxes."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    return {fields[1]: fields[2] for fields in mounts}.get(str(WORKSPACE)) not in UNSHARED


@contextmanager
def locked(path, ctx):
    """Exclude other sandboxes that change a file, by means of a folder next to it where locks are not shared."""
    if has_shared_locks() or not path.parent.is_dir():
        yield
        return
    lock = lock_of(path)
    end = time.monotonic() + WAIT_SECONDS
    while not created(lock):
        if time.monotonic() > end:
            raise in_use(path, ctx)
        time.sleep(PAUSE_SECONDS)
    try:
        yield
    finally:
        lock.rmdir()


def lock_of(path):
    return path.with_name(f"{path.name}.lock")


def created(lock):
    """Create a folder and return True, or return False if it exists. One that a killed call left is removed."""
    try:
        lock.mkdir()
        return True
    except FileExistsError:
        pass
    try:
        if is_stale(lock):
            lock.rmdir()
    except FileNotFoundError:
        pass  # the other call has just ended
    return False


def is_stale(lock):
    """Return whether a killed call left the lock. Raises ``FileNotFoundError`` if there is none."""
    return time.time() - lock.stat().st_mtime > STALE_SECONDS


def unchanged(path, read, ctx):
    """Return ``read()``, called again until no other sandbox changed the file in the meantime."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        before = state_of(path)
        try:
            result, error = read(), None
        except sqlite3.Error as raised:
            result, error = None, raised
        if before is not None and state_of(path) == before:
            if error is not None:
                raise error
            return result
        if time.monotonic() > end:
            raise in_use(path, ctx)
        time.sleep(PAUSE_SECONDS)


def state_of(path):
    """Return a value that is different after a change; None while a change is not complete."""
    if has_journal(path):
        return None
    with path.open("rb") as file:
        header = file.read(100)  # with the counter of changes
    return header, versions(path)


def versions(path):
    """Return the time and the size of a file and of its journals, by path."""
    files = (path, *(path.with_name(path.name + suffix) for suffix in ("-journal", "-wal")))
    found = {}
    for each in files:
        with suppress(FileNotFoundError):
            status = each.stat()
            found[each] = status.st_mtime_ns, status.st_size
    return found


def has_journal(path):
    journal = path.with_name(f"{path.name}-journal")
    return journal.exists() and journal.stat().st_size > 0


def is_interrupted(path):
    """Return whether a call was killed while it changed a file whose locks are folders."""
    if not has_journal(path):
        return False
    try:
        return is_stale(lock_of(path))
    except FileNotFoundError:
        return True


def in_use(path, ctx):
    if not has_shared_locks() and is_interrupted(path):
        return ctx.error("file", f"{path.name}: a call that changed it was interrupted; the next change repairs it")
    message = f"{path.name} is in use: another call has been changing it for more than {WAIT_SECONDS} s, or was"
    return ctx.error("conflict", f"{message} interrupted; try again in a minute")
