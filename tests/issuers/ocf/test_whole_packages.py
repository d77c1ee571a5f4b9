"""Whole packages: the register against what they were made to leave."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from accounts.people.models import User
from issuers.models import Issuer, Token
from issuers.register.models import LedgerTransaction, TokenLedgerHead
from tests.issuers.ocf.packages import (
    CLASSES,
    ROOT,
    balances,
    counted,
    files,
    issue,
    run,
    sound,
    tx,
)

pytestmark = pytest.mark.django_db
DRY = " (dry run: nothing was written)"


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
    assert output.count("its md5 differs from the manifest") == 5
    assert "4 TX_EQUITY_COMPENSATION_EXERCISE: the resulting stock has no" in output
    reasons = LedgerTransaction.objects.filter(kind="BURN").values_list("reason")
    assert (
        "TX_STOCK_CANCELLATION sc_01: Cancelling the remaining securities",
    ) in reasons
    assert sound()

    again = run(folder)
    assert "acme-holdings-limited: 0 changes." in again
    assert LedgerTransaction.objects.count() == 15


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
    assert "Plans.ocf.json: read, although the manifest does not name it" in output


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
