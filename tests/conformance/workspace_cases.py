"""Users and files: the identity of a tool, the files it sees, and changes to the workspace."""

import re
from typing import Final

from conformance_case import OK, Case, Difference, Expected, command, python, says, shell

_RO: Final = {"workspace": "ro"}
_RW: Final = {"workspace": "rw"}
_FILES: Final = {"a.txt": b"alpha\n", "folder/b.txt": b"beta\n"}

_GVISOR_STATUS: Final = "gVisor does not show all of /proc/self/status"
_ROOTLESS: Final = "an ordinary user is user 0 of a separate user namespace and holds no capability"
_PASSWD: Final = (
    "passwd(5) of the image has no entry for the owner of a workspace, which whoami and ssh need; "
    "USER, LOGNAME and HOME are set"
)


def _in_rootless(expect: Expected) -> dict[str, Difference]:
    return {"oci user": Difference(_ROOTLESS, expect)}


CASES: Final = (
    Case(
        "a tool without a workspace runs as user nobody", shell("id -u; id -g; id -G"),
        {**says("65534\n65534\n65534\n"), "user": "65534:65534"},
        differs=_in_rootless({**OK, "text": re.compile(r"0\n0\n0\b.*\n"), "user": "0:0"}),
    ),
    Case(
        "a tool with a workspace runs as its owner", shell("id -u; id -g; find . -maxdepth 1 -printf '%U:%G\\n'"),
        {**says("1234\n1234\n1234:1234\n1234:1234\n1234:1234\n"), "user": "1234:1234"}, sandbox=_RO, files=_FILES,
        differs=_in_rootless({**says("0\n0\n0:0\n0:0\n0:0\n"), "user": "0:0"}),
    ),
    Case(
        "the user name of a tool is tool",
        python("import getpass, os\ndef run():\n    return [getpass.getuser(), os.path.expanduser('~')]"),
        {**OK, "structured": ["tool", "/tmp"]}, sandbox=_RO, files=_FILES,
    ),
    Case(
        "the owner of a workspace has a line in passwd(5)",
        shell("id -un || echo no line"),
        says("tool\n"),
        sandbox=_RO,
        files=_FILES,
        varies=("stderr", "streamed"),
        differs={
            "docker": Difference(_PASSWD, says("1234\nno line\n")),
            "docker+gvisor": Difference(_PASSWD, says("1234\nno line\n")), **_in_rootless(says("root\n")),
        },
    ),
    Case(
        "a tool has no capabilities and cannot gain any",
        command("grep", "-E", "^(Cap|NoNewPrivs|Seccomp:)", "/proc/self/status"),
        {
            **OK,
            "text": "".join(f"Cap{each}:\t0000000000000000\n" for each in ("Inh", "Prm", "Eff", "Bnd", "Amb"))
            + "NoNewPrivs:\t1\nSeccomp:\t2\n",
        },
        differs={
            "docker+gvisor": Difference(
                _GVISOR_STATUS,
                {
                    **OK,
                    "text": "".join(f"Cap{each}:\t0000000000000000\n" for each in ("Inh", "Prm", "Eff", "Bnd"))
                    + "Seccomp:\t2\n",
                },
            )
        },
    ),
    Case(
        "a tool cannot become another user",
        python(
            "import os\n"
            "def run():\n"
            "    found = []\n"
            "    for call in (lambda: os.setuid(12), lambda: os.setgid(12), lambda: os.setgroups([12])):\n"
            "        try: call(); found.append('done')\n"
            "        except OSError: found.append('refused')\n"
            "    return found"
        ),
        {**OK, "structured": ["refused"] * 3},
    ),
    Case(
        "a read-only workspace can be read and not written",
        shell("cat a.txt folder/b.txt; echo x 2>&1 >a.txt; rm -f a.txt; touch new"),
        {
            "error": "exit_status",
            "text": re.compile(r"(?s)alpha\nbeta\n.*Read-only file system.*"),
            "files": {
                "a.txt": ["file", "644", "own", "alpha\n"], "folder": ["folder", "755", "own", ""],
                "folder/b.txt": ["file", "644", "own", "beta\n"],
            },
        },
        sandbox=_RO,
        files=_FILES,
    ),
    Case(
        "a file that a tool writes belongs to its owner, with the default mode",
        shell("echo new >new.txt; mkdir made; echo x >>a.txt; rm folder/b.txt; printf run >made/x; chmod 755 made/x"),
        {
            **OK,
            "files": {
                "a.txt": ["file", "644", "own", "alpha\nx\n"], "folder": ["folder", "755", "own", ""],
                "made": ["folder", "755", "own", ""], "made/x": ["file", "755", "own", "run"],
                "new.txt": ["file", "644", "own", "new\n"],
            },
        },
        sandbox=_RW,
        files=_FILES,
    ),
    Case(
        "file names may contain any bytes",
        shell(
            "cat 'a b\nc' 'comma,colon:\"quote\"'; "
            "printf x >\"$(printf 'byte\\377')\"; printf y >'-n'; printf z >'grün'"
        ),
        {
            **says("12"),
            "files": {
                "-n": ["file", "644", "own", "y"], "a b\nc": ["file", "644", "own", "1"],
                "byte\\xff": ["file", "644", "own", "x"], 'comma,colon:"quote"': ["file", "644", "own", "2"],
                "grün": ["file", "644", "own", "z"],
            },
        },
        sandbox=_RW,
        files={"a b\nc": b"1", 'comma,colon:"quote"': b"2"},
    ),
    Case(
        "a file cannot be given to another user", shell("chown 12 a.txt || chgrp 12 a.txt || echo neither"),
        {**OK, "text": "neither\n", "files": {"a.txt": ["file", "644", "own", ""]}}, sandbox=_RW,
        files={"a.txt": b""}, varies=("stderr", "streamed"),
    ),
    Case(
        "no set-user-id or set-group-id bit can be set",
        shell("cp /bin/true x; chmod 4755 x || chmod 2755 x || chmod 6000 x || echo none"),
        {**OK, "text": "none\n", "files": {"x": ["file", "755", "own", ""]}}, sandbox=_RW,
    ),
    Case(
        "no device can be made in a workspace", shell("mknod null c 1 3 || mknod disk b 8 0 || echo none"),
        {**OK, "text": "none\n", "files": {}}, sandbox=_RW,
    ),
    Case(
        "a link out of the workspace does not reach the host",
        shell("cat secret /workspace/up 2>/dev/null || echo nothing; ln -s /etc/hostname planted"),
        {
            **OK, "text": "nothing\n",
            "files": {"plain": ["file", "644", "own", ""], "planted": ["link", "777", "own", ""]},
        },
        sandbox=_RW,
        files={"plain": b""},
    ),
    Case(
        "sockets and pipes in a workspace work and are only files afterwards",
        python(
            "import os, socket, threading\n"
            "def run():\n"
            "    server = socket.socket(socket.AF_UNIX); server.bind('s'); server.listen()\n"
            "    client = socket.socket(socket.AF_UNIX); client.connect('s')\n"
            "    os.mkfifo('p')\n"
            "    threading.Thread(target=lambda: open('p', 'w').write('through')).start()\n"
            "    return open('p').read()"
        ),
        {**OK, "text": "through", "files": {"p": ["other", "644", "own", ""], "s": ["other", "755", "own", ""]}},
        sandbox=_RW,
        differs={
            "docker+gvisor": Difference(
                "gVisor keeps sockets and pipes in its memory: they are not in the workspace on the host",
                {**OK, "text": "through", "files": {}},
            )
        },
    ),
    Case(
        "files can be renamed, linked and locked in a workspace",
        python(
            "import fcntl, os\n"
            "def run():\n"
            "    os.link('a.txt', 'hard'); os.rename('folder', 'renamed'); os.symlink('a.txt', 'soft')\n"
            "    with open('a.txt', 'r+') as file:\n"
            "        fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX)\n"
            "    return [os.stat('hard').st_nlink, os.readlink('soft'), os.listdir('renamed')]"
        ),
        {**OK, "structured": [2, "a.txt", ["b.txt"]]},
        sandbox=_RW,
        files=_FILES,
    ),
    Case(
        "the root is read-only except for /tmp and /dev/shm",
        shell(
            "for d in / /etc /usr /usr/bin /var /home /opt /srv /run /dev /proc /proc/sys; do "
            'touch $d/x 2>/dev/null && echo "$d"; done; touch /tmp/x /dev/shm/x && echo both'
        ),
        says("both\n"),
    ),
    Case(
        "no home directory is in the sandbox",
        shell("cd /home; ls -A; test -d /Users && cd /Users && ls -A; echo none"), says("none\n"),
    ),
    Case("programs in /tmp can be run", shell("cp /bin/echo /tmp/e; /tmp/e it runs"), says("it runs\n")),
    Case(
        "a tool sees only its own processes",
        shell('for p in /proc/[0-9]*; do echo "${p##*/}"; done | wc -l'),
        {**OK, "text": re.compile(r"[2-6]\n")},
        varies=("text", "streamed"),
    ),
    Case(
        "the only network is loopback",
        python(
            "import errno, socket\n"
            "def run():\n"
            "    found = []\n"
            "    server = socket.create_server(('127.0.0.1', 0))\n"
            "    socket.create_connection(server.getsockname()).close()\n"
            "    for address in ('192.0.2.1', '169.254.169.254', '10.0.0.1'):\n"
            "        try: socket.create_connection((address, 80), timeout=3); found.append('connected')\n"
            "        except OSError as error: found.append(errno.errorcode[error.errno][-7:])\n"
            "    try: socket.getaddrinfo('example.com', 80); found.append('resolved')\n"
            "    except socket.gaierror: found.append('no such name')\n"
            "    return found"
        ),
        {**OK, "structured": ["UNREACH", "UNREACH", "UNREACH", "no such name"]},
    ),
    Case(
        "a call to the network from a function is a network error",
        python("import urllib.request\ndef run():\n    urllib.request.urlopen('http://192.0.2.1/')"),
        {"error": "network"}, varies=("message", "text"),
    ),
    Case(
        "two calls share no file and no process",
        shell("cd /tmp; test ! -e mark && test ! -e /dev/shm/mark && touch mark /dev/shm/mark; ls"), says("mark\n"),
    ),
    Case(
        "many files and deep folders can be made in a workspace",
        shell(
            "mkdir -p d/d/d/d/d/d/d/d; i=0; while [ $i -lt 300 ]; do : >d/$i; i=$((i+1)); done; "
            "(cd d; ls) | wc -l; rm -r d"
        ),
        {**OK, "text": "301\n", "files": {}},
        sandbox=_RW,
    ),
    Case(
        "a pseudo terminal can be opened",
        python(
            "import os\n"
            "def run():\n"
            "    ours, theirs = os.openpty()\n"
            "    os.write(theirs, b'typed')\n"
            "    return [os.isatty(theirs), os.read(ours, 100).decode()]"
        ),
        {**OK, "structured": [True, "typed"]},
    ),
    Case(
        "a file of many megabytes and any bytes can be written and read back",
        python(
            "import hashlib\n"
            "def run():\n"
            "    data = bytes(range(256)) * 40_000\n"
            "    open('large', 'wb').write(data)\n"
            "    same = open('large', 'rb').read() == data\n"
            "    return [same, hashlib.sha256(data).hexdigest()[:12]]"
        ),
        {**OK, "structured": [True, "19d6d9faf9ce"]},
        sandbox=_RW,
        varies=("files",),
    ),
    Case(
        "files can be overwritten, emptied and read when empty",
        shell("printf longer >a.txt; printf new >a.txt; : >empty; cat a.txt empty; wc -c <empty"), says("new0\n"),
        sandbox=_RW, files=_FILES,
    ),
    Case(
        "a folder is not a file, and neither is a missing path",
        python(
            "def run():\n"
            "    found = []\n"
            "    for path in ('folder', 'missing', 'no\\x01such', 'x' * 300):\n"
            "        try: open(path)\n"
            "        except OSError as error: found.append(type(error).__name__)\n"
            "    return found"
        ),
        {**OK, "structured": ["IsADirectoryError", "FileNotFoundError", "FileNotFoundError", "OSError"]},
        sandbox=_RW,
        files=_FILES,
    ),
    Case(
        "a file that its owner may not read or write is refused",
        python(
            "import os\n"
            "def run():\n"
            "    open('closed', 'w').close(); os.chmod('closed', 0)\n"
            "    found = []\n"
            "    for mode in 'rw':\n"
            "        try: open('closed', mode)\n"
            "        except PermissionError: found.append('refused')\n"
            "    return found"
        ),
        {**OK, "structured": ["refused", "refused"]},
        sandbox=_RW,
    ),
    Case(
        "paths may be relative, absolute and in new folders",
        shell("mkdir -p x/y; echo 1 >x/y/z; cat ./x/y/z /workspace/x/y/z; cd x && cat y/z"), says("1\n1\n1\n"),
        sandbox=_RW,
    ),
)  # fmt: skip
