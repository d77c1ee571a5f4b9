"""Accounts of invented clients with the sandbox's partners, and their histories."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from accounts.accounts.models import Account, AccountStatusChange
from accounts.accounts.models import AccountStatus as Status
from accounts.approvals.models import ApprovalKind
from accounts.cash.withdrawals import request_withdrawal
from accounts.keys.models import Partner
from accounts.payments.iban import sepa_name
from accounts.payments.models import HouseAccount
from accounts.payments.paying import name_bank
from issuers.legacy.models import LegacyShareholder
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.approvals import (
    ASKER,
    DECIDER,
    carry_out_requests,
    colleague,
    file_and_approve,
)
from partnerapi.sandbox.data.chance import OPENING, dice, moment_after
from partnerapi.sandbox.data.money import pay_in, pay_in_unknown

ACCOUNTS = 200
"""How many accounts each partner has."""
CLIENTS_OF = {"demo": "lumarelle-optics", "observer": "brindavoine"}
"""The company whose shareholders are clients of a partner, by the partner's login."""


class Step(NamedTuple):
    """A move, why, and who made it: staff or the partner."""

    status: Status
    reason: str | None
    by_staff: bool


OPENED = Step(Status.PENDING, None, True)
CHECKED = Step(Status.ACTIVE, "Identity and address checked", True)
LOST_PHONE = Step(Status.SUSPENDED, "Client reports a lost telephone", False)
NEW_PHONE = Step(Status.ACTIVE, "Client has a new telephone", False)
UNUSUAL = Step(Status.SUSPENDED, "Unusual orders, under review", True)
EXPLAINED = Step(Status.ACTIVE, "Orders explained", True)
LIVES = (
    (10, ()),
    (20, (CHECKED,)),
    (6, (CHECKED, LOST_PHONE, NEW_PHONE)),
    (4, (CHECKED, UNUSUAL, EXPLAINED)),
    (5, (CHECKED, LOST_PHONE)),
    (3, (CHECKED, UNUSUAL)),
    (5, (CHECKED, Step(Status.CLOSED, "Requested by the client", False))),
    (2, (CHECKED, UNUSUAL, Step(Status.CLOSED, "Review not answered", True))),
    (2, (CHECKED, LOST_PHONE, NEW_PHONE, LOST_PHONE, NEW_PHONE)),
    (4, (Step(Status.REJECTED, "Identity document has expired", True),)),
    (2, (Step(Status.REJECTED, None, True),)),
)
"""What accounts may have gone through since they were opened, and how often."""


IBAN_OF_A_CLIENT = "DE89370400440532013000"
IBAN_OF_CLIENTS_MONEY = "FR7630006000011234567890189"


def write_accounts(issuer_ids: dict[str, UUID]) -> bool:
    """Give each partner of the sandbox its accounts with cash; False: all have some.

    `issuer_ids` holds the companies' ids by slug. Nothing is written for a partner
    that has any account, or that is no longer there.
    """
    without = Partner.objects.filter(login__in=CLIENTS_OF, accounts=None)
    for partner in without:
        shareholders = LegacyShareholder.objects.filter(
            issuer=issuer_ids[CLIENTS_OF[partner.login]]
        )
        clients = shareholders.order_by("created_at", "id")[:ACCOUNTS]
        changes = [
            change
            for number, client in enumerate(clients.values_list("user_id", flat=True))
            for change in life(partner, client, number)
        ]
        with carry_out_requests(
            file_and_approve(ApprovalKind.CLOSING, *closings(changes))
        ):
            Account.objects.write(changes)
        write_cash(partner)
    return bool(without)


def write_cash(partner: Partner) -> None:
    """Cash for a partner's accounts, a withdrawal, and unallocated receipts."""
    accounts = Account.objects.filter(partner=partner).order_by("pk")
    able = accounts.filter(status__in=[Status.ACTIVE, Status.SUSPENDED])
    pay_in({a.pk: dice("cash", a.pk).randrange(100_000, 10_000_000) for a in able})
    pay_in_unknown(partner.login, 120_000)
    last = able.filter(status=Status.ACTIVE).last()
    if last:
        payee = sepa_name(str(last.user)), IBAN_OF_A_CLIENT
        request_withdrawal(last, 50_000, "payout-2027-01", partner.login, payee)
    if not HouseAccount.objects.exists():
        asker = colleague(ASKER).email or ""
        name_bank("Partner Platform Clients", IBAN_OF_CLIENTS_MONEY, asker)


def closings(changes: list[AccountStatusChange]) -> list[dict[str, Any]]:
    """What a second person approved of them."""
    return [
        {
            "account": str(change.account_id),
            "number": change.number,
            "reason": change.reason,
        }
        for change in changes
        if change.is_staff and change.status == Status.CLOSED
    ]


def life(partner: Partner, client: UUID, number: int) -> list[AccountStatusChange]:
    """The history of the partner's n-th account."""
    name = f"{partner.login} {number}"
    chance = dice("account", name)
    [steps] = chance.choices(
        [steps for _, steps in LIVES], [weight for weight, _ in LIVES]
    )
    at = moment_after(OPENING, 30 + number, name)
    account = Account(
        id=derived_uuid7(at, f"account {name}"), partner=partner, user_id=client
    )
    history: list[AccountStatusChange] = []
    for step in (OPENED, *steps):
        if history:
            at = moment_after(at, chance.randrange(1, 30), name, len(history))
        history.append(entry(account, history, step, at))
    return history


def entry(
    account: Account, before: list[AccountStatusChange], step: Step, at: datetime
) -> AccountStatusChange:
    """The entry of the account's history for a step that follows those before."""
    number = len(before) + 1
    return AccountStatusChange(
        id=derived_uuid7(at, f"change {account.pk} {number}"),
        account=account,
        number=number,
        status=step.status,
        reason=step.reason,
        actor=ASKER if step.by_staff else account.partner.login,
        is_staff=step.by_staff,
        approved_by=DECIDER if step.by_staff and step.status == Status.CLOSED else "",
        created_at=at,
    )
