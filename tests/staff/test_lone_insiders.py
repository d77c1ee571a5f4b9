"""One member of staff alone gets no cent and no unit, by pages or commands."""

import io
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.approvals.models import ApprovalRequest
from accounts.cash.models import CashHead
from accounts.people.models import User
from issuers.legacy.models import LegacyShareholder
from issuers.register import ledger
from issuers.register.models import HolderBalance, LedgerTransaction
from partnerapi.core.authors import written_by
from partnerapi.staff.lookup import link
from partnerapi.staff.roles import ROLES
from tests.accounts.money import deposit, new_account, new_partner, reference_of
from tests.approved import approved_record
from tests.issuers.ocf import packages as ocf
from tests.issuers.register import empty_token, new_issuer, people
from tests.owner import appoint, superuser, tamper
from tests.typing_in import PASSWORD, give_password, typing

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.parametrize("role", [*ROLES, "Superuser"]),
]


def ocf_package(folder: Path) -> Path:
    for name, content in ocf.files(ocf.ROOT).items():
        (folder / name).write_text(json.dumps(content))
    return folder


class Insider:
    """What one person tries for an account and a holder of their own."""

    def __init__(self, role: str) -> None:
        self.partner = new_partner()
        self.purse, self.victim = (new_account(self.partner) for _ in "ab")
        deposit(self.victim, 50_000)
        self.token = empty_token(new_issuer(), "TAKEN", timezone.now())
        tamper("UPDATE issuers_issuer SET recorded_in = 0")
        self.issuer = self.token.issuer
        self.holder = people(1)[0]
        self.nominee: User = self.purse.user
        User.objects.filter(pk=self.nominee.pk).update(email="nominee@example.org")
        self.endow()
        fields = {"type": "INDIVIDUAL", "first_name": "Eve", "last_name": role}
        email = "eve@staff.example"
        if role == "Superuser":
            self.user = superuser(email, **fields)
        else:
            self.user = User.objects.create_user(email, is_staff=True, **fields)
            self.user.groups.add(Group.objects.get(name=role))
        self.colleague = superuser("bo@staff.example", **fields)
        give_password(self.user)
        self.colleague.set_password("something that only Bo knows")
        self.colleague.save()
        appoint(self.colleague)
        self.client = Client()
        self.client.force_login(self.user)

    def endow(self) -> None:
        """The treasury and a holder have units, and a colleague has made a line."""
        [owned] = ledger.holder_accounts([self.holder.pk]).values()
        own = ledger.treasury(self.issuer)
        mint = [
            ledger.Entry(self.token.pk, "MINT", 20_000, None, account)
            for account in (own, owned)
        ]
        approved_record(mint, "staff")
        with written_by("bo@staff.example", "page /admin/"):
            self.line = LegacyShareholder.objects.create(
                issuer=self.issuer, token=self.token, user=self.holder,
                number_of_shares=5, price_cents=1, reference="L-1",
            )  # fmt: skip

    def taken(self) -> tuple[int, int]:
        """Cents and units that were not theirs before."""
        cash = CashHead.objects.get(cash_account__account=self.purse).balance
        units = HolderBalance.objects.filter(account__user=self.nominee)
        return cash, sum(int(balance.balance) for balance in units)

    # By pages.

    def post(self, page: str, **given: Any) -> Any:
        return self.client.post(f"/admin/{page}", given, follow=True)

    def import_file(self, content: str, **given: str) -> None:
        file = SimpleUploadedFile(f"{uuid4()}.csv", content.encode())
        shown = self.post("import/", file=file, **given)
        if shown.context and "upload" in shown.context:
            checksum = shown.context["upload"].checksum
            self.post("import/preview/", checksum=checksum, reason="Daily")

    def book_on_a_page(self) -> None:
        for cents, closing in ((1, "500.01"), (10**12, "10000000500.00")):
            row = f"{uuid4()},{reference_of(self.purse)},{cents},2027-01-31"
            content = f"reference,text,amount,date\n{row}\n"
            self.import_file(content, kind="bank", closing_balance=closing)

    def assign_on_a_page(self) -> None:
        row = "UNKNOWN,Savings,700,2027-01-31"
        content = f"reference,text,amount,date\n{row}\n"
        self.import_file(content, kind="bank", closing_balance="507.00")
        given = {"line": "UNKNOWN", "account": reference_of(self.purse)}
        self.post("ask/assignment/", reason="Mine", **given)

    def import_lines(self, *units: int) -> str:
        rows = "".join(
            f"{uuid4()},nominee@example.org,TAKEN,{number},1\n" for number in units
        )
        named = "reference,holder_email,token_symbol,number_of_shares,price_cents"
        return f"{named}\n{rows}"

    def deliver_on_a_page(self) -> None:
        lines = LegacyShareholder.objects.filter(user=self.nominee, status="PENDING")
        for line in lines:
            for source in ("MINT", "TREASURY"):
                sent = {"line": str(line.pk), "source": source}
                shown = self.post("delivery/confirm/", **sent)
                if shown.context and "found" in shown.context:
                    checksum = shown.context["found"].checksum
                    self.post(
                        "delivery/confirm/", checksum=checksum, reason="Due", **sent
                    )

    def deliver_imported_lines(self) -> None:
        lines = self.import_lines(1, 9_999)
        self.import_file(lines, kind="legacy", issuer=self.issuer.slug)
        self.deliver_on_a_page()

    def deliver_typed_lines(self) -> None:
        page = "issuers/legacyshareholder/add/"
        self.post(
            page, issuer=self.issuer.pk, user=self.nominee.pk, token=self.token.pk,
            number_of_shares=7, price_cents=1, reference="L-2", replaces="",
        )  # fmt: skip
        self.deliver_on_a_page()

    def deliver_a_changed_line(self) -> None:
        page = f"issuers/legacyshareholder/{self.line.pk}/change/"
        self.post(
            page, issuer=self.issuer.pk, user=self.nominee.pk, token=self.token.pk,
            number_of_shares=5, price_cents=1, reference="L-1", replaces="",
        )  # fmt: skip
        self.deliver_on_a_page()

    def form(self, **said: object) -> dict[str, object]:
        """Of a member of staff."""
        names = {"type": "INDIVIDUAL", "first_name": "Eve", "last_name": "Two"}
        return names | {"company_name": "", "is_active": "on", "is_staff": "on"} | said

    def deliver_under_another_address(self) -> None:
        self.import_file(
            self.import_lines(1, 9_998), kind="legacy", issuer=self.issuer.slug
        )
        page = f"accounts/user/{self.user.pk}/change/"
        self.post(page, **self.form(email="eve2@staff.example"))
        self.deliver_on_a_page()

    def deliver_as_a_new_colleague(self) -> None:
        self.import_file(
            self.import_lines(1, 9_998), kind="legacy", issuer=self.issuer.slug
        )
        words = {"password1": "a good password", "password2": "a good password"}
        email = "puppet@staff.example"
        said = self.form(email=email, usable_password="true", **words)
        self.post("accounts/user/add/", **said)
        puppet = User.objects.filter(email=email).first()
        if puppet is None:
            return
        groups = [*Group.objects.values_list("pk", flat=True)]
        page = f"accounts/user/{puppet.pk}/change/"
        self.post(page, **self.form(email=email, groups=groups))
        own = self.client
        self.client = Client()
        self.client.force_login(puppet)
        self.deliver_on_a_page()
        self.decide_what_was_asked_for()
        # The other way round.
        LegacyShareholder.objects.filter(user=self.nominee).delete()
        self.import_file(
            self.import_lines(1, 9_998), kind="legacy", issuer=self.issuer.slug
        )
        self.client = own
        self.deliver_on_a_page()

    def ask_for_units(self) -> None:
        said = {"token": "TAKEN", "units": 3, "reason": "Due"}
        nominee, holder = str(self.nominee.pk), str(self.holder.pk)
        self.post("ask/mint/", target=nominee, **said)
        for kind, source in (
            ("forced_transfer", holder),
            ("transfer", holder),
            ("transfer", "treasury"),
        ):
            self.post(f"ask/{kind}/", source=source, target=nominee, **said)

    def sign_in_as_a_colleague(self) -> None:
        """No one removes the second factor of a colleague alone."""
        self.post("ask/sign_in/", person="bo@staff.example", reason="Lost")
        self.decide_what_was_asked_for()

    def decide_what_was_asked_for(self) -> None:
        own = ApprovalRequest.objects.filter(filed_by=self.user)
        for request in own:
            for verdict in ("approve", "collect"):
                self.client.post(link(request), {"do": verdict})

    # By commands, in any name.

    def run(self, *arguments: object) -> None:
        """It is refused in the name of either member of staff."""
        for staff in ("eve@staff.example", "bo@staff.example"):
            said = map(str, (*arguments, "--staff", staff))
            with pytest.raises(CommandError, match="needs an approval"):
                call_command(*said, stdout=io.StringIO(), stderr=io.StringIO())

    def use_commands(self, files: Any) -> None:
        bank, lines = files / "bank.csv", files / "lines.csv"
        row = f"X-1,{reference_of(self.purse)},900,2027-01-31"
        bank.write_text(f"reference,text,amount,date\n{row}\n")
        closing = 900 - CashHead.objects.get(kind="BANK").balance
        self.run("cash", "book-statement", bank, "--closing-balance", closing)
        lines.write_text(self.import_lines(1, 9_998))
        named = self.issuer.slug
        call_command(
            "import", "legacy-shareholders", lines, "--issuer", named, "--staff",
            "bo@staff.example", stdout=io.StringIO(),
        )  # fmt: skip
        for source in ("MINT", "TREASURY"):
            self.run("deliver_legacy_shares", named, "--source", source)
        why = ("--to", "nominee@example.org", "--reason", "Due")
        self.run("ledger", "mint", "TAKEN", 9, *why)
        holder = str(self.holder.pk)
        self.run("ledger", "transfer", "TAKEN", 9, "--from", holder, *why)
        self.run("ledger", "transfer", "TAKEN", 9, "--from", "treasury", *why)
        self.run("ledger", "transfer", "TAKEN", 9, "--from", holder, "--forced", *why)
        with pytest.raises(CommandError, match="needs an approval"):
            call_command("import", "ocf", str(ocf_package(files)))

    def request_by_commands(self) -> None:
        """In a colleague's name, whose password only the colleague knows."""
        said = (
            "ledger",
            "mint",
            "TAKEN",
            "9",
            "--to",
            "nominee@example.org",
            "--reason",
            "Due",
        )
        with (
            typing(PASSWORD),
            pytest.raises(CommandError, match=("enter their password")),
        ):
            call_command(*said, "--request", "--staff", "bo@staff.example")
        for request in ApprovalRequest.objects.exclude(filed_by=self.user):
            self.client.post(link(request), {"do": "approve"})

    def asked(self) -> set[str]:
        own = ApprovalRequest.objects.filter(filed_by=self.user)
        return {*own.values_list("kind", flat=True)}


