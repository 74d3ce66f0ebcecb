"""How a program is run: its arguments, environment, folder, descriptors, signals and exit status."""

from __future__ import annotations

import re
from typing import Final

from conformance_case import OK, Case, Difference, command, fails, python, says, shell

CASES: Final = (
    Case(
        name="a program's stdout is the text of its success",
        backend=command("echo", "two words"),
        expect={**OK, "text": "two words\n", "exit_status": 0, "stderr": "", "truncated": False},
    ),
    Case(
        name="stderr of a success is a detail and not for the model",
        backend=shell("echo out; echo err >&2"),
        expect={**OK, "text": "out\n", "stderr": "err\n"},
    ),
    Case(name="a program may write nothing", backend=command("true"), expect={**OK, "text": "", "exit_status": 0}),
    Case(
        name="an exit status that is not 0 is an error with both streams",
        backend=shell("echo out; echo err >&2; exit 3"),
        expect=fails(
            "exit_status",
            "the command ended with exit status 3",
            exit_status=3,
            text="out\n[stderr]\nerr\n[exit status 3]",
        ),
    ),
    Case(
        name="exit status 255 is 255",
        backend=shell("exit 255"),
        expect=fails("exit_status", "the command ended with exit status 255", exit_status=255),
    ),
    Case(
        name="an exit status has the meaning that the spec gives it",
        backend=shell("exit 2", errors={"2": "invalid_args"}),
        expect=fails("invalid_args", "the command ended with exit status 2"),
    ),
    Case(
        name="with success_exit_codes any status is a result",
        backend=shell("echo grep found nothing; exit 1", success_exit_codes="any"),
        expect={**OK, "text": "grep found nothing\n[exit status 1]", "exit_status": 1},
    ),
    Case(
        name="a status of the tool's own that container programs use too stays the tool's",
        backend=shell("exit 125"),
        expect=fails("exit_status", "the command ended with exit status 125"),
    ),
    Case(
        name="a file that is not executable ends a script with 126",
        backend=shell("/etc/passwd"),
        expect=fails("exit_status", "the command ended with exit status 126"),
    ),
    Case(
        name="a command that a script does not find is not_found",
        backend=shell("no-such-command"),
        expect=fails("not_found", "the command ended with exit status 127"),
    ),
    Case(
        name="a program that does not exist is not_found",
        backend=command("no-such-program"),
        expect=fails("not_found", "command not found: no-such-program", outcome="not_started"),
    ),
    Case(
        name="a folder is not a program",
        backend=command("/usr"),
        expect=fails("not_found", "/usr: Permission denied", outcome="not_started"),
    ),
    Case(
        name="a text file is not a program",
        backend=command("/etc/passwd"),
        expect=fails("not_found", "/etc/passwd: Permission denied", outcome="not_started"),
    ),
    Case(
        name="a signal that ends the tool is named",
        backend=shell("echo before; kill -SEGV $$"),
        expect=fails(
            "exit_status", "the command was killed by SIGSEGV", outcome="signaled", text="before\n[killed by SIGSEGV]"
        ),
    ),
    Case(
        name="SIGKILL from the tool itself is not a lack of memory",
        backend=shell("kill -KILL $$"),
        expect=fails("exit_status", "the command was killed by SIGKILL"),
    ),
    Case(
        name="SIGTERM ends the tool as it ends any program",
        backend=shell("kill -TERM $$"),
        expect=fails("exit_status", "the command was killed by SIGTERM"),
    ),
    Case(
        name="no signal is blocked or ignored but the one for files too large",
        # Less 32 and 33, which are the C library's own: make leaves them ignored in what it starts.
        backend=shell(
            "while read -r name mask; do case $name in SigBlk:|SigIgn:) "
            'printf "%s %x\\n" "$name" $((0x$mask & ~0x180000000));; esac; done < /proc/self/status'
        ),
        expect=says("SigBlk: 0\nSigIgn: 1000000\n"),
        differs={"docker+gvisor": Difference("gVisor does not show all of /proc/self/status", {"text": ""})},
    ),
    Case(name="a closed pipe ends a program silently", backend=shell("yes | head -n 1"), expect=says("y\n")),
    Case(
        name="an environment has the base, the call's id and the variables of the spec",
        backend=command("env", "-u", "_"),
        sandbox={"env": {"GREETING": "hello world", "LANG": "C"}},
        expect=says(
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
            "HOME=/tmp\nLOGNAME=tool\nUSER=tool\nLANG=C\nTOOLC_CALL_ID=c1\nGREETING=hello world\n"
        ),
    ),
    Case(
        name="parameters of a script are variables and never text in it",
        backend=shell('printf "%s|" "$ARG_text" "$ARG_count"'),
        args={"text": "$(id)`id`'\"\n; rm -rf / #", "count": 3},
        expect=says("$(id)`id`'\"\n; rm -rf / #|3|"),
    ),
    Case(
        name="an argument is one argument whatever it holds",
        backend=command("printf", "[%s]", "--", "{{ text }}", "{{ items }}"),
        args={"text": "a b\n'c' \"d\" $HOME *", "items": ["", "-n", "ü"]},
        expect=says("[--][a b\n'c' \"d\" $HOME *][][-n][ü]"),
    ),
    Case(
        name="an argument may have 131071 bytes",
        backend=shell('echo "${#ARG_a}"'),
        args={"a": "x" * (131_071 - len("ARG_a="))},
        expect=says("131065\n"),
    ),
    Case(
        name="a longer argument is refused with the remedy",
        backend=shell('echo "${#ARG_a}"'),
        args={"a": "x" * 131_072},
        expect=fails(
            "invalid_args",
            "a: the argument has 131078 bytes; the maximum is 131071; "
            "send less, or pass it through `stdin` in the spec",
        ),
    ),
    Case(
        name="many arguments may have two megabytes together",
        backend=command("sh", "-c", 'echo "$#"', "sh", "{{ items }}"),
        args={"items": ["x" * 100_000] * 19},
        expect=says("19\n"),
    ),
    Case(name="a tool without a workspace starts in /tmp", backend=command("pwd"), expect=says("/tmp\n")),
    Case(
        name="a tool with a workspace starts in it",
        backend=shell("pwd; ls"),
        sandbox={"workspace": "ro"},
        files={"a file": b""},
        expect=says("/workspace\na file\n"),
    ),
    Case(name="stdin is empty where the spec has none", backend=command("wc", "-c"), expect=says("0\n")),
    Case(
        name="stdin contains what the spec sets",
        backend=command("cat", stdin="{{ text }}"),
        args={"text": "zwölf\n"},
        expect=says("zwölf\n"),
    ),
    Case(
        name="stdin may be many megabytes",
        backend=command("wc", "-c", stdin="{{ text }}"),
        args={"text": "0123456789abcdef" * (1 << 19)},
        expect=says("8388608\n"),
    ),
    Case(
        name="a tool need not read its stdin",
        backend=command("true", stdin="{{ text }}"),
        args={"text": "0123456789abcdef" * (1 << 17)},
        expect=says(""),
    ),
    Case(
        name="what goes in comes out while it is still coming in",
        backend=command("cat", stdin="{{ text }}"),
        args={"text": "0123456789abcde\n" * 10_000},
        expect=says("0123456789abcde\n" * 10_000),
    ),
    Case(name="files are made with the usual mask", backend=command("sh", "-c", "umask"), expect=says("0022\n")),
    Case(
        name="a tool has three descriptors and none of them is a terminal",
        backend=shell(
            'for fd in /proc/self/fd/*; do echo "${fd##*/}"; done | head -n 3; '
            "test -t 0 || test -t 1 || echo no terminal"
        ),
        expect=says("0\n1\n2\nno terminal\n"),
    ),
    Case(
        name="a tool is not process 1 and its parent is",
        backend=command("sh", "-c", 'test $$ -gt 1 && echo "$PPID"'),
        expect=says("1\n"),
    ),
    Case(
        name="the host is called sandbox",
        backend=shell("uname -n; cat /proc/sys/kernel/hostname"),
        expect=says("sandbox\nsandbox\n"),
    ),
    Case(
        name="the sandbox's name leads to itself and there is no resolver",
        backend=python(
            "import socket\n"
            "def run():\n"
            "    asked = {line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver')}\n"
            "    name = open('/etc/hostname').read()\n"
            "    try: socket.getaddrinfo('other', 1)\n"
            "    except socket.gaierror: return [name, socket.gethostbyname('sandbox'), asked <= {'127.0.0.1'}]\n"
        ),
        expect={**OK, "structured": ["sandbox\n", "127.0.0.1", True]},
    ),
    Case(
        name="an interpreter that does not exist is not_found",
        backend=shell("echo no", interpreter=["no-such-shell"]),
        expect=fails("not_found", "command not found: no-such-shell"),
    ),
    Case(
        name="a script stops at its first failure and at an unset variable",
        backend=shell("false; echo not reached"),
        expect=fails("exit_status", "the command ended with exit status 1", text="[exit status 1]"),
    ),
    Case(
        name="every call reports its resource usage",
        backend=shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"),
        expect={**OK, "usage": ["duration_ms", "cpu_ms", "peak_memory_bytes"]},
    ),
    Case(
        name="a child that outlives the tool ends with it",
        backend=shell("sleep 1000 & setsid sleep 1000 >/dev/null 2>&1 & echo done"),
        expect=says("done\n"),
    ),
    Case(name="the clock is in UTC", backend=command("date", "+%Z"), expect=says("UTC\n")),
    Case(
        name="ls and stat report a path",
        backend=shell("ls -d /tmp; stat -c %F /tmp"),
        expect=says("/tmp\ndirectory\n"),
        differs={
            "docker+gvisor": Difference(
                "gVisor of 2022 does not know AT_NO_AUTOMOUNT, with which ls and stat of coreutils 9 ask for a "
                "path: they say that it is an invalid argument; ls without a path, find and test do without",
                {"error": "exit_status", "text": re.compile("(?s).*ls: cannot access '/tmp': Invalid argument.*")},
            )
        },
    ),
    Case(name="text in the locale's encoding is UTF-8", backend=command("locale", "charmap"), expect=says("UTF-8\n")),
)
