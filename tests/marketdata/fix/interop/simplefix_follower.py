"""Follows a book with simplefix as /docs/fix asks for it; with a fault, as it does not.

Arguments: host, its two ports, SenderCompID, TargetCompID, symbol, fault; the key in
FIX_KEY, HeartBtInt in HEARTBEAT; it beats more often. If the symbol is empty, it
follows a drop copy. Ends with a Logout on SIGTERM.
"""

import os
import select
import signal
import socket
import sys
import time

import simplefix

HEARTBEAT = int(os.environ["HEARTBEAT"])
PATIENCE_SECONDS, PAUSE_SECONDS, BEAT_SECONDS = 120, 0.3, 1.0
host, first_port, other_port, sender, target, symbol, *faults = sys.argv[1:]
stopping: list[int] = []
exec_ids = [0]
signal.signal(signal.SIGTERM, lambda number, frame: stopping.append(number))


def has(fault):
    return fault in faults


class Session:
    def __init__(self, port):
        self.connection = socket.create_connection((host, int(port)), PATIENCE_SECONDS)
        self.parser = simplefix.FixParser()
        self.sent, self.expected, self.requests = 0, 1, 0
        self.last_sent = 0.0
        self.waits_for_fill = False

    def send(self, kind, *pairs, number=None, damage=False):
        if number is None:
            self.sent += 1
            number = self.sent
        message = simplefix.FixMessage()
        message.append_pair(8, "FIX.4.4", header=True)
        message.append_pair(35, kind, header=True)
        message.append_pair(34, number, header=True)
        message.append_pair(49, sender, header=True)
        at = time.time() - (3600 if has("clock") and kind == "A" else 0)
        message.append_utc_timestamp(52, at, precision=3, header=True)
        message.append_pair(56, target, header=True)
        for tag, value in pairs:
            message.append_pair(tag, value)
        data = message.encode()
        if damage:
            data = data[:-4] + (b"999\x01" if data[-4:-1] != b"999" else b"998\x01")
        self.connection.sendall(data)
        self.last_sent = time.monotonic()

    def log_on(self):
        key = os.environ["FIX_KEY"]
        self.send("A", (98, 0), (108, HEARTBEAT), (141, "Y"), (554, key))

    def request_reports(self):
        last = 0 if has("from zero") else max(exec_ids) - has("one too low")
        kind, action = int(not has("other reports")), int(not has("once"))
        self.send("AD", (568, "R"), (569, kind), (263, action), (17, last))

    def subscribe(self, depth=0):
        self.requests += 1
        self.request(1, depth)

    def end_subscription(self):
        if has("number"):
            self.sent += 1
        self.request(2, 0, damage=has("checksum"))

    def request(self, action, depth, **how):
        self.send(
            "V",
            *((262, f"R{self.requests}"), (263, action), (264, depth), (265, 1)),
            *((267, 2), (269, 0), (269, 1), (146, 1), (55, symbol)),
            **how,
        )

    def next(self):
        """The next message; None: nothing came, "": the connection has ended."""
        while (message := self.parser.get_message()) is None:
            ready, _, _ = select.select([self.connection], [], [], 0.1)
            if stopping or not ready:
                return None
            try:
                data = self.connection.recv(65536)
            except OSError:
                return ""
            if not data:
                return ""
            self.parser.append_buffer(data)
        return message

    def follow(self, is_first):
        """Until the session ends; whether it is the end of the program, too."""
        self.log_on()
        while True:
            if stopping:
                if not has("goodbye"):
                    self.send("5")
                    while self.next() not in ("", None):
                        pass
                return True
            message = self.next()
            if message == "":
                return False
            if message is None:
                if time.monotonic() - self.last_sent > BEAT_SECONDS:
                    self.beat()
            elif self.take(message, is_first):
                self.connection.close()
                return False

    def beat(self):
        if not has("heartbeat"):
            self.send("0")

    def take(self, message, is_first):
        """Answer a message; whether it ended the session."""
        kind, number = message.get(35).decode(), int(message.get(34))
        if kind == "4":
            if not has("recovery"):
                self.expected = int(message.get(36))
            self.waits_for_fill = False
            if symbol:
                # No client has to: the book comes anew.
                self.end_subscription()
                self.subscribe(depth=99 if has("depth") else 0)
            return False
        if kind == "5":
            if not has("logout"):
                self.send("5")
            if has("talks on"):
                self.send("0")
            return True
        if number > self.expected and not has("gap"):
            if not self.waits_for_fill:
                self.waits_for_fill = True
                self.send("2", (7, self.expected), (16, 0))
            return False
        self.expected = number + 1
        if kind == "A":
            if symbol and (is_first or not has("anew")):
                self.subscribe()
            if not symbol and not is_first and not has("from now"):
                self.request_reports()
            if has("order"):
                order = ((11, "1"), (55, symbol or "X"), (54, 1), (38, 1), (40, 1))
                self.send("D", *order, (60, "20260302-09:00:00"))
            if has("flood"):
                for _ in range(200):
                    self.send("0")
        elif kind == "1":
            answer = [] if has("test request") else [(112, message.get(112))]
            self.send("0", *answer)
        elif kind == "2" and not has("resend"):
            fill = [(43, "Y"), (123, "Y"), (36, self.sent + 1)]
            self.send("4", *fill, number=int(message.get(7)))
        elif kind == "8":
            if message.get(150) not in (b"0", b"F", b"4") and has("unknown"):
                self.send("3", (45, number), (372, "8"), (58, "what is this?"))
            if message.get(97) == b"Y" and has("repeated"):
                self.send("5", (58, "I have this report"))
            exec_ids.append(int(message.get(17)))
        elif kind == "B" and has("news"):
            self.send("3", (45, number), (372, "B"), (58, "what is this?"))
        return False


is_first, ports = True, [first_port, other_port]
while not Session(ports[0]).follow(is_first):
    is_first = False
    if not has("stays"):
        ports.reverse()
    time.sleep(0 if has("stays") else PAUSE_SECONDS)
