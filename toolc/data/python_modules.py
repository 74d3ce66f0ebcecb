"""The modules of the standard library, and packages that provide modules with another name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

STANDARD_LIBRARY: Final = frozenset(
    """
    __future__ _abc _aix_support _android_support _apple_support _ast _ast_unparse _asyncio _bisect _blake2
    _bootlocale _bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw
    _collections _collections_abc _colorize _compat_pickle _compression _contextvars _crypt _csv _ctypes
    _ctypes_test _curses _curses_panel _datetime _dbm _decimal _elementtree _frozen_importlib
    _frozen_importlib_external _functools _gdbm _hashlib _heapq _hmac _imp _interpchannels _interpqueues
    _interpreters _io _ios_support _json _locale _lsprof _lzma _markupbase _md5 _msi _multibytecodec
    _multiprocessing _opcode _opcode_metadata _operator _osx_support _overlapped _peg_parser _pickle _posixshmem
    _posixsubprocess _py_abc _py_warnings _pydatetime _pydecimal _pyio _pylong _pyrepl _queue _random
    _remote_debugging _scproxy _sha1 _sha2 _sha256 _sha3 _sha512 _signal _sitebuiltins _socket _sqlite3 _sre _ssl
    _stat _statistics _string _strptime _struct _suggestions _symtable _sysconfig _thread _threading_local _tkinter
    _tokenize _tracemalloc _types _typing _uuid _warnings _weakref _weakrefset _winapi _wmi _xxinterpchannels
    _xxsubinterpreters _zoneinfo _zstd abc aifc annotationlib antigravity argparse array ast asynchat asyncio
    asyncore atexit audioop base64 bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath
    cmd code codecs codeop collections colorsys compileall compression concurrent configparser contextlib
    contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest
    email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib
    functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib
    imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma
    mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt
    ntpath nturl2path numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle pickletools pipes
    pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc
    pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select
    selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile
    sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau symbol symtable sys
    sysconfig syslog tabnanny tarfile telnetlib tempfile termios test textwrap this threading time timeit tkinter
    token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest
    urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile
    zipimport zlib zoneinfo
    """.split()  # noqa: SIM905  a list with one line per name would be longer than this module
)
"""The union of ``sys.stdlib_module_names`` of Python 3.9 to 3.14.

The names are those of the package ``stdlibs`` 2026.9.3, which has a list of each version (3.9 does not have
``sys.stdlib_module_names``), without modules for CPython's own tests. The list of 3.11 was compared with CPython's.
"""

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "apiclient": ("google-api-python-client",), "attr": ("attrs",), "bs4": ("beautifulsoup4", "bs4"),
    "bson": ("pymongo", "bson"),
    "cairo": ("pycairo",), "colab": ("google-colab",), "community": ("python-louvain",), "compose": ("docker-compose",),
    "Crypto": ("pycryptodome", "pycryptodomex"),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless"),
    "dateutil": ("python-dateutil",), "discord": ("discord-py", "discord"), "dns": ("dnspython",),
    "docx": ("python-docx", "docx"),
    "dotenv": ("python-dotenv", "dotenv"), "engineio": ("python-engineio",), "exiftool": ("pyexiftool",),
    "faiss": ("faiss-cpu", "faiss-gpu"), "fitz": ("pymupdf",), "gi": ("pygobject",), "git": ("gitpython",),
    "github": ("pygithub",), "gitlab": ("python-gitlab",), "google": ("protobuf",),
    "googleapiclient": ("google-api-python-client",), "gridfs": ("pymongo",),
    "haystack": ("haystack-ai", "farm-haystack"), "hcl2": ("python-hcl2",), "igraph": ("igraph", "python-igraph"),
    "jenkins": ("python-jenkins",), "jose": ("python-jose",), "jwt": ("pyjwt", "jwt"),
    "kafka": ("kafka-python", "kafka-python-ng", "kafka"), "ldap": ("python-ldap",),
    "Levenshtein": ("levenshtein", "python-levenshtein"), "magic": ("python-magic", "python-magic-bin"),
    "memcache": ("python-memcached",), "mpl_toolkits": ("matplotlib",), "multipart": ("python-multipart", "multipart"),
    "mysql": ("mysql-connector-python",), "MySQLdb": ("mysqlclient",), "nmap": ("python-nmap",), "odf": ("odfpy",),
    "OpenSSL": ("pyopenssl",), "osgeo": ("gdal",), "pdfminer": ("pdfminer-six",), "PIL": ("pillow", "pillow-simd"),
    "pkg_resources": ("setuptools",), "pptx": ("python-pptx",), "progressbar": ("progressbar2", "progressbar"),
    "psycopg2": ("psycopg2", "psycopg2-binary"), "pylab": ("matplotlib",), "pythoncom": ("pywin32",),
    "pywintypes": ("pywin32",), "rapidjson": ("python-rapidjson",), "rest_framework": ("djangorestframework",),
    "ruamel": ("ruamel-yaml",), "serial": ("pyserial",), "skimage": ("scikit-image",), "sklearn": ("scikit-learn",),
    "slack": ("slackclient", "slack-sdk"), "slugify": ("python-slugify", "slugify"), "snappy": ("python-snappy",),
    "socketio": ("python-socketio",), "socks": ("pysocks",), "speech_recognition": ("speechrecognition",),
    "stdnum": ("python-stdnum",), "talib": ("ta-lib",), "telegram": ("python-telegram-bot",), "tlz": ("toolz",),
    "umap": ("umap-learn",), "usb": ("pyusb",), "win32api": ("pywin32",), "win32com": ("pywin32",), "wx": ("wxpython",),
    "xdg": ("pyxdg", "xdg"), "Xlib": ("python-xlib",), "yaml": ("pyyaml",), "zmq": ("pyzmq", "zmq"),
}  # fmt: skip
"""The packages that provide a module, where their normalized names differ from its name (PyPI, November 2026).

A package with the name of the module is listed last if it provides the module as well: there is no ``yaml``.
"""

_SEVERAL: Final = frozenset({"azure", "google", "jaraco", "zope"})
"""Namespaces that are shared by many packages, which are named like the modules in them."""


def package_name(module: str) -> str:
    """Return the normalized name of the package that most likely provides the module with this dotted name."""
    top = module.partition(".")[0]
    if top in _SEVERAL and top != module:
        return _normalized(".".join(module.split(".")[:3]))
    return PACKAGES[top][0] if top in PACKAGES else _normalized(top)


def provides(packages: Collection[str], module: str) -> bool:
    """Return whether one of ``packages``, which are normalized names, is known or likely to provide a module.

    ``module`` is a dotted name: ``google.cloud.storage`` is in the package ``google-cloud-storage``.
    """
    top = module.partition(".")[0]
    name = _normalized(top)
    likely = {name} if top not in PACKAGES else set[str]()
    likely |= {f"python-{name}", f"{name}-python", f"py{name}", f"py-{name}", *PACKAGES.get(top, ())}
    if not likely.isdisjoint(packages):
        return True
    start = f"{name}-"
    return any(package.startswith(start) for package in packages) and (top in _SEVERAL or top not in PACKAGES)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
