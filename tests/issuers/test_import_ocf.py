import io
import json
import random
import sys
import zipfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User, UserHolder
from issuers.imports.ocf import reading
from issuers.imports.ocf.replay import State, replay
from issuers.imports.ocf.steps import Plan, Step
from issuers.models import Issuer, Token
from issuers.register.models import (
    HolderBalance,
    LedgerTransaction,
    TokenLedgerHead,
    TokenPrice,
)
from issuers.register.verification import verify

pytestmark = pytest.mark.django_db
DRY = " (dry run: nothing was written)"


def stakeholder(id, name, kind="INDIVIDUAL", **more):
    names = {"legal_name": name, **more}
    return {
        "id": id,
        "object_type": "STAKEHOLDER",
        "name": names,
        "stakeholder_type": kind,
    }


def stock_class(id, name, prefix):
    return {
        "id": id,
        "object_type": "STOCK_CLASS",
        "name": name,
        "class_type": "COMMON",
        "default_id_prefix": prefix,
        "initial_shares_authorized": "1000000",
    }


PEOPLE = [
    stakeholder("ann", "Ann Lee Roy"),
    stakeholder("bob", "Bob Fox", first_name="Robert", last_name="Fox"),
    stakeholder("fund", "North Fund SA", "INSTITUTION"),
]
CLASSES = [stock_class("com", "Common", "CS-"), stock_class("pre", "Preferred", "P")]


def tx(id, kind, date, **fields):
    return {"id": id, "object_type": f"TX_STOCK_{kind}", "date": date, **fields}


def issue(security, holder, quantity, date="2021-01-01", of="com", **more):
    return tx(
        f"issue-{security}", "ISSUANCE", date, security_id=security,
        stakeholder_id=holder, stock_class_id=of, quantity=quantity, **more,
    )  # fmt: skip


def euro(amount):
    return {"amount": amount, "currency": "EUR"}


def files(*transactions, people=PEOPLE, classes=CLASSES, **issuer):
    def items(kind, objects):
        return {"file_type": kind, "items": objects}

    manifest = {
        "file_type": "OCF_MANIFEST_FILE",
        "issuer": {
            "id": "nova",
            "object_type": "ISSUER",
            "legal_name": "Nova SAS",
            "country_of_formation": "FR",
            **issuer,
        },
        "transactions_files": [{"filepath": "./Transactions.ocf.json"}],
        "stakeholders_files": [{"filepath": "./Stakeholders.ocf.json"}],
        "stock_classes_files": [{"filepath": "./StockClasses.ocf.json"}],
    }
    return {
        "Manifest.ocf.json": manifest,
        "Stakeholders.ocf.json": items("OCF_STAKEHOLDERS_FILE", people),
        "StockClasses.ocf.json": items("OCF_STOCK_CLASSES_FILE", classes),
        "Transactions.ocf.json": items("OCF_TRANSACTIONS_FILE", list(transactions)),
    }


@pytest.fixture
def write(tmp_path):
    """A package as a folder, a file each; what is text already stays."""

    def write(package):
        folder = tmp_path / "package"
        for name, content in package.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(
                content if isinstance(content, str) else json.dumps(content)
            )
        return folder

    return write


@pytest.fixture
def load(write):
    return lambda *transactions, **more: run(write(files(*transactions, **more)))


def run(path, **options):
    output = io.StringIO()
    call_command("import_ocf", path, stdout=output, **options)
    return output.getvalue()


def refused(path, capsys):
    with pytest.raises(CommandError, match="Nothing was changed"):
        run(path)
    assert (Issuer.objects.count(), User.objects.count()) == (0, 0)
    assert Token.objects.count() == 0
    return capsys.readouterr().err.splitlines()


def balances():
    """By class and holder, of those who hold something."""
    rows = HolderBalance.objects.filter(balance__gt=0)
    return {
        (name, holder): units
        for name, holder, units in rows.values_list(
            "token__name", "account__holder__name", "balance"
        )
    }


def kinds():
    rows = LedgerTransaction.objects.order_by("effective_at", "token__name", "seq")
    return list(rows.values_list("kind", "amount"))


def sound():
    return [finding for finding in verify() if finding.breaches] == []


def counted(output, what):
    """The number in the summary's row."""
    [row] = [line for line in output.splitlines() if f"│ {what} " in line]
    return int(row.split("│")[2].replace(",", ""))


