"""The conformance list: what a program is sent, and its required behaviour.

/docs/fix shows it, and the examination goes through it. Standard library only.
"""

from enum import StrEnum
from typing import NamedTuple

CHANGE_POLICY = (
    "A rule keeps its number and its name forever; a new one gets the next number. A "
    "rule that a conforming program could break is announced in the changelog twelve "
    "months ahead, and raises the version."
)
ANSWER_SECONDS, RETURN_SECONDS = 10, 60
"""What is in time for an answer, unless more is asked for; and how long a program may
take to come back at the other address."""
MOST_TRIES = 10
"""Connections within RETURN_SECONDS at the address that does not serve."""
THROTTLED_SECONDS, UNAVAILABLE_SECONDS, HALT_SECONDS = 3, 2, 10
MOST_IN_HALT = 3
"""Orders."""

OK, FAILED, NOT_TRIED = "ok", "FAILED", "not tried"
MOST_FAULTS = 3


class Part(StrEnum):
    """A program, or the part of one, that is judged in one run."""

    BOOKS = "BOOKS"
    DROP_COPY = "DROP_COPY"
    ORDERS = "ORDERS"

    @property
    def words(self) -> str:
        return self.value.lower().replace("_", " ")


FIX = (Part.BOOKS, Part.DROP_COPY)


class Rule(NamedTuple):
    """`sends`: what the program meets; `expects`: what it must do."""

    number: int
    parts: tuple[Part, ...]
    name: str
    sends: str
    expects: str


