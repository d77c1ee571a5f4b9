"""Follows a drop copy with simplefix, a codec of others.

Arguments: host, port, SenderCompID, TargetCompID, how many reports; the key in FIX_KEY.
Prints ExecID, ExecType, OrdStatus, LeavesQty and CumQty of each.
"""

import json
import os
import socket
import sys

import simplefix

PATIENCE_SECONDS = 120
host, port, sender, target, count = sys.argv[1:]
connection = socket.create_connection((host, int(port)), PATIENCE_SECONDS)
parser = simplefix.FixParser()
sent = 0


def send(kind, *pairs):
    global sent
    sent += 1
    message = simplefix.FixMessage()
    message.append_pair(8, "FIX.4.4", header=True)
    message.append_pair(35, kind, header=True)
    message.append_pair(34, sent, header=True)
    message.append_pair(49, sender, header=True)
    message.append_utc_timestamp(52, precision=3, header=True)
    message.append_pair(56, target, header=True)
    for tag, value in pairs:
        message.append_pair(tag, value)
    connection.sendall(message.encode())


def receive():
    while (message := parser.get_message()) is None:
        data = connection.recv(65536)
        if not data:
            sys.exit("the acceptor closed the connection")
        parser.append_buffer(data)
    if message.get(35) == b"1":
        send("0", (112, message.get(112)))
    return message


send("A", (98, 0), (108, 30), (141, "Y"), (554, os.environ["FIX_KEY"]))
logon = receive()
assert logon.get(35) == b"A", logon
send("AD", (568, "R"), (569, 1), (263, 1), (17, 0))
while (answer := receive()).get(35) != b"AQ":
    pass
assert answer.get(750) == b"0", answer
reports: list[list[str]] = []
while len(reports) < int(count):
    message = receive()
    if message.get(35) == b"8":
        tags = (17, 150, 39, 151, 14)
        reports.append([message.get(tag).decode() for tag in tags])
    else:
        assert message.get(35) in (b"0", b"1"), message
send("5")
while receive().get(35) != b"5":
    pass
sys.stdout.write(json.dumps(reports) + "\n")
