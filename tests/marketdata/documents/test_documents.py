"""Contract notes, statements and invoices: their sums, their bytes, who reads them."""

import hashlib
import json
import random
from base64 import b64decode
from datetime import date, timedelta
from io import BytesIO, StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import Error, IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone
from pypdf import PdfReader

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from accounts.cash.models import CashTransaction
from accounts.history.models import RowChange
from issuers.exports.documents import euros
from issuers.models import Token
from marketdata.books.days import day_of, midnight
from marketdata.documents import statements
from marketdata.documents.drafts import Period, period_of
from marketdata.documents.issuing import ISSUE, issue_due, periods
from marketdata.trading import busts
from marketdata.trading.fees import Terms
from marketdata.trading.models import DocumentKind, Execution, IssuedDocument
from partnerapi.core.database import rows_of
from partnerapi.operations.tasks import issue_documents
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.approved import (
    WHY,
    asker,
    carry_out_requests,
    file_and_approve,
    partner_of,
)
from tests.characters import Ask, World
from tests.marketdata.trading.trading import (
    approved_tariff,
    as_committed,
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    placed,
    sell,
)
from tests.owner import superuser, tamper

TRADES = 12
KINDS = [DocumentKind.CONTRACT_NOTE, DocumentKind.STATEMENT, DocumentKind.INVOICE]


def moved_back(days: int) -> None:
    """Backdate all that has happened by some days."""
    for table, column in (
        ("trading_execution", "at"), ("trading_bust", "at"),
        ("accounts_cashtransaction", "at"), ("accounts_cashhead", "last_at"),
        ("issuers_ledgertransaction", "effective_at"),
        ("issuers_tokenprice", "effective_at"), ("accounts_account", "created_at"),
    ):  # fmt: skip
        tamper(
            f"UPDATE {table} SET {column} = {column} - interval '{days} days'"
            f" WHERE {column} IS NOT NULL"
        )


class Traded:
    """Clients of two partners who traded on several days, with fees and busts."""

    def __init__(self, world: World) -> None:
        chosen = random.Random(39)
        self.tokens = [new_market(2_000), new_market(700)]
        own = new_clients(3, world.partner)
        others = new_clients(2)
        self.clients = own + others
        for token, terms in zip(
            self.tokens,
            (Terms(10, 25, 100, 500, 1_900), Terms(0, 40, 0, None, 2_000)),
            strict=True,
        ):
            approved_tariff(token, terms)
            give(token, dict.fromkeys(self.clients, 1_000))
        for client in self.clients:
            deposit(client, 1_000_000)
        for _ in range(3):
            for _ in range(TRADES):
                token = chosen.choice(self.tokens)
                seller, buyer = chosen.sample(self.clients, 2)
                units = chosen.randrange(1, 9)
                price = 2_000 if token == self.tokens[0] else 700
                placed(token, sell(seller, units, price))
                placed(token, buy(buyer, units, price))
            as_committed()
            moved_back(40)
            # Of an earlier day.
            trade = Execution.objects.filter(token=self.tokens[0]).latest("sequence")
            content = busts.bust_content(trade, WHY)
            with carry_out_requests(file_and_approve(ApprovalKind.BUST, content)):
                busts.bust(
                    trade.token_id, trade.sequence, WHY, asker(),
                    "operations@sandbox.example",
                )  # fmt: skip
            as_committed()
        moved_back(40)
        first = Execution.objects.earliest("at")
        self.since = day_of(first.at) - timedelta(days=1)


@pytest.fixture
def traded(world: World) -> Traded:
    return Traded(world)


def issued_since(day: date) -> dict[str, list[dict[str, Any]]]:
    issue_due(timezone.now(), 600, day)
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for row in IssuedDocument.objects.order_by("number"):
        found[row.kind].append(json.loads(bytes(row.content)))
    return found