def replayed(folder: Path):
    """Outstanding by class and holder: a dictionary of securities, minus the gone.

    The package issues again whatever remains, in the quantities after its split.
    """
    items = json.loads((folder / "Transactions.ocf.json").read_text())["items"]
    securities = {
        item["security_id"]: item
        for item in items
        if item["object_type"] == "TX_STOCK_ISSUANCE"
    }
    ends = ("TRANSFER", "CANCELLATION", "REPURCHASE", "RETRACTION", "REISSUANCE",
        "CONVERSION")  # fmt: skip
    for item in items:
        if item["object_type"] in {f"TX_STOCK_{end}" for end in ends}:
            del securities[item["security_id"]]
    totals: Counter[tuple[str, str]] = Counter()
    for item in securities.values():
        key = item["stock_class_id"], item["stakeholder_id"]
        totals[key] += int(item["quantity"])
    return dict(totals)


def test_a_real_package_agrees_with_an_independent_replay(test_data):
    folder = test_data / "ocf" / "acme_holdings"
    output = run(folder)
    classes = {"Ordinary A": "ordinaryA", "Ordinary B": "ordinaryB",
        "Preferred": "preferred"}  # fmt: skip
    names = {
        item["name"]["legal_name"]: item["id"]
        for item in json.loads((folder / "Stakeholders.ocf.json").read_text())["items"]
    }
    found = {(classes[c], names[h]): units for (c, h), units in balances().items()}
    assert found == replayed(folder)
    assert sum(found.values()) == 210_000
    assert len({holder for _, holder in found}) == 3
    assert set(Token.objects.values_list("name", "symbol", "authorized_units")) == {
        ("Ordinary A", "ACME-OA", 10_000_000),
        ("Ordinary B", "ACME-OB", 5_000_000),
        ("Preferred", "ACME-P", 350_000),
    }
    assert sum(TokenLedgerHead.objects.values_list("supply", flat=True)) == 210_000
    [total] = [line for line in output.splitlines() if "3 classes" in line]
    assert [cell.strip() for cell in total.split("│")[3:5]] == ["210,000", "3"]
    for what, count in {
        "TX_STOCK_ISSUANCE": 17,
        "TX_STOCK_CONVERSION": 1,
        "TX_STOCK_ACCEPTANCE": 1,
        "TX_EQUITY_COMPENSATION_ISSUANCE": 3,
        "TX_EQUITY_COMPENSATION_EXERCISE": 4,
        "TX_VESTING_START": 3,
        "VALUATION": 3,
        "VESTING_TERMS": 1,
        "issue prices in USD": 6,
        "stakeholders without shares": 1,
    }.items():
        assert counted(output, what) == count
    assert output.count("another md5 than the manifest says") == 5
    assert (
        "4 TX_EQUITY_COMPENSATION_EXERCISE: stock that it results in has no" in output
    )
    reasons = LedgerTransaction.objects.filter(kind="BURN").values_list("reason")
    assert (
        "TX_STOCK_CANCELLATION sc_01: Cancelling the remaining securities",
    ) in reasons
    assert sound()

    again = run(folder)
    assert "acme-holdings-limited: 0 changes." in again
    assert LedgerTransaction.objects.count() == 15


def test_issuer_holders_tokens_prices_and_times(load):
    output = load(
        issue("s1", "ann", "100.00", share_price=euro("1.25")),
        issue("s2", "fund", 50, "2021-02-01T10:30:00+01:00", share_price=euro("2")),
        issue("s3", "fund", "7", "2021-02-02", share_price=euro("2.00")),
        issue("s4", "bob", "1", "2021-03-01", share_price=euro("0.001")),
    )
    issuer = Issuer.objects.get()
    assert (issuer.slug, issuer.trading_name) == ("nova-sas", "Nova SAS")
    assert (issuer.country_id, issuer.trading_location) == ("FR", "France")
    assert issuer.owner.company_name == "Nova SAS"
    assert balances() == {
        ("Common", "Ann Lee Roy"): 100,
        ("Common", "North Fund SA"): 57,
        ("Common", "Bob Fox"): 1,
    }
    people = {holder.name: holder.user for holder in UserHolder.objects.all()}
    assert (people["Bob Fox"].first_name, people["Bob Fox"].last_name) == (
        "Robert", "Fox",
    )  # fmt: skip
    ann = people["Ann Lee Roy"]
    assert (ann.type, ann.first_name, ann.last_name) == ("INDIVIDUAL", "Ann Lee", "Roy")
    fund = people["North Fund SA"]
    assert (fund.type, fund.company_name) == ("COMPANY", "North Fund SA")
    prices = TokenPrice.objects.order_by("number")
    assert list(prices.values_list("price_cents", "source", "effective_at")) == [
        (125, "ISSUE", datetime(2021, 1, 1, tzinfo=UTC)),
        (200, "ISSUE", datetime(2021, 2, 1, 9, 30, tzinfo=UTC)),
    ]
    assert counted(output, "issue prices in fractions of a cent") == 1
    common = Token.objects.get(name="Common")
    assert (common.symbol, common.visibility) == ("NOVA-CS", "PRIVATE")
    assert common.created_at == datetime(2021, 1, 1, tzinfo=UTC)
    assert kinds() == [("MINT", 100), ("MINT", 50), ("MINT", 7), ("MINT", 1)]
    assert sound()


