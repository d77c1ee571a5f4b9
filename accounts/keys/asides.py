"""Notes taken while requests are answered, and written in the background."""

import threading
from collections.abc import Callable
from time import sleep


class Aside:
    """Calls `write` every `seconds`, from a separate thread.

    `write` itself handles notes that it cannot write.
    """

    def __init__(self, write: Callable[[], None], seconds: float) -> None:
        self.write = write
        self.seconds = seconds
        self.lock = threading.Lock()
        self.is_kept = False
        self.writer: threading.Thread | None = None

    def keep_written(self) -> None:
        """Write notes for as long as the process lives.

        The thread starts with the first note, so a process has none before it forks.
        """
        self.is_kept = True

    def start_writer(self) -> None:
        """Signal that there is a note to write."""
        if self.is_kept and self.writer is None:
            with self.lock:
                if self.writer is None:
                    self.writer = threading.Thread(target=self.run, daemon=True)
                    self.writer.start()

    def run(self) -> None:
        while True:
            sleep(self.seconds)
            self.write()
