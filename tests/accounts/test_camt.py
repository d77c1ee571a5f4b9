"""Bank statements as camt.053: what is read, what is refused, and where."""

import random
import re
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from xml.sax.saxutils import escape

import pytest

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from accounts.cash import bank_statements
from accounts.cash.bank_statements import Booked, OtherBalance, book_statement
from accounts.cash.camt import read_camt
from accounts.cash.models import BankLine, BankStatement, CashHead
from accounts.cash.withdrawals import request_withdrawal
from accounts.payments.paying import name_bank
from partnerapi.core.problems import Problems, WrongFileError
from partnerapi.sandbox.data.approvals import (
    ASKER,
    carry_out_requests,
    colleague,
    file_and_approve,
)
from tests.accounts.money import (
    approve,
    begin,
    deposit,
    head_of,
    new_account,
    new_partner,
    reference_of,
)
from tests.sampling import seed

IBAN = "FR7630006000011234567890189"
pytestmark = pytest.mark.django_db


@dataclass
class Entry:
    amount: str
    """As the file states it, without a sign."""
    is_credit: bool = True
    text: str = ""
    reference: str = field(default_factory=lambda: uuid.uuid4().hex)
    status: str = "BOOK"
    currency: str = "EUR"
    batch: tuple[tuple[str, str], ...] = ()
    """Amounts and texts of payments."""

    def xml(self, version: str) -> str:
        status = self.status if version == "02" else f"<Cd>{self.status}</Cd>"
        reference = f"<AcctSvcrRef>{self.reference}</AcctSvcrRef>"
        payments = "".join(
            f"<TxDtls>{stated(amount, version)}{remittance(text)}</TxDtls>"
            for amount, text in self.batch or [("", self.text)]
        )
        return f"""
<Ntry><Amt Ccy="{self.currency}">{self.amount}</Amt>
<CdtDbtInd>{"CRDT" if self.is_credit else "DBIT"}</CdtDbtInd><Sts>{status}</Sts>
<BookgDt><Dt>2027-01-31</Dt></BookgDt>{reference if self.reference else ""}
<NtryDtls>{payments}</NtryDtls></Ntry>"""


def stated(amount: str, version: str) -> str:
    if not amount:
        return ""
    amount = f'<Amt Ccy="EUR">{amount}</Amt>'
    return amount if version == "08" else f"<AmtDtls><TxAmt>{amount}</TxAmt></AmtDtls>"


def remittance(text: str) -> str:
    return f"<RmtInf><Ustrd>{escape(text)}</Ustrd></RmtInf>"


def balance(code: str, cents: int) -> str:
    return f"""
<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>
<Amt Ccy="EUR">{Decimal(abs(cents)) / 100:.2f}</Amt>
<CdtDbtInd>{"DBIT" if cents < 0 else "CRDT"}</CdtDbtInd></Bal>"""


def statement(
    opening: int,
    closing: int,
    entries: list[Entry],
    version: str = "08",
    iban: str = IBAN,
) -> str:
    return f"""
<Stmt><Id>{uuid.uuid4().hex}</Id><Acct><Id><IBAN>{iban}</IBAN></Id></Acct>
{balance("OPBD", opening)}{balance("CLBD", closing)}
{"".join(entry.xml(version) for entry in entries)}</Stmt>"""


