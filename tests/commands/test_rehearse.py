"""A rehearsal, whole: what it tries is what a backup is for."""

import subprocess
import sys

from django.conf import settings

from tests.system import bare_environment
from tests.waiting import PROGRAM_SECONDS


def test_what_was_acknowledged_comes_back_in_every_way(tmp_path):
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "manage.py", "rehearse", "--directory", str(tmp_path)],
        cwd=settings.BASE_DIR,
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Everything was recovered")
    assert "a dump, a point in time, a failover; 5 changes" in done.stdout
    assert len(done.stderr.splitlines()) == 13
    assert list(tmp_path.iterdir()) == []
