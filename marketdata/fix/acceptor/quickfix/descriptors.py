"""Keeps the file descriptors of the FIX engine apart from those of other threads.

QuickFIX reads a connection's descriptor again after it has closed it (in
ThreadedSocketConnection::read). If another session or a connection to the database was
given the number meanwhile, it would lose bytes, or would be closed.
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

    Descriptors of files are copied; those of sockets stay with the other threads.
    Nothing happens where the system has no such tables.
    """
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None, use_errno=True)
    # Containers often forbid the first call, old kernels lack the second.
    if library.unshare(CLONE_FILES) and library.close_range(
        ctypes.c_uint(HIGHEST), ctypes.c_uint(HIGHEST), CLOSE_RANGE_UNSHARE
    ):
        logger.warning(
            "The FIX engine shares its file descriptors with the rest of the "
            "process (%s): the end of one session may disturb another that begins "
            "at the same moment",
            os.strerror(ctypes.get_errno()),
        )
        return
    for number in map(int, os.listdir("/proc/thread-self/fd")):
        # The list's own descriptor was in it, and is closed.
        with contextlib.suppress(OSError):
            if number > 2 and stat.S_ISSOCK(os.fstat(number).st_mode):
                os.close(number)
