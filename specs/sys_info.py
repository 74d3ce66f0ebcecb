"""The tool sys_info: what commands in the sandbox can rely on."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

MIB = 2**20


def sys_info(ctx):
    """Return the system of the sandbox, as lines and as data."""
    data = {
        "os": name_of_system(),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "memory": memory(),
        "disk": shutil.disk_usage("/tmp").free // MIB,
        "bash": bash_version(),
        "python": platform.python_version(),
    }
    units = {"memory": " MiB", "disk": " MiB free in /tmp"}
    text = "\n".join(f"{name}: {value}{units.get(name, '')}" for name, value in data.items())
    return ctx.result(text, structured=data)


def name_of_system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return "unknown"


def memory():
    found = re.search(r"^MemTotal: +([0-9]+) kB", Path("/proc/meminfo").read_text(encoding="utf-8"), re.MULTILINE)
    return int(found[1]) // 1024 if found else 0


def bash_version():
    try:
        done = subprocess.run(["bash", "-c", 'printf %s "$BASH_VERSION"'], capture_output=True, text=True, check=False)
    except OSError:
        return "none"
    return done.stdout
