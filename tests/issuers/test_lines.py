"""Heads of chains, computed from what the API answers and from nothing else."""

import dataclasses
import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from issuers.models import Token
from issuers.register import ledger
from issuers.register.chains import Chain, chain_lines
from issuers.register.ledger import Entry, Kind, Price
from issuers.register.models import LedgerTransaction, TokenLedgerHead
from issuers.register.reasons import ReasonCode
from issuers.register.verification import verify
from tests.approved import approved_price, approved_record
from tests.characters import Ask, World, on
from tests.issuers.register import people
from tests.owner import tamper

pytestmark = pytest.mark.usefixtures("unlimited_budgets")

ODD = 'Erbe "Ø"\\\t\x1f\x7f \u2028 👤\nfin'
BOTH = "lineVersion privateDigest previousDigest"
HEAD = "ledgerHead { sequence digest priceNumber priceDigest }"
FIELDS = {
    "transactions": f"""sequence kind amount effectiveAt supplyAfter heldAfter reverses
        holdersAfter chainReference sourceBefore targetBefore reason {BOTH}
        token {{ id }} source {{ user {{ id }} }} target {{ user {{ id }} }}""",
    "priceHistory": f"number price source effectiveAt {BOTH}",
}


# Someone else's program: it knows the documentation, and nothing of this project.
def head_from_api(ask: Callable[..., Any], token: str, name: str) -> tuple[int, str]:
    digest, number, after = bytes(32), 0, None
    while True:
        found = ask(
            f"query ($id: ID!, $after: String) {{ token(id: $id) {{"
            f" {name}(first: 3, after: $after) {{ nodes {{ {FIELDS[name]} }}"
            " pageInfo { hasNextPage endCursor } } } }",
            {"id": token, "after": after},
        ).data["token"][name]
        for node in found["nodes"]:
            number += 1
            if node["lineVersion"] == 1:
                continue
            if node["lineVersion"] == 2:
                node.pop("reason", None)
            line = {"token": token}
            for member, value in node.items():
                if isinstance(value, int):
                    line[member] = str(value)
                elif isinstance(value, dict):
                    line[member] = value.get("id") or value["user"]["id"]
                else:
                    line[member] = value
            text = json.dumps(
                line, sort_keys=True, separators=(",", ":"), ensure_ascii=False
            )
            if node["previousDigest"]:
                digest = bytes.fromhex(node["previousDigest"])
            digest = hashlib.sha256(digest + text.encode("utf-8")).digest()
        if not found["pageInfo"]["hasNextPage"]:
            return number, digest.hex()
        after = found["pageInfo"]["endCursor"]


def heads_agree(ask: Ask, token: Any) -> None:
    named = f"Token|{token}"
    head = ask(f"query ($id: ID!) {{ token(id: $id) {{ {HEAD} }} }}", {"id": named})
    assert list(head.data["token"]["ledgerHead"].values()) == [
        *head_from_api(ask, named, "transactions"),
        *head_from_api(ask, named, "priceHistory"),
    ]


@pytest.fixture
def token(world: World) -> Any:
    """A token with entries of all sides, an odd text and units beyond 2⁵³."""
    token, own = world.public_token.pk, ledger.treasury(world.listed)
    a, b, c = ledger.holder_accounts(user.pk for user in people(3)).values()
    approved_record(
        [
            Entry(token, Kind.MINT, 2**60 + 1, None, own, ODD),
            Entry(token, Kind.ALLOCATE, 300, own, a),
            Entry(token, Kind.ALLOCATE, 2**55 + 1, own, b),
            Entry(token, Kind.TRANSFER, 100, a, c),
            Entry(token, Kind.RETURN, 200, a, own),
            Entry(token, Kind.BURN, 5, own, None, ODD),
        ],
        ODD,
    )
    undone = LedgerTransaction.objects.get(token=token, seq=4)
    approved_record([ledger.reversal_of(undone, "a mistake")], "me")
    approved_price(token, 3, "NAV", ODD)
    approved_price(token, 0, "MANUAL", "me")
    return token


