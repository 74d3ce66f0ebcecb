"""Who a tool is, what it sees of files, and what it can do to the workspace."""

from __future__ import annotations

import re
from typing import Final

from conformance_case import OK, Case, Difference, Expected, command, python, says, shell

_RO: Final = {"workspace": "ro"}
_RW: Final = {"workspace": "rw"}
_FILES: Final = {"a.txt": b"alpha\n", "folder/b.txt": b"beta\n"}

_GVISOR_STATUS: Final = "gVisor does not show all of /proc/self/status"
_ROOTLESS: Final = "an ordinary user is user 0 of a separate user namespace and holds no capability"
_PASSWD: Final = (
    "passwd(5) is the image's own, and has no line for the owner of a workspace: whoami and ssh want one; "
    "USER, LOGNAME and HOME are set"
)


def _in_rootless(expect: Expected) -> dict[str, Difference]:
    return {"oci user": Difference(_ROOTLESS, expect)}


CASES: Final = (
    Case(
        name="a tool without a workspace runs as user nobody",
        backend=shell("id -u; id -g; id -G"),
        expect={**says("65534\n65534\n65534\n"), "user": "65534:65534"},
        differs=_in_rootless({**OK, "text": re.compile(r"0\n0\n0\b.*\n"), "user": "0:0"}),
    ),
    Case(
        name="a tool with a workspace is its owner",
        backend=shell("id -u; id -g; find . -maxdepth 1 -printf '%U:%G\\n'"),
        sandbox=_RO,
        files=_FILES,
        expect={**says("1234\n1234\n1234:1234\n1234:1234\n1234:1234\n"), "user": "1234:1234"},
        differs=_in_rootless({**says("0\n0\n0:0\n0:0\n0:0\n"), "user": "0:0"}),
    ),
    Case(
        name="programs know a tool's user as tool",
        backend=python("import getpass, os\ndef run():\n    return [getpass.getuser(), os.path.expanduser('~')]"),
        sandbox=_RO,
        files=_FILES,
        expect={**OK, "structured": ["tool", "/tmp"]},
    ),
    Case(
        name="the owner of a workspace has a line in passwd(5)",
        backend=shell("id -un || echo no line"),
        sandbox=_RO,
        files=_FILES,
        varies=("stderr", "streamed"),
        expect=says("tool\n"),
        differs={
            "docker": Difference(_PASSWD, says("1234\nno line\n")),
            "docker+gvisor": Difference(_PASSWD, says("1234\nno line\n")),
            **_in_rootless(says("root\n")),
        },
    ),
    Case(
        name="a tool has no capability and can gain none",
        backend=command("grep", "-E", "^(Cap|NoNewPrivs|Seccomp:)", "/proc/self/status"),
        expect={
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
        name="a tool cannot become another user",
        backend=python(
            "import os\n"
            "def run():\n"
            "    found = []\n"
            "    for call in (lambda: os.setuid(12), lambda: os.setgid(12), lambda: os.setgroups([12])):\n"
            "        try: call(); found.append('done')\n"
            "        except OSError: found.append('refused')\n"
            "    return found"
        ),
        expect={**OK, "structured": ["refused"] * 3},
    ),
    Case(
        name="a read-only workspace can be read and not written",
        backend=shell("cat a.txt folder/b.txt; echo x 2>&1 >a.txt; rm -f a.txt; touch new"),
        sandbox=_RO,
        files=_FILES,
        expect={
            "error": "exit_status",
            "text": re.compile(r"(?s)alpha\nbeta\n.*Read-only file system.*"),
            "files": {
                "a.txt": ["file", "644", "own", "alpha\n"],
                "folder": ["folder", "755", "own", ""],
                "folder/b.txt": ["file", "644", "own", "beta\n"],
            },
        },
    ),
    Case(
        name="a file that a tool writes is its owner's, with the usual mode",
        backend=shell(
            "echo new >new.txt; mkdir made; echo x >>a.txt; rm folder/b.txt; printf run >made/x; chmod 755 made/x"
        ),
        sandbox=_RW,
        files=_FILES,
        expect={
            **OK,
            "files": {
                "a.txt": ["file", "644", "own", "alpha\nx\n"],
                "folder": ["folder", "755", "own", ""],
                "made": ["folder", "755", "own", ""],
                "made/x": ["file", "755", "own", "run"],
                "new.txt": ["file", "644", "own", "new\n"],
            },
        },
    ),
    Case(
        name="names of any bytes can be read and made",
        backend=shell(
            "cat 'a b\nc' 'comma,colon:\"quote\"'; "
            "printf x >\"$(printf 'byte\\377')\"; printf y >'-n'; printf z >'grün'"
        ),
        sandbox=_RW,
        files={"a b\nc": b"1", 'comma,colon:"quote"': b"2"},
        expect={
            **says("12"),
            "files": {
                "-n": ["file", "644", "own", "y"],
                "a b\nc": ["file", "644", "own", "1"],
                "byte\\xff": ["file", "644", "own", "x"],
                'comma,colon:"quote"': ["file", "644", "own", "2"],
                "grün": ["file", "644", "own", "z"],
            },
        },
    ),
    Case(
        name="a file cannot be given to another user",
        backend=shell("chown 12 a.txt || chgrp 12 a.txt || echo neither"),
        sandbox=_RW,
        files={"a.txt": b""},
        varies=("stderr", "streamed"),
        expect={**OK, "text": "neither\n", "files": {"a.txt": ["file", "644", "own", ""]}},
    ),
    Case(
        name="no set-user-id or set-group-id bit can be set",
        backend=shell("cp /bin/true x; chmod 4755 x || chmod 2755 x || chmod 6000 x || echo none"),
        sandbox=_RW,
        expect={**OK, "text": "none\n", "files": {"x": ["file", "755", "own", ""]}},
    ),
    Case(
        name="no device can be made in a workspace",
        backend=shell("mknod null c 1 3 || mknod disk b 8 0 || echo none"),
        sandbox=_RW,
        expect={**OK, "text": "none\n", "files": {}},
    ),
    Case(
        name="a link out of the workspace leads nowhere on the host",
        backend=shell("cat secret /workspace/up 2>/dev/null || echo nothing; ln -s /etc/hostname planted"),
        sandbox=_RW,
        files={"plain": b""},
        expect={
            **OK,
            "text": "nothing\n",
            "files": {"plain": ["file", "644", "own", ""], "planted": ["link", "777", "own", ""]},
        },
    ),
    Case(
        name="sockets and pipes in a workspace work and are only files afterwards",
        backend=python(
            "import os, socket, threading\n"
            "def run():\n"
            "    server = socket.socket(socket.AF_UNIX); server.bind('s'); server.listen()\n"
            "    client = socket.socket(socket.AF_UNIX); client.connect('s')\n"
            "    os.mkfifo('p')\n"
            "    threading.Thread(target=lambda: open('p', 'w').write('through')).start()\n"
            "    return open('p').read()"
        ),
        sandbox=_RW,
        expect={**OK, "text": "through", "files": {"p": ["other", "644", "own", ""], "s": ["other", "755", "own", ""]}},
        differs={
            "docker+gvisor": Difference(
                "gVisor keeps sockets and pipes to itself: the workspace never has them",
                {**OK, "text": "through", "files": {}},
            )
        },
    ),
    Case(
        name="files can be renamed, linked and locked in a workspace",
        backend=python(
            "import fcntl, os\n"
            "def run():\n"
            "    os.link('a.txt', 'hard'); os.rename('folder', 'renamed'); os.symlink('a.txt', 'soft')\n"
            "    with open('a.txt', 'r+') as file:\n"
            "        fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX)\n"
            "    return [os.stat('hard').st_nlink, os.readlink('soft'), os.listdir('renamed')]"
        ),
        sandbox=_RW,
        files=_FILES,
        expect={**OK, "structured": [2, "a.txt", ["b.txt"]]},
    ),
    Case(
        name="the root is read-only but for folders of the sandbox's own",
        backend=shell(
            "for d in / /etc /usr /usr/bin /var /home /opt /srv /run /dev /proc /proc/sys; do "
            'touch $d/x 2>/dev/null && echo "$d"; done; touch /tmp/x /dev/shm/x && echo both'
        ),
        expect=says("both\n"),
    ),
    Case(
        name="no home directory is in the sandbox",
        backend=shell("cd /home; ls -A; test -d /Users && cd /Users && ls -A; echo none"),
        expect=says("none\n"),
    ),
    Case(
        name="programs in /tmp can be run",
        backend=shell("cp /bin/echo /tmp/e; /tmp/e it runs"),
        expect=says("it runs\n"),
    ),
    Case(
        name="a tool sees only its own processes",
        backend=shell('for p in /proc/[0-9]*; do echo "${p##*/}"; done | wc -l'),
        expect={**OK, "text": re.compile(r"[2-6]\n")},
        varies=("text", "streamed"),
    ),
    Case(
        name="there is no network but loopback",
        backend=python(
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
        expect={**OK, "structured": ["UNREACH", "UNREACH", "UNREACH", "no such name"]},
    ),
    Case(
        name="a call to the network from a function is a network error",
        backend=python("import urllib.request\ndef run():\n    urllib.request.urlopen('http://192.0.2.1/')"),
        varies=("message", "text"),
        expect={"error": "network"},
    ),
    Case(
        name="two calls share no file and no process",
        backend=shell("cd /tmp; test ! -e mark && test ! -e /dev/shm/mark && touch mark /dev/shm/mark; ls"),
        expect=says("mark\n"),
    ),
    Case(
        name="many files and deep folders can be made in a workspace",
        backend=shell(
            "mkdir -p d/d/d/d/d/d/d/d; i=0; while [ $i -lt 300 ]; do : >d/$i; i=$((i+1)); done; "
            "(cd d; ls) | wc -l; rm -r d"
        ),
        sandbox=_RW,
        expect={**OK, "text": "301\n", "files": {}},
    ),
    Case(
        name="a pseudo terminal can be opened",
        backend=python(
            "import os\n"
            "def run():\n"
            "    ours, theirs = os.openpty()\n"
            "    os.write(theirs, b'typed')\n"
            "    return [os.isatty(theirs), os.read(ours, 100).decode()]"
        ),
        expect={**OK, "structured": [True, "typed"]},
    ),
    Case(
        name="a file of many megabytes and any bytes can be written and read back",
        backend=python(
            "import hashlib\n"
            "def run():\n"
            "    data = bytes(range(256)) * 40_000\n"
            "    open('large', 'wb').write(data)\n"
            "    same = open('large', 'rb').read() == data\n"
            "    return [same, hashlib.sha256(data).hexdigest()[:12]]"
        ),
        sandbox=_RW,
        varies=("files",),
        expect={**OK, "structured": [True, "19d6d9faf9ce"]},
    ),
    Case(
        name="files can be written over, emptied and read where they are empty",
        backend=shell("printf longer >a.txt; printf new >a.txt; : >empty; cat a.txt empty; wc -c <empty"),
        sandbox=_RW,
        files=_FILES,
        expect=says("new0\n"),
    ),
    Case(
        name="a folder is not a file, and neither is a missing path",
        backend=python(
            "def run():\n"
            "    found = []\n"
            "    for path in ('folder', 'missing', 'no\\x01such', 'x' * 300):\n"
            "        try: open(path)\n"
            "        except OSError as error: found.append(type(error).__name__)\n"
            "    return found"
        ),
        sandbox=_RW,
        files=_FILES,
        expect={**OK, "structured": ["IsADirectoryError", "FileNotFoundError", "FileNotFoundError", "OSError"]},
    ),
    Case(
        name="a file that its owner may not read or write is refused",
        backend=python(
            "import os\n"
            "def run():\n"
            "    open('closed', 'w').close(); os.chmod('closed', 0)\n"
            "    found = []\n"
            "    for mode in 'rw':\n"
            "        try: open('closed', mode)\n"
            "        except PermissionError: found.append('refused')\n"
            "    return found"
        ),
        sandbox=_RW,
        expect={**OK, "structured": ["refused", "refused"]},
    ),
    Case(
        name="paths may be relative, absolute and in folders that are made on the way",
        backend=shell("mkdir -p x/y; echo 1 >x/y/z; cat ./x/y/z /workspace/x/y/z; cd x && cat y/z"),
        sandbox=_RW,
        expect=says("1\n1\n1\n"),
    ),
)
