"""File descriptors of the FIX engine, kept apart from those of everybody else.

QuickFIX looks once more at a connection's descriptor after it has closed it (in
ThreadedSocketConnection::read). Whoever was given the number meanwhile, another
session or a connection to the database, would lose bytes to it, or be closed.
"""

import contextlib
import ctypes
import logging
import os
import stat
import sys

logger = logging.getLogger(__name__)

CLONE_FILES = 0x400
CLOSE_RANGE_UNSHARE = 2
HIGHEST = 2**32 - 1


def keep_apart() -> None:
    """Give this thread, and all that it starts, a table of descriptors of its own.

    Those of files are there, too; those of sockets stay with the others. Nothing
    happens where the system has no such tables.
    """
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None, use_errno=True)
    # Containers often forbid the first call, old kernels have not got the second.
    if library.unshare(CLONE_FILES) and library.close_range(
        ctypes.c_uint(HIGHEST), ctypes.c_uint(HIGHEST), CLOSE_RANGE_UNSHARE
    ):
        logger.warning(
            "The FIX engine shares its file descriptors with the rest of the process "
            "(%s): a session that ends may disturb one that begins at that moment",
            os.strerror(ctypes.get_errno()),
        )
        return
    for number in map(int, os.listdir("/proc/thread-self/fd")):
        # The list's own descriptor was in it, and is closed.
        with contextlib.suppress(OSError):
            if number > 2 and stat.S_ISSOCK(os.fstat(number).st_mode):
                os.close(number)