def test_lines_of_all_versions_are_of_one_chain(token: Any, partner: Ask):
    """A code that staff give is in the line; other entries go on in version 2."""
    tamper(AS_VERSION_1)
    made = LedgerTransaction.objects.get(token=token, seq=4)
    move = Entry(token, "TRANSFER", 1, made.source_id, made.target_id, "Act 3")
    approved_record([move], "me")
    for code in ReasonCode:
        approved_record([dataclasses.replace(move, code=code)], "me")
    approved_record([move], "me")
    approved_price(token, 7, "NAV", "me")
    heads_agree(partner, token)
    found = partner(
        "query ($id: ID!) { token(id: $id) { transactions(first: 100) { nodes {"
        " lineVersion reason } } } }",
        {"id": f"Token|{token}"},
    ).data["token"]["transactions"]["nodes"]
    told = [(node["lineVersion"], node["reason"]) for node in found]
    coded = [(3, code.value) for code in ReasonCode]
    assert told == [(1, None)] * 7 + [(2, None), *coded, (2, None)]
    lines = [json.loads(row.line) for row in chain_lines(Chain.ENTRIES, token)]
    assert [line.get("reason") for line in lines[7:]] == [code for _, code in told[7:]]
    assert "Act 3" not in json.dumps(lines[7:])
    tamper("UPDATE issuers_ledgertransaction SET reason_code = 'GIFT' WHERE seq = 9")
    [head] = TokenLedgerHead.objects.filter(token=token)
    _, digest = head_from_api(partner, f"Token|{token}", "transactions")
    assert digest != head.entry_digest.hex()
    assert [found.rule for found in verify() if found.breaches]


def test_anybody_computes_the_heads(token: Any, partner: Ask):
    heads_agree(partner, token)


def test_each_change_of_a_row_changes_the_head(token: Any, partner: Ask):
    [before] = TokenLedgerHead.objects.filter(token=token)
    for column, value in (
        ("amount", "6"),
        ("effective_at", "effective_at - interval '1 us'"),
        ("holders_after", "holders_after + 1"),
        ("chain_reference", "'0x1'"),
        ("source_before", "0"),
        ("kind", "'BURN'"),
    ):
        tamper(f"UPDATE issuers_ledgertransaction SET {column} = {value} WHERE seq = 3")
        number, digest = head_from_api(partner, f"Token|{token}", "transactions")
        assert (number, digest) != (7, before.entry_digest.hex()), column


def test_private_parts_stay_with_the_issuer(token: Any, partner: Ask):
    said = partner(
        "query ($id: ID!) { token(id: $id) { transactions(first: 10) { nodes {"
        f" {FIELDS['transactions']} }} }} priceHistory(first: 9) {{ nodes {{"
        f" {FIELDS['priceHistory']} }} }} }} }}",
        {"id": f"Token|{token}"},
    )
    assert "mistake" not in json.dumps(said.data)
    for chain in Chain:
        for row in chain_lines(chain, token):
            assert row.salt is not None
            assert row.private is not None
            digest = hashlib.sha256(row.salt + row.private.encode()).hexdigest()
            assert json.loads(row.line)["privateDigest"] == digest
            private = json.loads(row.private)
            assert json.dumps(
                private, sort_keys=True, separators=(",", ":"), ensure_ascii=False
            ) == (row.private)
    salts = [row.salt for chain in Chain for row in chain_lines(chain, token)]
    assert len({*salts}) == len(salts) == 9


