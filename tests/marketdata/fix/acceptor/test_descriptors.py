"""The FIX engine's threads have a table of file descriptors of their own."""

import os
import socket
import threading

from marketdata.fix.acceptor.quickfix.descriptors import keep_apart


def test_sockets_stay_with_the_others_and_files_go_along(tmp_path):
    found = {}
    here, there = socket.socketpair()
    with here, there, (tmp_path / "log").open("w") as log:

        def engine():
            keep_apart()
            found["file"] = os.fstat(log.fileno()).st_ino
            try:
                os.fstat(here.fileno())
            except OSError:
                found["socket"] = None
            os.close(log.fileno())
            child.start()
            child.join()

        def look():
            # What a thread of the engine starts shares its table.
            found["of the child"] = os.path.exists(
                f"/proc/thread-self/fd/{log.fileno()}"
            )

        child = threading.Thread(target=look)
        thread = threading.Thread(target=engine)
        thread.start()
        thread.join()
        there.send(b"still open")
        assert here.recv(10) == b"still open"
        inode = os.fstat(log.fileno()).st_ino
    assert found == {"file": inode, "socket": None, "of the child": False}
