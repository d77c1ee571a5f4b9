"""Heads of all tokens from the API alone, written from the page Proof.

    python -m tests.issuers.heads_by_hand ADDRESS KEY

It imports nothing of the project.
"""

import json
import sys
from argparse import ArgumentParser
from hashlib import sha256
from time import sleep
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PAGE = "pageInfo { hasNextPage endCursor } nodes"
TOKENS = f"""query ($after: String) {{ rows: tokens(first: 50, after: $after) {{
    {PAGE} {{ id ledgerHead {{ sequence digest priceNumber priceDigest }} }} }} }}"""
CHAIN = f"""query ($id: ID, $after: String) {{ token(id: $id) {{
    rows: %s(first: 100, after: $after) {{ {PAGE} {{ %s }} }} }} }}"""
ENTRIES = (
    "transactions",
    """amount holdersAfter heldAfter lineVersion reverses sequence
    sourceBefore targetBefore supplyAfter chainReference effectiveAt kind previousDigest
    privateDigest reason source { user { id } } target { user { id } } token { id }""",
)
PRICES = (
    "priceHistory",
    """lineVersion number price effectiveAt previousDigest
    privateDigest source""",
)


def pages(query, **variables):
    page = {"hasNextPage": True, "endCursor": None}
    while page["hasNextPage"]:
        said = {"query": query, "variables": variables | {"after": page["endCursor"]}}
        headers = {"Content-Type": "application/json", "X-Token-Auth": sys.argv[2]}
        asked = Request(sys.argv[1], json.dumps(said).encode(), headers)
        try:
            with urlopen(asked) as response:
                answer = json.load(response)["data"]
        except HTTPError as refused:
            sleep(int(refused.headers["Retry-After"]))
            continue
        found = (answer.get("token") or answer)["rows"]
        yield from found["nodes"]
        page = found["pageInfo"]


def head(token, chain, last):
    digest = None
    for _, line in zip(range(last), pages(CHAIN % chain, id=token), strict=False):
        for name, said in line.items():
            is_side = name in ("source", "target") and isinstance(said, dict)
            of_user = said["user"]["id"] if is_side else said
            line[name] = str(said) if isinstance(said, int) else of_user
        line["token"] = token
        if line["lineVersion"] == "2":
            line.pop("reason", None)
        text = json.dumps(
            line, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        before = digest or bytes.fromhex(line["previousDigest"])
        digest = sha256(before + text.encode()).digest()
    return (digest or bytes(32)).hex()


if __name__ == "__main__":
    parser = ArgumentParser(description="Compare the heads of all tokens.")
    parser.add_argument("address", help="of /graphql")
    parser.add_argument("key")
    parser.parse_args()
    for token in pages(TOKENS):
        said, of = token["ledgerHead"], token["id"]
        assert head(of, ENTRIES, said["sequence"]) == said["digest"], of
        assert head(of, PRICES, said["priceNumber"]) == said["priceDigest"], of
        sys.stdout.write(f"{of} {said['sequence']} {said['priceNumber']}\n")
