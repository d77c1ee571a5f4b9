"""Bank statements in ISO 20022: camt.053, of which 001.02 and 001.08 are read.

An entry that the bank has booked is a line. Where the bank states each payment of a
batch with its amount, each payment is one. An entry that is pending is none: it is part
of no balance. A file may hold several statements of one account, each of which opens
with the closing balance of the one before.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from xml.parsers import expat

from accounts.cash.models import REFERENCE_LENGTH, TEXT_LENGTH, BankLine
from partnerapi.core.money import euros
from partnerapi.core.problems import Problem, Problems

NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:camt.053.001."
VERSIONS = ("02", "08")
AMOUNT = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,5})?")
"""Thirteen digits before the point: whole cents that a JSON number can hold."""
NO_REFERENCE = "NOTPROVIDED"
"""The EndToEndId of a payment whose payer gave none."""


@dataclass(slots=True)
class CamtFile:
    """What a file says: the account, its booked lines with their line numbers, and the
    first opening and the last closing balance, euro cents."""

    account: str = ""
    lines: list[tuple[int, BankLine]] = field(default_factory=list)
    opening: int = 0
    closing: int = 0


@dataclass(slots=True)
class Element:
    """An element of XML, its name without the namespace, and the line of its tag."""

    name: str
    line: int
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def all(self, *path: str) -> Iterator["Element"]:
        """The elements at the end of a path of names below this one."""
        for child in self.children:
            if child.name == path[0]:
                if path[1:]:
                    yield from child.all(*path[1:])
                else:
                    yield child

    def said(self, *path: str) -> str:
        """The text of the first element at the end of a path; "" if there is none."""
        return next((found.text.strip() for found in self.all(*path)), "")


class Refused(Exception):
    """The file declares a document type, which a bank statement has not."""


def is_xml(content: bytes) -> bool:
    return content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")


def read_camt(content: bytes, problems: Problems) -> CamtFile:
    """The statements of a file; what is wrong is added to `problems`."""
    read = CamtFile()
    try:
        namespace, document = parsed(content)
    except Refused:
        rule = "declares a document type (DTD); a camt.053 has none"
        problems.append(Problem(0, "", rule))
        return read
    except (expat.ExpatError, LookupError, ValueError) as error:
        problems.append(
            Problem(getattr(error, "lineno", 0), "", f"is not XML: {error}")
        )
        return read
    version = namespace.removeprefix(NAMESPACE)
    if version not in VERSIONS:
        rule = (
            f"{namespace or 'no namespace'!r:.80} is not supported; export the "
            "statement as camt.053.001.02 or camt.053.001.08"
        )
        problems.append(Problem(document.line, document.name, rule))
        return read
    statements = [*document.all("BkToCstmrStmt", "Stmt")]
    if not statements:
        problems.append(Problem(document.line, "Stmt", "the file has no statement"))
    for number, statement in enumerate(statements):
        read_statement(statement, number == 0, read, problems)
    first: dict[str, int] = {}
    for line, booked in read.lines:
        if before := first.get(booked.reference):
            rule = f"{booked.reference} is already on line {before}; keep one"
            problems.append(Problem(line, "AcctSvcrRef", rule))
        first[booked.reference] = before or line
    return read


def parsed(content: bytes) -> tuple[str, Element]:
    """The namespace of a document, and its root.

    Raises:
        Refused
        expat.ExpatError: it is not well-formed, or its encoding is unknown.
    """
    parser = expat.ParserCreate(namespace_separator="\n")
    outside = Element("", 0, {})
    open_elements = [outside]
    namespaces: list[str] = []

    def begin(name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition("\n")
        namespaces.append(namespace)
        element = Element(local, parser.CurrentLineNumber, attributes)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(name: str) -> None:
        open_elements.pop()

    def add_text(text: str) -> None:
        open_elements[-1].text += text

    def refuse(*declared: object) -> None:
        raise Refused

    parser.buffer_text = True
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = add_text
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(content, True)
    return namespaces[0], outside.children[0]


def read_statement(
    statement: Element, is_first: bool, read: CamtFile, problems: Problems
) -> None:
    account = statement.said("Acct", "Id", "IBAN") or statement.said(
        "Acct", "Id", "Othr", "Id"
    )
    read.account = read.account or account
    if account != read.account:
        rule = f"{account or 'no account'} is not {read.account}, the first statement's"
        problems.append(Problem(statement.line, "Acct", rule))
        return
    opening = balance(statement, ("OPBD", "PRCD"), problems)
    closing = balance(statement, ("CLBD",), problems)
    if opening is None or closing is None:
        return
    if is_first:
        read.opening = opening
    elif opening != read.closing:
        rule = (
            f"opens with {euros(opening)}, but the statement before it closes with "
            f"{euros(read.closing)}"
        )
        problems.append(Problem(statement.line, "Bal", rule))
    read.closing = closing
    came, found_before = 0, problems.count
    for number, entry in enumerate(statement.all("Ntry"), 1):
        if (entry.said("Sts", "Cd") or entry.said("Sts")) != "BOOK":
            continue
        name = f"{statement.said('Id')} {number}"
        for line, booked in lines_of(entry, name, problems):
            came += booked.amount
            read.lines.append((line, booked))
    if problems.count == found_before and opening + came != closing:
        rule = (
            f"{euros(opening)} and the entries, {euros(came)}, make "
            f"{euros(opening + came)}, but the closing balance is {euros(closing)}"
        )
        problems.append(Problem(statement.line, "Bal", rule))


def balance(
    statement: Element, codes: tuple[str, ...], problems: Problems
) -> int | None:
    for found in statement.all("Bal"):
        if found.said("Tp", "CdOrPrtry", "Cd") in codes:
            return cents(found, problems)
    rule = f"the statement has no balance {' or '.join(codes)}"
    problems.append(Problem(statement.line, "Bal", rule))
    return None


def lines_of(
    entry: Element, name: str, problems: Problems
) -> Iterator[tuple[int, BankLine]]:
    """The payments of an entry; `name` identifies it where the bank's own does not."""
    amount, day = cents(entry, problems), day_of(entry, problems)
    if amount is None or day is None:
        return
    reference = entry.said("AcctSvcrRef") or name
    payments = [*entry.all("NtryDtls", "TxDtls")]
    amounts = [
        stated
        for payment in payments
        if (stated := payment_cents(payment, amount)) is not None
    ]
    if not len(amounts) == len(payments) > 1 or sum(amounts) != amount:
        payments, amounts = [entry], [amount]
    for number, (payment, moved) in enumerate(zip(payments, amounts, strict=True), 1):
        own = payment.said("Refs", "AcctSvcrRef")
        if payment is not entry and own in ("", reference):
            own = f"{reference}-{number}"
        line = BankLine(
            reference=own or reference,
            text=text_of(entry, payment),
            amount=moved,
            date=day,
        )
        if not moved:
            problems.append(Problem(payment.line, "Amt", "the amount is 0"))
        if len(line.reference) > REFERENCE_LENGTH:
            rule = f"has more than {REFERENCE_LENGTH} characters"
            problems.append(Problem(payment.line, "AcctSvcrRef", rule))
        yield payment.line, line


