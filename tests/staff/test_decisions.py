"""The page on which a second person decides says what happens, to whom, how much."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.approvals.four_eyes import file_request
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.cash.bank_statements import book_statement, statement_title
from accounts.cash.withdrawals import content_of, request_withdrawal, title_of
from accounts.people.models import User
from issuers.compliance.models import Restriction
from issuers.compliance.restrictions import Terms, restrict
from issuers.legacy import delivery
from issuers.legacy.approvals import delivery_content, delivery_title
from issuers.legacy.models import DeliveryJob
from issuers.models import Token
from issuers.offerings.drafting import draft
from issuers.offerings.models import Offering
from issuers.offerings.paying import payout_content
from issuers.register import ledger
from issuers.register.erasure import days_kept, erasure_content, erasure_title
from issuers.register.ledger import Entry
from marketdata.trading import controls, fees
from marketdata.trading.phases import change_phase
from partnerapi.staff.approvals.filing import FORMS
from partnerapi.staff.approvals.kinds import KINDS
from partnerapi.staff.lookup import link
from tests.accounts.money import (
    at_bank,
    bank,
    begin,
    carry,
    csv,
    deposit,
    new_account,
    new_partner,
    reference_of,
)
from tests.approved import approved_rule, asker
from tests.approved import desk as officer
from tests.characters import World
from tests.issuers.offerings import offerings
from tests.issuers.register import people
from tests.marketdata.trading.trading import approved_tariff, new_clients
from tests.owner import as_committed
from tests.staff.conftest import lines_of_log
from tests.staff.test_asking import WHY, ask, member
from tests.staff.test_delivery import MINT, new_lines
from tests.staff.test_markets import Traded

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana() -> Client:
    return member("ana", *(f"file_{kind.lower()}" for kind in KINDS))


@pytest.fixture
def ben() -> Client:
    """He decides everything, and looks at everything."""
    seen = (
        "account apikey bankline cashaccount issuer issuergrant legacyshareholder"
        " market execution offering partner restriction token user withdrawal"
    )
    rights = [f"decide_{kind.lower()}" for kind in KINDS]
    return member("ben", *rights, *(f"view_{model}" for model in seen.split()))


def filed(kind: str, content: dict[str, Any], title: str) -> ApprovalRequest:
    """What ana files where no form of the requests does."""
    filer = User.objects.get(email="ana@staff.example")
    return file_request(kind, content, title, WHY, filer)


def asked_on_page(ana: Client, kind: str, **said: Any) -> ApprovalRequest:
    answer = ask(ana, kind, **said)
    assert answer.status_code == 302, answer.context["form"].errors
    return ApprovalRequest.objects.latest("filed_at")


def holding(token: Token, units: int = 40) -> User:
    [user] = people(1)
    [account] = ledger.holder_accounts([user.pk]).values()
    ledger.record([Entry(token.pk, "MINT", units, None, account)], "me")
    ledger.set_price(token.pk, 1_250, "MANUAL", "me")
    return user


def active_account() -> Account:
    return new_account(new_partner())


def mint(world: World, ana: Client) -> ApprovalRequest:
    user = holding(world.public_token)
    said = {"token": "LUM", "units": 10, "target": str(user.pk)}
    return asked_on_page(ana, "mint", **said)


def burn(world: World, ana: Client) -> ApprovalRequest:
    user = holding(world.public_token)
    said = {"token": "LUM", "units": 10, "source": str(user.pk)}
    return asked_on_page(ana, "burn", **said)


def forced_transfer(world: World, ana: Client) -> ApprovalRequest:
    source, target = holding(world.public_token), people(1)[0]
    said = {"token": "LUM", "units": 10, "source": source.pk, "target": target.pk}
    return asked_on_page(ana, "forced_transfer", **said)


def transfer(world: World, ana: Client) -> ApprovalRequest:
    source = holding(world.public_token)
    said = {"token": "LUM", "units": 10, "source": source.pk, "target": "treasury"}
    return asked_on_page(ana, "transfer", **said)


def reversal(world: World, ana: Client) -> ApprovalRequest:
    holding(world.public_token)
    return asked_on_page(ana, "reversal", token="LUM", entry=1)


def price(world: World, ana: Client) -> ApprovalRequest:
    holding(world.public_token)
    return asked_on_page(ana, "price", token="LUM", price="25", origin="NAV")


def lines_delivered(world: World, ana: Client) -> ApprovalRequest:
    holding(world.public_token)
    ids = [UUID(pk) for pk in new_lines(world.public_token, 70, 30)]
    job = delivery.begin_job(MINT, ids, "ana@staff.example")
    return filed(ApprovalKind.DELIVERY, delivery_content(job), delivery_title(job))


def key(world: World, ana: Client) -> ApprovalRequest:
    said = {"partner": world.partner.login, "scopes": ["issuers:read"]}
    return asked_on_page(ana, "key", **said, overlap_hours=0)


def closing(world: World, ana: Client) -> ApprovalRequest:
    account = Account.objects.open(
        world.partner, world.owner, officer(), timezone.now()
    )
    account.change_status("ACTIVE", officer(), None)
    return asked_on_page(ana, "closing", account=account.pk)


def withdrawal(world: World, ana: Client) -> ApprovalRequest:
    account = active_account()
    deposit(account, 100_000)
    requested = request_withdrawal(account, 50_000, "W-1", account.partner.login)
    content = content_of(requested, "APPROVED")
    title = title_of(requested, "APPROVED")
    return filed(ApprovalKind.WITHDRAWAL, content, title)


def assignment(world: World, ana: Client) -> ApprovalRequest:
    account = active_account()
    bank(("They said so", 12_345, "B-8"))
    said = {"line": "B-8", "account": reference_of(account)}
    return asked_on_page(ana, "assignment", **said)


def statement_of(*lines: tuple[str, int]) -> ApprovalRequest:
    content = csv(lines)
    booked = book_statement(
        content,
        "bank.csv",
        "ana",
        begin,
        closing_balance=at_bank(content),
        dry_run=True,
    )
    return filed(ApprovalKind.STATEMENT, booked.content, statement_title(booked))


def statement(world: World, ana: Client) -> ApprovalRequest:
    return statement_of((reference_of(active_account()), 35_000))


def rule(world: World, ana: Client) -> ApprovalRequest:
    holding(world.public_token)
    said = {"token": "LUM", "rule": "COUNTRIES", "says": "allowed DE"}
    return asked_on_page(ana, "rule", **said)


def lifting(world: World, ana: Client) -> ApprovalRequest:
    user = holding(world.public_token)
    restrict(user, Terms(Restriction.Kind.FREEZE, "A court"), asker())
    made = Restriction.objects.get()
    return asked_on_page(ana, "lifting", restriction=made.pk)


def bust(world: World, ana: Client) -> ApprovalRequest:
    traded = Traded()
    return asked_on_page(ana, "bust", token=traded.token.symbol, trade=1)


def reopen(world: World, ana: Client) -> ApprovalRequest:
    token = Traded().token
    change_phase(token.pk, "HALTED", asker(), "Rumours")
    as_committed()
    return asked_on_page(ana, "reopen", token=token.symbol, phase="CALL")


def release(world: World, ana: Client) -> ApprovalRequest:
    block = controls.block(world.partner.pk, None, None, asker(), "Runaway")
    return asked_on_page(ana, "release", block=block)


def tariff(world: World, ana: Client) -> ApprovalRequest:
    token = Traded().token
    return asked_on_page(
        ana, "tariff", token=token.symbol, partner=world.partner.login, maker="0.1",
        taker="0.25", minimum="1", maximum="5.50", vat="19",
    )  # fmt: skip


def parameters(world: World, ana: Client) -> ApprovalRequest:
    token = Traded().token
    return asked_on_page(
        ana, "parameters", token=token.symbol, opens="09:00", closes="17:30",
        weekdays_only="on", holidays="2027-12-31, 2027-12-24", tick="0.01",
        ticks="10.00 0.05\n100.00 0.10", lot="10", static="15", dynamic="7.5",
        model="BOTH", fixings="16:30 11:30", at_last="10", most_value="50000",
        most_units="1000",
    )  # fmt: skip


def offering(world: World, ana: Client) -> ApprovalRequest:
    drafted = draft(offerings.new_token(), offerings.terms(), asker())
    return asked_on_page(ana, "offering", offering=str(drafted.pk), step="OPEN")


def subscribed(**terms: Any) -> Offering:
    """50 units for a client, at 10 €."""
    offering = offerings.opened(**terms)
    [account] = new_clients(1)
    deposit(account, 50_000)
    offerings.subscribe(offering, account, 50, 1_000)
    return offering


def step(ana: Client, offering: Offering, what: str, **more: Any) -> ApprovalRequest:
    return asked_on_page(ana, "offering", offering=str(offering.pk), step=what, **more)


def offering_price(world: World, ana: Client) -> ApprovalRequest:
    book = {"rule": "BOOK", "price": None, "floor": 900, "cap": 1_100}
    return step(ana, offerings.close(subscribed(**book)), "PRICE", price="9.50")


def allotment(world: World, ana: Client) -> ApprovalRequest:
    return step(ana, offerings.close(subscribed()), "ALLOT")


def offering_withdrawn(world: World, ana: Client) -> ApprovalRequest:
    return step(ana, subscribed(), "WITHDRAWN")


def offering_failed(world: World, ana: Client) -> ApprovalRequest:
    offering = offerings.close(subscribed())
    approved_rule(offering.token, "MAX_BALANCE", {"units": 9})
    return step(ana, offering, "FAILED")


def allotted() -> Offering:
    return offerings.allot(offerings.close(subscribed()))


def settlement(world: World, ana: Client) -> ApprovalRequest:
    return asked_on_page(ana, "settlement", offering=str(allotted().pk))


def payout(world: World, ana: Client) -> ApprovalRequest:
    offering = allotted()
    offerings.settle(offering)
    return asked_on_page(
        ana, "payout", issuer=offering.token.issuer.slug, amount="200",
        payee="Lumarelle SA", iban="FR76 3000 6000 0112 3456 7890 189",
    )  # fmt: skip


def payout_cancelled(world: World, ana: Client) -> ApprovalRequest:
    issuer = offerings.settle(allotted()).token.issuer
    iban = "FR7630006000011234567890189"
    content = payout_content(issuer, 20_000, "Lumarelle SA", iban)
    paid = carry(ApprovalKind.PAYOUT, content)
    content = content_of(paid, "CANCELLED", WHY)
    return filed(ApprovalKind.WITHDRAWAL, content, title_of(paid, "CANCELLED"))


def tariff_ended(world: World, ana: Client) -> ApprovalRequest:
    token = Traded().token
    approved_tariff(token, fees.Terms(10, 25, 0, None, 1_900))
    return asked_on_page(ana, "tariff", token=token.symbol, ends="on")


def identity(world: World, ana: Client) -> ApprovalRequest:
    token = Traded().token
    return asked_on_page(ana, "identity", token=token.symbol, symbol="nova", isin="")


def grant(world: World, ana: Client) -> ApprovalRequest:
    return asked_on_page(ana, "grant", partner=world.partner.login)


def desk(world: World, ana: Client) -> ApprovalRequest:
    said = {"email": "maia@broker.example", "scopes": ["cash:read"]}
    return asked_on_page(ana, "desk", partner=world.partner.login, **said)


def sign_in(world: World, ana: Client) -> ApprovalRequest:
    member("cleo")
    return asked_on_page(ana, "sign_in", person="cleo@staff.example")


Told = Mapping[str, str | tuple[str, str]]
"""Of each row what it says: a fact, or a before and an after."""
OF_LUM: Told = {"Company": "Lumen", "Token": "LUM · .*"}
OF_ANY: Told = {"Company": ".*", "Token": ".*"}


def register(world: World, ana: Client) -> ApprovalRequest:
    filer = User.objects.get(email="ana@staff.example")
    content = {
        "issuer": str(uuid4()),
        "owner": str(uuid4()),
        "name": "Nova SAS",
        "supplies": {"NOVA-CS": "100000"},
    }
    title = "Register of Nova SAS with 1 token, from nova.zip"
    return file_request(ApprovalKind.REGISTER, content, title, WHY, filer)


def erasure(world: World, ana: Client) -> ApprovalRequest:
    filer = User.objects.get(email="ana@staff.example")
    [person] = people(1)
    content = erasure_content(person.pk, days_kept())
    return file_request(
        ApprovalKind.ERASURE, content, erasure_title(person.pk), WHY, filer
    )


CASES: Mapping[str, tuple[Callable[[World, Client], ApprovalRequest], str, Told]] = {
    "MINT": (
        mint,
        "Mint of 10 LUM",
        OF_LUM
        | {
            "Units": "10",
            "Value": "€125.00 at €12.50 a unit",
            "Share of the supply": "25.00%",
            "Supply": ("40", "50 (+25.00%)"),
            "To: .*": ("40", "50 (100.00% of the supply)"),
        },
    ),
    "BURN": (
        burn,
        "Burn of 10 LUM",
        OF_LUM
        | {
            "Supply": ("40", "30 (-25.00%)"),
            "From: .*": ("40", "30 (100.00% of the supply)"),
        },
    ),
    "FORCED_TRANSFER": (
        forced_transfer,
        "Forced transfer of 10 LUM",
        OF_LUM
        | {
            "Supply": ("40", "40 (+0.00%)"),
            "From: .*": ("40", "30 (75.00% of the supply)"),
            "To: .*": ("0", "10 (25.00% of the supply)"),
            "Number of holders": ("1", "2"),
        },
    ),
    "TRANSFER": (
        transfer,
        "Return of 10 LUM",
        OF_LUM
        | {
            "From: .*": ("40", "30 (75.00% of the supply)"),
            "To: .*": ("0", "10 (25.00% of the supply)"),
        },
    ),
    "REVERSAL": (
        reversal,
        "Reversal of entry 1: 40 LUM",
        OF_LUM
        | {
            "Reversed entry": "1: Mint of 40 units, .* by me",
            "Supply": ("40", "0 (-100.00%)"),
        },
    ),
    "PRICE": (
        price,
        "Price of LUM: €25.00 a unit",
        OF_LUM
        | {
            "Price per unit": ("€12.50", "€25.00 (+100.00%)"),
            "Value of units held": ("€500.00", "€1,000.00 (+100.00%)"),
        },
    ),
    "DELIVERY": (
        lines_delivered,
        "Delivery of 100 LUM: 2 legacy lines",
        OF_LUM
        | {
            "Lines": "2 legacy lines, 100 shares",
            "Source": "Newly issued units",
            "Value of LUM": "€1,250.00 at €12.50 a unit",
            "Supply of LUM": ("40", "140 (+250.00%)"),
            "Holders of LUM": ("1", "2 (1 holder will receive units)"),
            "Largest line, no. 1": "70 for .* (70.00% of the shares)",
        },
    ),
    "KEY": (
        key,
        r"API key for .*, never expires: issuers:read",
        {
            "Partner": ".*",
            "Scopes": "issuers:read",
            "Expiry": "NEVER EXPIRES: valid until revoked",
        },
    ),
    "CLOSING": (
        closing,
        "Closing of the account of .*",
        {
            "Account": ".*",
            "Client": ".*",
            "Partner": ".*",
            "Cash": "€0.00",
            "Status": ("Active", "Closed"),
        },
    ),
    "WITHDRAWAL": (
        withdrawal,
        "Withdrawal of €500.00 for .*, RF.*",
        {
            "Amount": "€500.00",
            "Payee": ".*",
            "Partner": ".*",
            "Status of the withdrawal": ("Requested", "Approved"),
            "Balance of the account": (
                "€1,000.00",
                ("€500.00 after payment by the bank"),
            ),
        },
    ),
    "ASSIGNMENT": (
        assignment,
        "€123.45 from bank line B-8 to .*",
        {
            "Amount": "€123.45",
            "Bank line": "B-8",
            "Balance of Suspense": ("€123.45", "€0.00"),
            "Balance of .* at .*": ("€0.00", "€123.45"),
        },
    ),
    "STATEMENT": (
        statement,
        "Bank statement bank.csv: €350.00 for clients",
        {
            "Lines": "1",
            "Bank balance": ("€0.00", "€350.00"),
            "Balance of .* at .*": ("€0.00", "€350.00"),
        },
    ),
    "RULE": (
        rule,
        "Rule of LUM: .*DE.*",
        OF_LUM
        | {
            "Rule": ("none", "Only for tax residents of DE."),
            "Holders who would not comply": "1 of 1: .*",
        },
    ),
    "LIFTING": (
        lifting,
        "Lift the Freeze of .*, all units",
        {
            "Holder": ".*",
            "Token": "every token of every company",
            "Restriction": ("Freeze", "none"),
            "Holdings of this holder": "40 units of 1 token",
        },
    ),
    "BUST": (
        bust,
        r"Bust of 5 \w+ at €1.00, trade 1",
        {
            "Company": ".*",
            "Trade": "1, .* UTC",
            "Units": "5 at €1.00 per unit, €5.00 in total",
            "Units of the buyer": ("5", "0"),
            "Cash of the buyer": ("€95.00", "€100.00"),
            "Units of the seller": ("45", "50"),
            "Cash of the seller": ("€5.00", "€0.00"),
        },
    ),
    "REOPEN": (
        reopen,
        r"Reopening of the market of \w+ as call",
        {
            "Company": ".*",
            "Reason of the halt": "Rumours",
            "Phase": ("Halted", "Call"),
        },
    ),
    "RELEASE": (
        release,
        "Release of the block of .*",
        {
            "Partner": ".*",
            "Account": "All accounts",
            "Reason of the block": "Runaway",
            "New orders": ("refused", "accepted, unless another block stands"),
        },
    ),
    "SIGN_IN": (
        sign_in,
        "Reset of the sign-in of cleo@staff.example",
        {
            "Name": "cleo .*",
            "Roles": "none",
            "Last sign-in": ".* UTC",
            "Authenticator": ("none", "none"),
            "Unused recovery codes": ("0", "0"),
        },
    ),
    "TARIFF": (
        tariff,
        r"Tariff of \w+ for .*: maker 0.1 %, taker 0.25 %, at least .*",
        {
            "Company": ".*",
            "Partner": ".*",
            "Tariff": (
                "none",
                "maker 0.1 %, taker 0.25 %, at least €1.00, at most €5.50 an order; "
                "VAT 19 %",
            ),
            "From": "its approval",
        },
    ),
    "PARAMETERS": (
        parameters,
        r"Parameters of the market of \w+",
        {
            "Company": ".*",
            "Session": (
                "all day, ending 22:00, every day (Europe/Paris)",
                "09:00 to 17:30, Monday to Friday (Europe/Paris)",
            ),
            "Holidays": ("none", "2027-12-24, 2027-12-31"),
            "Tick": ("€0.01", "€0.01; €0.05 from €10.00; €0.10 from €100.00"),
            "Lot": ("1 unit", "10 units"),
            "Static band": ("20 %", "15 %"),
            "Dynamic band": ("10 %", "7.5 %"),
            "Model": ("Continuous", "Continuous with fixings"),
            "Fixings": ("none", "11:30, 16:30"),
            "Trading at last": ("0 minutes", "10 minutes"),
            "Highest value of an order": ("none", "€50,000.00"),
            "Most units of an order": ("none", "1,000 units"),
        },
    ),
    "OFFERING": (
        offering,
        r"Opening of an offering: \w+, 100 units at €10.00",
        {
            "Company": ".*",
            "Token": ".*",
            "Step": "Opening of an offering",
            "Units": "10 to 100, from: The issuer's treasury",
            "Proceeds": "€100.00 to €1,000.00",
            "Reflection period": "4 days",
            "Status": ("Draft", "Open"),
        },
    ),
    "SETTLEMENT": (
        settlement,
        r"Settlement of an offering: \w+, 100 units at €10.00",
        {
            "Company": ".*",
            "Allotted": "50 units",
            "Paid to the issuer": "€500.00",
            "Fee of the issuer": "€0.00",
            "Status": ("Allotted", "Settled"),
            "Treasury": ("1,000", "950 (-5.00%)"),
            "Cash of the issuer": ("€0.00", "€500.00"),
        },
    ),
    "PAYOUT": (
        payout,
        r"Payment of €200.00 to \w+",
        {
            "Company": ".*",
            "Amount": "€200.00",
            "Payee": "Lumarelle SA",
            "IBAN of the payee": "FR76 3000 6000 0112 3456 7890 189",
            "Available": ("€500.00", "€300.00"),
        },
    ),
    "IDENTITY": (
        identity,
        r"\w+ of .* becomes symbol NOVA",
        {"Company": ".*", "Token": ".*", "ISIN": ("none", "none")},
    ),
    "ERASURE": (
        erasure,
        "Erasure of the person .*",
        {"Person": ".*"},
    ),
    "REGISTER": (
        register,
        "Register of Nova SAS with 1 token, from nova.zip",
        {"Company": "Nova SAS", "Units of NOVA-CS": ("0", "100,000")},
    ),
    "GRANT": (
        grant,
        r"Grant for every issuer to .* \(broker_one\)",
        {
            "Partner": ".*",
            "Company": "every company",
            "Issuers whose personal data and private tokens are visible": (
                "1",
                "every issuer: 2 now, and all future ones",
            ),
        },
    ),
    "DESK": (
        desk,
        r"maia@broker\.example at the desk of .* \(broker_one\), keys with cash:read",
        {
            "Partner": ".*",
            "Email address": "maia@broker.example",
            "Scopes of the keys it may issue": "cash:read",
            "Members of the desk": ("0", "1"),
        },
    ),
}


OTHERS: Mapping[str, tuple[Callable[[World, Client], ApprovalRequest], str, Told]] = {
    "price of an offering": (
        offering_price,
        r"Price of an offering: \w+, 100 units at €9.00 to €11.00",
        OF_ANY
        | {
            "Subscribed": "50 units",
            "Price": ("none", "€9.50"),
            "Value at this price": "€475.00 at €9.50 a unit",
        },
    ),
    "allotment": (
        allotment,
        r"Allotment of an offering: \w+, 100 units at €10.00",
        OF_ANY
        | {
            "Status": ("Closed", "Allotted"),
            "Allotted": ("0 units", "50 units"),
            "Value of the allotted units": "€500.00 at €10.00 a unit",
        },
    ),
    "withdrawal of an offering": (
        offering_withdrawn,
        r"Withdrawal of an offering: \w+, 100 units at €10.00",
        OF_ANY
        | {
            "Status": ("Open", "Withdrawn"),
            "Reserved by investors": ("€500.00", "€0.00"),
        },
    ),
    "failure of an offering": (
        offering_failed,
        r"Failure of an offering: \w+, 100 units at €10.00",
        OF_ANY
        | {
            "Status": ("Closed", "Failed"),
            "Reserved by investors": ("€500.00", "€0.00"),
        },
    ),
    "payout that is cancelled": (
        payout_cancelled,
        ".*€200.00.*",
        {
            "Company": ".*",
            "Amount": "€200.00",
            "Payee": "Lumarelle SA",
            "Status of the withdrawal": ("Approved", "Cancelled"),
        },
    ),
    "end of a tariff": (
        tariff_ended,
        r"Tariff of \w+: none",
        OF_ANY
        | {
            "Partner": "All partners without their own tariff",
            "Tariff": ("maker 0.1 %, taker 0.25 %; VAT 19 %", "none"),
        },
    ),
}
"""Other steps of kinds that have a case."""


def matches(pattern: str, text: str) -> bool:
    parts = map(re.escape, pattern.split(".*"))
    return re.fullmatch(".*".join(parts), text) is not None


@pytest.mark.usefixtures("one_person")
@pytest.mark.parametrize("kind", CASES | OTHERS)
def test_the_page_says_which_company_how_much_and_what_changes(
    world: World, ana: Client, ben: Client, kind: str
):
    make, title, told = (CASES | OTHERS)[kind]
    request = make(world, ana)
    answer = ben.get(link(request))
    assert re.fullmatch(title, request.title)
    rows = dict(
        [(what, said) for what, said, _ in answer.context["facts"]]
        + [(what, (b, a)) for what, b, a, _ in answer.context["changes"]]
    )
    for pattern, wanted in told.items():
        [name] = [row for row in rows if matches(pattern, row)]
        said = rows[name]
        if isinstance(wanted, str):
            assert matches(wanted, said), (name, said)
        else:
            assert said == wanted, name
    page = answer.content.decode()
    assert "ana@staff.example" in page
    assert WHY in page
    main = page[page.index("<main") :]
    assert not re.search(r"\bcents?\b", main)
    places = re.findall(r'<t[dh][^>]*><a href="([^"]+)"', main)
    # What a register brings is not there yet.
    assert places or kind == "REGISTER"
    for place in places:
        assert ben.get(place).status_code == 200, place


def test_every_kind_has_its_case():
    assert (
        set(CASES)
        == set(KINDS)
        == {
            *FORMS,
            "DELIVERY",
            "STATEMENT",
            "REGISTER",
            "ERASURE",
        }
    )


@pytest.mark.usefixtures("one_person")
def test_a_delivery_of_many_lines_is_read_in_as_many_statements(
    world: World, ana: Client, ben: Client
):
    def statements(*shares: int) -> int:
        lines = new_lines(world.public_token, *shares, reference=None)
        ids = [UUID(pk) for pk in lines]
        job = delivery.begin_job(DeliveryJob.Source.TREASURY, ids, "ana")
        request = filed("DELIVERY", delivery_content(job), delivery_title(job))
        with CaptureQueriesContext(connection) as captured:
            page = ben.get(link(request)).content.decode()
        assert "units short: lines that it cannot cover are refused" in page
        return len(captured)

    statements(1)
    assert statements(*[1] * 10) == statements(*[2] * 450)


@pytest.mark.usefixtures("one_person")
def test_each_line_of_a_statement_is_read_before_it_is_approved(
    ana: Client, ben: Client
):
    account = active_account()
    client = str(account.cash_account)
    known = (reference_of(account), 35_000)
    request = statement_of(known, ("They said so", 1_234), ("Fee of the bank", -250))
    answer = ben.get(link(request))
    rows = [tuple(cell for cell, _ in row) for row in answer.context["line_rows"]]
    assert [(amount, to) for _, _, _, amount, to in rows] == [
        ("€350.00", client),
        ("€12.34", "Suspense"),
        ("−€2.50", "Suspense"),
    ]
    lines = request.content["lines"]
    assert [row[:3] for row in rows] == [(r, day, text) for r, text, _, day, _ in lines]
    assert "1 to 3 of 3" in answer.content.decode()
    assert "Next lines" not in answer.content.decode()


@pytest.mark.usefixtures("one_person")
def test_a_statement_of_many_lines_is_read_page_by_page(ana: Client, ben: Client):
    account = active_account()

    def opened(count: int, **asked: str) -> tuple[Any, int]:
        lines = [(reference_of(account), 100 + n) for n in range(count)]
        request = statement_of(*lines)
        with CaptureQueriesContext(connection) as captured:
            answer = ben.get(link(request), asked)
        return answer, len(captured)

    few, _ = opened(3)
    few, statements = opened(3)
    many, of_many = opened(250)
    assert of_many == statements
    for page, first, last in (("1", 1, 100), ("3", 201, 250), ("99", 1, 100)):
        answer, _ = opened(250, page=page)
        page = answer.content.decode()
        assert f"{first} to {last} of 250" in page
        amounts = [row[3][0] for row in answer.context["line_rows"]]
        assert amounts == [f"€{(99 + n) / 100:.2f}" for n in range(first, last + 1)]
        assert ("Next lines" in page) == (last < 250)


def verdicts(page: str) -> list[str]:
    return re.findall(r'<button name="do" value="(\w+)"', page)


@pytest.mark.usefixtures("one_person")
def test_rejecting_comes_first_and_needs_a_reason_approving_none(
    world: World, ana: Client, ben: Client
):
    request = mint(world, ana)
    page = ben.get(link(request)).content.decode()
    assert verdicts(page) == ["refuse", "approve"]
    # Only buttons: no field of the forms would send them on Enter.
    assert 'type="text"' not in page[page.index("Your decision") :]
    for reason, why in ((" ", "a reason is required"), ("x" * 501, "501 characters")):
        refused = ben.post(link(request), {"do": "refuse", "reason": reason})
        assert why in refused.content.decode()
        assert not hasattr(ApprovalRequest.objects.latest("filed_at"), "decision")
    assert "x" * 501 in refused.content.decode()
    # A form that is sent without a verdict decides nothing.
    assert ben.post(link(request), {"reason": "No!"}).status_code == 403
    said = ben.post(link(request), {"do": "refuse", "reason": "No!"}, follow=True)
    assert "Rejected by" in said.content.decode()
    assert not hasattr(ApprovalRequest.objects.latest("filed_at"), "outcome")


@pytest.mark.usefixtures("one_person")
def test_the_asker_takes_a_request_back(world: World, ana: Client, ben: Client):
    request = mint(world, ana)
    page = ana.get(link(request)).content.decode()
    assert verdicts(page) == ["take_back"]
    assert "cannot approve your own request" in page
    ben.post(link(request), {"do": "take_back"})
    assert not hasattr(ApprovalRequest.objects.latest("filed_at"), "decision")
    done = ana.post(link(request), {"do": "take_back"}, follow=True).content.decode()
    assert "Taken back by" in done
    assert verdicts(done) == []
    late = ben.post(link(request), {"do": "approve"}, follow=True).content.decode()
    assert "has already decided this request" in late
    assert not hasattr(ApprovalRequest.objects.latest("filed_at"), "outcome")
    reader = member("eve", "view_rowchange")
    log = lines_of_log(reader, {"object": str(request.pk)})
    assert [(line.what, line.name) for line in log] == [
        ("Taken back", request.title),
        ("Request", request.title),
    ]
    inbox = "/admin/accounts/approvalrequest/"
    assert request.title not in ben.get(inbox).content.decode()
    listed = ben.get(inbox, {"status": "TAKEN_BACK"}).content.decode()
    assert request.title in listed
