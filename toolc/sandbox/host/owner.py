"""The owner of a sandbox: one process, with an identity that lets any later process prove that it is dead.

Everything that an engine creates has its owner's label from the start. A process removes objects of another owner only
if that owner is known to be dead. The sandboxes of a live owner, or of another machine that uses the same daemon, are
never touched.
"""

import functools
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError, raise_shortage


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One process, with a unique identity across machines, reboots, containers and reused process ids.

    ``machine`` and ``boot`` are 16 hex digits of a hash (``machine`` is empty if unknown), ``pidns`` is the inode
    of the process id namespace, ``start`` the process's start time in clock ticks after boot.
    """

    machine: str
    boot: str
    pidns: int
    pid: int
    start: int

    @staticmethod
    def current() -> "Owner":
        """Return this process. A forked child is another owner. Raises ``InfrastructureError`` without ``/proc``."""
        pid = os.getpid()
        if (process := _process(pid)) is None:
            raise InfrastructureError("cannot read /proc/self/stat; toolc's sandboxes need Linux with /proc mounted")
        machine, boot, pidns = _current_host()
        return Owner(machine=machine, boot=boot, pidns=pidns, pid=pid, start=process[1])

    def label(self) -> str:
        """Return this owner as one word of letters, digits and dots, for a label or a file name."""
        return ".".join(str(part) for part in astuple(self))

    @staticmethod
    def parse(label: str) -> "Owner | None":
        """Return the owner in a label, or None if it is not a label of toolc."""
        match label.split("."):
            case [machine, boot, *numbers] if len(numbers) == 3 and all(_is_number(number) for number in numbers):
                pidns, pid, start = map(int, numbers)
                owner = Owner(machine=machine, boot=boot, pidns=pidns, pid=pid, start=start)
                return owner if owner.label() == label else None
        return None

    def is_stale(self) -> bool:
        """Return whether the process is known to have ended. False if this cannot be determined from here."""
        return not self.reason_kept()

    def reason_kept(self) -> str:
        """Return, for the user, why this owner's objects must be kept, or ``""`` if the process has certainly ended."""
        machine, boot, pidns = _current_host()
        if self.boot != boot:
            same = bool(machine) and self.machine == machine
            return "" if same else "it belongs to another machine, or to one without /etc/machine-id"
        if self.pidns != pidns:
            return "its process is in another container, which cannot be inspected from here"
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return ""
        except (OSError, OverflowError):
            pass
        process = _process(self.pid)
        if process is not None and (process[1] != self.start or process[0] in "ZX"):
            return ""
        return f"its process {self.pid} is alive"

    def directory(self) -> Path:
        """Return this owner's private folder for runtime files, created with mode 0700 if necessary.

        It is removed after the owner's death, or by a reboot. Raises ``InfrastructureError`` if there is no safe place
        for it.
        """
        directory = _base() / self.label()
        _make_private(directory, 0o700)
        return directory


def shared_directory() -> Path:
    """Return this user's folder for runtime files that outlive their owners. Raises ``InfrastructureError``."""
    return _base()


def directories() -> Iterator[tuple[Owner, Path]]:
    """Yield the runtime folders of all owners of this user, alive or not."""
    try:
        entries = sorted(_base().iterdir())
    except (OSError, InfrastructureError):
        return
    for entry in entries:
        if (owner := Owner.parse(entry.name)) is not None:
            yield owner, entry


def dead_directories() -> Iterator[tuple[Owner, Path]]:
    """Return the runtime folders of this user's owners that are known to be dead."""
    return ((owner, entry) for owner, entry in directories() if owner.is_stale())


def _process(pid: int) -> tuple[str, int] | None:
    """Return a process's state and start time in ticks (proc_pid_stat(5)), or None if it has ended or is hidden."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise_shortage(error)
        return None
    # Field 2, the name of the command, may contain spaces and parentheses: count from its end.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


def _current_host() -> tuple[str, str, int]:
    """Return the hashes of this machine and this boot, and the inode of this process id namespace."""
    try:
        return (*_machine_and_boot(), Path("/proc/self/ns/pid").stat().st_ino)
    except OSError as error:
        raise_shortage(error)
        message = f"cannot read {error.filename}; sandboxes need Linux with /proc mounted"
        raise InfrastructureError(message) from error


@functools.cache
def _machine_and_boot() -> tuple[str, str]:
    try:
        machine = Path("/etc/machine-id").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise_shortage(error)
        machine = ""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    return _hash(machine) if machine else "", _hash(boot)


def _hash(text: str) -> str:
    # By machine-id(5), the raw id must not be exposed. It is hashed with an application-specific string.
    return hashlib.sha256(f"toolc {text}".encode()).hexdigest()[:16]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _base() -> Path:
    """Return the parent folder of this user's owners: in ``/run``, ``$XDG_RUNTIME_DIR`` or the temporary folder."""
    uid = os.geteuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if uid == 0 and os.access("/run", os.W_OK):
        base = Path("/run/toolc")
    elif uid != 0 and Path(runtime).is_absolute() and os.access(runtime, os.W_OK):
        base = Path(runtime) / "toolc"
    else:
        import tempfile  # lazy: +3 ms; most users have a runtime folder

        base = Path(tempfile.gettempdir()) / f"toolc-{uid}"
    # Other users may enter but not list it, because an unused user must reach the root folder of a sandbox.
    _make_private(base, 0o711)
    return base


def _make_private(directory: Path, mode: int) -> None:
    """Create a folder, or check that the existing one belongs to this user and no other user may write to it."""
    try:
        directory.mkdir(mode=mode)
        directory.chmod(mode)
    except FileExistsError:
        pass
    except OSError as error:
        raise InfrastructureError(f"cannot create {directory}: {error.strerror}; make its parent writable") from error
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise InfrastructureError(
            f"{directory} must be a folder that only this user can write to; remove it, or set TMPDIR to another folder"
        )