def test_either_side_names_its_entry_before(token: Any):
    """In batches over two tokens, where a holder has several entries."""
    other = Token.objects.exclude(pk=token).first()
    assert other
    accounts = [*ledger.holder_accounts(user.pk for user in people(4)).values()]
    moves = random.Random(37)
    approved_record(
        [Entry(t, "MINT", 10**6, None, a) for a in accounts for t in (token, other.pk)],
        "me",
    )
    for _ in range(5):
        entries = []
        for _ in range(moves.randint(1, 20)):
            source, target = moves.sample(accounts, 2)
            of = moves.choice([token, other.pk])
            entries.append(Entry(of, "TRANSFER", 1, source, target))
        approved_record(entries, "me")
    last: dict[tuple[Any, Any], int] = {}
    for entry in LedgerTransaction.objects.order_by("token_id", "seq"):
        sides = (entry.source_id, entry.target_id)
        assert [entry.source_before, entry.target_before] == [
            side and last.get((entry.token_id, side), 0) for side in sides
        ]
        last |= {(entry.token_id, side): entry.seq for side in sides}


AS_VERSION_1 = """
    UPDATE issuers_ledgertransaction SET salt = NULL, private_digest = NULL,
        previous_digest = NULL, source_before = NULL, target_before = NULL;
    UPDATE issuers_tokenprice SET salt = NULL, private_digest = NULL,
        previous_digest = NULL;
    UPDATE issuers_tokenledgerhead SET version_1_entries = NULL,
        version_1_prices = NULL,
        entry_digest = register_chain_entries(
            token_id, 0, decode(repeat('00', 32), 'hex')),
        price_digest = register_chain_prices(
            token_id, 0, decode(repeat('00', 32), 'hex'))
"""


def test_a_chain_of_version_1_goes_on(token: Any, partner: Ask):
    tamper(AS_VERSION_1)
    [before] = TokenLedgerHead.objects.filter(token=token)
    [*_, row] = chain_lines(Chain.ENTRIES, token)
    assert row.digest == bytes(before.entry_digest)
    assert sorted(json.loads(row.line)) == [
        "actor", "amount", "chainReference", "effectiveAt", "from", "heldAfter",
        "holdersAfter", "kind", "legacyShareholder", "reason", "recordedAt",
        "reverses", "seq", "supplyAfter", "to", "token",
    ]  # fmt: skip
    entry = LedgerTransaction.objects.get(token=token, seq=4)
    approved_record([Entry(token, "TRANSFER", 1, entry.source_id, entry.target_id)], "")
    approved_price(token, 7, "NAV", "me")
    approved_price(token, 8, "NAV", "me")
    heads_agree(partner, token)
    for chain, digest in zip(
        Chain, (before.entry_digest, before.price_digest), strict=True
    ):
        rows = list(chain_lines(chain, token))
        named = [json.loads(row.line).get("previousDigest") for row in rows]
        assert [name for name in named if name] == [digest.hex()]
    assert [found.rule for found in verify() if found.breaches] == []


@pytest.mark.parametrize(
    ("tampering", "found"),
    [
        ("UPDATE issuers_ledgertransaction SET salt = sha256(salt)", "name their"),
        ("UPDATE issuers_tokenprice SET private_digest = sha256(salt)", "name their"),
        ("UPDATE issuers_ledgertransaction SET private_digest = NULL, salt = NULL"
         " WHERE seq = 7", "name their"),
        ("UPDATE issuers_ledgertransaction SET reason = 'x'", "name their"),
        ("UPDATE issuers_ledgertransaction SET source_before = 1 WHERE seq = 3",
         "names the entry before"),
    ],
)  # fmt: skip
def test_what_the_owner_tampers_with_is_found(token: Any, tampering: str, found: str):
    tamper(tampering)
    rules = [one.rule for one in verify() if one.breaches]
    assert any(found in rule for rule in rules)


def test_a_history_has_lines_of_version_2(world: World, partner: Ask):
    token = world.private_token.pk
    [a, b] = ledger.holder_accounts(user.pk for user in people(2)).values()
    ledger.write_history(
        [token],
        [
            Entry(token, "MINT", 1000, None, a, at=on(2)),
            Entry(token, "TRANSFER", 1, a, b, at=on(3)),
            Price(token, 50, "ISSUE", at=on(3)),
        ],
        "import",
    )
    heads_agree(partner, token)
