"""Running a program: its arguments, environment, folder, descriptors, signals and exit status."""

import re
from typing import Final

from conformance_case import OK, Case, Difference, command, fails, python, says, shell

CASES: Final = (
    Case(
        "a program's stdout is the text of its success", command("echo", "two words"),
        {**OK, "text": "two words\n", "exit_status": 0, "stderr": "", "truncated": False},
    ),
    Case(
        "stderr of a success is in the details, not in the text", shell("echo out; echo err >&2"),
        {**OK, "text": "out\n", "stderr": "err\n"},
    ),
    Case("a program may write nothing", command("true"), {**OK, "text": "", "exit_status": 0}),
    Case(
        "an exit status that is not 0 is an error with both streams",
        shell("echo out; echo err >&2; exit 3"),
        fails(
            "exit_status", "the command ended with exit status 3", exit_status=3,
            text="out\n[stderr]\nerr\n[exit status 3]",
        ),
    ),
    Case(
        "exit status 255 is 255", shell("exit 255"),
        fails("exit_status", "the command ended with exit status 255", exit_status=255),
    ),
    Case(
        "an exit status has the error kind that the spec sets", shell("exit 2", errors={"2": "invalid_args"}),
        fails("invalid_args", "the command ended with exit status 2"),
    ),
    Case(
        "with success_exit_codes any status is a result",
        shell("echo grep found nothing; exit 1", success_exit_codes="any"),
        {**OK, "text": "grep found nothing\n[exit status 1]", "exit_status": 1},
    ),
    Case(
        "exit status 125 of a tool is not an error of the engine", shell("exit 125"),
        fails("exit_status", "the command ended with exit status 125"),
    ),
    Case(
        "a file that is not executable ends a script with 126", shell("/etc/passwd"),
        fails("exit_status", "the command ended with exit status 126"),
    ),
    Case(
        "a command that a script does not find is not_found", shell("no-such-command"),
        fails("not_found", "the command ended with exit status 127"),
    ),
    Case(
        "a program that does not exist is not_found", command("no-such-program"),
        fails("not_found", "command not found: no-such-program", outcome="not_started"),
    ),
    Case(
        "a folder is not a program", command("/usr"),
        fails("not_found", "/usr: Permission denied", outcome="not_started"),
    ),
    Case(
        "a text file is not a program", command("/etc/passwd"),
        fails("not_found", "/etc/passwd: Permission denied", outcome="not_started"),
    ),
    Case(
        "a signal that ends the tool is named",
        shell("echo before; kill -SEGV $$"),
        fails(
            "exit_status", "the command was killed by SIGSEGV", outcome="signaled", text="before\n[killed by SIGSEGV]"
        ),
    ),
    Case(
        "SIGKILL sent by the tool itself is not out_of_memory", shell("kill -KILL $$"),
        fails("exit_status", "the command was killed by SIGKILL"),
    ),
    Case("SIGTERM ends the tool", shell("kill -TERM $$"), fails("exit_status", "the command was killed by SIGTERM")),
    Case(
        name="no signal except SIGXFSZ is blocked or ignored",
        # Without 32 and 33, which the C library uses: make starts programs with these ignored.
        backend=shell(
            "while read -r name mask; do case $name in SigBlk:|SigIgn:) "
            'printf "%s %x\\n" "$name" $((0x$mask & ~0x180000000));; esac; done < /proc/self/status'
        ),
        expect=says("SigBlk: 0\nSigIgn: 1000000\n"),
        differs={"docker+gvisor": Difference("gVisor does not show all of /proc/self/status", {"text": ""})},
    ),
    Case("a closed pipe ends a program silently", shell("yes | head -n 1"), says("y\n")),
    Case(
        "the environment has the base variables, the call id and the variables of the spec",
        command("env", "-u", "_"),
        says(
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
            "HOME=/tmp\nLOGNAME=tool\nUSER=tool\nLANG=C\nTOOLC_CALL_ID=c1\nGREETING=hello world\n"
        ),
        sandbox={"env": {"GREETING": "hello world", "LANG": "C"}},
    ),
    Case(
        "parameters of a script are variables, never part of its text",
        shell('printf "%s|" "$ARG_text" "$ARG_count"'),
        says("$(id)`id`'\"\n; rm -rf / #|3|"),
        args={"text": "$(id)`id`'\"\n; rm -rf / #", "count": 3},
    ),
    Case(
        "an argument is passed unchanged whatever it contains",
        command("printf", "[%s]", "--", "{{ text }}", "{{ items }}"), says("[--][a b\n'c' \"d\" $HOME *][][-n][ü]"),
        args={"text": "a b\n'c' \"d\" $HOME *", "items": ["", "-n", "ü"]},
    ),
    Case(
        "an argument may have 131071 bytes",
        shell('echo "${#ARG_a}"'),
        says("131065\n"),
        args={"a": "x" * (131_071 - len("ARG_a="))},
    ),
    Case(
        "a longer argument is rejected with a suggestion",
        shell('echo "${#ARG_a}"'),
        fails(
            "invalid_args",
            "a: the argument has 131078 bytes; the maximum is 131071; "
            "send less, or pass it through `stdin` in the spec",
        ),
        args={"a": "x" * 131_072},
    ),
    Case(
        "many arguments may have two megabytes together",
        command("sh", "-c", 'echo "$#"', "sh", "{{ items }}"),
        says("19\n"),
        args={"items": ["x" * 100_000] * 19},
    ),
    Case("a tool without a workspace starts in /tmp", command("pwd"), says("/tmp\n")),
    Case(
        "a tool with a workspace starts in it", shell("pwd; ls"), says("/workspace\na file\n"),
        sandbox={"workspace": "ro"}, files={"a file": b""},
    ),
    Case("stdin is empty if the spec has none", command("wc", "-c"), says("0\n")),
    Case(
        "stdin contains what the spec sets", command("cat", stdin="{{ text }}"), says("zwölf\n"),
        args={"text": "zwölf\n"},
    ),
    Case(
        "stdin may be many megabytes", command("wc", "-c", stdin="{{ text }}"), says("8388608\n"),
        args={"text": "0123456789abcdef" * (1 << 19)},
    ),
    Case(
        "a tool need not read its stdin", command("true", stdin="{{ text }}"), says(""),
        args={"text": "0123456789abcdef" * (1 << 17)},
    ),
    Case(
        "output is read while stdin is still being written", command("cat", stdin="{{ text }}"),
        says("0123456789abcde\n" * 10_000), args={"text": "0123456789abcde\n" * 10_000},
    ),
    Case("the umask is 0022", command("sh", "-c", "umask"), says("0022\n")),
    Case(
        "a tool has three descriptors and none of them is a terminal",
        shell(
            'for fd in /proc/self/fd/*; do echo "${fd##*/}"; done | head -n 3; '
            "test -t 0 || test -t 1 || echo no terminal"
        ),
        says("0\n1\n2\nno terminal\n"),
    ),
    Case(
        "a tool is not process 1 and its parent is", command("sh", "-c", 'test $$ -gt 1 && echo "$PPID"'), says("1\n")
    ),
    Case("the host name is sandbox", shell("uname -n; cat /proc/sys/kernel/hostname"), says("sandbox\nsandbox\n")),
    Case(
        "the host name resolves to the sandbox and there is no resolver",
        python(
            "import socket\n"
            "def run():\n"
            "    asked = {line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver')}\n"
            "    name = open('/etc/hostname').read()\n"
            "    try: socket.getaddrinfo('other', 1)\n"
            "    except socket.gaierror: return [name, socket.gethostbyname('sandbox'), asked <= {'127.0.0.1'}]\n"
        ),
        {**OK, "structured": ["sandbox\n", "127.0.0.1", True]},
    ),
    Case(
        "an interpreter that does not exist is not_found", shell("echo no", interpreter=["no-such-shell"]),
        fails("not_found", "command not found: no-such-shell"),
    ),
    Case(
        "a script stops at its first failure and at an unset variable", shell("false; echo not reached"),
        fails("exit_status", "the command ended with exit status 1", text="[exit status 1]"),
    ),
    Case(
        "every call reports its resource usage", shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"),
        {**OK, "usage": ["duration_ms", "cpu_ms", "peak_memory_bytes"]},
    ),
    Case(
        "child processes end with the tool", shell("sleep 1000 & setsid sleep 1000 >/dev/null 2>&1 & echo done"),
        says("done\n"),
    ),
    Case("the clock is in UTC", command("date", "+%Z"), says("UTC\n")),
    Case(
        "ls and stat report a path",
        shell("ls -d /tmp; stat -c %F /tmp"),
        says("/tmp\ndirectory\n"),
        differs={
            "docker+gvisor": Difference(
                "gVisor of 2022 does not support AT_NO_AUTOMOUNT, which ls and stat of coreutils 9 use for a path: "
                "they fail with 'Invalid argument'; ls without a path, find and test work",
                {"error": "exit_status", "text": re.compile("(?s).*ls: cannot access '/tmp': Invalid argument.*")},
            )
        },
    ),
    Case("text in the locale's encoding is UTF-8", command("locale", "charmap"), says("UTF-8\n")),
)  # fmt: skip
