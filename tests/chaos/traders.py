"""Traders who send each request until it is answered, some of them twice at once.

An intention is one request with its Idempotency-Key. A trader knows its orders only
from the answers.
"""

import asyncio
import json
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.chaos.clients import (
    ANSWER_SECONDS,
    LONGEST_PAUSE,
    Connection,
    UnexpectedAnswer,
    code_of,
)
from tests.chaos.pooled import request_of

LONGEST_SECONDS = 60
"""Until a request is answered, however often it is sent."""
IMPATIENT = 0.1
"""The share of requests that go out over two connections at once."""
LONGEST_LIST = 10
MOST_KNOWN = 50
"""Orders that a trader amends or cancels; it forgets older ones."""
ORDER = "id status version quantity filledQuantity"
TRADES = "executions { tradeSequence price quantity }"
DOCUMENTS = {
    "placeOrder": f"order {{ {ORDER} }} {TRADES}",
    "placeOrders": f"results {{ order {{ {ORDER} }} code }}",
    "amendOrder": f"order {{ {ORDER} }} {TRADES}",
    "cancelOrder": f"order {{ {ORDER} }}",
    "cancelOrders": "cancelled",
}


@dataclass(frozen=True)
class Member:
    """An account, and the API key of its partner."""

    account: UUID
    token: str


@dataclass(eq=False)
class Intention:
    """`client_ids`: of the orders that it places, None where it names none."""

    name: str
    member: Member
    client_ids: list[str | None]
    request: bytes
    answers: Counter[bytes] = field(default_factory=Counter)

    def payload(self) -> Any:
        """What is answered; None: it was refused, or never answered."""
        for body in self.answers:
            return (json.loads(body).get("data") or {}).get(self.name)
        return None

    def orders(self) -> list[dict[str, Any]]:
        """The orders of the answer, as they were then."""
        payload = self.payload()
        if payload is None or self.name == "cancelOrders":
            return []
        results = payload["results"] if self.name == "placeOrders" else [payload]
        return [result["order"] for result in results if result["order"]]

    def placed(self) -> Iterator[tuple[str, str | None]]:
        """The ids of the orders that are placed, with what the trader calls them."""
        payload = self.payload()
        if payload is None or not self.client_ids:
            return
        results = payload["results"] if self.name == "placeOrders" else [payload]
        for client_id, result in zip(self.client_ids, results, strict=True):
            if result["order"]:
                yield result["order"]["id"], client_id

    def codes(self) -> list[str]:
        """Why it, or an order of it, was refused."""
        found = []
        for body in self.answers:
            answer = json.loads(body)
            found += [e["extensions"]["code"] for e in answer.get("errors", ())]
        if self.name == "placeOrders":
            results = (self.payload() or {"results": ()})["results"]
            found += [result["code"] for result in results if result["code"]]
        return found


