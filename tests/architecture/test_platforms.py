"""Only what starts sandboxes needs Linux. All other commands, such as ``toolc check``, use what macOS has as well."""

import re

from project.architecture_imports import sources

ON_LINUX = (
    "toolc.data.probes.", "toolc.guest.", "toolc.runtime.sessions.sandbox_session",
    "toolc.runtime.wire.", "toolc.runtime.workspace.transaction.", "toolc.sandbox.",
)  # fmt: skip
"""Modules that run in a sandbox, or with one."""

LINUX_ONLY = re.compile(
    r"\b(os\.(eventfd\w*|EFD_\w+|pidfd_open|memfd_create|splice|fdatasync|O_PATH|O_TMPFILE|(get|set|list|remove)xattr"
    r"|posix_fadvise|unshare|setns)|select\.epoll|signal\.(pidfd_send_signal|sigtimedwait)"
    r"|time\.CLOCK_BOOTTIME|fcntl\.F_SETPIPE_SZ|socket\.(SO_PEERCRED|MSG_CMSG_CLOEXEC|AF_NETLINK))\b"
)
"""What ``mypy --platform darwin`` does not find in its stubs. It would take a minute."""


def test_commands_without_a_sandbox_need_no_linux() -> None:
    texts = {name: path.read_text(encoding="utf-8") for name, path in sources().items()}
    uses = {name: sorted({each[0] for each in LINUX_ONLY.finditer(text)}) for name, text in texts.items()}
    assert {name: found for name, found in uses.items() if found and not name.startswith(ON_LINUX)} == {}