CASH = {"STATEMENT", "ASSIGNMENT"}
UNITS = {"DELIVERY", "MINT", "FORCED_TRANSFER", "TRANSFER"}
ASKED = {
    "Treasury": CASH,
    "Operations": UNITS,
    "Compliance": {"FORCED_TRANSFER"},
    "Key manager": {"SIGN_IN"},
    "Superuser": CASH | UNITS | {"SIGN_IN"},
}
"""What each role comes as far as to ask for."""


@pytest.fixture
def insider(role: str) -> Insider:
    return Insider(role)


def test_one_person_gets_no_cent_and_no_unit_on_pages(insider: Insider, role: str):
    entries = LedgerTransaction.objects.count()
    for attempt in (
        insider.book_on_a_page,
        insider.assign_on_a_page,
        insider.deliver_imported_lines,
        insider.deliver_typed_lines,
        insider.deliver_a_changed_line,
        insider.deliver_under_another_address,
        insider.deliver_as_a_new_colleague,
        insider.ask_for_units,
        insider.sign_in_as_a_colleague,
        insider.decide_what_was_asked_for,
    ):
        attempt()
        assert insider.taken() == (0, 0), attempt.__name__
    assert LedgerTransaction.objects.count() == entries
    assert insider.asked() == ASKED.get(role, set())


def test_one_person_gets_no_cent_and_no_unit_by_commands(insider: Insider, tmp_path):
    entries = LedgerTransaction.objects.count()
    insider.request_by_commands()
    assert not ApprovalRequest.objects.filter(filed_by=insider.colleague).exists()
    insider.use_commands(tmp_path)
    assert insider.taken() == (0, 0)
    assert LedgerTransaction.objects.count() == entries
    # Then what the command has made is delivered on a page.
    insider.deliver_on_a_page()
    insider.decide_what_was_asked_for()
    assert insider.taken() == (0, 0)