class Trader:
    """One account that trades on all tokens; `impatient` is its share of doubles."""

    def __init__(
        self,
        port: int,
        member: Member,
        tokens: list[UUID],
        seed: int,
        impatient: float = IMPATIENT,
    ) -> None:
        self.member = member
        self.tokens = tokens
        self.dice = random.Random(seed)
        self.impatient = impatient
        self.connections = [Connection(port), Connection(port)]
        self.known: dict[str, dict[str, Any]] = {}
        self.intentions: list[Intention] = []
        self.repeated: Counter[str] = Counter()
        self.longest = 0.0

    async def run(self, goes_on: Callable[[], bool]) -> None:
        """Trade while it goes on, and until everything is answered."""
        while goes_on():
            intention = self.intend()
            self.intentions.append(intention)
            copies = 2 if self.dice.random() < self.impatient else 1
            began = time.monotonic()
            async with asyncio.TaskGroup() as group:
                for connection in self.connections[:copies]:
                    group.create_task(self.deliver(connection, intention))
            self.longest = max(self.longest, time.monotonic() - began)
            self.learn(intention)
        for connection in self.connections:
            connection.close()

    async def deliver(self, connection: Connection, intention: Intention) -> None:
        """Send it until it is answered, or LONGEST_SECONDS have passed.

        Raises:
            UnexpectedAnswer: no retry mends it.
        """
        deadline = time.monotonic() + LONGEST_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(min(ANSWER_SECONDS, left)):
                    answer = await connection.ask(intention.request)
            except (OSError, EOFError) as error:
                connection.close()
                self.repeated[type(error).__name__] += 1
            else:
                if answer.is_final:
                    intention.answers[answer.body] += 1
                    return
                if answer.status not in (200, 409, 429) and answer.status < 500:
                    raise UnexpectedAnswer(f"{answer.status}: {answer.body!r}")
                self.repeated[code_of(answer)] += 1
            await asyncio.sleep(self.dice.uniform(0, LONGEST_PAUSE))

    def learn(self, intention: Intention) -> None:
        """Note which orders are open, and forget the one that cannot be had."""
        for order in intention.orders():
            self.known.pop(order["id"], None)
            if order["status"] == "OPEN":
                self.known[order["id"]] = order
        if intention.name == "amendOrder" and intention.payload() is None:
            self.known.pop(next(iter(self.known)), None)
        while len(self.known) > MOST_KNOWN:
            self.known.pop(next(iter(self.known)))

    def intend(self) -> Intention:
        names, weights = zip(*WEIGHTS.items(), strict=True)
        [name] = self.dice.choices(names, weights)
        if not self.known and name in ("amendOrder", "cancelOrder"):
            name = "placeOrder"
        match name:
            case "placeOrder":
                order = self.order()
                values = order | {"tokenID": self.any_token()}
                return self.intention(name, values, [order])
            case "placeOrders":
                orders = [
                    self.order() for _ in range(self.dice.randint(2, LONGEST_LIST))
                ]
                values = {"tokenID": self.any_token(), "orders": orders}
                return self.intention(name, values, orders)
            case "amendOrder":
                # The oldest one: where it is refused, `learn` forgets that.
                order = next(iter(self.known.values()))
                values = {"orderID": order["id"], "version": order["version"]}
                if self.dice.random() < 0.5:
                    values["quantity"] = order["filledQuantity"] + self.quantity()
                else:
                    values["limitPrice"] = self.price(self.dice.randrange(2))
                return self.intention(name, values)
            case "cancelOrder":
                chosen = self.dice.choice(list(self.known))
                del self.known[chosen]
                return self.intention(name, {"orderID": chosen})
        mine = {"accountID": f"Account|{self.member.account}"}
        values = self.dice.choice([{}, mine, {"tokenID": self.any_token()}])
        return self.intention(name, values)

    def intention(
        self,
        name: str,
        values: dict[str, Any],
        orders: Iterable[dict[str, Any]] = (),
    ) -> Intention:
        type_ = name[0].upper() + name[1:]
        document = (
            f"mutation ($input: {type_}Input!) "
            f"{{ {name}(input: $input) {{ {DOCUMENTS[name]} }} }}"
        )
        body = {"query": document, "variables": {"input": values}}
        return Intention(
            name,
            self.member,
            [order.get("clientOrderID") for order in orders],
            request_of(self.member.token, body, str(uuid.uuid4())),
        )

    def order(self) -> dict[str, Any]:
        """One around 100 euros; half of them have a name of the trader's."""
        side = self.dice.randrange(2)
        order = {
            "accountID": f"Account|{self.member.account}",
            "side": ("BUY", "SELL")[side],
            "quantity": self.quantity(),
            "limitPrice": self.price(side),
            "timeInForce": "IOC" if self.dice.random() < 0.1 else "GTC",
        }
        if self.dice.random() < 0.5:
            order["clientOrderID"] = uuid.uuid4().hex
        return order

    def price(self, side: int) -> int:
        away = round(self.dice.gauss(0, 12)) + 3
        return 10_000 + (5 * away if side else -5 * away)

    def quantity(self) -> int:
        return self.dice.randint(1, 20)

    def any_token(self) -> str:
        return f"Token|{self.dice.choice(self.tokens)}"


WEIGHTS = {
    "placeOrder": 50,
    "placeOrders": 10,
    "amendOrder": 15,
    "cancelOrder": 20,
    "cancelOrders": 5,
}
"""How often each is sent, of 100."""
