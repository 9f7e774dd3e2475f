"""Runs a command in a process to which the kernel refuses io_uring, as often in containers.

A filter of system calls (seccomp) does that for this process and all its descendants.
"""

import ctypes
import errno
import sys

from dbdyno.cli import main

IO_URING_SETUP = 425  # the same on every architecture
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
REFUSE, ALLOW = 0x0005_0000 | errno.EPERM, 0x7FFF_0000


class Instruction(ctypes.Structure):
    """An instruction of the filter, with how many to skip if it is true, and if not."""

    _fields_ = (
        ("code", ctypes.c_uint16),
        ("skip_true", ctypes.c_uint8),
        ("skip_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class Program(ctypes.Structure):
    """A filter."""

    _fields_ = (("length", ctypes.c_uint16), ("first", ctypes.POINTER(Instruction)))


def refuse_io_uring() -> None:
    """Refuse io_uring from now on."""
    instructions = (Instruction * 4)(
        (LOAD_NUMBER, 0, 0, 0),
        (JUMP_IF_EQUAL, 0, 1, IO_URING_SETUP),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    )
    program = Program(len(instructions), instructions)
    kernel = ctypes.CDLL(None, use_errno=True)
    for order in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0),
    ):
        if kernel.prctl(*order) != 0:
            raise OSError(ctypes.get_errno(), "no filter of system calls can be set")


if __name__ == "__main__":
    refuse_io_uring()
    sys.exit(main(sys.argv[1:]))
