"""What `manage.py up` says when everything answers: where, with what, and how."""

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from partnerapi.sandbox.data.companies import COMPANIES
from partnerapi.sandbox.data.markets import SYMBOLS

ISSUERS = (
    "{ issuers(first: 3) { nodes { tradingName"
    " industryClassificationBenchmark { industry subsector }"
    " financialData(first: 4) { nodes { year periodType revenue netIncome } }"
    " articles(first: 2) { nodes { title publishedAt } }"
    " tokens(first: 5) { nodes { symbol name visibility } }"
    " legacyShareholders(first: 3)"
    " { totalCount nodes { status numberOfShares price } } } } }"
)
CLASSIFICATION = (
    "{ industryClassificationBenchmarks(first: 3)"
    " { totalCount nodes { industry sector subsector subsectorCode } } }"
)
BOOKS = (
    '{ issuer(slug: "lumarelle-optics") { tradingName tokens { nodes { symbol'
    " orderBook(depth: 3)"
    " { sequence at bids { price quantity } asks { price quantity } } } } } }"
)
DEFAULT_DIRECTORY = settings.BASE_DIR / ".local"
"""Where manage.py looks by default."""
MARKET = (
    f'{{ token(symbol: "{SYMBOLS[0]}") {{ id symbol market {{ phase capPrice }}'
    " orderBook(depth: 3) { bids { price quantity } asks { price quantity } } } }"
)
VIEWER = "{ viewer { login partner scopes rateLimit { limit remaining } } }"


@dataclass
class Running:
    """A system on these ports; `access` is the output of `sandbox access --json`."""

    port: int
    fix_port: int
    access: dict[str, Any]

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def watch(self) -> str:
        """A command that shows two order books over FIX."""
        client = [sys.executable, str(settings.BASE_DIR / "manage.py"), "fix_client"]
        client += [company.symbol for company in COMPANIES[:2]]
        client += ["--port", str(self.fix_port)]
        client += ["--comp-id", self.access["compIDs"][0]]
        return shlex.join(client)

    def described(self) -> dict[str, Any]:
        """For programs."""
        return {
            "graphql": f"{self.address}/graphql",
            "graphiql": f"{self.address}/graphiql",
            "admin": f"{self.address}/admin/",
            "key": self.access["key"],
            "markets": [*SYMBOLS],
            "staff": self.access["staff"],
            "fix": {
                "host": "localhost",
                "port": self.fix_port,
                "targetCompID": settings.FIX_COMP_ID,
                "compIDs": self.access["compIDs"],
                "dropCopyCompIDs": self.access["dropCopyCompIDs"],
                "client": f"FIX_KEY={self.access['key']} {self.watch}",
            },
        }

    def welcome(self, seconds: float, directory: Path) -> str:
        """For people; `seconds` is how long the start took."""
        address, staff = self.address, self.access["staff"]
        curl = f"curl -s {address}/graphql -H 'Content-Type: application/json'"
        key = '-H "X-Token-Auth: $KEY"'
        exports = f"export KEY={self.access['key']}\n"
        if directory != DEFAULT_DIRECTORY:
            place = shlex.quote(str(directory))
            exports += f"export PARTNER_API_DIRECTORY={place}\n"
        comp_ids = " or ".join(self.access["compIDs"])
        copies = " or ".join(self.access["dropCopyCompIDs"])
        return (
            f"\nEverything answers, after {seconds:.0f} s.\n\n  Start page   "
            f"{address}/\n  GraphQL      {address}/graphql\n  GraphiQL     "
            f"{address}/graphiql\n  Reference    {address}/docs/schema\n  FIX "
            f"4.4      localhost, port {self.fix_port}; {address}/docs/fix\n    "
            f"49         {comp_ids}; {copies} for a drop copy\n    "
            f"56         {settings.FIX_COMP_ID}\n    "
            f"554        the key\n  Back office  {address}/admin/\n    login      "
            f"{staff['login']}\n    colleague  {staff['colleague']}, to approve the "
            f"login's requests\n    password   {staff['password']}\n  Key          "
            f"{self.access['key']}\n  Markets      {', '.join(SYMBOLS)} take "
            "orders\n\nPaste this into another terminal, so that manage.py uses "
            f"this installation there.\n\n{exports}\nThen try one of "
            f"these:\n\n{curl} -d "
            f"'{json.dumps({'query': CLASSIFICATION})}'\n\n{curl} {key} -d "
            f"'{json.dumps({'query': ISSUERS})}'\n\n{curl} {key} -d "
            f"'{json.dumps({'query': BOOKS})}'\n\n{curl} {key} -d "
            f"'{json.dumps({'query': MARKET})}'\n\n{curl} {key} -d "
            f"'{json.dumps({'query': VIEWER})}'\n\nFIX_KEY=$KEY "
            f"{self.watch}\n\nCtrl-C stops everything. The data is kept in "
            f"{directory}.\n"
        )
