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
            "All the time.",
            "Each message begins with 8, 9 and 35; BodyLength(9) and CheckSum(10) are "
            "right; 49 and 56 are those of the Logon.",
        ),
        (
            "NUMBERS",
            "All the time.",
            "MsgSeqNum(34) is 1 in each Logon, and rises by one with each message.",
        ),
        (
            "LOGON",
            "A connection.",
            "A Logon that the acceptor takes, by a clock that is set by NTP.",
        ),
        (
            "REQUEST",
            "A Logon.",
            "A MarketDataRequest(V) with 263=1. Neither it nor a later message is "
            "refused with Y, 3, or j with 380=0.",
        ),
        (
            "READ-ONLY",
            "All the time.",
            "No order, quote or other message that is answered with j, 380=3.",
        ),
        (
            "PACE",
            "All the time.",
            "No more messages at once, and a second, than the limits say.",
        ),
        (
            "TEST-REQUEST",
            "TestRequest(1).",
            "A Heartbeat(0) with the same TestReqID(112), in time.",
        ),
        (
            "HEARTBEAT",
            "Nothing that demands an answer.",
            "Something at least every HeartBtInt(108) seconds; a fifth more, and the "
            "time of an answer, are allowed.",
        ),
        (
            "TOLERANCE",
            "News(B), TradingSessionStatus(h), and SecurityStatus(f) with a status "
            "that you have not met.",
            "The program passes over what it does not need: no Reject, no j, no "
            "Logout.",
        ),
        (
            "GAP",
            "A message whose number leaves one out.",
            "ResendRequest(2) from the number that is missing, in time.",
        ),
        (
            "RECOVERY",
            "SequenceReset(4) that fills the gap, a W of each book, TestRequest(1).",
            "The session goes on from NewSeqNo(36): a Heartbeat(0) with the same "
            "TestReqID(112), in time. Each W replaces its book; to subscribe anew is "
            "allowed, but not needed.",
        ),
        (
            "RESEND",
            "ResendRequest(2) from 1 on.",
            "SequenceReset(4) with 123=Y and 43=Y, or the messages again with 43=Y.",
        ),
        (
            "LOGOUT",
            "Logout(5) with a Text(58).",
            "A Logout, and nothing after it.",
        ),
        (
            "FAIL-OVER",
            "The address of the session does not serve any more.",
            f"A Logon at the other one within {RETURN_SECONDS} seconds, and no more "
            f"than {MOST_TRIES} connections at the old one.",
        ),
        (
            "ANEW",
            "The second session.",
            "A MarketDataRequest(V) with 263=1: subscriptions ended with their "
            "session.",
        ),
        (
            "GOODBYE",
            "You are asked to end your program.",
            "A Logout; the connection ends after ours.",
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
