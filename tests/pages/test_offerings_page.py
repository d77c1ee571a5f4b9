"""The page about offerings, block by block, against the sandbox."""

import json
import os
import re
import subprocess
import sys

from partnerapi.site import docs

FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGE = docs.path_of("offerings").read_text()


def test_its_examples_work_in_the_sandbox(running_server: dict):
    known = {"API": running_server["graphql"], "KEY": running_server["key"]}
    [given, listing, program] = FENCED.findall(PAGE)
    assert given[1].startswith("export API=")

    def run(*command: str) -> str:
        done = subprocess.run(
            command, env=os.environ | known, capture_output=True, text=True, check=True
        )
        return done.stdout

    listed = json.loads(run("sh", "-c", listing[1]))["data"]["offerings"]["nodes"]
    assert {offering["status"] for offering in listed} == {"OPEN", "SETTLED"}
    checked, made, ended = run(sys.executable, "-c", program[1]).splitlines()
    assert "'allowed': True" in checked
    assert "'status': 'ACTIVE'" in made
    assert "{'status': 'WITHDRAWN', 'reserved': 0}" in ended