ROOT = issue("s1", "ann", "100")


@pytest.mark.parametrize(
    ("transactions", "entries", "held"),
    [
        pytest.param(
            [
                tx("t", "TRANSFER", "2021-01-01", security_id="s1", quantity="40",
                   resulting_security_ids=["s2"], balance_security_id="s3"),
                issue("s2", "bob", "40"),
                issue("s3", "ann", "60"),
            ],
            [("TRANSFER", 40)],
            {"Ann Lee Roy": 60, "Bob Fox": 40},
            id="transfer, listed before what it results in",
        ),
        pytest.param(
            [
                tx("t", "TRANSFER", "2021-01-01", security_id="s1", quantity="100",
                   resulting_security_ids=["s2", "s3"]),
                issue("s2", "bob", "70"),
                issue("s3", "fund", "30"),
                tx("u", "TRANSFER", "2021-01-01", security_id="s3", quantity="30",
                   resulting_security_ids=["s4"]),
                issue("s4", "ann", "30"),
            ],
            [("TRANSFER", 70), ("TRANSFER", 30), ("TRANSFER", 30)],
            {"Ann Lee Roy": 30, "Bob Fox": 70},
            id="transfers of one day to several",
        ),
        pytest.param(
            [tx("t", "CANCELLATION", "2021-02-01", security_id="s1", quantity="30",
                balance_security_id="s2")],
            [("BURN", 30)],
            {"Ann Lee Roy": 70},
            id="cancellation whose balance is not issued",
        ),
        pytest.param(
            [tx("t", "REPURCHASE", "2021-02-01", security_id="s1", quantity="30",
                price=euro("1"))],
            [("BURN", 30)],
            {"Ann Lee Roy": 70},
            id="repurchase without a balance",
        ),
        pytest.param(
            [tx("t", "RETRACTION", "2021-02-01", security_id="s1")],
            [("BURN", 100)],
            {},
            id="retraction",
        ),
        pytest.param(
            [
                tx("t", "REISSUANCE", "2021-02-01", security_id="s1",
                   resulting_security_ids=["s2", "s3"]),
                issue("s2", "ann", "10", "2021-02-01"),
                issue("s3", "ann", "90", "2021-02-01"),
                tx("u", "CONSOLIDATION", "2021-03-01", security_ids=["s2", "s3"],
                   resulting_security_id="s4"),
                issue("s4", "ann", "100", "2021-03-01"),
            ],
            [],
            {"Ann Lee Roy": 100},
            id="reissuance and consolidation change nothing",
        ),
        pytest.param(
            [
                issue("s2", "bob", "4"),
                tx("t", "CLASS_SPLIT", "2021-02-01", stock_class_id="com",
                   split_ratio={"numerator": "3", "denominator": "1"}),
                tx("u", "CANCELLATION", "2021-02-02", security_id="s1",
                   quantity="300"),
            ],
            [("MINT", 4), ("MINT", 200), ("MINT", 8), ("BURN", 300)],
            {"Bob Fox": 12},
            id="split of what is outstanding",
        ),
        pytest.param(
            [
                tx("r", "REISSUANCE", "2021-02-01", security_id="s1",
                   resulting_security_ids=["s2"]),
                issue("s2", "ann", "200", "2021-02-01"),
                tx("t", "CLASS_SPLIT", "2021-02-01", stock_class_id="com",
                   split_ratio={"numerator": "2", "denominator": "1"}),
            ],
            [("MINT", 100)],
            {"Ann Lee Roy": 200},
            id="split that reissues, counted once",
        ),
        pytest.param(
            [
                tx("t", "CLASS_SPLIT", "2021-02-01", stock_class_id="com",
                   split_ratio={"numerator": "1", "denominator": "10"}),
            ],
            [("BURN", 90)],
            {"Ann Lee Roy": 10},
            id="reverse split",
        ),
        pytest.param(
            [tx("t", "ACCEPTANCE", "2021-01-01", security_id="s1")],
            [],
            {"Ann Lee Roy": 100},
            id="acceptance",
        ),
    ],
)  # fmt: skip
def test_each_kind_of_transaction(load, transactions, entries, held):
    load(*reversed(transactions), ROOT)
    assert {name: units for (_, name), units in balances().items()} == held
    assert Counter(kinds()) == Counter([("MINT", 100), *entries])
    assert sound()


