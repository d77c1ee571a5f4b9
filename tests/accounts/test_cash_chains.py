"""Chains of cash, computed from what the API answers and from nothing else."""

import hashlib
import importlib
import json
from typing import Any

import pytest
from django.db import connection

from accounts.cash.chains import computed_heads
from accounts.cash.models import CashHead, CashPosting, CashTransaction
from accounts.cash.suspense import assignment_content
from accounts.cash.verification import verify
from accounts.cash.withdrawals import request_withdrawal
from accounts.cash.writer import account_of
from tests.accounts.money import approve, bank, carry, deposit, new_account, post
from tests.characters import Ask, World
from tests.owner import tamper

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("unlimited_budgets"),
]

ODD = '"Ø"\\\t\x1f\x7f \u2028 👤'
ENTRIES = """query ($id: String!, $after: String) { account(id: $id) {
  cash { entries digest }
  cashEntries(first: 2, after: $after) {
    nodes { number kind amount at balanceAfter reference lineVersion privateDigest }
    pageInfo { hasNextPage endCursor } } } }"""


# Someone else's program: it knows the documentation, and nothing of this project.
def heads_from_api(ask: Ask, account: str) -> tuple[Any, Any]:
    """What the head says, and what the entries give."""
    nodes: list[dict[str, Any]] = []
    after = None
    while True:
        answer = ask(ENTRIES, {"id": account, "after": after}).data["account"]
        nodes += answer["cashEntries"]["nodes"]
        if not answer["cashEntries"]["pageInfo"]["hasNextPage"]:
            break
        after = answer["cashEntries"]["pageInfo"]["endCursor"]
    digest = bytes(32)
    for node in reversed(nodes):
        line = {"account": account} | {
            name: str(value) if isinstance(value, int) else value
            for name, value in node.items()
        }
        text = json.dumps(
            line, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        digest = hashlib.sha256(digest + text.encode()).digest()
    head = answer["cash"]
    return (head["entries"], head["digest"]), (len(nodes), digest.hex())


@pytest.fixture
def account(world: World) -> Any:
    """An account with entries of all kinds, in the books of the partner."""
    account, other = new_account(world.partner), new_account(world.partner)
    deposit(account, 100_000)
    bank(("Hello", 500, "Erbe Ø\\👤"))
    unknown = CashTransaction.objects.get(reference="Erbe Ø\\👤")
    carry("ASSIGNMENT", assignment_content(unknown, account_of(account), ODD))
    withdrawal = request_withdrawal(account, 400, "W.1", world.partner.login)
    approve(withdrawal)
    bank((withdrawal.payment_reference, -400))
    post(account_of(account).pk, account_of(other).pk, 300)
    return account


def test_anybody_computes_the_heads(account: Any, partner: Ask):
    said, computed = heads_from_api(partner, f"Account|{account.pk}")
    assert said == computed
    assert said[0] == 4
    stored = CashHead.objects.filter(last_number__gt=0).values_list(
        "pk", "last_number", "entry_digest"
    )
    assert {tuple(head) for head in computed_heads()} == {
        (pk, number, bytes(digest)) for pk, number, digest in stored
    }


def test_both_sides_of_a_payment_tell_nothing_of_each_other(account: Any):
    digests = CashPosting.objects.values_list("private_digest", flat=True)
    assert len({bytes(digest) for digest in digests}) == len(digests) > 6


LARGER = """
    UPDATE accounts_cashtransaction SET amount = amount + 100000 WHERE id = 1;
    UPDATE accounts_bankline l SET amount = l.amount + 100000
        FROM accounts_cashtransaction t WHERE t.reference = l.reference AND t.id = 1;
    UPDATE accounts_cashposting SET delta = delta + 100000 * sign(delta)
        WHERE transaction_id = 1;
    UPDATE accounts_cashposting p SET balance_after = (
        SELECT sum(delta) FROM accounts_cashposting o
        WHERE o.cash_account_id = p.cash_account_id AND o.number <= p.number);
    UPDATE accounts_cashhead h SET balance = (
        SELECT balance_after FROM accounts_cashposting p
        WHERE p.cash_account_id = h.cash_account_id AND p.number = h.last_number)
        WHERE last_number > 0;
    UPDATE accounts_bankstatement SET closing_balance = closing_balance + 100000,
        booked_balance = booked_balance + 100000
""".replace("id = 1", "id = (SELECT min(id) FROM accounts_cashtransaction)")


@pytest.mark.parametrize(
    "tampering",
    [
        LARGER,
        "UPDATE accounts_cashtransaction SET actor = 'another'",
        "UPDATE accounts_cashtransaction SET reason = 'another'",
        "UPDATE accounts_cashtransaction SET at = at - interval '1 us'",
        "UPDATE accounts_cashposting SET private_digest = sha256(salt)",
        "UPDATE accounts_cashposting SET salt = sha256(salt)",
        "UPDATE accounts_withdrawal SET reference = 'W.2'",
    ],
)
def test_what_the_owner_tampers_with_is_found(account: Any, tampering: str):
    assert not [found.rule for found in verify() if found.breaches]
    tamper(tampering)
    rules = [found.rule for found in verify() if found.breaches]
    assert {*rules} & {
        "postings and transactions are those of their account's chain",
        "postings name the digest of their private part",
    }


def test_a_larger_deposit_is_seen_from_outside(account: Any, partner: Ask):
    kept, _ = heads_from_api(partner, f"Account|{account.pk}")
    tamper(LARGER)
    said, computed = heads_from_api(partner, f"Account|{account.pk}")
    assert said == kept != computed


def test_older_postings_are_in_the_chain(account: Any, partner: Ask, world: World):
    tamper(
        "UPDATE accounts_cashposting SET salt = NULL, private_digest = NULL;"
        " UPDATE accounts_cashhead SET entry_digest = NULL"
    )
    deposit(account, 7)
    said, _ = heads_from_api(partner, f"Account|{account.pk}")
    assert said == (5, None)
    filled = importlib.import_module(
        "accounts.migrations.0063_chains_of_cash_are_filled"
    )
    tamper(filled.FILL.replace("COMMIT;", ""))
    deposit(account, 8)
    said, computed = heads_from_api(partner, f"Account|{account.pk}")
    assert said == computed
    assert said[0] == 6
    assert not [found.rule for found in verify() if found.breaches]


def test_a_line_is_canonical(account: Any):
    with connection.cursor() as cursor:
        cursor.execute("SELECT line, private FROM cash_entry_lines")
        for text in (text for row in cursor.fetchall() for text in row):
            said = json.loads(text)
            assert text == json.dumps(
                said, sort_keys=True, separators=(",", ":"), ensure_ascii=False
            )
