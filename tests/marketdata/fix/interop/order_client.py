"""Places orders and reads events by the rules; with a fault, it breaks one.

Arguments: URL, symbol, file of its state, faults; the key in PARTNER_API_KEY. SIGUSR1
is its kill switch, SIGUSR2 has it continue. Standard library only.
"""

import http.client
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

TIMEOUT_SECONDS, PAUSE_SECONDS, LOOK_SECONDS = 60, 0.5, 0.5
TAKING_ORDERS = ("CALL", "CONTINUOUS")
url, symbol, state_file, *faults = sys.argv[1:]
START = """
query ($symbol: String!) {
  accounts(first: 100, status: ACTIVE) { nodes { id cash { available } } }
  token(symbol: $symbol) { id market { phase floorPrice tickSize lotSize } }
}
"""
PLACE = """
mutation ($input: PlaceOrderInput!) { placeOrder(input: $input) { order { id } } }
"""
NEWS = """
query ($after: String) {
  events(first: 100, after: $after, wait: 2) {
    nodes { sequence type }
    pageInfo { endCursor }
  }
}
"""
NEWEST = "{ events(last: 1) { nodes { sequence } pageInfo { endCursor } } }"
STOP = "mutation { cancelOrders(input: {block: true}) { cancelled } }"
RELEASE = "mutation { releaseOrders(input: {}) { released } }"
stopping, killing, releasing = (threading.Event() for _ in range(3))
lock = threading.Lock()


def has(fault):
    return fault in faults


def new_key():
    if has("one key"):
        return "3f0c1d52-8a44-4d7e-9b1a-6c2e5f7a8b90"
    return str(uuid.uuid1() if has("old uuid") else uuid.uuid4())


class State:
    """What survives the program: the last event, and an order that is not answered."""

    def __init__(self):
        self.path = Path(state_file)
        is_known = self.path.exists()
        self.kept = json.loads(self.path.read_text()) if is_known else {}

    def keep(self, **changes):
        with lock:
            self.kept |= changes
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.kept))
            new.replace(self.path)


def send(body, **headers):
    """Status, headers and content. Raises OSError and HTTPException: there is none."""
    given = {
        "Content-Type": "application/json",
        "X-Token-Auth": os.environ["PARTNER_API_KEY"],
    }
    request = urllib.request.Request(url, body.encode(), given | headers)
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers, json.loads(answer.read())


def ask(document, **variables):
    """The data of a query, however often it must be sent."""
    while True:
        try:
            body = json.dumps({"query": document, "variables": variables})
            status, headers, content = send(body)
        except (OSError, http.client.HTTPException):
            time.sleep(1)
            continue
        if status == 200 and content.get("data"):
            return content["data"]
        time.sleep(int(headers.get("Retry-After", 1)))


def codes(content):
    return {error["extensions"]["code"] for error in content.get("errors", [])}


def change(body, key, **headers):
    """Send a mutation until it is answered; None: it was stopped before."""
    keys = {} if has("no key") else {"Idempotency-Key": key}
    while not (stopping.is_set() or (killing.is_set() and not headers)):
        try:
            status, answered, content = send(body, **keys, **headers)
        except (OSError, http.client.HTTPException):
            if has("gives up"):
                return {}
            if has("new key"):
                keys = {"Idempotency-Key": new_key()}
            if has("other body"):
                body += " "
            time.sleep(1)
            continue
        if status == 429:
            if has("forgets"):
                time.sleep(5)
                return {}
            wait = 0 if has("impatient") else int(answered["Retry-After"])
        elif status >= 500:
            wait = 0 if has("storms") else int(answered.get("Retry-After", 1))
        elif "REASON_OF_NEXT_YEAR" in codes(content) and has("stubborn"):
            wait = 1
        else:
            return content
        time.sleep(wait + 0.1)
    return None


def stop_orders():
    """The kill switch, in a thread of its own."""
    while True:
        killing.wait()
        body = json.dumps({"query": STOP})
        if has("no header"):
            send(body, **{"Idempotency-Key": new_key()})
        else:
            change(body, new_key(), **{"X-Kill-Switch": "1"})
        if has("keeps trading"):
            killing.clear()
        releasing.wait()
        killing.clear()
        releasing.clear()
        change(json.dumps({"query": RELEASE}), new_key())


def follow(state):
    if has("newest") or "after" not in state.kept:
        [newest] = ask(NEWEST)["events"]["nodes"]
        state.keep(after=str(newest["sequence"]))
    while True:
        page = ask(NEWS, after=state.kept["after"])["events"]
        if has("skips") and page["nodes"]:
            state.keep(after=str(page["nodes"][-1]["sequence"] + 3))
        elif page["pageInfo"]["endCursor"]:
            state.keep(after=page["pageInfo"]["endCursor"])


def await_opening():
    while not stopping.is_set():
        time.sleep(LOOK_SECONDS)
        if ask(START, symbol=symbol)["token"]["market"]["phase"] in TAKING_ORDERS:
            return


def trade(state):
    start = ask(START, symbol=symbol)
    market, token = start["token"]["market"], start["token"]["id"]
    price = -(-market["floorPrice"] // market["tickSize"]) * market["tickSize"]
    need = 2 * price * market["lotSize"]
    account = next(
        one["id"]
        for one in start["accounts"]["nodes"]
        if one["cash"]["available"] > need
    )
    while not stopping.is_set():
        if killing.is_set():
            time.sleep(PAUSE_SECONDS)
            continue
        waiting = None if has("forgetful") else state.kept.get("waiting")
        if waiting is None:
            order = {
                "accountID": account,
                "tokenID": token,
                "side": "BUY",
                "quantity": market["lotSize"],
                "limitPrice": price,
                "timeInForce": "IOC",
                "clientOrderID": str(uuid.uuid4()),
            }
            sent = {"query": PLACE, "variables": {"input": order}}
            waiting = {"key": new_key(), "body": json.dumps(sent)}
            state.keep(waiting=waiting)
        answer = change(waiting["body"], waiting["key"])
        if answer is None:
            continue
        state.keep(waiting=None)
        if "MARKET_CLOSED" in codes(answer) and not has("hammers"):
            if has("stays away"):
                stopping.wait()
            await_opening()
        time.sleep(PAUSE_SECONDS)


signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())
signal.signal(signal.SIGUSR1, lambda number, frame: killing.set())
signal.signal(signal.SIGUSR2, lambda number, frame: releasing.set())
state = State()
threading.Thread(target=stop_orders, daemon=True).start()
if not has("blind"):
    threading.Thread(target=follow, args=[state], daemon=True).start()
trade(state)