@pytest.mark.parametrize("linked", [{}, {"split_transaction_id": "t"}])
@pytest.mark.parametrize("split_first", [True, False])
def test_a_split_comes_before_what_it_reissues(load, linked, split_first):
    split = tx("t", "CLASS_SPLIT", "2021-02-01", stock_class_id="com",
        split_ratio={"numerator": "2", "denominator": "1"})  # fmt: skip
    reissued = [
        tx("r", "REISSUANCE", "2021-02-01", security_id="s1",
           resulting_security_ids=["s2"], **linked),
        issue("s2", "ann", "200", "2021-02-01"),
    ]  # fmt: skip
    load(ROOT, *([split, *reissued] if split_first else [*reissued, split]))
    assert balances() == {("Common", "Ann Lee Roy"): 200}
    assert kinds() == [("MINT", 100), ("MINT", 100)]


def test_a_reverse_split_costs_what_its_holders_are(write):
    """The lines that run for 200 holders are not more than twice those for 100."""

    def lines_run(count):
        holders = [stakeholder(f"h{n}", f"H {n}") for n in range(count)]
        split = tx("t", "CLASS_SPLIT", "2021-02-01", stock_class_id="com",
            split_ratio={"numerator": "1", "denominator": "2"})  # fmt: skip
        issued = [issue(f"s{n}", f"h{n}", "10") for n in range(count)]
        package = reading.read_package(write(files(*issued, split, people=holders)))
        run = 0

        def follow(frame, event, _):
            nonlocal run
            run += event == "line" and frame.f_code.co_name == "move"
            return follow

        before = sys.gettrace()
        sys.settrace(follow)
        try:
            replayed = replay(package, datetime(2021, 3, 1, tzinfo=UTC))
        finally:
            sys.settrace(before)
        assert replayed.balances["com"] == {f"h{n}": 5 for n in range(count)}
        burnt = [event for event in replayed.events if event.source]
        assert [event.target for event in burnt] == [None] * count
        return run

    assert lines_run(200) <= 2 * lines_run(100)


def test_what_holders_lose_others_gain_in_turn():
    item = reading.Item("T", 0, "t", "TX_STOCK_CONSOLIDATION", {})
    state = State(reading.Package(item, classes={"com": item}), Plan())
    state.result.balances["com"] = Counter(a=5, d=3)
    changes = {"a": -5, "b": 3, "c": 4, "d": -3, "e": 2}
    state.move(Step(item, datetime(2021, 3, 1, tzinfo=UTC)), "com", changes)
    moved = [(m.source, m.target, m.amount) for m in state.result.events]
    assert moved == [
        ("a", "b", 3), ("a", "c", 2), ("d", "c", 2), ("d", "e", 1), (None, "e", 1)
    ]  # fmt: skip
    state.move(Step(item, datetime(2021, 3, 1, tzinfo=UTC)), "com", {"b": -2, "c": -1})
    lost = [(m.source, m.target, m.amount) for m in state.result.events[5:]]
    assert lost == [("b", None, 2), ("c", None, 1)]
    assert state.result.balances["com"] == Counter(b=1, c=3, e=2, a=0, d=0)


def test_a_split_may_be_rounded_where_it_is_reissued(load):
    load(
        issue("s1", "ann", "101"),
        tx("t", "CLASS_SPLIT", "2021-02-01", stock_class_id="com",
           split_ratio={"numerator": "3", "denominator": "2"}),
        tx("r", "REISSUANCE", "2021-02-03", security_id="s1",
           resulting_security_ids=["s2"], split_transaction_id="t"),
        issue("s2", "ann", "152", "2021-02-03"),
    )  # fmt: skip
    assert kinds() == [("MINT", 101), ("MINT", 50), ("MINT", 1)]
    assert balances() == {("Common", "Ann Lee Roy"): 152}


def test_a_conversion_goes_from_one_class_to_the_other(load):
    load(
        ROOT,
        tx("c", "CONVERSION", "2021-05-01", security_id="s1", quantity_converted="60",
           resulting_security_ids=["p1"], balance_security_id="s2"),
        issue("p1", "ann", "30", "2021-05-01", of="pre"),
        issue("s2", "ann", "40", "2021-05-01"),
    )  # fmt: skip
    assert balances() == {
        ("Common", "Ann Lee Roy"): 40,
        ("Preferred", "Ann Lee Roy"): 30,
    }
    assert kinds() == [("MINT", 100), ("BURN", 60), ("MINT", 30)]


