"""The state of markets, compared with the answers to traders.

To be imported once Django is set up.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from uuid import UUID

from django.db.models import Sum

from accounts.cash import verification as cash_verification
from accounts.cash.models import CashHead
from issuers.register import verification as register_verification
from issuers.register.models import HolderBalance
from marketdata.trading import verification
from marketdata.trading.models import Execution, Order
from tests.chaos.traders import Intention

Totals = dict[str, int]


@dataclass
class Findings:
    """How much was done, and how often which promise was broken.

    `twice` are orders that no answer names, or two; `lost` those that an answer names
    and that are not there.
    """

    intentions: int
    orders: int
    trades: int
    codes: dict[str, int]
    """Of answers that refuse for good."""
    twice: int = 0
    lost: int = 0
    with_two_answers: int = 0
    other_than_answered: int = 0
    unanswered: int = 0
    deadlocks: int = 0
    internal_errors: int = 0
    changed_totals: list[str] = field(default_factory=list)
    broken_rules: list[str] = field(default_factory=list)

    @property
    def broken(self) -> dict[str, object]:
        """The promises that were not kept."""
        counts = ("intentions", "orders", "trades", "codes")
        return {
            n: found for n, found in asdict(self).items() if found and n not in counts
        }


def totals() -> Totals:
    """Clients' cash in all, cents, and each token's units."""
    cash = CashHead.objects.filter(kind="CLIENT").aggregate(all=Sum("balance"))["all"]
    held = (
        HolderBalance.objects.order_by().values_list("token").annotate(Sum("balance"))
    )
    return {"cash": cash} | {f"units of {token}": int(units) for token, units in held}


def examine(
    intentions: Sequence[Intention],
    repeated: Counter[str],
    deadlocks: int,
    accounts: Sequence[UUID],
) -> Findings:
    """Hold the orders of these accounts against the answers; `repeated` are those that
    were no answer yet, `deadlocks` how many the server has counted."""
    rows = Order.objects.filter(account__in=accounts)
    orders = {f"Order|{order.pk}": order for order in rows}
    placed = list(chain.from_iterable(one.placed() for one in intentions))
    told = Counter(order for order, _ in placed)
    codes = Counter(chain.from_iterable(one.codes() for one in intentions))
    trades = set(
        Execution.objects.filter(buyer_account__in=accounts).values_list(
            "token", "sequence", "price", "quantity"
        )
    )
    findings = Findings(
        len(intentions), len(orders), len(trades), dict(codes.most_common())
    )
    findings.deadlocks = deadlocks
    findings.twice = len(orders.keys() - told.keys())
    findings.twice += sum(many > 1 for many in told.values())
    # Each intention names its orders anew: only its own effect can be in its way.
    findings.twice += codes["DUPLICATE_CLIENT_ORDER_ID"]
    findings.lost = len(told.keys() - orders.keys())
    for order, client_id in placed:
        row = orders.get(order)
        findings.other_than_answered += bool(row and row.client_order_id != client_id)
    for one in intentions:
        findings.unanswered += not one.answers
        findings.with_two_answers += len(one.answers) > 1
        findings.other_than_answered += not is_there(one, orders, trades)
    for code, many in repeated.items():
        is_internal = "INTERNAL_SERVER_ERROR" in code or code == "500"
        findings.internal_errors += many * is_internal
    return findings


def is_there(
    one: Intention,
    orders: dict[str, Order],
    trades: set[tuple[UUID, int, int, int]],
) -> bool:
    """Whether what an answer says of orders and trades has stayed so."""
    for told in one.orders():
        row = orders.get(told["id"])
        if row is None:
            # It is counted as lost.
            continue
        has_ended = told["status"] != "OPEN"
        if has_ended and told["status"] != row.status:
            return False
        if row.version < told["version"] or row.filled < int(told["filledQuantity"]):
            return False
        for trade in (one.payload() or {}).get("executions", ()):
            numbers = (int(trade[n]) for n in ("tradeSequence", "price", "quantity"))
            if (row.token_id, *numbers) not in trades:
                return False
    return True


def judge(findings: Findings, before: Totals) -> None:
    """Note which totals have changed, and which rules are broken."""
    after = totals()
    findings.changed_totals = [
        f"{name}: {before.get(name)} before, {after.get(name)} after"
        for name in before | after
        if before.get(name) != after.get(name)
    ]
    for room in (verification, cash_verification, register_verification):
        findings.broken_rules += [
            f"{found.rule}: {found.breaches} times"
            for found in room.verify()
            if found.breaches
        ]