def cash_moved(
    account: str, period: Period, kinds: tuple[str, ...], of: str = "delta"
) -> int:
    """By the postings of the account's cash alone."""
    [(cents,)] = rows_of(
        f"SELECT coalesce(sum(p.{of}), 0) FROM accounts_cashposting p"
        " JOIN accounts_cashtransaction x ON x.id = p.transaction_id"
        " JOIN accounts_cashaccount c ON c.id = p.cash_account_id"
        " WHERE c.account_id = %s AND x.kind = ANY (%s) AND x.at >= %s AND x.at < %s",
        [account.partition("|")[2], [*kinds], *period.bounds.values()],
    )
    return int(cents)


def period_in(said: dict[str, Any]) -> Period:
    return Period(date.fromisoformat(said["begins"]), date.fromisoformat(said["ends"]))


@pytest.mark.django_db
def test_sums_are_those_of_cash_to_the_cent(traded: Traded, world: World):
    found = issued_since(traded.since)
    assert {kind: len(said) > 2 for kind, said in found.items()} == dict.fromkeys(
        KINDS, True
    )
    # Every cent that trades moved is in a note, once.
    notes = found[DocumentKind.CONTRACT_NOTE]
    assert any(note["busts"] for note in notes)
    for note in notes:
        moved = cash_moved(
            note["accountID"], period_in(note), ("TRADE", "FEE", "REVERSAL")
        )
        assert (
            note["cash"]
            == moved
            == note["sold"] - note["bought"] - sum(note["fees"].values())
        )
    [(all_moved,)] = rows_of(
        "SELECT sum(p.delta) FROM accounts_cashposting p"
        " JOIN accounts_cashtransaction x ON x.id = p.transaction_id"
        " JOIN accounts_cashaccount c ON c.id = p.cash_account_id"
        " WHERE c.account_id IS NOT NULL AND x.kind IN ('TRADE', 'FEE', 'REVERSAL')"
    )
    assert sum(note["cash"] for note in notes) == all_moved < 0
    # Invoices: what clients paid to the markets' accounts, less what came back.
    for said in found[DocumentKind.INVOICE]:
        assert said["total"] == said["fees"]["net"] + said["fees"]["vat"]
        assert said["fees"]["net"] == sum(line["net"] for line in said["lines"])
        assert said["fees"]["vat"] == sum(line["vat"] for line in said["lines"])
        of = said["partnerID"].partition("|")[2]
        [(paid,)] = rows_of(PAID, [of, *period_in(said).bounds.values()])
        assert said["total"] == paid
    [(collected,)] = rows_of(
        "SELECT sum(h.balance) FROM accounts_cashhead h WHERE h.kind = 'MARKET'"
    )
    assert sum(said["total"] for said in found[DocumentKind.INVOICE]) == collected > 0
    logins = {said["login"] for said in found[DocumentKind.INVOICE]}
    assert logins > {world.partner.login}
    for said in found[DocumentKind.STATEMENT]:
        cash, of, period = said["cash"], said["accountID"], period_in(said)
        every = ("DEPOSIT", "WITHDRAWAL", "TRADE", "FEE", "REVERSAL")
        assert cash["after"] - cash["before"] == cash_moved(of, period, every)
        assert sum(said["fees"].values()) == -cash_moved(of, period, ("FEE",))
        account = Account.objects.get(pk=of.partition("|")[2])
        for units in said["units"]:
            [(held,)] = rows_of(
                HELD, [account.user_id, units["token"], midnight(period.next_day)]
            )
            assert units["after"] == held
            assert units["value"] == held * units["price"]