def test_only_an_issue_sets_a_price_and_other_prices_are_counted(load):
    output = load(
        issue("s1", "ann", "+100.0", share_price=euro("2")),
        tx("t", "TRANSFER", "2021-02-01", security_id="s1", quantity="100",
           resulting_security_ids=["s2"]),
        issue("s2", "bob", "100", "2021-02-01", share_price=euro("5")),
    )  # fmt: skip
    assert list(TokenPrice.objects.values_list("price_cents")) == [(200,)]
    assert counted(output, "share prices not of an issue") == 1
    assert balances() == {("Common", "Bob Fox"): 100}


def test_fractions_are_whole_in_the_register_and_named(load):
    output = load(
        issue("s1", "ann", "10.5"),
        issue("s2", "ann", "0.75"),
        issue("s3", "bob", "7"),
        tx("t", "TRANSFER", "2021-02-01", security_id="s1", quantity="10.5",
           resulting_security_ids=["s4"]),
        issue("s4", "bob", "10.5", "2021-02-01"),
    )  # fmt: skip
    assert balances() == {("Common", "Bob Fox"): 17}
    assert counted(output, "3/4 of a unit of com with ann") == 1
    assert counted(output, "1/2 of a unit of com with bob") == 1
    assert sound()


def made_up(seed):
    """Transactions in a random order, and what they leave, by class and holder."""
    pick = random.Random(seed)
    numbers = iter(range(10_000))
    open_, items = {}, []

    def give(count, holder, of, day):
        security = f"s{next(numbers)}"
        open_[security] = [of, holder, count]
        items.append(issue(security, holder, f"{count}.00", day, of))
        return security

    for step in range(60):
        day = f"2021-{1 + step // 20:02}-{1 + step % 20 // 7:02}"
        act = pick.choice(["ISSUE", "TRANSFER", "BURN", "REISSUE", "CONVERT", "SPLIT"])
        if act == "ISSUE" or not open_:
            who, of = pick.choice(["ann", "bob", "fund"]), pick.choice(["com", "pre"])
            give(pick.randint(1, 1000), who, of, day)
            continue
        # A day on which much happens: only the ids tell what comes before what.
        if act == "SPLIT" and step % 20 == 19:
            day = f"2021-{1 + step // 20:02}-25"
            ratio = {"numerator": "2", "denominator": "1"}
            items.append(
                tx(f"x{step}", "CLASS_SPLIT", day, stock_class_id="com",
                   split_ratio=ratio)
            )  # fmt: skip
            for security in open_.values():
                security[2] *= 2 if security[0] == "com" else 1
            continue
        taken = pick.choice(list(open_))
        of, holder, count = open_.pop(taken)
        part = pick.randint(1, count)
        rest = {}
        if act in ("TRANSFER", "BURN", "CONVERT") and part < count:
            rest = {"balance_security_id": give(count - part, holder, of, day)}
        if act == "TRANSFER":
            new = [give(part, pick.choice(["ann", "bob", "fund"]), of, day)]
            more = {"quantity": str(part), "resulting_security_ids": new, **rest}
        elif act == "BURN":
            act = pick.choice(["CANCELLATION", "REPURCHASE"])
            more = {"quantity": part, **rest}
        elif act == "CONVERT":
            act, other = "CONVERSION", {"com": "pre", "pre": "com"}[of]
            new = [give(part * 3, holder, other, day)]
            more = {"quantity_converted": part, "resulting_security_ids": new, **rest}
        else:
            act = "REISSUANCE"
            new = [give(part, holder, of, day)]
            new += [give(count - part, holder, of, day)] if count > part else []
            more = {"resulting_security_ids": new}
        items.append(tx(f"x{step}", act, day, security_id=taken, **more))
    pick.shuffle(items)
    left = Counter()
    for of, holder, count in open_.values():
        left[of, holder] += count
    return items, dict(left)


@pytest.mark.parametrize("seed", range(12))
def test_made_up_packages_leave_what_they_were_made_to(load, seed):
    items, left = made_up(seed)
    load(*items, classes=[c | {"initial_shares_authorized": "x"} for c in CLASSES])
    names = {"Common": "com", "Preferred": "pre", "Ann Lee Roy": "ann",
        "Bob Fox": "bob", "North Fund SA": "fund"}  # fmt: skip
    found = {(names[of], names[who]): units for (of, who), units in balances().items()}
    assert found == left
    assert sound()


