"""The commands of /docs/exports, as they are, against the running system."""

import gzip
import json
import re
import subprocess
from pathlib import Path

from partnerapi.site import docs
from tests.waiting import PROGRAM_SECONDS


def test_an_export_is_asked_for_and_downloaded(running_server: dict, tmp_path: Path):
    blocks = re.findall(r"```sh\n(.*?)```", docs.path_of("exports").read_text(), re.S)
    done = subprocess.run(
        ["sh", "-e", "-c", "".join(blocks)],
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PARTNER_API_URL": running_server["graphql"],
            "PARTNER_API_KEY": running_server["key"],
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads((tmp_path / "answer.json").read_text())
    with gzip.open(tmp_path / "accounts.jsonl.gz") as file:
        rows = [json.loads(line) for line in file]
    assert answer["data"]["export"]["rows"] == len(rows) > 0
    assert {row["id"].partition("|")[0] for row in rows} == {"Account"}
    shown = [json.loads(line) for line in done.stdout.splitlines()[-len(rows[:3]) :]]
    assert shown == rows[:3]
