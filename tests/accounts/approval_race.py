"""How often one request is executed while many approve it and carry it out at once.

Run it with `python -m tests.accounts.approval_race --racers 1000`. One person asks for
a mint. Racers approve the request on its page, decide it by Python, carry it out by
the command, and enter what it says by SQL; every other one is who asked for it. A
second request says the same and was approved before. It ends with exit code 1 unless
one of them was executed, once, and the filer has decided nothing.
"""

import argparse
import io
import sys
import threading
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID

from tests.installation import throw_away_installation
from tests.threads import in_threads

AT_ONCE = 12
WHY = "Resolution of 3 March"
CARRY = "SELECT set_config('partnerapi.approvals', %s, TRUE)"
DECIDE = "SELECT approvals_decide_requests(ARRAY[%s::uuid], %s, TRUE, '')"


class Race:
    """A mint that was requested twice; Ben approved the other request beforehand."""

    def __init__(self) -> None:
        from accounts.approvals.four_eyes import decide
        from accounts.approvals.models import ApprovalKind, ApprovalRequest
        from issuers.models import Token
        from issuers.register import ledger
        from issuers.register.approvals import entry_content
        from tests.issuers.register import new_issuer, people

        self.ana, self.ben = staff("ana"), staff("ben")
        self.token = Token.objects.create(
            issuer=new_issuer(), name="Race", symbol="RACE"
        )
        [user] = people(1)
        [account] = ledger.holder_accounts([user.pk]).values()
        self.holder = user.pk
        self.entry = ledger.Entry(
            self.token.pk, ApprovalKind.MINT, 100, None, account, WHY
        )
        content = entry_content(self.entry, 0)
        self.asked, self.superseded = (
            file(ApprovalKind.MINT, content, self.ana) for _ in range(2)
        )
        decide(self.superseded, self.ben, is_approved=True)
        self.requests = ApprovalRequest.objects
        self.told: list[str] = []

    def ways(self) -> list[Callable[[Any, UUID], None]]:
        return [self.page, self.python, self.command, self.sql]

    def page(self, person: Any, request: UUID) -> None:
        from django.test import Client
        from django.urls import reverse

        client = Client(raise_request_exception=True)
        client.force_login(person)
        page = reverse("admin:accounts_approvalrequest_change", args=[request])
        for said in ("approve", "collect"):
            client.post(page, {"do": said})

    def python(self, person: Any, request: UUID) -> None:
        from accounts.approvals.four_eyes import carry_out, decide
        from issuers.register.approvals import EnterUnits

        asked = self.requests.get(pk=request)
        decide(asked, person, is_approved=True)
        carry_out(asked, EnterUnits())

    def command(self, person: Any, request: UUID) -> None:
        from django.core.management import call_command

        arguments = [
            "ledger",
            "mint",
            "RACE",
            "100",
            f"--to={self.holder}",
            f"--reason={WHY}",
        ]
        approval = f"--approval={request}"
        staff = f"--staff={person.email}"
        call_command(*arguments, approval, staff, stdout=io.StringIO())

    def sql(self, person: Any, request: UUID) -> None:
        from django.db import connection, transaction

        from issuers.register import ledger

        with transaction.atomic(), connection.cursor() as cursor:
            if not self.requests.filter(pk=request, decision__isnull=False).exists():
                cursor.execute(DECIDE, [request, person.pk])
            cursor.execute(CARRY, [str(request)])
            ledger.record([self.entry], person.email)

    def run(self, racers: int, at_once: int = AT_ONCE) -> Counter[str]:
        """Counts of the outcomes by name, and of the exceptions that ended attempts."""
        numbers, lock = count(), threading.Lock()
        barrier = threading.Barrier(at_once)

        def race(_: int) -> None:
            barrier.wait(120)
            while True:
                with lock:
                    number = next(numbers)
                if number >= racers:
                    return
                self.attempt(number)

        errors = in_threads(at_once, race)
        if errors:
            raise errors[0]
        return Counter(self.told) + self.outcomes()

    def attempt(self, number: int) -> None:
        from django.core.management import CommandError
        from django.db import DatabaseError

        from accounts.approvals.four_eyes import NotApproved, Superseded
        from partnerapi.core.lock_waits import LockTimeout

        ways = self.ways()
        way = ways[number % len(ways)]
        person = (self.ana, self.ben)[number // len(ways) % 2]
        request = self.superseded if number % 10 == 9 else self.asked
        try:
            way(person, request.pk)
        except (
            NotApproved, Superseded, CommandError, LockTimeout, DatabaseError,
        ) as error:  # fmt: skip
            self.told.append(f"{way.__name__}: {type(error).__name__}")
        else:
            self.told.append(f"{way.__name__}: came through")

    def outcomes(self) -> Counter[str]:
        from accounts.approvals.models import ApprovalDecision, ApprovalOutcome
        from issuers.register.models import LedgerTransaction

        return Counter(
            {
                "entries": LedgerTransaction.objects.filter(token=self.token).count(),
                "executions": ApprovalOutcome.objects.filter(is_executed=True).count(),
                "decided by the filer": ApprovalDecision.objects.filter(
                    decided_by=self.ana
                ).count(),
            }
        )


def staff(name: str) -> Any:
    from django.contrib.auth.models import Permission

    from accounts.people.models import User
    from tests.owner import appoint

    user = User.objects.create_user(
        f"{name}@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name=name,
        last_name="Staff",
        is_staff=True,
    )
    rights = ["file_mint", "decide_mint", "view_approvalrequest"]
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    appoint(user)
    return user


def file(kind: str, content: Any, person: Any) -> Any:
    from accounts.approvals.four_eyes import file_request

    return file_request(kind, content, "Mint", WHY, person)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--racers", type=int, default=1_000)
    options = parser.parse_args()
    with throw_away_installation():
        told = Race().run(options.racers)
    for name, times in sorted(told.items()):
        sys.stdout.write(f"{times:6,} {name}\n")
    is_right = told["entries"] == told["executions"] == 1
    return int(not is_right or told["decided by the filer"] > 0)


if __name__ == "__main__":
    sys.exit(main())
