"""What a session is called in pg_stat_activity and in the server's log.

`web@1a2b3c4`: which part of the system asks, such as `web`, `worker` or a command's
name, and by which build. Where a session serves one task or one Logon only, that one's
request id follows.
"""

import sys
from pathlib import Path

from partnerapi.core.json_lines import request_id
from partnerapi.core.postgresql import lending
from partnerapi.core.version import build

LONGEST = 63
"""PostgreSQL cuts a longer name."""


def application_name() -> str:
    if lending.lender is not None:
        return f"web@{build()}"
    return f"{part()}@{build()} {request_id.get() or ''}".strip()[:LONGEST]


def part() -> str:
    program, *arguments = sys.argv
    words = [word for word in arguments if not word.startswith("-")]
    if words and ("manage.py" in program or "celery" in program):
        return words[0]
    return Path(program).stem