PAID = """
    SELECT sum(CASE WHEN c.kind = 'CLIENT' THEN x.amount ELSE -x.amount END)
    FROM accounts_cashtransaction x
    JOIN accounts_cashaccount c ON c.id = x.source_id
    JOIN accounts_cashaccount t ON t.id = x.target_id
    JOIN accounts_account a ON a.id IN (c.account_id, t.account_id)
    WHERE x.kind = 'FEE' AND a.partner_id = %s AND x.at >= %s AND x.at < %s
"""
HELD = """
    SELECT coalesce(sum(p.delta), 0)::bigint FROM issuers_ledgerposting p
    JOIN issuers_ledgertransaction x ON x.token_id = p.token_id AND x.seq = p.seq
    JOIN issuers_ledgeraccount l ON l.id = p.account_id
    JOIN issuers_token t ON t.id = p.token_id
    WHERE l.user_id = %s AND t.symbol = %s AND x.effective_at < %s
"""


@pytest.mark.django_db
def test_a_second_issue_answers_the_same_bytes(traded: Traded):
    now = timezone.now()
    issue_due(now, 600, traded.since)
    before = [*IssuedDocument.objects.order_by("kind", "number").values_list()]
    assert issue_due(now + timedelta(hours=1), 600, traded.since).counts == (
        dict.fromkeys(KINDS, 0)
    )
    for row in IssuedDocument.objects.all():
        # The writer keeps what was issued, whatever a caller passes.
        facts = json.loads(bytes(row.content)) | {"issuedAt": "later", "number": 10**6}
        with transaction.atomic():
            [same] = IssuedDocument.objects.raw(
                ISSUE, [json.dumps(facts).encode(), b"%PDF"]
            )
        assert same.pk == row.pk
    assert [*IssuedDocument.objects.order_by("kind", "number").values_list()] == before
    for kind in KINDS:
        rows = [*IssuedDocument.objects.filter(kind=kind).order_by("number")]
        assert [row.number for row in rows] == [*range(1, len(rows) + 1)]
        for row in rows:
            assert hashlib.sha256(row.content).digest() == bytes(row.content_digest)
            assert hashlib.sha256(row.pdf).digest() == bytes(row.pdf_digest)