def test_what_has_no_place_is_counted(write):
    package = files(ROOT, tx("x", "TELEPORTATION", "2021-01-01"))
    package["Plans.ocf.json"] = {
        "file_type": "OCF_STOCK_PLANS_FILE",
        "items": [{"id": "plan", "object_type": "STOCK_PLAN"}],
    }
    package["Stakeholders.ocf.json"]["items"][0] |= {"tax_ids": [{"tax_id": "1"}]}
    more = [
        {"id": "w", "object_type": "TX_WARRANT_ISSUANCE"},
        {"id": "n", "object_type": "TX_CONVERTIBLE_ISSUANCE"},
        {"id": "odd", "object_type": "HOROSCOPE"},
    ]
    package["Transactions.ocf.json"]["items"] += more
    output = run(write(package))
    for what in (
        "TX_STOCK_TELEPORTATION", "STOCK_PLAN", "TX_WARRANT_ISSUANCE", "HOROSCOPE",
        "TX_CONVERTIBLE_ISSUANCE", "STAKEHOLDER.tax_ids",
    ):  # fmt: skip
        assert counted(output, what) == 1
    assert "Plans.ocf.json: read, though the manifest does not name it" in output


@pytest.mark.parametrize(
    "issuer",
    [
        {"id": "\ud800", "legal_name": "株式会社", "country_of_formation": None},
        {"id": None, "dba": ["no name"], "address": {"city": "Lyon\0"}},
        {"dba": "[bold]Nova[/bold]", "address": "Lyon", "formation_date": 3},
    ],
)
def test_an_unusual_issuer_is_imported_once(write, issuer):
    folder = write(files(ROOT, **issuer))
    assert "1 entries and 0 prices" in run(folder)
    assert run(folder).strip().endswith("0 changes.")
    assert sound()


def test_holders_are_known_by_their_email_address(load):
    def person(id, *emails):
        listed = [{"email_type": "OTHER", "email_address": email} for email in emails]
        named = stakeholder(id, f"{id} Roy".title())
        return named | {"contact_info": {"emails": listed}}

    stored = User.objects.create_user(
        "zoe@example.com", type="INDIVIDUAL", first_name="Zoé", last_name="Roy"
    )
    User.objects.create_user("co@example.com", type="COMPANY", company_name="Co")
    people = [
        person("zoe", "Zoe@example.com"),
        person("ben", "Ben@example.com", "b@example.com"),
        person("eva", "both@example.com"),
        person("ida", "both@example.com"),
        person("joe", "co@example.com"),
        person("kim", "no address"),
        person("lea"),
    ]
    names = [one["id"] for one in people]
    output = load(*(issue(f"s-{n}", n, "5") for n in names), people=people)
    emails = {
        user.first_name: user.email for user in User.objects.filter(last_name="Roy")
    }
    assert emails == {
        "Zoé": "zoe@example.com", "Ben": "ben@example.com", "Eva": None, "Ida": None,
        "Joe": None, "Kim": None, "Lea": None,
    }  # fmt: skip
    assert HolderBalance.objects.get(account__user=stored).balance == 5
    assert "1 holders were known by their e-mail address" in output
    assert "2 e-mail addresses left out: several stakeholders have them" in output
    assert "1 e-mail addresses left out: a company has them" in output


def test_a_package_without_classes_is_an_issuer(load):
    assert "0 entries and 0 prices in the ledgers of 0 tokens" in load(classes=[])
    assert Issuer.objects.count() == 1


def test_a_dry_run_says_the_same_and_writes_nothing(write):
    folder = write(files(ROOT))
    dry = run(folder, dry_run=True)
    assert dry.strip().endswith(DRY)
    assert (Issuer.objects.count(), User.objects.count()) == (0, 0)
    assert LedgerTransaction.objects.count() == 0
    assert run(folder).strip() == dry.strip().removesuffix(DRY)


def zipped(folder, target, prefix="export/2024"):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"{prefix}/{file.name}")
        archive.writestr("__MACOSX/._Manifest.ocf.json", b"\0")
    return target


def test_the_same_package_as_a_zip_or_split_otherwise_changes_nothing(write, tmp_path):
    second = issue("s2", "bob", "5")
    folder = write(files(ROOT, second))
    archive = zipped(folder, tmp_path / "nova.zip")
    assert "2 entries and 0 prices" in run(archive)
    assert run(folder).strip().endswith("nova-sas: 0 changes.")
    package = files(ROOT)
    package["More.ocf.json"] = {
        "file_type": "OCF_TRANSACTIONS_FILE", "items": [second],
    }  # fmt: skip
    assert run(write(package)).strip().endswith("nova-sas: 0 changes.")
    assert (Issuer.objects.count(), LedgerTransaction.objects.count()) == (1, 2)


def test_files_that_are_not_read_are_named(write, tmp_path, capsys):
    others = {"a.txt": "a", "deeds/b.pdf": "b", "c.json": "{}", ".hidden": "d"}
    folder = write(files(ROOT) | others)
    said = "3 files not read: their names do not end in .ocf.json (a.txt, c.json, "
    assert said in run(folder, dry_run=True)
    archive = tmp_path / "nova.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for file in folder.rglob("*.*"):
            made.write(file, file.relative_to(tmp_path))
    assert "3 files not read: " in run(archive, dry_run=True)
    package = files(ROOT) | others
    package["Manifest.ocf.json"]["stock_plans_files"] = [{"filepath": "./c.json"}]
    [line] = refused(write(package), capsys)
    assert "stock_plans_files: names ./c.json; let its name, there and here" in line