def cents(stated: Element, problems: Problems) -> int | None:
    """The signed amount of an entry or a balance; None: it is added to `problems`."""
    amount = next(stated.all("Amt"), None)
    rule = ""
    value = None
    if amount is None:
        rule = "has no amount"
    elif amount.attributes.get("Ccy") != "EUR":
        rule = f"is in {amount.attributes.get('Ccy')!r:.10}; only EUR is booked"
    elif not AMOUNT.fullmatch(amount.text.strip()):
        rule = f"{amount.text.strip()!r:.40} is not an amount"
    elif (value := Decimal(amount.text.strip()) * 100) % 1:
        rule = f"{amount.text.strip()} has fractions of a cent"
    sign = {"CRDT": 1, "DBIT": -1}.get(stated.said("CdtDbtInd"))
    if not rule and sign is None:
        rule = "is neither CRDT nor DBIT"
    if rule or value is None or sign is None:
        problems.append(Problem((amount or stated).line, "Amt", rule))
        return None
    return sign * int(value)


def payment_cents(payment: Element, of_entry: int) -> int | None:
    """The signed amount of a payment of a batch; None if the bank does not state it."""
    direct = [*payment.all("Amt"), *payment.all("AmtDtls", "TxAmt", "Amt")]
    if not direct or direct[0].attributes.get("Ccy") != "EUR":
        return None
    text = direct[0].text.strip()
    if not AMOUNT.fullmatch(text) or Decimal(text) * 100 % 1:
        return None
    said = payment.said("CdtDbtInd") or ("CRDT" if of_entry > 0 else "DBIT")
    return int(Decimal(text) * 100) * (1 if said == "CRDT" else -1)


def day_of(entry: Element, problems: Problems) -> date | None:
    """The day of booking, else the value date; None: it is added to `problems`."""
    for name in ("BookgDt", "ValDt"):
        said = (entry.said(name, "Dt") or entry.said(name, "DtTm"))[:10]
        if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", said):
            try:
                return date.fromisoformat(said)
            except ValueError:
                break
    problems.append(Problem(entry.line, "BookgDt", "has no valid date"))
    return None


def text_of(entry: Element, payment: Element) -> str:
    """The words of a payment, those first that name a client or a withdrawal."""
    details = [payment] if payment is not entry else [*entry.all("NtryDtls", "TxDtls")]
    words: list[str] = []
    for found in details:
        words += [
            " ".join(said.text.split())
            for path in (
                ("RmtInf", "Strd", "CdtrRefInf", "Ref"),
                ("RmtInf", "Ustrd"),
                ("Refs", "EndToEndId"),
                ("RltdPties", "Dbtr", "Nm"),
                ("RltdPties", "Dbtr", "Pty", "Nm"),
                ("RltdPties", "Cdtr", "Nm"),
                ("RltdPties", "Cdtr", "Pty", "Nm"),
            )
            for said in found.all(*path)
            if said.text.strip() != NO_REFERENCE
        ]
    words.append(entry.said("AddtlNtryInf"))
    return " | ".join(dict.fromkeys(filter(None, words)))[:TEXT_LENGTH]
