"""Tests a partner's program rule by rule, and notes each result.

The acceptor says what it can: the sandbox refuses a Logon or a request as the market
would, in its own words. The examination adds only what no acceptor provokes by itself.
Standard library only.
"""

from collections.abc import Callable
from itertools import count

from marketdata.fix.client.replica import Inconsistent, Replica
from marketdata.fix.conformance.relay import Relay
from marketdata.fix.conformance.rulebook import (
    MOST_TRIES,
    RETURN_SECONDS,
    RULES,
    Part,
    Verdicts,
)
from marketdata.fix.protocol.wire import Message, readable

START_SECONDS = 600.0
"""How long the program may take to be started, and to be ended."""
GRACE = 1.2
"""Heartbeat intervals that may pass without a message, in addition to an answer's time.
"""
OF_LOGOUTS = (
    ("messages a second", "PACE"),
    ("slow consumer", "TEST-REQUEST"),
)
"""A part of Text(58) of the acceptor's Logout → the rule that it is about."""
NOWHERE = -1
KEY_PREFIX = "service-apikey_"
OURS = "RULE"
"""What TestReqID(112) begins with where it is not the acceptor's."""
AFTER_SECONDS = 0.5
GONE = "The connection ended."


def levels(book: Replica) -> list[tuple[int, object]]:
    """Of a W, the entries of both sides and their count."""
    entries = [
        (side, level)
        for side, best in zip("01", book.ladder(), strict=True)
        for level in best
    ]
    fields: list[tuple[int, object]] = [(268, len(entries))]
    for side, (price, units) in entries:
        cents = f"{price // 100}.{price % 100:02}"
        fields += [(269, side), (270, cents), (271, units)]
    return fields


def key_of(logon: Message) -> str:
    """The whole API key of a Logon, which may have the secret alone."""
    password = logon.get(554)
    if password.startswith(KEY_PREFIX):
        return password
    return f"{KEY_PREFIX}{logon.get(553)}_{password}"


class Gone(Exception):
    """The program's connection ended where it should not."""


