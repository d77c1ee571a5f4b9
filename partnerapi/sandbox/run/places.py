"""Where servers of our own lie, and whom they run as. Knows nothing of Django."""

import importlib.util
import os
import pwd
import re
import subprocess
import tempfile
from pathlib import Path

from partnerapi.sandbox.run.processes import Account, RunError

START_SECONDS = 60
# A unix socket's address holds 107 bytes; the longest name here takes 20.
LONGEST_DIRECTORY = 85
INSTALL = "install them, or run: .venv/bin/pip install -e '.[sandbox]'"
# The servers' messages are read here, their times are compared: no locale, UTC.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def server_account(private: Path) -> Account | None:
    """The account that runs the servers; None: our own. PostgreSQL refuses root.

    Raises:
        RunError: we are root, and there is no unprivileged user.
    """
    if os.geteuid() != 0:
        return None
    owner = private.stat().st_uid if private.exists() else 0
    try:
        user = pwd.getpwuid(owner) if owner else pwd.getpwnam("nobody")
    except KeyError:
        raise RunError(
            "PostgreSQL does not run as root, and this machine has no unprivileged "
            "user; start this command as another user"
        ) from None
    return Account(user.pw_name, user.pw_uid, user.pw_gid)


def reachable(path: Path, account: Account | None) -> bool:
    """Whether the account may enter a directory or run a program."""
    if account is None:
        return os.access(path, os.X_OK)
    test = ["test", "-x", str(path)]
    asked = subprocess.run(
        test, user=account.uid, group=account.gid, extra_groups=[], cwd="/", check=False
    )
    return asked.returncode == 0


def private_directory(directory: Path, account: Account | None) -> Path:
    """The directory of data and sockets: mode 0700, a short path, owned by the account.

    It is `servers` below the directory. Where the account cannot reach that, or its
    path is too long for sockets, `servers` is a link to another directory.

    Raises:
        RunError: the account cannot reach its new directory.
    """
    private = directory / "servers"
    if private.is_symlink() and not private.exists():
        private.unlink()
    if not private.exists():
        if reachable(directory, account) and len(os.fsencode(private)) < (
            LONGEST_DIRECTORY
        ):
            private.mkdir(mode=0o700)
        else:
            private.symlink_to(distant_directory(directory))
        if account:
            os.chown(private, account.uid, account.gid)
    private = private.resolve()
    if not reachable(private, account):
        raise RunError(
            f"{account.name if account else 'this user'} cannot enter {private}; "
            "give it and its parents the permission x, or choose another directory "
            "with --directory"
        )
    return private


def distant_directory(directory: Path) -> Path:
    variable = Path("/var/tmp")  # noqa: S108
    parent = str(variable) if os.access(variable, os.W_OK) else None
    name = re.sub(r"[^A-Za-z0-9]+", "-", directory.parent.name)[:20]
    return Path(tempfile.mkdtemp(prefix=f"partnerapi-{name}-", dir=parent))


def wheel_directory(package: str) -> Path | None:
    # The package itself is not imported: only the programs in it are wanted.
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


def give(path: Path, account: Account) -> None:
    """Make an account the owner of a file, or of a directory with its contents."""
    os.chown(path, account.uid, account.gid)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder, name), account.uid, account.gid)
