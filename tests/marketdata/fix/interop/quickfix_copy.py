"""Follows a drop copy with QuickFIX's own initiator and its stock dictionary.

Arguments: host, port, SenderCompID, TargetCompID, how many reports; the key in FIX_KEY.
Prints ExecID, ExecType, OrdStatus, LeavesQty and CumQty of each.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

import quickfix as fix

PATIENCE_SECONDS = 120
DICTIONARY = Path(sys.prefix) / "share" / "quickfix" / "FIX44.xml"
host, port, sender, target, count = sys.argv[1:]
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


class Application(fix.Application):
    def __init__(self):
        super().__init__()
        self.logged_on, self.logged_out = threading.Event(), threading.Event()
        self.reports, self.wrong = [], []

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
        kind = message.getHeader().getField(35)
        if kind == "8":
            tags = (17, 150, 39, 151, 14)
            self.reports.append([message.getField(tag) for tag in tags])
        elif kind != "AQ" or message.getField(750) != "0":
            self.wrong.append(message.toString())


settings = fix.SessionSettings()
settings.setFromString(SESSION)
application = Application()
stores = fix.MemoryStoreFactory()
initiator = fix.SocketInitiator(application, stores, settings)
initiator.start()
assert application.logged_on.wait(PATIENCE_SECONDS), "no Logon"
session = fix.SessionID("FIX.4.4", sender, target)
request = fix.Message()
request.getHeader().setField(35, "AD")
for tag, value in ((568, "R"), (569, "1"), (263, "1"), (17, "0")):
    request.setField(tag, value)
fix.Session.sendToTarget(request, session)
while len(application.reports) < int(count):
    assert not application.wrong, application.wrong
    time.sleep(0.05)
fix.Session.lookupSession(session).logout()
assert application.logged_out.wait(PATIENCE_SECONDS), "no Logout"
assert not application.wrong, application.wrong
sys.stdout.write(json.dumps(application.reports) + "\n")
sys.stdout.flush()
# The engine's threads have nothing more to do.
os._exit(0)
