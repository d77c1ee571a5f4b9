"""Tests rule by rule how a partner's program places orders and reads events.

The API answers what it can; the examination adds answers that are lost, that ask to
wait, or that refuse. Standard library only.
"""

import json
import re
import threading
import uuid
from collections.abc import Callable
from time import monotonic

from marketdata.fix.conformance.http_relay import (
    Answer,
    Fate,
    HttpRelay,
    Request,
    values_of,
)
from marketdata.fix.conformance.rulebook import (
    HALT_SECONDS,
    MOST_IN_HALT,
    THROTTLED_SECONDS,
    UNAVAILABLE_SECONDS,
    Verdicts,
)

BEGIN_SECONDS = 600.0
"""How long a person may take to do what is asked."""
RETURNS = 6
"""The program must repeat an order, and place others, within so many times the
patience."""
FLIGHT_SECONDS, EARLY_SECONDS = 0.5, 0.1
"""How much later than an answer a request may come that was sent before it arrived; how
much earlier than it was asked for one may come."""
QUIET_SECONDS = 3.0
WAITS = {"THROTTLED": THROTTLED_SECONDS, "UNAVAILABLE": UNAVAILABLE_SECONDS}
TOKEN = re.compile(rb"Token\|[0-9a-f-]{36}")
ADVANCE = """
mutation ($id: ID!, $phase: MarketPhase!) {
  sandboxAdvanceMarket(input: {tokenID: $id, phase: $phase}) { token { id } }
}
"""
NOT_NOW = {"MARKET_CLOSED", "ORDERS_BLOCKED"}
SCENES = (
    "LOST", "THROTTLED", "UNAVAILABLE", "REFUSAL", "HALT", "KILL-SWITCH", "RESTART"
)  # fmt: skip


class Unfinished(Exception):
    """The examination cannot go on; the message says why."""


def refused(status: int, code: str, message: str, **headers: str) -> Answer:
    error = {"message": message, "extensions": {"code": code, "outcome": "UNKNOWN"}}
    content = json.dumps({"errors": [error]}).encode()
    given = {"Content-Type": "application/json; charset=utf-8"}
    return Answer(status, given | headers, content)


def throttled(seconds: int) -> Answer:
    text = f"Your budget is spent; try again in {seconds} seconds."
    return refused(429, "THROTTLED", text, **{"Retry-After": str(seconds)})