class Examination:
    """Examines one program; `say` reports progress to its user.

    `patience`: seconds within which an answer is in time.
    """

    def __init__(
        self, verdicts: Verdicts, say: Callable[[str], object], patience: float
    ) -> None:
        self.verdicts = verdicts
        self.say = say
        self.patience = patience
        self.relay: Relay
        self.is_copy = verdicts.part == Part.DROP_COPY
        self.last_report: Message | None = None
        self.key = ""
        self.place: int | None = None
        """Where the program may connect; None: anywhere."""
        self.tries = 0
        self.test_requests = count(1)
        self.begin()

    def begin(self) -> None:
        """Forget the last session."""
        self.expected, self.lost = 1, 0
        self.logon: Message | None = None
        self.is_logged_on = self.is_leaving = self.is_over = False
        # Messages that answer no TestRequest and no ResendRequest.
        self.unasked = 0
        self.demanded: set[str] = set()
        self.answered: set[str] = set()
        self.standing: set[str] = set()
        self.resend_from: list[int] = []
        self.is_resent = False
        # The request for reports, and whether the acceptor took it.
        self.report_request: Message | None = None
        self.is_taken = False
        # By MDReqID(262) and symbol.
        self.books: dict[tuple[str, str], Replica] = {}

    # The relay calls the following methods.

    def may_connect(self, place: int) -> bool:
        if self.place in (None, place):
            self.place = place
            self.begin()
            return True
        self.tries += 1
        return False

    def judge_garbled(self, problem: str) -> None:
        self.lost += 1
        self.verdicts.breach("FRAME", problem)

    def judge_received(self, message: Message) -> bool:
        if message.get(43) == "Y":
            # It repeats messages that we have requested again.
            self.is_resent = True
            return False
        # Some engines name a TestRequest in each Heartbeat.
        is_answer = message.type == "0" and message.get(112) in self.demanded
        self.unasked += not is_answer
        self.check_numbers(message)
        self.check_frame(message)
        if self.is_over:
            if self.is_leaving:
                shown = readable(message.raw)[:100]
                self.verdicts.breach("LOGOUT", f"After its Logout it sent {shown}")
            return False
        return self.handle(message)

    def handle(self, message: Message) -> bool:
        match message.type:
            case "A":
                self.logon = message
                self.key = key_of(message)
            case "0":
                test_request = message.get(112)
                self.answered.add(test_request)
                return not test_request.startswith(OURS)
            case "2":
                self.resend_from.append(message.number(7))
                self.fill_gap(message.number(7))
                return False
            case "3" | "j":
                self.verdicts.breach("TOLERANCE", readable(message.raw)[:200])
                return False
            case "AD":
                self.report_request = message
            case "4":
                return False
            case "5":
                self.is_over = True
                # A program that was asked to leave has no session with the acceptor to
                # end.
                return not self.is_leaving
        return True

    def check_numbers(self, message: Message) -> None:
        self.verdicts.hold("NUMBERS")
        # A garbled message also had a number.
        if not self.expected <= message.sequence <= self.expected + self.lost:
            self.verdicts.breach(
                "NUMBERS",
                f"34={message.sequence} of a {message.type}, where {self.expected} "
                "is expected",
            )
        self.expected, self.lost = message.sequence + 1, 0

    def check_frame(self, message: Message) -> None:
        self.verdicts.hold("FRAME")
        if self.logon is None:
            return
        for tag in (49, 56):
            if message.get(tag) != self.logon.get(tag):
                self.verdicts.breach(
                    "FRAME",
                    f"{tag}={message.get(tag)} of a {message.type}, but the Logon "
                    f"has {self.logon.get(tag)}",
                )

    def judge_sent(self, message: Message) -> bool:
        """The acceptor's answers say whether Logon and requests hold."""
        text = message.get(58)
        match message.type:
            case "A":
                self.is_logged_on = True
            case "1":
                self.demanded.add(message.get(112))
            case "W" | "X":
                self.standing.add(message.get(262))
                self.follow(message)
            case "8":
                if message.number(17) > self.last_exec_id:
                    self.last_report = message
            case "AQ":
                self.is_taken = message.get(750) == "0"
                if not self.is_taken:
                    shown = readable(message.raw)[:200]
                    self.verdicts.breach("AFTER", f"The acceptor sent {shown}")
            case "Y" | "3":
                shown = readable(message.raw)[:200]
                self.verdicts.breach(self.request_rule, f"The acceptor sent {shown}")
            case "j":
                rule = "READ-ONLY" if message.get(380) == "3" else self.request_rule
                what = message.get(372)
                self.verdicts.breach(rule, f"A message of type {what}: {text}")
            case "5" if not self.is_over:
                found = [rule for part, rule in OF_LOGOUTS if part in text]
                self.verdicts.breach(found[0] if found else "LOGON", text)
        return not self.is_leaving

    @property
    def request_rule(self) -> str:
        return "AFTER" if self.is_copy else "REQUEST"

    @property
    def last_exec_id(self) -> int:
        return self.last_report.number(17) if self.last_report else 0

    def repeat_report(self, *changes: tuple[int, object]) -> None:
        """Repeat the last report, as it may come after a gap."""
        assert self.last_report is not None
        given = dict(changes)
        body = [(t, given.get(t, v)) for t, v in self.last_report.fields[2:-1]]
        header = {34, 35, 43, 49, 52, 56, 97, 122}
        rest = [(tag, value) for tag, value in body if tag not in header]
        self.relay.say("8", (97, "Y"), *rest)

    def follow(self, message: Message) -> None:
        """Keep the books, to compare them with the program's."""
        entries = message.group(268)
        names = {message.get(55)} if message.type == "W" else {e[55] for e in entries}
        for name in names:
            book = self.books.setdefault((message.get(262), name), Replica(name))
            own = [entry for entry in entries if entry.get(55, name) == name]
            try:
                book.take(message, own)
            except Inconsistent as problem:
                self.say(
                    f"This program's own books are wrong; please report it: {problem}"
                )

    def fill_gap(self, begin: int) -> None:
        assert self.relay.program is not None
        following = self.relay.program.sent + 1
        self.relay.say("4", (43, "Y"), (123, "Y"), (36, following), number=begin)

    # The course of the examination.

    def run(self) -> None:
        """Run one session with all provocations, and one at the other address."""
        try:
            self.first_session()
            self.second_session()
        except Gone:
            self.say("The program's connection ended before the examination did.")

    def first_session(self) -> None:
        if self.is_copy:
            self.say("Start your program with both addresses.")
            self.await_session(START_SECONDS, "LOGON")
            self.await_report()
        else:
            self.say("Start your program with both addresses, and subscribe to a book.")
            self.await_session(START_SECONDS, "LOGON")
            self.demand("REQUEST", lambda: self.standing, "No book was requested.")
        self.verdicts.hold("READ-ONLY")
        self.verdicts.hold("PACE")
        self.ask_for_life()
        self.tell_what_is_new()
        self.leave_one_out()
        self.ask_again()
        self.keep_quiet()
        if self.is_copy:
            self.say(f"The last ExecID(17) of your program must be {self.last_exec_id}")
        else:
            self.show_books()
        self.send_away()

    def await_report(self) -> None:
        """Raises Gone: no report came."""
        self.say("Place an order of your partner now, so that a report is sent.")
        self.relay.wait(lambda: self.is_gone or self.last_report, START_SECONDS)
        if self.is_gone or self.last_report is None:
            raise Gone

    def await_session(self, seconds: float, rule: str) -> None:
        """Raises Gone: there is none."""

        def is_decided() -> bool:
            refused = bool(self.verdicts.breaches.get("LOGON"))
            return self.is_logged_on or refused or self.tries > MOST_TRIES

        if self.relay.wait(is_decided, seconds) and self.is_logged_on:
            self.verdicts.hold("LOGON")
            self.verdicts.hold(rule)
            return
        if self.tries > MOST_TRIES:
            problem = (
                f"It connected {self.tries} times to an address that no longer serves."
            )
            self.verdicts.breach(rule, problem)
        elif not self.verdicts.breaches.get("LOGON"):
            self.verdicts.breach(rule, f"No Logon in {seconds:.0f} s.")
        raise Gone

    def demand(self, rule: str, reached: Callable[[], object], otherwise: str) -> bool:
        """Whether the state is reached in time; otherwise the rule is broken.

        Raises:
            Gone
        """
        self.say(f"{rule}: {RULES[rule].sends}")
        self.verdicts.hold(rule)
        self.relay.wait(lambda: self.is_gone or reached(), self.patience)
        if reached():
            return True
        self.verdicts.breach(rule, GONE if self.is_gone else otherwise)
        if self.is_gone:
            raise Gone
        return False

    @property
    def is_gone(self) -> bool:
        return self.relay.program is None

    def ask_for_life(self) -> None:
        name = self.demand_heartbeat()
        self.demand(
            "TEST-REQUEST",
            lambda: name in self.answered,
            f"No Heartbeat with 112={name} in {self.patience:.0f} s.",
        )

    def demand_heartbeat(self) -> str:
        name = f"{OURS}{next(self.test_requests)}"
        self.demanded.add(name)
        self.relay.say("1", (112, name))
        return name

    def tell_what_is_new(self) -> None:
        """A Heartbeat in answer to the following shows that all was read."""
        symbol = next((name for _, name in self.books), "TEST")
        at = "20260302-09:00:00.000"
        self.relay.say(
            "B", (148, "A notice"), (33, 1), (58, "Your program must ignore it.")
        )
        self.relay.say("h", (336, "DAY"), (325, "Y"), (340, 2))
        status = [(55, symbol), (15, "EUR"), (325, "Y"), (326, 2), (60, at)]
        self.relay.say("f", *status)
        if self.is_copy:
            self.repeat_report()
            self.repeat_report((150, "D"))
        name = self.demand_heartbeat()
        self.verdicts.hold("TOLERANCE")
        self.relay.wait(lambda: self.is_gone or name in self.answered, self.patience)
        if self.is_over or self.is_gone:
            self.verdicts.breach("TOLERANCE", GONE)
            raise Gone

    def leave_one_out(self) -> None:
        assert self.relay.program is not None
        self.relay.program.sent += 1
        missing = self.relay.program.sent
        self.relay.say("0")
        came = self.demand(
            "GAP",
            lambda: self.resend_from,
            f"No ResendRequest in {self.patience:.0f} s, with 34={missing} left out.",
        )
        if not came:
            return
        if self.resend_from[0] != missing:
            asked = self.resend_from[0]
            self.verdicts.breach(
                "GAP", f"It asks from 7={asked}, but {missing} is missing"
            )
        for (request_id, name), book in self.books.items():
            self.relay.say("W", (262, request_id), (55, name), *levels(book))
        if self.is_copy:
            self.repeat_report()
        test_request = self.demand_heartbeat()
        self.demand(
            "RECOVERY",
            lambda: test_request in self.answered,
            f"No Heartbeat with 112={test_request} in {self.patience:.0f} s.",
        )

    def ask_again(self) -> None:
        self.relay.say("2", (7, 1), (16, 0))
        self.demand(
            "RESEND",
            lambda: self.is_resent,
            f"Nothing with 43=Y in {self.patience:.0f} s.",
        )

    def keep_quiet(self) -> None:
        assert self.logon is not None
        most = self.logon.number(108) * GRACE + self.patience
        before = self.unasked
        self.say(f"Waiting for a Heartbeat, at most {most:.0f} s.")
        self.verdicts.hold("HEARTBEAT")
        self.relay.wait(lambda: self.is_gone or self.unasked > before, most)
        if self.unasked == before:
            problem = f"Nothing sent on its own in {most:.0f} s."
            self.verdicts.breach("HEARTBEAT", GONE if self.is_gone else problem)
        if self.is_gone:
            raise Gone

    def show_books(self) -> None:
        latest = {name: book for (_, name), book in self.books.items()}
        for name, book in latest.items():
            bids, asks = (
                " ".join(f"{price / 100:.2f}x{units}" for price, units in side)
                for side in book.ladder(3)
            )
            self.say(
                f"Your book of {name} must show: bids {bids or '-'}, asks {asks or '-'}"
            )

    def send_away(self) -> None:
        self.is_leaving = True
        here, self.place = self.place, NOWHERE
        self.relay.say(
            "5", (58, "This address stops serving; log on at the other one.")
        )
        self.verdicts.hold("LOGOUT")
        self.relay.wait(lambda: self.is_gone or self.is_over, self.patience)
        if not self.is_over:
            self.verdicts.breach("LOGOUT", "It did not answer our Logout.")
        # A message after its Logout would arrive at once.
        self.relay.wait(lambda: self.is_gone, AFTER_SECONDS)
        self.relay.hang_up()
        self.tries = 0
        self.place = 1 if here == 0 else 0

    def second_session(self) -> None:
        self.say("Your program now continues at the other address.")
        self.is_logged_on = False
        last = self.last_exec_id
        self.await_session(RETURN_SECONDS, "FAIL-OVER")
        if self.is_copy:
            self.judge_request(last)
        else:
            self.demand("ANEW", lambda: self.standing, "No book was requested.")
        self.say("Stop your program now.")
        self.verdicts.hold("GOODBYE")
        if not self.relay.wait(lambda: self.is_gone, START_SECONDS):
            self.verdicts.breach("GOODBYE", "It was not stopped.")
        elif not self.is_over:
            self.verdicts.breach("GOODBYE", "The connection ended without a Logout.")

    def judge_request(self, last: int) -> None:
        """Judge the request for the reports that follow `last`."""
        taken = self.demand("AFTER", lambda: self.is_taken, "No AD was accepted.")
        if taken and self.report_request and self.report_request.get(17) != str(last):
            asked = self.report_request.get(17)
            self.verdicts.breach(
                "AFTER", f"17={asked}, but its last report had 17={last}"
            )