def test_another_package_of_an_issuer_is_refused(load, capsys):
    load(ROOT)
    with pytest.raises(CommandError, match="1 problem, listed above"):
        load(ROOT, issue("s2", "bob", "5"))
    assert "nova: was imported before, as nova-sas" in capsys.readouterr().err
    assert LedgerTransaction.objects.count() == 1


def test_a_taken_slug_gets_a_number_and_is_named(load):
    load(ROOT)
    output = load(ROOT, id="other")
    assert "slug nova-sas is taken: nova-sas-2 given" in output
    assert Token.objects.filter(symbol="NOVA-CS.2").count() == 1


@pytest.mark.parametrize(
    ("transaction", "rule"),
    [
        (issue("s2", "ghost", "1"), "stakeholder_id 'ghost' is not in the package"),
        (issue("s2", "ann", "1", of="x"), "stock_class_id 'x' is not in the package"),
        (issue("s2", "ann", "-1"), "quantity is '-1'; it has to be a number"),
        (issue("s2", "ann", "1e9"), "quantity is '1e9'; it has to be a number"),
        (issue("s2", "ann", None), "quantity is None; it has to be a number"),
        (issue("s2", "ann", str(2**64)), f"quantity is {2**64}; at most"),
        (issue("s2", "ann", "1", "soon"), "date 'soon' is no date like 2026-01-31"),
        (issue("s2", "ann", "1", "2999-01-01"), "date 2999-01-01 is in the future"),
        (issue("", "ann", "1"), "security_id is ''; it has to be an id"),
        (issue("s2", "ann", "1", share_price="5"), "share_price '5' has no amount"),
        (
            tx("b", "RETRACTION", "2021-02-01", security_id="s9"),
            "security_id 's9' is issued nowhere in the package",
        ),
        (
            tx("b", "RETRACTION", "2020-02-01", security_id="s1"),
            "happens on 2020-02-01, before issue-s1 of 2021-01-01",
        ),
        (
            tx("b", "CANCELLATION", "2021-02-01", security_id="s1", quantity="101"),
            "takes 101 of security s1, which holds 100",
        ),
        (
            tx("b", "TRANSFER", "2021-02-01", security_id="s1", quantity="100",
               resulting_security_ids=["s9"]),
            "results in 's9', which is issued nowhere in the package",
        ),
        (
            tx("b", "TRANSFER", "2021-02-01", security_id="s1", quantity="100",
               resulting_security_ids=["s1"]),
            "its security comes of itself",
        ),
        (
            tx("b", "TRANSFER", "2021-02-01", security_id="s1", quantity="69",
               resulting_security_ids=["bob-70"], balance_security_id="rest"),
            "takes 69 and results in 70",
        ),
        (
            tx("b", "TRANSFER", "2021-02-01", security_id="s1", quantity="70",
               resulting_security_ids=["bob-70"], balance_security_id="ann-40"),
            "leaves 30 of com with ann, but its balance_security_id ann-40 is 40 of",
        ),
        (
            tx("b", "REISSUANCE", "2021-02-01", security_id="s1",
               resulting_security_ids=["pre-100"]),
            "mixes the classes com, pre; only a conversion",
        ),
        (
            tx("b", "CONVERSION", "2021-02-01", security_id="s1",
               resulting_security_ids="pre-100"),
            "resulting_security_ids is 'pre-100'; it has to be a list of ids",
        ),
        (
            tx("b", "CLASS_SPLIT", "2021-02-01", stock_class_id="com",
               split_ratio={"numerator": "2", "denominator": "0"}),
            "split_ratio 2:0 has a 0",
        ),
    ],
)  # fmt: skip
def test_a_wrong_object_is_named_with_file_id_and_rule(
    write, capsys, transaction, rule
):
    more = [
        issue("bob-70", "bob", "70", "2021-02-01"),
        issue("ann-40", "ann", "40", "2021-02-01"),
        issue("pre-100", "ann", "100", "2021-02-01", of="pre"),
    ]
    lines = refused(write(files(ROOT, transaction, *more)), capsys)
    assert any(
        line.startswith(f"Transactions.ocf.json, {transaction['id']}: {rule}")
        for line in lines
    ), lines


