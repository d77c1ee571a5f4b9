from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandError, OutputWrapper
from django.db import IntegrityError

from partnerapi.core import lock_waits
from partnerapi.core.csv_tables import WrongFileError


@contextmanager
def importing(file: Path, stderr: OutputWrapper) -> Iterator[None]:
    """Turn what can go wrong with the operator's file, or beside it, into a refusal.

    Raises:
        CommandError: after every problem of the file has been written to stderr.
    """
    try:
        with lock_waits.named():
            yield
    except OSError as error:
        raise CommandError(f"{file} can not be read: {error.strerror}.") from None
    except WrongFileError as error:
        for problem in error.problems:
            stderr.write(f"{file.name}, {problem}")
        count = len(error.problems)
        raise CommandError(
            f"{file.name} has {count} {'problem' if count == 1 else 'problems'}, "
            "listed above. Nothing was changed; correct the file and run this again."
        ) from None
    except IntegrityError as error:
        raise CommandError(
            f"Somebody else wrote at the same time: {str(error).splitlines()[0]}. "
            "Nothing was changed; run this again."
        ) from None
    except lock_waits.LockTimeout as error:
        raise CommandError(f"{error} Nothing was changed; run this again.") from None
