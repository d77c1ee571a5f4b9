"""Rebuilds books with simplefix, a codec of others, and a session of a few lines.

Arguments: host, port, SenderCompID, TargetCompID, symbols; the key in FIX_KEY. Says
when it has subscribed and when it has heard UPDATES; once each book has a bid at LAST,
prints them.
"""

import json
import os
import socket
import sys

import simplefix

UPDATES, LAST = 20, "0.01"
PATIENCE_SECONDS = 120
host, port, sender, target, *symbols = sys.argv[1:]
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


def entries(message, count, first):
    """The entries of a group whose first tag this is."""
    found = None
    for tag, value in message.pairs:
        if tag == count:
            found = []
        elif found is not None and tag != b"10":
            if tag == first:
                found.append({})
            found[-1][int(tag)] = value.decode()
    return found


send("A", (98, 0), (108, 30), (141, "Y"), (554, os.environ["FIX_KEY"]))
logon = receive()
assert logon.get(35) == b"A", logon
send("x", (320, "list"), (559, 4))
while (listed := receive()).get(35) != b"y":
    pass
instruments = [entry[55] for entry in entries(listed, b"146", b"55")]
send(
    "V",
    *((262, "books"), (263, 1), (264, 0), (265, 1), (267, 2), (269, 0), (269, 1)),
    (146, len(symbols)),
    *((55, symbol) for symbol in symbols),
)
sys.stdout.write("subscribed\n")
sys.stdout.flush()
books: dict[str, dict[str, dict[str, int]]] = {
    symbol: {"0": {}, "1": {}} for symbol in symbols
}
updates = 0
while not all(LAST in book["0"] for book in books.values()):
    message = receive()
    if message.get(35) == b"W":
        for entry in entries(message, b"268", b"269"):
            book = books[message.get(55).decode()]
            book[entry[269]][entry[270]] = int(entry[271])
    elif message.get(35) == b"X":
        updates += 1
        if updates == UPDATES:
            sys.stdout.write("moved\n")
            sys.stdout.flush()
        for entry in entries(message, b"268", b"279"):
            side = books[entry[55]][entry[269]]
            if entry[279] == "2":
                del side[entry[270]]
            else:
                assert (entry[270] in side) == (entry[279] == "1"), message
                side[entry[270]] = int(entry[271])
    else:
        assert message.get(35) in (b"0", b"1", b"f"), message
send("5")
while receive().get(35) != b"5":
    pass
described = {"instruments": instruments, "updates": updates, "books": books}
sys.stdout.write(json.dumps(described) + "\n")
