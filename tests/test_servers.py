"""The directories of servers of tests."""

from threading import Event

from tests.servers import held_directory, remove_leftovers
from tests.threads import in_threads

DIRECTORIES = 200


def test_a_run_that_begins_removes_no_directory_that_another_one_makes():
    done = Event()

    def work(number: int) -> None:
        if number:
            while not done.is_set():
                remove_leftovers()
            return
        try:
            for _ in range(DIRECTORIES):
                with held_directory() as directory:
                    directory.joinpath("kept").touch()
                    assert directory.joinpath("kept").exists()
                assert not directory.exists()
        finally:
            done.set()

    assert in_threads(2, work) == []