def rulebook() -> tuple[Rule, ...]:
    texts = (
        (
            FIX,
            "FRAME",
            "Always.",
            "Each message begins with 8, 9 and 35; BodyLength(9) and CheckSum(10) are "
            "right; 49 and 56 are those of the Logon.",
        ),
        (
            FIX,
            "NUMBERS",
            "Always.",
            "MsgSeqNum(34) is 1 in each Logon, and rises by one with each message.",
        ),
        (
            FIX,
            "LOGON",
            "A connection.",
            "A Logon that the acceptor accepts, with a clock synchronised by NTP.",
        ),
        (
            (Part.BOOKS,),
            "REQUEST",
            "A Logon.",
            "A MarketDataRequest(V) with 263=1. Neither this nor a later message is "
            "refused with Y, 3, or j with 380=0.",
        ),
        (
            FIX,
            "READ-ONLY",
            "Always.",
            "The program sends no order, quote or other message that is answered "
            "with j, 380=3.",
        ),
        (
            FIX,
            "PACE",
            "Always.",
            "The program sends no more messages at once, and per second, than the "
            "limits allow.",
        ),
        (
            FIX,
            "TEST-REQUEST",
            "TestRequest(1).",
            "The program sends a Heartbeat(0) with the same TestReqID(112), in time.",
        ),
        (
            FIX,
            "HEARTBEAT",
            "Nothing that requires an answer.",
            "The program sends at least one message every HeartBtInt(108) seconds; "
            "a fifth more, and the time of an answer, are allowed.",
        ),
        (
            FIX,
            "TOLERANCE",
            "News(B), TradingSessionStatus(h), SecurityStatus(f) with a status that "
            "you do not know; to a drop copy, its last report with PossResend(97)=Y, "
            "and with an ExecType(150) that you do not know.",
            "The program ignores messages that it does not need: no Reject, no j, "
            "no Logout.",
        ),
        (
            FIX,
            "GAP",
            "A message whose number skips one.",
            "The program sends a ResendRequest(2) from the missing number, in time.",
        ),
        (
            FIX,
            "RECOVERY",
            "SequenceReset(4) that fills the gap, a W of each book or the last report "
            "with PossResend(97)=Y, TestRequest(1).",
            "The session continues from NewSeqNo(36): a Heartbeat(0) with the same "
            "TestReqID(112), in time. Each W replaces its book; subscribing again "
            "is allowed, but not needed.",
        ),
        (
            FIX,
            "RESEND",
            "ResendRequest(2) from 1 on.",
            "SequenceReset(4) with 123=Y and 43=Y, or the messages again with 43=Y.",
        ),
        (
            FIX,
            "LOGOUT",
            "Logout(5) with a Text(58).",
            "The program sends a Logout, and nothing after it.",
        ),
        (
            FIX,
            "FAIL-OVER",
            "The session's address no longer serves.",
            f"The program logs on at the other one within {RETURN_SECONDS} seconds, "
            f"and no more than {MOST_TRIES} connections at the old one.",
        ),
        (
            (Part.BOOKS,),
            "ANEW",
            "The second session.",
            "A MarketDataRequest(V) with 263=1: subscriptions ended with their "
            "session.",
        ),
        (
            FIX,
            "GOODBYE",
            "You are asked to stop your program.",
            "The program sends a Logout; the connection ends after ours.",
        ),
        (
            (Part.DROP_COPY,),
            "AFTER",
            "The second session of a drop copy.",
            "A TradeCaptureReportRequest(AD) with 569=1, 263=1, and in ExecID(17) that "
            "of the last report that the program received.",
        ),
        (
            (Part.ORDERS,),
            "KEY",
            "Always.",
            "Each mutation has an Idempotency-Key, a UUID of version 4. A key stays "
            "with one body.",
        ),
        (
            (Part.ORDERS,),
            "LOST",
            "The connection ends before the response to an order.",
            "The program sends the same body with the same Idempotency-Key.",
        ),
        (
            (Part.ORDERS,),
            "THROTTLED",
            f"429 for an order, with Retry-After: {THROTTLED_SECONDS}.",
            "The program sends no mutation until then, and then the same body with the "
            "same Idempotency-Key.",
        ),
        (
            (Part.ORDERS,),
            "UNAVAILABLE",
            f"503 for an order, with Retry-After: {UNAVAILABLE_SECONDS} and the "
            "outcome UNKNOWN. The order was placed.",
            "The program sends the same body with the same Idempotency-Key, and not "
            "before then.",
        ),
        (
            (Part.ORDERS,),
            "REFUSAL",
            "An order that is refused with an error code that you do not know.",
            "The program does not repeat the request, and places other orders.",
        ),
        (
            (Part.ORDERS,),
            "HALT",
            f"A market that is halted for {HALT_SECONDS} seconds.",
            f"The program sends at most {MOST_IN_HALT} orders to it meanwhile, and "
            "places an order after the market has reopened.",
        ),
        (
            (Part.ORDERS,),
            "KILL-SWITCH",
            "You are asked to use your kill switch, while all other requests are "
            "answered with 429.",
            "cancelOrders or blockOrders with the header X-Kill-Switch: 1, and no "
            "order until you are asked to continue.",
        ),
        (
            (Part.ORDERS,),
            "RESTART",
            "An order that is not answered. You are asked to kill your program, and "
            "then to start it.",
            "The program sends the same body with the same Idempotency-Key, or asks "
            "idempotentRequest for that key, or order for its clientOrderID.",
        ),
        (
            (Part.ORDERS,),
            "EVENTS",
            "Always.",
            "The program reads events. Each page begins where an earlier one ended.",
        ),
        (
            (Part.ORDERS,),
            "RESUME",
            "Your program has been restarted.",
            "Its first page of events begins where one ended before the restart.",
        ),
    )
    return tuple(Rule(n, *each) for n, each in enumerate(texts, 1))


RULES = {rule.name: rule for rule in rulebook()}
"""By name; the numbers follow each other."""


class Verdicts:
    """The results for each rule of a part."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.rules = {name: one for name, one in RULES.items() if part in one.parts}
        self.tried: set[str] = set()
        self.breaches: dict[str, list[str]] = {}

    def hold(self, name: str) -> None:
        """Note an occasion to break this rule."""
        self.tried.add(self.rules[name].name)

    def breach(self, name: str, what: str) -> None:
        self.hold(name)
        self.breaches.setdefault(name, []).append(what)

    @property
    def conforms(self) -> bool:
        """Whether each rule was tried, and none is broken."""
        return not self.breaches and self.tried == self.rules.keys()

    def of(self, name: str) -> str:
        if name in self.breaches:
            return FAILED
        return OK if name in self.tried else NOT_TRIED

    def faults(self, name: str) -> list[str]:
        """How the program broke a rule: its first breaches."""
        return self.breaches.get(name, [])[:MOST_FAULTS]

    def lines(self) -> list[str]:
        """A line for each rule; below a broken one, required and seen behaviour."""
        said = []
        for rule in self.rules.values():
            faults = self.faults(rule.name)
            said.append(f"{rule.number:2} {rule.name:12} {self.of(rule.name)}")
            if faults:
                said.append(f"   Expected: {rule.expects}")
            said += [f"   {each}" for each in faults]
        return said
