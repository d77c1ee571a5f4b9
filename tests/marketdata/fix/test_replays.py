import json
import subprocess
import sys

from django.conf import settings

from tests.system import bare_environment
from tests.waiting import PROGRAM_SECONDS


def test_a_session_is_led_through_the_states_of_the_log():
    options = ["--replays", "2", "--events", "200"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.marketdata.fix.replays", *options],
        cwd=settings.BASE_DIR,
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    report = json.loads(done.stdout)
    # However few a busy machine sends: a first and a last state of each replay, and an
    # answer to each of five requests.
    assert report["replays"]["states"] >= 4
    assert report["simulation"]["messages"] >= 5
