"""Follows a book with QuickFIX's own initiator as /docs/fix asks for it.

Arguments: host, its two ports, SenderCompID, TargetCompID, symbol; the key in FIX_KEY,
HeartBtInt in HEARTBEAT. Ends with a Logout on SIGTERM.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import quickfix as fix

PATIENCE_SECONDS = 120
DICTIONARY = Path(sys.prefix) / "share" / "quickfix" / "FIX44.xml"
host, first_port, other_port, sender, target, symbol = sys.argv[1:]
SESSION = f"""
[DEFAULT]
ConnectionType=initiator
StartTime=00:00:00
EndTime=00:00:00
SocketConnectHost={host}
SocketConnectPort={first_port}
SocketConnectHost1={host}
SocketConnectPort1={other_port}
ReconnectInterval=1
HeartBtInt={os.environ["HEARTBEAT"]}
ResetOnLogon=Y
UseDataDictionary=Y
DataDictionary={DICTIONARY}
[SESSION]
BeginString=FIX.4.4
SenderCompID={sender}
TargetCompID={target}
"""
stopping, logged_out = threading.Event(), threading.Event()


def stop(number, frame):
    stopping.set()


class Application(fix.Application):
    def __init__(self):
        super().__init__()
        self.requests = 0

    def onCreate(self, session):  # noqa: N802
        pass

    def onLogon(self, session):  # noqa: N802
        self.request(session)

    def onLogout(self, session):  # noqa: N802
        if stopping.is_set():
            logged_out.set()

    def toAdmin(self, message, session):  # noqa: N802
        if message.getHeader().getField(35) == "A":
            message.setField(554, os.environ["FIX_KEY"])

    def toApp(self, message, session):  # noqa: N802
        pass

    def fromAdmin(self, message, session):  # noqa: N802
        pass

    def fromApp(self, message, session):  # noqa: N802
        pass

    def request(self, session):
        self.requests += 1
        request = fix.Message()
        request.getHeader().setField(35, "V")
        fields = (262, f"R{self.requests}"), (263, "1"), (264, "0"), (265, "1")
        for tag, value in fields:
            request.setField(tag, value)
        for side in "01":
            request.addGroup(entry(267, 269, side))
        request.addGroup(entry(146, 55, symbol))
        fix.Session.sendToTarget(request, session)


def entry(count, tag, value):
    group = fix.Group(count, tag)
    group.setField(tag, value)
    return group


signal.signal(signal.SIGTERM, stop)
settings = fix.SessionSettings()
settings.setFromString(SESSION)
application, stores = Application(), fix.MemoryStoreFactory()
initiator = fix.SocketInitiator(application, stores, settings)
initiator.start()
while not stopping.wait(0.1):
    pass
session = fix.Session.lookupSession(fix.SessionID("FIX.4.4", sender, target))
session.logout()
logged_out.wait(PATIENCE_SECONDS)
time.sleep(0.1)
# The engine's threads have nothing more to do.
os._exit(0)