def test_every_wrong_object_is_reported_and_what_follows_from_it_is_not(write, capsys):
    people = [*PEOPLE, stakeholder("x", ""), stakeholder("y", "Yo", "ROBOT")]
    lines = refused(
        write(
            files(
                issue("s1", "ghost", "5"),
                tx("t", "TRANSFER", "2021-02-01", security_id="s1", quantity="5",
                   resulting_security_ids=["s2"]),
                issue("s2", "bob", "5", "2021-02-01"),
                tx("u", "RETRACTION", "2021-03-01", security_id="s2"),
                issue("s3", "ann", "8"),
                tx("v", "RETRACTION", "2021-03-01", security_id="s3"),
                tx("w", "RETRACTION", "2021-04-01", security_id="s3"),
                issue("s3", "bob", "8") | {"id": "twice"},
                people=people,
            )
        ),
        capsys,
    )  # fmt: skip
    assert [line.split(": ")[0].split(", ")[1] for line in lines] == [
        "issue-s1", "twice", "w", "x", "y",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("Bad.ocf.json", "{oops", "Bad.ocf.json: is not an OCF file"),
        ("Bad.ocf.json", "[" * 100_000, "Bad.ocf.json: is not an OCF file"),
        ("Bad.ocf.json", '{"file_type": "OCF_X", "items": [NaN]}', "Bad.ocf.json: is"),
        ("Bad.ocf.json", "[]", "Bad.ocf.json: is not an OCF file: it holds no JSON"),
        ("Bad.ocf.json", {"file_type": "X"}, "Bad.ocf.json: is not an OCF file: its"),
        ("Bad.ocf.json", {"file_type": "OCF_X"}, "Bad.ocf.json: is not an OCF file"),
        (
            "Bad.ocf.json",
            {"file_type": "OCF_X", "items": [3, {"id": "a\0"}, {"id": "b"}]},
            "Bad.ocf.json, item 1: is no JSON object",
        ),
        (
            "Bad.ocf.json",
            {"file_type": "OCF_VALUATIONS_FILE", "items": [ROOT]},
            "Bad.ocf.json, issue-s1: TX_STOCK_ISSUANCE stands in OCF_TRANSACTIONS_FILE",
        ),
        (
            "Bad.ocf.json",
            {"file_type": "OCF_TRANSACTIONS_FILE", "items": [ROOT | {"id": "ann"}]},
            "ann: Bad.ocf.json has another object of this id",
        ),
        (
            "Manifest.ocf.json",
            files(stock_plans=1)["Manifest.ocf.json"]
            | {"valuations_files": [{"filepath": "./V.ocf.json"}]},
            "Manifest.ocf.json, valuations_files: names ./V.ocf.json, which the",
        ),
        ("Manifest.ocf.json", {"file_type": "OCF_X", "items": []}, "0 files have the"),
        ("Two.ocf.json", {"file_type": "OCF_MANIFEST_FILE"}, "2 files have the"),
        ("Manifest.ocf.json", {"file_type": "OCF_MANIFEST_FILE"}, "has no issuer"),
        (
            "Manifest.ocf.json",
            files(country_of_formation="XX")["Manifest.ocf.json"],
            "country_of_formation 'XX' is not an ISO 3166 alpha-2 code",
        ),
    ],
)
def test_a_wrong_file_is_named(write, capsys, name, content, rule):
    lines = refused(write(files() | {name: content}), capsys)
    assert any(rule in line for line in lines), lines


def test_archives_that_can_not_be_read(tmp_path, write, capsys, monkeypatch):
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK no zip")
    assert "can not be unpacked" in refused(broken, capsys)[0]
    with pytest.raises(CommandError, match=r"none.zip can not be read: No such file"):
        run(tmp_path / "none.zip")
    twice = tmp_path / "twice.zip"
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("Manifest.ocf.json", json.dumps(files()["Manifest.ocf.json"]))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("Manifest.ocf.json", "{}")
    assert "stands in the archive twice" in refused(twice, capsys)[0]
    cut = tmp_path / "cut.zip"
    cut.write_bytes(twice.read_bytes()[:300])
    assert "can not be unpacked" in refused(cut, capsys)[0]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no file whose name ends in .ocf.json" in refused(empty, capsys)[0]

    folder = write(files(ROOT) | {"Bomb.ocf.json": " " * 3_000_000})
    bomb = zipped(folder, tmp_path / "bomb.zip")
    assert bomb.stat().st_size < 20_000
    monkeypatch.setattr(reading, "MAX_BYTES", 1_000_000)
    for path in (bomb, folder):
        [line] = refused(path, capsys)
        assert "has more than 1000000 bytes unpacked" in line
    monkeypatch.setattr(reading, "MAX_FILES", 3)
    assert "holds 5 files, at most 3 are read" in refused(bomb, capsys)[0]