class OrderExamination:
    """Examines one program; `say` reports progress to its user.

    `patience`: seconds within which an answer is in time. `only`: the scenes to play;
    empty: all. Requests come in threads of their own, one after the other here.
    """

    def __init__(
        self,
        verdicts: Verdicts,
        say: Callable[[str], object],
        patience: float,
        only: list[str],
    ) -> None:
        self.verdicts = verdicts
        self.say = say
        self.patience = patience
        self.scenes = [one for one in SCENES if one in only or not only]
        self.relay: HttpRelay
        self.news = threading.Condition()
        self.token = ""
        self.market = ""
        # By Idempotency-Key.
        self.bodies: dict[str, bytes] = {}
        # The scene that the next order meets, and the order that met it.
        self.plan = ""
        self.victim: Request | None = None
        self.hit_at = 0.0
        self.is_repeated = self.is_cut = False
        # Orders that a market has accepted or refused, and those that came in a halt.
        self.judged = self.closed = 0
        self.is_killing = False
        self.killed_at: float | None = None
        self.is_back = self.has_resumed = False
        self.cursors: set[str] = set()
        self.highest = 0

    # The relay calls these three, in threads.

    def before(self, request: Request) -> Answer | None:
        with self.news:
            self.news.notify_all()
            return self.judge(request)

    def after(self, request: Request, answer: Answer) -> Answer | Fate:
        with self.news:
            self.news.notify_all()
            if request is self.victim:
                return self.spoil(answer)
            self.read(request, answer)
            return answer

    def on_cut(self, request: Request) -> None:
        with self.news:
            self.is_cut = True
            self.news.notify_all()

    def judge(self, request: Request) -> Answer | None:
        now = monotonic()
        self.token = request.token or self.token
        if request.is_mutation and not request.is_trial:
            self.judge_key(request)
        if (arguments := request.events()) is not None:
            self.judge_events(arguments)
        if self.victim:
            self.judge_repeat(self.victim, request, now)
        if self.is_killing:
            return self.judge_kill(request, now)
        is_wanted = request.is_order and not request.is_trial
        if self.plan and is_wanted and self.victim is None:
            self.victim, self.hit_at = request, now
            if self.plan == "THROTTLED":
                return throttled(THROTTLED_SECONDS)
            if self.plan == "REFUSAL":
                text = "The order is refused, for a reason of next year."
                return refused(200, "REASON_OF_NEXT_YEAR", text)
        return None

    def judge_key(self, request: Request) -> None:
        self.verdicts.hold("KEY")
        if not request.key:
            self.breach("KEY", "A mutation without an Idempotency-Key.")
            return
        try:
            is_random = uuid.UUID(request.key).version == 4
        except ValueError:
            is_random = False
        if not is_random:
            self.breach("KEY", f"{request.key[:40]} is no UUID of version 4.")
        if self.bodies.setdefault(request.key, request.body) != request.body:
            self.breach("KEY", f"{request.key[:40]} came with another body.")

    def judge_events(self, arguments: dict[str, str]) -> None:
        """Judge where a page begins; the first one may begin anywhere."""
        self.verdicts.hold("EVENTS")
        rule = "EVENTS"
        if self.is_back and not self.has_resumed:
            self.has_resumed, rule = True, "RESUME"
            self.verdicts.hold(rule)
            if "after" not in arguments:
                self.breach(rule, "Its first page of events has no `after`.")
                return
        after = arguments.get("after")
        if after is None:
            return
        if not self.cursors:
            self.cursors.add(after)
            self.highest = int(after) if after.isdigit() else 0
        is_known = after in self.cursors or (
            after.isdigit() and int(after) <= self.highest
        )
        if not is_known:
            self.breach(rule, f"No page that was answered ended with {after[:40]}.")

    def judge_repeat(self, victim: Request, request: Request, now: float) -> None:
        is_same = bool(victim.key) and request.key == victim.key
        since = now - self.hit_at
        if self.plan == "REFUSAL":
            if is_same:
                self.breach("REFUSAL", "It repeated the refused request.")
        elif self.plan == "RESTART":
            names = victim.client_order_ids & request.client_order_ids
            asks = not request.is_mutation and (
                (victim.key and victim.key.encode() in request.body) or names
            )
            self.is_repeated |= self.is_back and bool(is_same or asks)
        else:
            wait = WAITS.get(self.plan, 0)
            is_early = since < wait - EARLY_SECONDS
            if self.plan == "THROTTLED":
                is_early &= request.is_mutation and since > FLIGHT_SECONDS or is_same
            else:
                is_early &= is_same
            if is_early:
                self.breach(
                    self.plan,
                    f"A mutation {since:.1f} s after Retry-After: {wait}.",
                )
            self.is_repeated |= is_same and not is_early

    def judge_kill(self, request: Request, now: float) -> Answer | None:
        if request.stops_orders and not request.is_kill:
            self.breach("KILL-SWITCH", "Orders are stopped without X-Kill-Switch: 1.")
        elif request.stops_orders:
            return None
        elif (
            request.is_order
            and self.killed_at is not None
            and now > self.killed_at + FLIGHT_SECONDS
        ):
            self.breach("KILL-SWITCH", "It sent an order after the kill switch.")
        return throttled(1)

    def spoil(self, answer: Answer) -> Answer | Fate:
        """What the victim's program gets instead of the API's answer."""
        self.hit_at = monotonic()
        if self.plan == "LOST":
            return Fate.DROPPED
        if self.plan == "RESTART":
            return Fate.HELD
        assert self.plan == "UNAVAILABLE"
        text = "The service is unavailable; the outcome is unknown."
        wait = {"Retry-After": str(UNAVAILABLE_SECONDS)}
        return refused(503, "UNAVAILABLE", text, **wait)

    def read(self, request: Request, answer: Answer) -> None:
        """Note what the program learns from an answer."""
        content = answer.content
        if request.events() is not None:
            self.cursors.update(values_of(content, {"endCursor", "cursor"}))
            numbers = values_of(content, {"sequence"})
            self.highest = max([self.highest, *map(int, numbers)])
        if request.stops_orders and request.is_kill and answer.status == 200:
            self.killed_at = self.killed_at or monotonic()
        if request.is_order and not request.is_trial:
            codes = set(values_of(content, {"code"}))
            self.closed += "MARKET_CLOSED" in codes
            if answer.status == 200 and not codes & NOT_NOW:
                self.judged += 1
                if named := TOKEN.search(request.body):
                    self.market = named[0].decode()

    def breach(self, rule: str, what: str) -> None:
        self.verdicts.breach(rule, what)

    # The course of the examination.

    def run(self) -> None:
        self.say(
            "Start your program. It must place orders in an internal market, one every "
            "few seconds until the end, and read events."
        )
        try:
            self.wait(lambda: self.judged or self.verdicts.breaches, BEGIN_SECONDS)
            if not self.wait(lambda: self.judged, RETURNS * self.patience):
                raise Unfinished("No order reached a market.")
            for scene in self.scenes:
                self.say(f"{scene}: {self.verdicts.rules[scene].sends}")
                self.verdicts.hold(scene)
                self.play(scene)
            if not self.wait(lambda: self.cursors, self.patience):
                self.breach("EVENTS", "It read no events.")
        except Unfinished as problem:
            self.say(str(problem))
        self.say("The examination is over; stop your program.")

    def play(self, scene: str) -> None:
        match scene:
            case "HALT":
                self.halt()
            case "KILL-SWITCH":
                self.stop_orders()
            case "RESTART":
                self.restart()
            case _:
                self.meet(scene)
                self.plan, self.victim = "", None

    def wait(self, reached: Callable[[], object], seconds: float) -> bool:
        """Whether the state is reached in time."""
        with self.news:
            return bool(self.news.wait_for(reached, seconds))

    def await_order(self, scene: str) -> None:
        """Play a scene with the next order, once that comes."""
        self.is_repeated = self.is_cut = False
        self.victim, self.plan = None, scene
        if not self.wait(lambda: self.victim, BEGIN_SECONDS):
            raise Unfinished("No order came.")

    def meet(self, scene: str) -> None:
        self.await_order(scene)
        if scene == "REFUSAL":
            self.wait(lambda: False, QUIET_SECONDS)
            self.go_on(scene)
        elif not self.wait(lambda: self.is_repeated, RETURNS * self.patience):
            self.breach(scene, "The same body did not come with the same key.")

    def go_on(self, scene: str) -> None:
        """Judge whether another order reaches a market."""
        self.judged = 0
        if not self.wait(lambda: self.judged, RETURNS * self.patience):
            self.breach(scene, "It placed no order afterwards.")

    def halt(self) -> None:
        self.advance("HALTED")
        self.closed = 0
        self.wait(lambda: self.closed > MOST_IN_HALT, HALT_SECONDS)
        if self.closed > MOST_IN_HALT:
            self.breach("HALT", f"More than {MOST_IN_HALT} orders came in the halt.")
        self.advance("CALL")
        self.go_on("HALT")

    def advance(self, phase: str) -> None:
        sent = {"query": ADVANCE, "variables": {"id": self.market, "phase": phase}}
        headers = {
            "Content-Type": "application/json",
            "X-Token-Auth": self.token,
            "Idempotency-Key": str(uuid.uuid4()),
        }
        answer = self.relay.forward(json.dumps(sent).encode(), headers)
        content = answer.content or {}
        if answer.status != 200 or content.get("errors"):
            text = next(values_of(content, {"message"}), f"HTTP {answer.status}")
            raise Unfinished(f"The market cannot be moved to {phase}: {text}")

    def stop_orders(self) -> None:
        self.say("Use the kill switch of your program now.")
        self.is_killing, self.killed_at = True, None
        known = len(self.verdicts.breaches.get("KILL-SWITCH", []))

        def is_decided() -> bool:
            found = len(self.verdicts.breaches.get("KILL-SWITCH", []))
            return self.killed_at is not None or found > known

        if not self.wait(is_decided, BEGIN_SECONDS):
            self.breach("KILL-SWITCH", "It was not used.")
        self.wait(lambda: False, QUIET_SECONDS)
        self.is_killing = False
        self.say("Release your orders, and have your program continue.")
        self.go_on("KILL-SWITCH")

    def restart(self) -> None:
        self.await_order("RESTART")
        self.say("Kill your program now, as a crash does (kill -9).")
        if not self.wait(lambda: self.is_cut, BEGIN_SECONDS):
            raise Unfinished("It was not killed.")
        self.is_back, self.has_resumed = True, False
        self.verdicts.hold("RESUME")
        self.say("Start your program now.")
        if not self.wait(lambda: self.is_repeated, RETURNS * self.patience):
            self.breach("RESTART", "It did not ask for the outcome of its last order.")
        if not self.wait(lambda: self.has_resumed, RETURNS * self.patience):
            self.breach("RESUME", "It read no events.")
        self.plan, self.victim = "", None
