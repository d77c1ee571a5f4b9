"""Trees of holdings: each statement's root is what the documents compute from all."""

import hashlib
import hmac
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.people.models import UserHolder
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import HolderBalance
from issuers.register.statement_models import (
    HolderCommitment,
    HolderSalt,
    HoldingTree,
    StatedToken,
)
from issuers.register.sumtree import parent
from tests.approved import approved_record
from tests.characters import World
from tests.issuers.register import new_statement_key, people
from tests.owner import tamper

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("one_person"),
]


@pytest.fixture
def write(settings: Any, tmp_path: Path) -> Any:
    settings.PARTNER_API_STATEMENT_KEY = new_statement_key()

    def write() -> dict[str, str]:
        """The roots that a new statement has, by token."""
        call_command(
            "export", "register-statement", directory=tmp_path, stdout=io.StringIO()
        )
        number = StatedToken.objects.latest("statement_id").statement_id
        stated = StatedToken.objects.filter(statement=number)
        return {str(o.token_id): json.loads(o.record)["holdingsRoot"] for o in stated}

    return write


def digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def above(left: tuple[int, bytes], right: tuple[int, bytes]) -> tuple[int, bytes]:
    sides = [units.to_bytes(8, "big") + of for units, of in (left, right)]
    return left[0] + right[0], digest(b"\1", *sides)


def root_by_the_documents(token: Any) -> tuple[int, bytes]:
    """Of everyone's balance now, name and salt, without what any statement stored."""
    key = bytes(HoldingTree.objects.get(pk=token).padding_key)
    buckets: list[list[tuple[bytes, int]]] = [[] for _ in range(65_536)]
    for balance in HolderBalance.objects.filter(token=token, balance__gt=0):
        salt = bytes(HolderSalt.objects.get(token=token, user=balance.user).salt)
        name = UserHolder.objects.get(user=balance.user).name
        commitment = digest(salt, f"User|{balance.user_id}{name}".encode())
        place = int.from_bytes(commitment[:2], "big")
        buckets[place].append((commitment, balance.balance))
    level = []
    for bucket in buckets:
        nodes = [
            above(
                (units, digest(b"\0", units.to_bytes(8, "big"), commitment)),
                (0, hmac.digest(key, commitment, "sha256")),
            )
            for commitment, units in sorted(bucket)
        ]
        while len(nodes) > 1:
            odd = nodes[len(nodes) & ~1 :]
            pairs = zip(nodes[::2], nodes[1::2], strict=False)
            nodes = [above(*pair) for pair in pairs] + odd
        level += nodes or [(0, bytes(32))]
    while len(level) > 1:
        level = [above(*pair) for pair in zip(level[::2], level[1::2], strict=True)]
    return level[0]


def test_a_root_follows_entries_and_names(world: World, write: Any):
    token, other = world.public_token.pk, world.private_token.pk
    users = people(30)
    accounts = [*ledger.holder_accounts(user.pk for user in users).values()]
    approved_record([Entry(token, "MINT", n, None, a) for n, a in enumerate(
        accounts[:20], 1)], "me")  # fmt: skip
    first = write()
    units, root = root_by_the_documents(token)
    assert (units, root.hex()) == (210, first[str(token)])
    assert write() == first
    approved_record(
        [
            # The first holder sells all, and another is new.
            Entry(token, "TRANSFER", 1, accounts[0], accounts[25]),
            Entry(token, "TRANSFER", 5, accounts[10], accounts[3]),
            Entry(other, "MINT", 2**64 - 2, None, accounts[3]),
        ],
        "me",
    )
    renamed = UserHolder.objects.get(user=users[5])
    renamed.name = "Zoë \\ Renamed\tTwice"
    renamed.save()
    second = write()
    for one, held in ((token, 210), (other, 2**64 - 2)):
        units, root = root_by_the_documents(one)
        assert (units, root.hex()) == (held, second[str(one)])
    approved_record([Entry(token, "TRANSFER", 1, accounts[25], accounts[0])], "me")
    approved_record([Entry(other, "MINT", 1, None, accounts[3])], "me")
    third = write()
    assert root_by_the_documents(other)[1].hex() == third[str(other)]
    assert root_by_the_documents(token)[1].hex() == third[str(token)] != second
    own = HolderCommitment.objects.filter(account=accounts[5]).order_by("since")
    assert [(one.since, one.until) for one in own] == [(1, 3), (3, None)]
    assert HolderSalt.objects.filter(user=users[5]).count() == 1


def test_a_holder_whose_salt_was_erased_keeps_its_commitment(world: World, write: Any):
    token = world.public_token.pk
    [one, two] = ledger.holder_accounts(user.pk for user in people(2)).values()
    approved_record([Entry(token, "MINT", 5, None, one)], "me")
    write()
    before = bytes(HolderCommitment.objects.get().commitment)
    tamper("DELETE FROM issuers_holdersalt")
    approved_record([Entry(token, "TRANSFER", 2, one, two)], "me")
    write()
    assert before in [bytes(c.commitment) for c in HolderCommitment.objects.all()]
    assert HolderSalt.objects.count() == 1


def test_units_that_no_entry_made_are_not_signed(world: World, write: Any):
    token = world.public_token.pk
    [one] = ledger.holder_accounts(user.pk for user in people(1)).values()
    approved_record([Entry(token, "MINT", 5, None, one)], "me")
    tamper("UPDATE issuers_holderbalance SET balance = 6")
    with pytest.raises(CommandError, match="have 6 units, and its head says that 5"):
        write()


def test_a_sum_beyond_eight_bytes_is_no_node():
    with pytest.raises(OverflowError):
        parent(b"\xff" * 40, bytes(7) + b"\1" + bytes(32))
