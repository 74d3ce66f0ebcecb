"""Compile a seccomp profile of the OCI runtime specification to the program that seccomp(2) takes.

The runtime compiles the filter of process 1. The fork server installs a second, stricter filter for each call. To
compile it without the runtime, this module uses the same library, libseccomp, with the constants of ``seccomp.h``.
"""

import ctypes
import errno
import functools
import os
import struct
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.sandbox import seccomp

NO_LIBRARY: Final = "libseccomp is not installed; install it: apt-get install libseccomp2"

_ALLOW: Final = 0x7FFF_0000
_ERRNO: Final = 0x0005_0000
_KILL_PROCESS: Final = 0x8000_0000

_BAD_ARCHITECTURE: Final = 2
_OPTIMIZE: Final = 8
_BINARY_TREE: Final = 2
"""From ``linux/seccomp.h`` and ``seccomp.h`` of libseccomp."""

_OPERATORS: Final = {"SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}

_LOAD, _JUMP_IF_GREATER, _RETURN = 0x20, 0x25, 0x06
"""The codes of BPF instructions (``linux/bpf_common.h``) in struct ``sock_filter``."""


class _Comparison(ctypes.Structure):
    _fields_ = (("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


@functools.cache
def library() -> ctypes.CDLL | None:
    """Return libseccomp, or None if it is not installed."""
    try:
        found = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    except OSError:
        return None
    found.seccomp_init.restype = ctypes.c_void_p
    found.seccomp_init.argtypes = (ctypes.c_uint32,)
    found.seccomp_release.argtypes = (ctypes.c_void_p,)
    found.seccomp_attr_set.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32)
    found.seccomp_syscall_resolve_name.argtypes = (ctypes.c_char_p,)
    found.seccomp_rule_add_array.argtypes = (
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_Comparison),
    )  # fmt: skip
    found.seccomp_export_bpf.argtypes = (ctypes.c_void_p, ctypes.c_int)
    return found


@functools.cache
def strict_filter() -> bytes:
    """Return the program of ``seccomp.profile()`` for this machine. Raises ``InfrastructureError``."""
    return compile_filter(seccomp.profile())


def compile_filter(profile: JsonObject) -> bytes:
    """Return the program of ``profile`` for this machine's own architecture. Raises ``InfrastructureError``."""
    seccomp_library = library()
    if seccomp_library is None:
        raise InfrastructureError(NO_LIBRARY)
    context = seccomp_library.seccomp_init(_ERRNO | _int(profile["defaultErrnoRet"]))
    if not context:
        raise InfrastructureError("libseccomp cannot create a filter")
    try:
        _check(seccomp_library.seccomp_attr_set(context, _BAD_ARCHITECTURE, _KILL_PROCESS))
        # Older versions do not support this, which only makes their filter slower.
        seccomp_library.seccomp_attr_set(context, _OPTIMIZE, _BINARY_TREE)
        last = 0
        for rule in _list(profile["syscalls"]):
            for name in _list(rule["names"]):
                number = seccomp_library.seccomp_syscall_resolve_name(str(name).encode())
                # A negative number means that this machine does not have the call.
                if number >= 0:
                    last = max(last, number)
                    _add(seccomp_library, context, rule, number)
        return _unknown_calls(last) + _exported(seccomp_library, context)
    finally:
        seccomp_library.seccomp_release(context)


def _add(seccomp_library: ctypes.CDLL, context: int, rule: JsonObject, number: int) -> None:
    arguments = _list(rule.get("args", []))
    comparisons = (_Comparison * len(arguments))(
        *(
            _Comparison(
                _int(each["index"]), _OPERATORS[str(each["op"])], _int(each["value"]), _int(each.get("valueTwo", 0))
            )
            for each in arguments
        )
    )
    is_allowed = rule["action"] == "SCMP_ACT_ALLOW"
    action = _ALLOW if is_allowed else _ERRNO | _int(rule.get("errnoRet", errno.EPERM))
    _check(seccomp_library.seccomp_rule_add_array(context, action, number, len(arguments), comparisons))


def _unknown_calls(last: int) -> bytes:
    """Return instructions that fail calls newer than the profile with ENOSYS, as the runtime's filter does.

    Programs then use older calls, as on an older kernel.
    """
    return (
        _instruction(_LOAD, 0, 0, 0)
        + _instruction(_JUMP_IF_GREATER, 0, 1, last)
        + _instruction(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)
    )


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _exported(seccomp_library: ctypes.CDLL, context: int) -> bytes:
    descriptor = os.memfd_create("filter")
    with os.fdopen(descriptor, "w+b") as file:
        _check(seccomp_library.seccomp_export_bpf(context, file.fileno()))
        file.seek(0)
        return file.read()


def _check(result: int) -> None:
    if result < 0:
        raise InfrastructureError(f"libseccomp cannot compile the filter of a call: {os.strerror(-result)}")


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _list(value: object) -> list[JsonObject]:
    assert isinstance(value, list)
    return value
