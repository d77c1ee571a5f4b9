"""Rebuilds books with QuickFIX's own initiator and its stock dictionary.

Arguments: host, port, SenderCompID, TargetCompID, symbols; the key in FIX_KEY. Says
when it has subscribed and when it has heard UPDATES; once each book has a bid at LAST,
prints them.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

import quickfix as fix

UPDATES, LAST = 20, "0.01"
PATIENCE_SECONDS = 120
DICTIONARY = Path(sys.prefix) / "share" / "quickfix" / "FIX44.xml"
host, port, sender, target, *symbols = sys.argv[1:]
SESSION = f"""
[DEFAULT]
ConnectionType=initiator
StartTime=00:00:00
EndTime=00:00:00
SocketConnectHost={host}
SocketConnectPort={port}
ReconnectInterval=1
HeartBtInt=30
ResetOnLogon=Y
UseDataDictionary=Y
DataDictionary={DICTIONARY}
[SESSION]
BeginString=FIX.4.4
SenderCompID={sender}
TargetCompID={target}
"""


def tell(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Application(fix.Application):
    def __init__(self):
        super().__init__()
        self.logged_on, self.listed = threading.Event(), threading.Event()
        self.logged_out = threading.Event()
        self.instruments, self.wrong = [], []
        self.books = {symbol: {"0": {}, "1": {}} for symbol in symbols}
        self.updates = 0

    def onCreate(self, session):  # noqa: N802
        pass

    def onLogon(self, session):  # noqa: N802
        self.logged_on.set()

    def onLogout(self, session):  # noqa: N802
        self.logged_out.set()

    def toAdmin(self, message, session):  # noqa: N802
        kind = message.getHeader().getField(35)
        if kind == "A":
            message.setField(554, os.environ["FIX_KEY"])
        elif kind == "3":
            # The dictionary refused what the acceptor sent.
            self.wrong.append(message.toString())

    def toApp(self, message, session):  # noqa: N802
        pass

    def fromAdmin(self, message, session):  # noqa: N802
        pass

    def fromApp(self, message, session):  # noqa: N802
        try:
            self.take(message, message.getHeader().getField(35))
        except Exception as failure:  # noqa: BLE001
            # One that leaves a callback would stop the engine without a word.
            self.wrong.append(repr(failure))

    def take(self, message, kind):
        if kind == "y":
            group = fix.Group(146, 55)
            for number in range(1, int(message.getField(146)) + 1):
                message.getGroup(number, group)
                self.instruments.append(group.getField(55))
            self.listed.set()
        elif kind == "W":
            group = fix.Group(268, 269)
            book = self.books[message.getField(55)]
            for number in range(1, int(message.getField(268)) + 1):
                message.getGroup(number, group)
                side = book[group.getField(269)]
                side[group.getField(270)] = int(group.getField(271))
        elif kind == "X":
            self.updates += 1
            if self.updates == UPDATES:
                tell("moved")
            group = fix.Group(268, 279)
            for number in range(1, int(message.getField(268)) + 1):
                message.getGroup(number, group)
                side = self.books[group.getField(55)][group.getField(269)]
                price = group.getField(270)
                if group.getField(279) == "2":
                    del side[price]
                else:
                    assert (price in side) == (group.getField(279) == "1"), price
                    side[price] = int(group.getField(271))
        elif kind != "f":
            self.wrong.append(message.toString())


def entry(count, tag, value):
    group = fix.Group(count, tag)
    group.setField(tag, value)
    return group


settings = fix.SessionSettings()
settings.setFromString(SESSION)
application = Application()
stores = fix.MemoryStoreFactory()
initiator = fix.SocketInitiator(application, stores, settings)
initiator.start()
assert application.logged_on.wait(PATIENCE_SECONDS), "no Logon"
session = fix.SessionID("FIX.4.4", sender, target)
request = fix.Message()
request.getHeader().setField(35, "x")
request.setField(320, "list")
request.setField(559, "4")
fix.Session.sendToTarget(request, session)
assert application.listed.wait(PATIENCE_SECONDS), "no SecurityList"
request = fix.Message()
request.getHeader().setField(35, "V")
for tag, value in ((262, "books"), (263, "1"), (264, "0"), (265, "1")):
    request.setField(tag, value)
for side in "01":
    request.addGroup(entry(267, 269, side))
for symbol in symbols:
    request.addGroup(entry(146, 55, symbol))
fix.Session.sendToTarget(request, session)
tell("subscribed")
while not all(LAST in book["0"] for book in application.books.values()):
    assert not application.wrong, application.wrong
    time.sleep(0.05)
assert not application.wrong, application.wrong
fix.Session.lookupSession(session).logout()
assert application.logged_out.wait(PATIENCE_SECONDS), "no Logout"
described = {
    "instruments": application.instruments,
    "updates": application.updates,
    "books": application.books,
}
tell(json.dumps(described))
# The engine's threads have nothing more to do.
os._exit(0)
