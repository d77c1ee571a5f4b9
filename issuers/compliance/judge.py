"""Asks the database what may move under the rules of tokens and holders' restrictions.

Nothing is written or locked: a caller that then moves units holds the accounts.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from issuers.register.standing import (
    Refusal,
    Side,
    Standing,
    TransferRefused,
    refusals,
    refusals_in,
)
from partnerapi.core.database import fetch
from partnerapi.core.numbers import MAX_UINT64

__all__ = ["Refusal", "Side", "Standing", "TransferRefused", "refusals"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The units of a token that an account may send and receive, and why not more.

    Units reserved by open orders (`reserved`) are part of what it may send. `places` is
    how many more holders the token may have; None: any number.
    """

    may_send: int
    may_receive: int
    sending: list[Refusal]
    receiving: list[Refusal]
    balance: int
    reserved: int
    locked: int
    locked_until: datetime | None
    places: int | None


NO_LIMIT = MAX_UINT64


def limits(token_id: UUID, accounts: Iterable[int], at: datetime) -> dict[int, Limits]:
    """The limits of holders' ledger accounts, by account; others are left out."""
    rows = fetch(LIMITS, [token_id, list(accounts), at], tuple)
    return {
        account: Limits(
            int(may_send),
            int(may_receive),
            refusals_in(sending),
            refusals_in(receiving),
            int(balance),
            int(reserved),
            int(locked),
            locked_until,
            places,
        )
        for account, may_send, may_receive, sending, receiving, balance, reserved,
            locked, locked_until, places in rows
    }  # fmt: skip


def ask(
    token_id: UUID,
    kind: str,
    source: int | None,
    target: int | None,
    amount: int,
    newcomer: UUID | None = None,
) -> list[Refusal]:
    """Why the present balances and rules would refuse an entry.

    A side of a TRADE or TRANSFER that is None stands for any eligible holder. The
    receiver may be a user without a ledger account, a `newcomer`.
    """
    rows = fetch(ASK, [token_id, kind, source, target, amount, newcomer], tuple)
    return [Refusal(code, json.loads(details)) for code, details in rows]


LIMITS = """
    SELECT account, may_send, may_receive, reasons ->> 'send', reasons ->> 'receive',
        balance, reserved, locked, locked_until, holder_places
    FROM register_limits(%s, %s::bigint[], %s)
"""
ASK = (
    "SELECT * FROM register_refusals(%s, %s, %s::bigint, %s::bigint, %s::numeric,"
    " clock_timestamp(), %s::uuid)"
)


class Units(NamedTuple):
    """A holder's units of a token now: those on sale, those that stay, and those that
    may leave."""

    reserved: int
    locked: int
    available: int
    is_frozen: bool


def units_of(account: int, tokens: Sequence[UUID]) -> dict[UUID, Units]:
    """A holder's units of each of the tokens; one statement, which locks nothing."""
    rows = fetch(UNITS, [list(tokens), account], tuple)
    return {
        token: Units(int(reserved), int(locked), int(available), is_frozen)
        for token, reserved, locked, available, is_frozen in rows
    }


UNITS = """
    SELECT w.token, l.reserved, least(l.locked, l.balance),
        greatest(l.may_send - l.reserved, 0),
        l.reasons -> 'send' @> '[{"code": "SENDER_FROZEN"}]'
    FROM unnest(%s::uuid[]) AS w (token)
    CROSS JOIN LATERAL register_limits(
        w.token, ARRAY[%s::bigint], clock_timestamp()) l
"""