def document(*statements: str, version: str = "08") -> bytes:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version}">
<BkToCstmrStmt>{"".join(statements)}</BkToCstmrStmt></Document>""".encode()


def at_bank() -> int:
    return -CashHead.objects.get(kind="BANK").balance


def book(content: bytes, closing_balance: int | None = None) -> Booked:
    """As two people do where clients get money."""

    def tried(dry_run: bool) -> Booked:
        return book_statement(
            content,
            "bank.xml",
            colleague(ASKER).email or "",
            begin,
            closing_balance=closing_balance,
            dry_run=dry_run,
        )

    requests = []
    if (booked := tried(dry_run=True)).deposits:
        requests = file_and_approve(ApprovalKind.STATEMENT, booked.content)
    with carry_out_requests(requests):
        return tried(dry_run=False)


def refusal(content: bytes) -> str:
    with pytest.raises((WrongFileError, OtherBalance)) as refused:
        book(content)
    return str(refused.value)


@pytest.fixture
def account() -> Account:
    account = new_account(new_partner())
    deposit(account, 100_000)
    return account


@pytest.mark.parametrize("version", ["02", "08"])
def test_books_deposits_and_withdrawals(account: Account, version: str):
    withdrawal = request_withdrawal(account, 30_000, "out", account.partner.login)
    approve(withdrawal)
    opening = at_bank()
    entries = [
        Entry("12.3", text=f"Deposit {reference_of(account)}"),
        Entry("300.00", False, text=withdrawal.payment_reference),
        Entry("7.00", text="Bonjour & merci"),
        Entry("99.00", text=reference_of(account), status="PDNG"),
        Entry(
            "3.00",
            batch=(("1.00", reference_of(account)), ("2.00", reference_of(account))),
        ),
    ]
    closing = opening + 1_230 - 30_000 + 700 + 300
    content = document(statement(opening, closing, entries, version), version=version)
    booked = book(content)
    assert (booked.deposits, booked.deposited) == (3, 1_530)
    assert (booked.withdrawals, booked.withdrawn) == (1, 30_000)
    assert len(booked.unknown) == 1
    assert head_of(account) == (100_000 + 1_530 - 30_000, 0)
    assert at_bank() == closing
    batch = entries[-1].reference
    assert [
        (line.reference, line.amount)
        for line in BankLine.objects.filter(reference__startswith=batch)
    ] == [(f"{batch}-1", 100), (f"{batch}-2", 200)]
    assert (
        BankStatement.objects.get(closing_balance=closing).name == f"bank.xml, {IBAN}"
    )
    again = book(content)
    assert (again.deposits, again.known, again.is_known) == (0, 5, True)
    deposit(account, 100)
    assert book(content).is_known


def test_a_batch_whose_payments_are_not_stated_is_one_line(account: Account):
    opening = at_bank()
    other = reference_of(new_account(new_partner()))
    batch = (("", reference_of(account)), ("", other))
    booked = book(
        document(statement(opening, opening + 300, [Entry("3.00", batch=batch)]))
    )
    assert (booked.deposits, len(booked.unknown)) == (0, 1)


def test_a_statement_of_another_account_is_refused(account: Account):
    name_bank("Partner Platform", "DE89370400440532013000", colleague(ASKER).email)
    opening = at_bank()
    content = document(statement(opening, opening, []))
    assert f"{IBAN} is not DE89370400440532013000" in refusal(content)
    name_bank("Partner Platform", IBAN, colleague(ASKER).email)
    assert book(content).balance == opening


def test_several_statements_of_a_file_follow_each_other(account: Account):
    opening = at_bank()
    named = [Entry("1.00", text=reference_of(account)) for _ in range(2)]
    first = statement(opening, opening + 100, named[:1])
    second = statement(opening + 100, opening + 200, named[1:])
    said = refusal(document(second, first))
    assert "opens with" in said
    assert "the statement before it closes with" in said
    assert book(document(first, second)).deposits == 2


def test_a_balance_that_is_given_is_that_of_the_file(account: Account):
    opening = at_bank()
    content = document(statement(opening, opening, []))
    with pytest.raises(OtherBalance, match="differ by €0.01"):
        book(content, closing_balance=opening + 1)
    assert book(content, closing_balance=opening).deposits == 0


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"<a>", "line 1: is not XML: no element found"),
        (b"<a/>", "'no namespace' is not supported"),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", "unknown encoding"),
        (b"<Document xmlns='urn:iso:std:iso:20022:tech:xsd:camt.053.001.99'/>", "99'"),
        (document(), "the file has no statement"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "declares a document type"),
        (b"<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "declares a document type"),
        (document("<Stmt/>"), "no balance OPBD or PRCD"),
        (document(statement(0, 0, [Entry("0")])), "the amount is 0"),
        (document(statement(0, 0, [Entry("1.23456")])), "1.23456 has fractions of a"),
        (document(statement(0, 0, [Entry("1,00")])), "'1,00' is not an amount"),
        (document(statement(0, 0, [Entry("-1")])), "'-1' is not an amount"),
        (document(statement(0, 0, [Entry("1e3")])), "'1e3' is not an amount"),
        (document(statement(0, 0, [Entry("9" * 14)])), "is not an amount"),
        (document(statement(0, 0, [Entry("1", currency="USD")])), "is in 'USD'"),
        (document(statement(0, 9, [Entry("1")])), "make €1.00, but the closing"),
        (
            document(statement(0, 0, []), statement(0, 0, [], iban="DE00")),
            f"DE00 is not {IBAN}",
        ),
        (
            document(
                statement(
                    0, 200, [Entry("1", reference="A"), Entry("1", reference="A")]
                )
            ),
            "A is already on line",
        ),
        (
            document(
                statement(0, 100, [Entry("1")]).replace("2027-01-31", "2027-02-30")
            ),
            "has no valid date",
        ),
    ],
    ids=lambda said: "" if isinstance(said, bytes) else said,
)
def test_what_is_wrong_is_refused_with_its_line(content: bytes, rule: str):
    assert rule in refusal(content)
    assert not BankLine.objects.exists()


def test_a_double_is_found_in_a_file_of_one_line():
    entries = [Entry("1", reference="A"), Entry("1", reference="A")]
    content = document(statement(0, 200, entries)).replace(b"\n", b"")
    assert "A is already on line 1" in refusal(content)


def test_a_line_of_the_file_is_named():
    content = document(statement(0, 100, [Entry("1"), Entry("0.001")]))
    problems = Problems()
    read_camt(content, problems)
    [problem] = problems
    line = content.decode().splitlines()[problem.line - 1]
    assert '<Amt Ccy="EUR">0.001</Amt>' in line


def test_a_gap_and_another_account_are_refused(account: Account):
    lies = at_bank()
    entry = Entry("1.00", text=reference_of(account))
    for opening in (lies - 1, lies + 5_000, 0):
        said = refusal(document(statement(opening, opening + 100, [entry])))
        assert "a statement before it is missing, or it is of another account" in said
    assert head_of(account) == (100_000, 0)


FAULTS = (
    "none",
    "gap",
    "double",
    "sum",
    "account",
    "decimals",
    "currency",
    "cut",
    "two",
    "order",
    "foreign",
    "doctype",
    "pending",
    "spoiled",
)


def test_three_hundred_files_are_booked_or_refused(account: Account):
    """Each fault is refused with a reason and books nothing; the others are booked."""
    drawn = random.Random(seed())
    name_bank("Partner Platform", IBAN, colleague(ASKER).email or "")
    name = reference_of(account)
    told: dict[str, int] = dict.fromkeys(FAULTS, 0)
    for _ in range(300):
        fault = drawn.choice(FAULTS)
        told[fault] += 1
        version = drawn.choice(["02", "08"])
        before, lies = head_of(account), at_bank()
        amounts = [drawn.randint(1, 10**6) for _ in range(drawn.randint(1, 6))]
        entries = [
            Entry(f"{Decimal(amount) / 100}", text=drawn.choice([name, "no one's"]))
            for amount in amounts
        ]
        credited = sum(
            amount
            for amount, entry in zip(amounts, entries, strict=True)
            if entry.text == name
        )
        opening, total = lies, sum(amounts)
        closing = opening + total
        if fault == "gap":
            opening, closing = opening + 1, closing + 1
        elif fault == "sum":
            closing += drawn.choice([-1, 1])
        elif fault == "double":
            entries.append(entries[0])
            closing += amounts[0]
        elif fault == "decimals":
            entries[-1].amount += "01" if "." in entries[-1].amount else ".001"
        elif fault == "currency":
            entries[-1].currency = "CHF"
        parts = [statement(opening, closing, entries, version)]
        if fault == "account":
            parts.append(statement(closing, closing, [], version, iban="DE02"))
        if fault in ("two", "order"):
            parts = [
                statement(opening, opening + amounts[0], entries[:1], version),
                statement(opening + amounts[0], closing, entries[1:], version),
            ]
        if fault == "order":
            parts.reverse()
        if fault == "foreign":
            parts = [statement(opening, closing, entries, version, iban="DE02")]
        if fault == "pending":
            pending = Entry("5.00", text=name, status="PDNG")
            parts = [statement(opening, closing, [pending, *entries], version)]
        content = document(*parts, version=version)
        if fault == "cut":
            content = content[: drawn.randrange(80, len(content) - 12)]
        if fault == "doctype":
            content = content.replace(
                b"<Document", b'<!DOCTYPE d [<!ENTITY e "x">]><Document', 1
            )
        if fault == "spoiled":
            spoiled = bytearray(content)
            for _ in range(drawn.randint(1, 8)):
                spoiled[drawn.randrange(len(spoiled))] = drawn.randrange(256)
            # What is still whole may be booked; nothing else is raised.
            with suppress(WrongFileError, OtherBalance):
                book_statement(
                    bytes(spoiled), "bank.xml", colleague(ASKER).email or "", begin,
                    closing_balance=closing, dry_run=True,
                )  # fmt: skip
            continue
        if fault in ("none", "two", "pending"):
            booked = book(content)
            assert booked.deposited == credited
            assert (head_of(account)[0], at_bank()) == (before[0] + credited, closing)
            assert book(content).is_known
        else:
            assert refusal(content), fault
            assert (head_of(account), at_bank()) == (before, lies)
    assert min(told.values()) > 0


def test_only_its_own_reference_books_a_line_twice(account: Account):
    """A file that overlaps an earlier one books what is new."""
    opening = at_bank()
    entries = [Entry("1.00", text=reference_of(account)) for _ in range(3)]
    book(document(statement(opening, opening + 200, entries[:2])))
    booked = book(document(statement(opening, opening + 300, entries)))
    assert (booked.deposits, booked.known) == (1, 2)


def test_a_csv_needs_its_closing_balance():
    with pytest.raises(bank_statements.NoClosingBalance, match="State the bank's"):
        book(b"reference,text,amount,date\na,b,1,2027-01-31\n")


CSV_FAULTS = {
    "none": "",
    "gap": "Balances differ by €50.00",
    "double": r"is already on line \d+; keep one",
    "sum": "Balances differ by €0.01",
    "decimals": "must be a non-zero whole number of cents",
    "date": "is not a valid date; use YYYY-MM-DD",
    "nameless": "must have 1 to",
    "two": "must be a non-zero whole number of cents",
    "column": "missing",
    "quote": "",
    "foreign": "is not UTF-8",
    "spoiled": "",
}
"""What a person who made the file did, and what the refusal says."""


def test_three_hundred_files_in_csv_are_booked_or_refused(account: Account):
    """A file without a fault is booked once; others book nothing, and say why where."""
    drawn = random.Random(seed())
    name = reference_of(account)
    told: dict[str, int] = dict.fromkeys(CSV_FAULTS, 0)
    for _ in range(300):
        fault = drawn.choice([*CSV_FAULTS])
        told[fault] += 1
        before, lies = head_of(account), at_bank()
        rows = [
            (
                uuid.uuid4().hex,
                drawn.choice([name, "no one's"]),
                drawn.randint(1, 10**6),
            )
            for _ in range(drawn.randint(1, 6))
        ]
        credited = sum(amount for _, text, amount in rows if text == name)
        closing = lies + sum(amount for _, _, amount in rows)
        at = drawn.randrange(len(rows))
        lines = [f"{ref},{text},{amount},2027-01-31" for ref, text, amount in rows]
        ref, text, amount = rows[at]
        if fault in ("gap", "sum"):
            closing += drawn.choice([-1, 1]) * (1 if fault == "sum" else 5_000)
        elif fault == "double":
            lines.append(lines[at])
        elif fault == "decimals":
            lines[at] = f"{ref},{text},{amount}.12345,2027-01-31"
        elif fault == "date":
            lines[at] = (
                f"{ref},{text},{amount},{drawn.choice(['31.1.2027', '2027-2-30'])}"
            )
        elif fault == "nameless":
            lines[at] = f",{text},{amount},2027-01-31"
        elif fault == "two":
            lines.append("reference,text,amount,date")
        elif fault == "quote":
            lines[at] = f'{ref},"{text},{amount},2027-01-31'
        head = (
            "reference,text,date" if fault == "column" else "reference,text,amount,date"
        )
        content = "\n".join([head, *lines]).encode()
        if fault == "foreign":
            content = content.replace(b",2027", b" M\xfcller,2027")
        if fault == "spoiled":
            spoiled = bytearray(content)
            for _ in range(drawn.randint(1, 8)):
                spoiled[drawn.randrange(len(spoiled))] = drawn.randrange(256)
            # What is still whole may be booked; nothing else is raised.
            with suppress(WrongFileError, OtherBalance):
                book_statement(
                    bytes(spoiled), "bank.csv", colleague(ASKER).email or "", begin,
                    closing_balance=closing, dry_run=True,
                )  # fmt: skip
        elif fault == "none":
            assert book(content, closing).deposited == credited
            assert (head_of(account)[0], at_bank()) == (before[0] + credited, closing)
            assert book(content, closing).is_known
        else:
            with pytest.raises((WrongFileError, OtherBalance)) as refused:
                book(content, closing)
            said = str(refused.value)
            assert re.search(CSV_FAULTS[fault], said), (fault, said)
            if fault in ("double", "decimals", "date", "nameless", "two"):
                at = len(lines) - 1 if fault in ("double", "two") else at
                assert {one.line for one in refused.value.problems} == {at + 2}
            assert (head_of(account), at_bank()) == (before, lies)
    assert min(told.values()) > 0