@pytest.mark.django_db
def test_only_the_writer_writes_them_and_only_of_what_is_over(traded: Traded):
    issue_due(timezone.now(), 600, traded.since)
    row = IssuedDocument.objects.filter(kind="CONTRACT_NOTE").latest("number")
    for change in (
        "UPDATE trading_issueddocument SET fee_net = 0",
        "DELETE FROM trading_issueddocument",
        "INSERT INTO trading_issueddocument SELECT * FROM trading_issueddocument",
    ):
        with (
            pytest.raises(Error, match="permission denied"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(change)
    facts = json.loads(bytes(row.content))
    today, other = day_of(timezone.now()), new_clients(1)[0]
    for wrong in (
        {"begins": f"{today}", "ends": f"{today}"},
        {"begins": "2020-01-01", "ends": "2020-01-02"},
        {"begins": "2020-01-01", "ends": "2020-01-01", "number": row.number + 2},
        {"begins": "2020-01-01", "ends": "2020-01-01",
         "accountID": f"Account|{other.pk}"},
        {"kind": "STATEMENT", "begins": "2020-02-01", "ends": "2020-04-30"},
        {"kind": "ANYTHING", "begins": "2020-01-01", "ends": "2020-01-01"},
    ):  # fmt: skip
        said = facts | {"number": row.number + 1} | wrong
        with (
            pytest.raises(IntegrityError, match="A document is of a period"),
            transaction.atomic(),
        ):
            [*IssuedDocument.objects.raw(ISSUE, [json.dumps(said).encode(), b""])]


@pytest.mark.django_db
def test_a_pdf_says_what_its_json_says(traded: Traded):
    issue_due(timezone.now(), 600, traded.since)
    for kind in KINDS:
        row = IssuedDocument.objects.filter(kind=kind).latest("number")
        said = json.loads(bytes(row.content))
        text = "\n".join(
            page.extract_text() for page in PdfReader(BytesIO(row.pdf)).pages
        )
        assert said["begins"] in text
        for cents in said["fees"].values():
            assert euros(cents) in text
        for line in (*said.get("trades", []), *said.get("lines", [])):
            assert line["token"] in text
        assert said.get("holder", "") in text


@pytest.mark.django_db
def test_a_statement_has_units_of_tokens_that_its_partner_may_see(world: World):
    public, private, only = (new_market() for _ in range(3))
    own, granted = new_clients(1, world.partner) + new_clients(1)
    give(public, {own: 5, granted: 5})
    give(private, {own: 7, granted: 7})
    [hidden] = new_clients(1, world.partner)
    give(only, {hidden: 9})
    for token in (private, only):
        Token.objects.filter(pk=token.pk).update(visibility="PRIVATE")
    approved_grant(granted.partner, private.issuer)
    as_committed()
    moved_back(120)
    since = timezone.now().date() - timedelta(days=220)
    stated = issued_since(since)[DocumentKind.STATEMENT]
    seen = {
        account.pk: {
            position["token"]
            for said in stated
            if said["accountID"] == f"Account|{account.pk}"
            for position in (*said["units"], *said["unitEntries"])
        }
        for account in (own, granted)
    }
    assert seen == {
        own.pk: {public.symbol},
        granted.pk: {public.symbol, private.symbol},
    }
    assert not IssuedDocument.objects.filter(account=hidden).exists()


@pytest.mark.django_db
def test_the_statement_of_an_account_has_units_until_its_closing(world: World):
    token = new_market(100)
    account, seller = new_clients(1, world.partner) + new_clients(1)
    give(token, {seller: 5})
    deposit(account, 100)
    placed(token, sell(seller, 1, 100))
    placed(token, buy(account, 1, 100))
    account.change_status("CLOSED", partner_of(account), None)
    give(token, {account: 30})
    as_committed()
    moved_back(120)
    tamper("UPDATE accounts_account SET updated_at = updated_at - interval '120 days'")
    since = timezone.now().date() - timedelta(days=220)
    stated = issued_since(since)[DocumentKind.STATEMENT]
    [said] = [one for one in stated if one["accountID"] == f"Account|{account.pk}"]
    assert [one["after"] for one in said["units"]] == [1]
    assert [one["units"] for one in said["unitEntries"]] == [1]


def test_a_statement_sums_every_kind_of_entry():
    assert {*statements.KINDS} == {*CashTransaction.Kind.values}


@pytest.mark.parametrize(
    ("kind", "day", "begins", "ends"),
    [
        ("CONTRACT_NOTE", "2028-02-29", "2028-02-29", "2028-02-29"),
        ("STATEMENT", "2027-01-01", "2027-01-01", "2027-03-31"),
        ("STATEMENT", "2026-12-31", "2026-10-01", "2026-12-31"),
        ("STATEMENT", "2026-05-17", "2026-04-01", "2026-06-30"),
        ("INVOICE", "2028-02-10", "2028-02-01", "2028-02-29"),
        ("INVOICE", "2026-12-31", "2026-12-01", "2026-12-31"),
    ],
)
def test_each_kind_has_its_period(kind: str, day: str, begins: str, ends: str):
    assert period_of(kind, date.fromisoformat(day)) == Period(
        date.fromisoformat(begins), date.fromisoformat(ends)
    )


@pytest.mark.django_db
def test_the_night_catches_up_and_a_dry_run_writes_nothing(traded: Traded):
    said = StringIO()
    since = f"--since={traded.since}"
    call_command("run", "documents", since, "--dry-run", stdout=said)
    assert "Due: " in said.getvalue()
    assert not IssuedDocument.objects.exists()
    # Without documents, the last period of each kind alone.
    now = timezone.now()
    assert [len([*periods(kind, now)]) for kind in KINDS] == [1, 1, 1]
    issue_due(now - timedelta(days=60), 600, now.date() - timedelta(days=61))
    issue_documents()
    everything = IssuedDocument.objects.count()
    call_command("run", "documents", stdout=said)
    assert IssuedDocument.objects.count() == everything
    assert "Issued: 0 contract notes, 0 statements, 0 invoices." in said.getvalue()
    # Time that is up leaves the rest for the next run.
    assert issue_due(now, -1, traded.since).has_more


READ = """
query ($id: String!) {
  account(id: $id) { documents(first: 100) { totalCount nodes {
    id kind number begins ends fee { net vat } issuedAt json jsonDigest pdf pdfDigest
    account { id } } } }
  invoices(first: 100) { nodes { id json account { id } } }
}
"""


@pytest.mark.django_db
def test_a_partner_fetches_its_own_and_no_one_elses(
    traded: Traded, world: World, partner: Ask
):
    issue_due(timezone.now(), 600, traded.since)
    own, other = traded.clients[0], traded.clients[-1]
    told = partner(READ, {"id": f"Account|{own.pk}"}).data
    rows = IssuedDocument.objects.filter(account=own)
    nodes = told["account"]["documents"]["nodes"]
    assert told["account"]["documents"]["totalCount"] == len(nodes) == rows.count() > 2
    for node in nodes:
        row = rows.get(pk=node["id"].partition("|")[2])
        assert node["json"].encode() == bytes(row.content)
        assert b64decode(node["pdf"]) == bytes(row.pdf)
        assert node["jsonDigest"] == hashlib.sha256(row.content).hexdigest()
        assert node["pdfDigest"] == hashlib.sha256(row.pdf).hexdigest()
        said = json.loads(node["json"])
        assert said["id"] == node["id"]
        assert (said["begins"], said["fees"]) == (node["begins"], node["fee"])
        assert node["account"] == {"id": f"Account|{own.pk}"}
    invoices = [json.loads(node["json"]) for node in told["invoices"]["nodes"]]
    assert {said["login"] for said in invoices} == {world.partner.login}
    assert [node["account"] for node in told["invoices"]["nodes"]][:1] == [None]
    node = "query ($id: ID!) { node(id: $id) { id ... on IssuedDocument { number } } }"
    theirs = IssuedDocument.objects.filter(account=other).latest("number")
    for row, is_seen in ((rows.latest("number"), True), (theirs, False)):
        found = partner(node, {"id": f"IssuedDocument|{row.pk}"}).data["node"]
        assert bool(found) == is_seen
    narrow = Ask(approved_key(world.partner, [Scope.ACCOUNTS_READ])[1])
    assert narrow("{ invoices { totalCount } }").code == "FORBIDDEN"
    found = narrow(node, {"id": f"IssuedDocument|{rows.latest('number').pk}"})
    assert found.data["node"] is None


@pytest.mark.django_db
def test_staff_download_what_was_issued_and_the_log_has_it(traded: Traded):
    staff = Client()
    staff.force_login(
        superuser("root@staff.example", type="INDIVIDUAL", first_name="R")
    )
    issue_due(timezone.now(), 600, traded.since)
    account = traded.clients[0]
    page = staff.get(f"/admin/account/{account.pk}/").text
    listed = f"/admin/trading/issueddocument/?account__id__exact={account.pk}"
    assert listed in page
    row = IssuedDocument.objects.filter(account=account).latest("number")
    assert f"/admin/document/{row.pk}/" in staff.get(listed).text
    shown = staff.get(f"/admin/document/{row.pk}/").text
    assert hashlib.sha256(row.pdf).hexdigest() in shown
    pdf = staff.get(f"/admin/document/{row.pk}/document.pdf")
    assert (pdf["Content-Type"], pdf.content) == ("application/pdf", bytes(row.pdf))
    said = staff.get(f"/admin/document/{row.pk}/document.json")
    assert said.content == bytes(row.content)
    assert staff.get(f"/admin/document/{row.pk}/document.csv").status_code == 404
    taken = RowChange.objects.filter(row_id=str(row.pk), operation="EXPORT")
    assert [change.after["file"].rpartition(".")[2] for change in taken] == [
        "pdf", "json",
    ]  # fmt: skip
