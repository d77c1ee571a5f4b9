"""The conformance list: what a program is sent, and its required behaviour.

/docs/fix shows it, and the examination goes through it. Standard library only.
"""

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


class Rule(NamedTuple):
    """`sends`: what the program meets; `expects`: what it must do."""

    number: int
    name: str
    sends: str
    expects: str


def rulebook() -> tuple[Rule, ...]:
    texts = (
        (
            "FRAME",
            "Always.",
            "Each message begins with 8, 9 and 35; BodyLength(9) and CheckSum(10) are "
            "right; 49 and 56 are those of the Logon.",
        ),
        (
            "NUMBERS",
            "Always.",
            "MsgSeqNum(34) is 1 in each Logon, and rises by one with each message.",
        ),
        (
            "LOGON",
            "A connection.",
            "A Logon that the acceptor accepts, with a clock synchronised by NTP.",
        ),
        (
            "REQUEST",
            "A Logon.",
            "A MarketDataRequest(V) with 263=1. Neither this nor a later message is "
            "refused with Y, 3, or j with 380=0.",
        ),
        (
            "READ-ONLY",
            "Always.",
            "The program sends no order, quote or other message that is answered "
            "with j, 380=3.",
        ),
        (
            "PACE",
            "Always.",
            "The program sends no more messages at once, and per second, than the "
            "limits allow.",
        ),
        (
            "TEST-REQUEST",
            "TestRequest(1).",
            "The program sends a Heartbeat(0) with the same TestReqID(112), in time.",
        ),
        (
            "HEARTBEAT",
            "Nothing that requires an answer.",
            "The program sends at least one message every HeartBtInt(108) seconds; "
            "a fifth more, and the time of an answer, are allowed.",
        ),
        (
            "TOLERANCE",
            "News(B), TradingSessionStatus(h), and SecurityStatus(f) with a status "
            "that you do not know.",
            "The program ignores messages that it does not need: no Reject, no j, "
            "no Logout.",
        ),
        (
            "GAP",
            "A message whose number skips one.",
            "The program sends a ResendRequest(2) from the missing number, in time.",
        ),
        (
            "RECOVERY",
            "SequenceReset(4) that fills the gap, a W of each book, TestRequest(1).",
            "The session continues from NewSeqNo(36): a Heartbeat(0) with the same "
            "TestReqID(112), in time. Each W replaces its book; subscribing again "
            "is allowed, but not needed.",
        ),
        (
            "RESEND",
            "ResendRequest(2) from 1 on.",
            "SequenceReset(4) with 123=Y and 43=Y, or the messages again with 43=Y.",
        ),
        (
            "LOGOUT",
            "Logout(5) with a Text(58).",
            "The program sends a Logout, and nothing after it.",
        ),
        (
            "FAIL-OVER",
            "The session's address no longer serves.",
            f"The program logs on at the other one within {RETURN_SECONDS} seconds, "
            f"and no more than {MOST_TRIES} connections at the old one.",
        ),
        (
            "ANEW",
            "The second session.",
            "A MarketDataRequest(V) with 263=1: subscriptions ended with their "
            "session.",
        ),
        (
            "GOODBYE",
            "You are asked to stop your program.",
            "The program sends a Logout; the connection ends after ours.",
        ),
    )
    return tuple(Rule(n, *each) for n, each in enumerate(texts, 1))


RULES = {rule.name: rule for rule in rulebook()}
"""By name; the numbers follow each other."""


class Verdicts:
    """The results for each rule."""

    def __init__(self) -> None:
        self.tried: set[str] = set()
        self.breaches: dict[str, list[str]] = {}

    def hold(self, name: str) -> None:
        """Note an occasion to break this rule."""
        self.tried.add(RULES[name].name)

    def breach(self, name: str, what: str) -> None:
        self.hold(name)
        self.breaches.setdefault(name, []).append(what)

    @property
    def conforms(self) -> bool:
        """Whether each rule was tried, and none is broken."""
        return not self.breaches and self.tried == RULES.keys()

    def lines(self) -> list[str]:
        """A line for each rule; below a broken one, required and seen behaviour."""
        said = []
        for rule in RULES.values():
            breaches = self.breaches.get(rule.name, [])
            verdict = "ok" if rule.name in self.tried else "not tried"
            said.append(
                f"{rule.number:2} {rule.name:12} {'FAILED' if breaches else verdict}"
            )
            if breaches:
                said.append(f"   Expected: {rule.expects}")
            said += [f"   {each}" for each in breaches[:3]]
        return said
