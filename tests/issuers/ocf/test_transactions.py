"""Transactions of each kind, and what is wrong in them."""

import sys
from collections import Counter
from datetime import UTC, datetime

import pytest

from issuers.ocf import reading
from issuers.ocf.replay import Replay, ReplayState, replay
from issuers.ocf.steps import OcfStep, ReplayPlan
from issuers.register.models import LedgerTransaction, TokenPrice
from tests.issuers.ocf.packages import (
    PEOPLE,
    ROOT,
    balances,
    counted,
    euro,
    files,
    issue,
    kinds,
    refused,
    sound,
    stakeholder,
    tx,
)

pytestmark = pytest.mark.django_db


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
            [tx("t", "REPURCHASE", "2021-03-01", security_id="s1", quantity="30",
                price=euro("1"), balance_security_id="s2"),
             tx("u", "CANCELLATION", "2021-02-01", security_id="s1",
                quantity="30.00", reason_text="Repurchased")],
            [("BURN", 30)],
            {"Ann Lee Roy": 70},
            id="repurchase that is also reported as a cancellation",
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
        burnt = [event for event in replayed.events() if event.source]
        assert [event.target for event in burnt] == [None] * count
        return run

    assert lines_run(200) <= 2 * lines_run(100)


def test_what_holders_lose_others_gain_in_turn():
    item = reading.Item("T", "t", "TX_STOCK_CONSOLIDATION", {})
    state = ReplayState(
        reading.Package(item, classes={"com": item}), ReplayPlan(), Replay()
    )
    state.result.balances["com"] = Counter(a=5, d=3)
    changes = {"a": -5, "b": 3, "c": 4, "d": -3, "e": 2}
    step = OcfStep("T", "t", item.type, datetime(2021, 3, 1, tzinfo=UTC))
    state.move(step, "com", changes)
    moved = [(m.source, m.target, m.amount) for m in state.events]
    assert moved == [
        ("a", "b", 3), ("a", "c", 2), ("d", "c", 2), ("d", "e", 1), (None, "e", 1)
    ]  # fmt: skip
    state.move(step, "com", {"b": -2, "c": -1})
    lost = [(m.source, m.target, m.amount) for m in state.events[5:]]
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
    assert counted(output, "share prices other than issue prices") == 1
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


@pytest.mark.parametrize(
    ("transaction", "rule"),
    [
        (issue("s2", "ghost", "1"), "stakeholder_id 'ghost' is not in the package"),
        (issue("s2", "ann", "1", of="x"), "stock_class_id 'x' is not in the package"),
        (issue("s2", "ann", "-1"), "quantity is '-1'; it must be a number"),
        (issue("s2", "ann", "1e9"), "quantity is '1e9'; it must be a number"),
        (issue("s2", "ann", None), "quantity is None; it must be a number"),
        (issue("s2", "ann", str(2**64)), f"quantity is {2**64}; the limit"),
        (issue("s2", "ann", "1", "soon"), "date 'soon' is not a date like 2026-01-31"),
        (issue("s2", "ann", "1", "2999-01-01"), "date 2999-01-01 is in the future"),
        (issue("", "ann", "1"), "security_id is ''; it must be an id"),
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
            "its security results from itself",
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
            "resulting_security_ids is 'pre-100'; it must be a list of ids",
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


def test_an_event_that_is_told_twice_has_the_earlier_date(load):
    said = load(
        ROOT,
        tx("t", "REPURCHASE", "2021-03-01", security_id="s1", quantity="100",
           price=euro("1")),
        tx("u", "CANCELLATION", "2021-02-01", security_id="s1", quantity="100"),
    )  # fmt: skip
    [_, burnt] = LedgerTransaction.objects.order_by("seq")
    assert burnt.kind == "BURN"
    assert burnt.effective_at == datetime(2021, 2, 1, tzinfo=UTC)
    assert "1 cancellations that are also repurchases: entered once" in said


def test_two_cancellations_are_two(write, capsys):
    cancellations = [
        tx(id, "CANCELLATION", "2021-02-01", security_id="s1", quantity="60")
        for id in "tu"
    ]
    [problem] = refused(write(files(ROOT, *cancellations)), capsys)
    assert "takes 60 of security s1, which holds 40" in problem
