"""Payment files: what they pay, that it is paid once, and that a bank can read them."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, fromstring

import pytest
from django.db import DatabaseError, connection, transaction

from accounts.accounts.models import Account
from accounts.cash.models import Withdrawal
from accounts.cash.verification import verify
from accounts.cash.withdrawals import request_withdrawal
from accounts.payments.iban import WrongIban, checked_iban, sepa_name
from accounts.payments.models import HouseAccount, PaymentFile, PaymentOrder
from accounts.payments.paying import (
    NAMESPACE,
    NotPayable,
    name_bank,
    order_payments,
    payable,
)
from partnerapi.core.database import value_of
from partnerapi.sandbox.data.approvals import ASKER, colleague
from tests.accounts.money import (
    approve,
    bank,
    cancel,
    deposit,
    head_of,
    new_account,
    new_partner,
)
from tests.owner import as_committed

pytestmark = pytest.mark.django_db
IBAN = "FR7630006000011234567890189"
OTHER_IBAN = "DE89370400440532013000"
AT = datetime(2027, 1, 31, 9, 30, tzinfo=UTC)

TEXT_16, TEXT_35, TEXT_70, TEXT_140 = (
    f"(?=.{{1,{most}}}$)[\\x20-\\x7e]+" for most in (16, 35, 70, 140)
)
DECIMAL = r"[0-9]{1,16}\.[0-9]{2}"
COUNT = r"[0-9]{1,15}"
IBAN_2007 = r"[A-Z]{2}[0-9]{2}[a-zA-Z0-9]{1,30}"
RULES: dict[str, str | list[str]] = {
    # The elements of pain.001.001.09 in the order of its schema; ? may be missing,
    # + may be repeated. A pattern is that of the simple type.
    "Document": ["CstmrCdtTrfInitn"],
    "CstmrCdtTrfInitn": ["GrpHdr", "PmtInf+"],
    "GrpHdr": ["MsgId", "CreDtTm", "NbOfTxs", "CtrlSum?", "InitgPty"],
    "InitgPty": ["Nm?"],
    "PmtInf": [
        "PmtInfId", "PmtMtd", "BtchBookg?", "NbOfTxs?", "CtrlSum?", "PmtTpInf?",
        "ReqdExctnDt", "Dbtr", "DbtrAcct", "DbtrAgt", "ChrgBr?", "CdtTrfTxInf+",
    ],
    "PmtTpInf": ["SvcLvl"],
    "SvcLvl": ["Cd"],
    "ReqdExctnDt": ["Dt"],
    "Dbtr": ["Nm"],
    "DbtrAcct": ["Id"],
    "Id": ["IBAN"],
    "DbtrAgt": ["FinInstnId"],
    "FinInstnId": ["Othr"],
    "Othr": ["Id"],
    "CdtTrfTxInf": ["PmtId", "Amt", "Cdtr", "CdtrAcct", "RmtInf?"],
    "PmtId": ["InstrId?", "EndToEndId"],
    "Amt": ["InstdAmt"],
    "Cdtr": ["Nm"],
    "CdtrAcct": ["Id"],
    "RmtInf": ["Ustrd"],
    "MsgId": TEXT_35,
    "PmtInfId": TEXT_35,
    "InstrId": TEXT_35,
    "EndToEndId": TEXT_35,
    "Othr/Id": TEXT_35,
    "Nm": TEXT_70,
    "Ustrd": TEXT_140,
    "CreDtTm": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "Dt": r"\d{4}-\d\d-\d\d",
    "NbOfTxs": COUNT,
    "CtrlSum": DECIMAL,
    "InstdAmt": DECIMAL,
    "PmtMtd": "CHK|TRF|TRA",
    "BtchBookg": "true|false",
    "Cd": "[A-Z0-9]{1,4}",
    "ChrgBr": "DEBT|CRED|SHAR|SLEV",
    "IBAN": IBAN_2007,
}  # fmt: skip
ATTRIBUTES = {"InstdAmt": {"Ccy": "EUR"}}


def faults(element: Element, parent: str = "") -> list[str]:
    """What the schema says against an element and those in it."""
    namespace, _, name = element.tag.removeprefix("{").partition("}")
    found = [] if namespace == NAMESPACE else [f"{name} is of {namespace}"]
    rule = RULES.get(f"{parent}/{name}") or RULES.get(name)
    if element.attrib != ATTRIBUTES.get(name, {}):
        found.append(f"{name} has {element.attrib}")
    if rule is None:
        return [*found, f"{name} is unknown"]
    if isinstance(rule, str):
        fits = not len(element) and re.fullmatch(rule, element.text or "")
        return found if fits else [*found, f"{name} is {element.text!r}"]
    order = "".join(
        f"(?:{child.rstrip('?+')} ){child[-1] if child[-1] in '?+' else ''}"
        for child in rule
    )
    names = [child.tag.partition("}")[2] for child in element]
    if not re.fullmatch(order, "".join(f"{child} " for child in names)):
        found.append(f"{name} has {names}")
    return found + [fault for child in element for fault in faults(child, name)]


@pytest.fixture
def account() -> Account:
    """It has 1,000 €."""
    account = new_account(new_partner())
    deposit(account, 100_000)
    return account


@pytest.fixture
def ana() -> str:
    return colleague(ASKER).email or ""


@pytest.fixture
def house(ana: str) -> HouseAccount:
    return name_bank("Partner Platform", IBAN, ana)


def approved(account: Account, cents: int, name: str = "Carla Silva") -> Withdrawal:
    count = account.cash_account.withdrawals.count()
    withdrawal = request_withdrawal(
        account, cents, f"W-{count}", account.partner.login, (name, OTHER_IBAN)
    )
    approve(withdrawal)
    withdrawal.refresh_from_db()
    return withdrawal


def test_a_file_pays_what_was_approved_and_the_bank_confirms_it(
    account: Account, ana: str, house: HouseAccount
):
    first, second = approved(account, 1), approved(account, 30_050)
    made = order_payments([first.pk, second.pk], ana, AT)
    root = fromstring(made.content)  # noqa: S314 (it is ours)
    assert faults(root) == []
    assert (made.payments, made.total, made.made_by) == (2, 30_051, ana)
    said = {"p": NAMESPACE}

    def texts(path: str) -> list[str | None]:
        return [found.text for found in root.findall(path, said)]

    assert texts(".//p:DbtrAcct//p:IBAN") == [IBAN]
    assert texts(".//p:CdtrAcct//p:IBAN") == [OTHER_IBAN] * 2
    assert texts(".//p:InstdAmt") == ["0.01", "300.50"]
    assert texts(".//p:CtrlSum") == ["300.51"] * 2
    assert texts(".//p:MsgId") == [made.message]
    references = [first.payment_reference, second.payment_reference]
    assert texts(".//p:EndToEndId") == references == texts(".//p:Ustrd")
    bank((f"Paid {references[1]}", -30_050))
    second.refresh_from_db()
    assert (second.status, head_of(account)) == ("PAID", (69_950, 1))
    as_committed()
    assert [found for found in verify() if found.breaches] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<PmtMtd>TRF</PmtMtd>", ""),
        ("TRF", "XXX"),
        ("0.01", "0.1"),
        ('Ccy="EUR"', ""),
        ("SLEV", "NONE"),
        (NAMESPACE, "urn:other"),
        ("<Nm>Carla Silva</Nm>", f"<Nm>{'C' * 71}</Nm>"),
        ("<InstrId>", "<EndToEndId>x</EndToEndId><InstrId>"),
    ],
)
def test_the_rules_find_what_a_bank_would_refuse(
    account: Account, ana: str, house: HouseAccount, before: str, after: str
):
    made = order_payments([approved(account, 1).pk], ana, AT)
    assert before in made.content
    spoiled = made.content.replace(before, after)
    assert faults(fromstring(spoiled)) != []  # noqa: S314


def test_a_withdrawal_is_in_one_file(account: Account, ana: str, house: HouseAccount):
    first, second = approved(account, 100), approved(account, 200)
    order_payments([first.pk], ana, AT)
    for keys in ([first.pk], [first.pk, second.pk], []):
        with pytest.raises(NotPayable):
            order_payments(keys, ana, AT)
    assert [row.pk for row in payable()] == [second.pk]
    cancel(second)
    with pytest.raises(NotPayable):
        order_payments([second.pk], ana, AT)
    assert PaymentOrder.objects.count() == PaymentFile.objects.count() == 1


def test_the_database_keeps_files_true(account: Account, ana: str, house: HouseAccount):
    without = request_withdrawal(account, 5, "old", account.partner.login)
    approve(without)
    asked = request_withdrawal(
        account, 6, "new", account.partner.login, ("Carla Silva", OTHER_IBAN)
    )
    paid = approved(account, 7)
    order = "SELECT cash_order_payments(%s, %s, %s, %s)"
    order_payments([paid.pk], ana, AT)
    wrong = [[without.pk], [asked.pk], [paid.pk], [], [paid.pk, paid.pk]]
    for number, keys in enumerate(wrong):
        with pytest.raises(DatabaseError, match="A payment file pays"):
            refused(order, [ana, f"M-{number}", "<xml/>", keys])
    other = approved(account, 8)
    with pytest.raises(DatabaseError, match="with the right to"):
        refused(order, ["nobody@staff.example", "M", "<xml/>", [other.pk]])
    assert [row.pk for row in payable()] == [other.pk]


def refused(statement: str, arguments: list[object]) -> None:
    with transaction.atomic():
        value_of(statement, arguments)


def test_nothing_is_paid_before_the_bank_account_is_named(account: Account, ana: str):
    withdrawal = approved(account, 100)
    with pytest.raises(NotPayable, match="Name the bank account"):
        order_payments([withdrawal.pk], ana, AT)


@pytest.mark.django_db(transaction=True)
def test_two_who_order_at_once_make_one_file(
    account: Account, ana: str, house: HouseAccount
):
    keys = [approved(account, cents).pk for cents in (1, 2, 3)]

    def order(_: int) -> int:
        try:
            return order_payments(keys, ana, AT).payments
        except (NotPayable, DatabaseError):
            return 0
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(order, range(4))) == [0, 0, 0, 3]
    assert PaymentOrder.objects.count() == 3


def test_an_iban_is_written_in_one_way():
    assert checked_iban("fr76 3000 6000 0112 3456 7890 189") == IBAN
    assert checked_iban(OTHER_IBAN) == OTHER_IBAN


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("FR7630006000011234567890188", "check digits"),
        ("FR763000600001123456789018", "check digits"),
        ("FR2330006000011234567890", "accounts in FR have no such IBAN"),
        ("hello", "two letters, two digits"),
        ("", "two letters, two digits"),
    ],
)
def test_an_iban_is_refused(text: str, why: str):
    with pytest.raises(WrongIban, match=why):
        checked_iban(text)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Zoë  Strauß", "Zoe Strauss"),
        ("Łukasz & Søn", "Lukasz + Son"),
        ("A" * 71, ""),
        ("Иван", ""),
        (" ", ""),
        ("a@b", ""),
    ],
)
def test_a_name_is_in_the_letters_of_sepa(name: str, said: str):
    assert sepa_name(name) == said
