"""SQLite files of the workspace: stores that several tools share, and locks where the file system has none."""

import sqlite3
import time
from contextlib import closing, contextmanager
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
        if has_shared_locks():
            return self._connected("ro")
        data = unchanged(self.path, self.path.read_bytes, ctx)
        store = sqlite3.connect(":memory:", isolation_level=None)
        store.deserialize(data)
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
            if "readonly" in words:
                hint = "a call that changed it was interrupted; the next change repairs it"
            elif "not a database" in words or "malformed" in words:
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
    lock = path.with_name(f"{path.name}.lock")
    end = time.monotonic() + WAIT_SECONDS
    while not created(lock):
        if time.monotonic() > end:
            raise in_use(path, ctx)
        time.sleep(PAUSE_SECONDS)
    try:
        yield
    finally:
        lock.rmdir()


def created(lock):
    """Create a folder and return True, or return False if it exists. One that a killed call left is removed."""
    try:
        lock.mkdir()
        return True
    except FileExistsError:
        pass
    try:
        if time.time() - lock.stat().st_mtime > STALE_SECONDS:
            lock.rmdir()
    except FileNotFoundError:
        pass  # the other call has just ended
    return False


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
    journal, log = (path.with_name(path.name + suffix) for suffix in ("-journal", "-wal"))
    if journal.exists() and journal.stat().st_size:
        return None
    with path.open("rb") as file:
        header = file.read(100)  # with the counter of changes
    states = [each.stat() for each in (path, log) if each.exists()]
    return header, [(each.st_mtime_ns, each.st_size) for each in states]


def in_use(path, ctx):
    message = f"{path.name} is in use: another call has been changing it for more than {WAIT_SECONDS} s, or was"
    return ctx.error("conflict", f"{message} interrupted; try again in a minute")
