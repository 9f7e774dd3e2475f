"""Runs a command for which a system call fails, as containers and sandboxes arrange it.

``python -m tests.support.without_system_call 298 EPERM dbdyno run …``: a filter of the kernel
(seccomp) answers in its place, for whatever the command starts as well.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[platform.machine()]
"""The number of the system call."""

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
_ERROR, _ALLOW = 0x0005_0000, 0x7FFF_0000


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def forbid(system_call: int, error: int) -> None:
    """Let it fail from now on, in this process and in all that it starts."""
    instructions = b"".join(
        struct.pack("HBBI", *instruction)
        for instruction in [
            (_LOAD, 0, 0, 0),  # the number of the call
            (_IF_EQUAL, 0, 1, system_call),
            (_RETURN, 0, 0, _ERROR | error),
            (_RETURN, 0, 0, _ALLOW),
        ]
    )
    program = _Program(len(instructions) // 8, instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_NO_NEW_PRIVILEGES, 1), (_SECCOMP, _FILTER, ctypes.byref(program))):
        if libc.prctl(*arguments, *([0] * (5 - len(arguments)))) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    number, name, *command = sys.argv[1:]
    forbid(int(number), getattr(errno, name))
    os.execvp(command[0], command)
