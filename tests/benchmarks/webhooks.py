"""Measure webhooks: from an event's commit to its receipt, at a steady rate.

python -m tests.benchmarks.webhooks --endpoints 1000 --rate 100 --seconds 20

Each endpoint is of a partner of its own. One receiver on this machine accepts all
messages; it checks that each endpoint gets its events once and in order. The output has
the CPU of run_webhooks a message. Then a process places lone orders at the same rate of
events, by turns while these are delivered and while run_webhooks is stopped: what an
order costs of the processors, Python's and its session's, and the slowest of 100.
"""

import argparse
import multiprocessing
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from time import process_time
from typing import Any
from uuid import UUID

import orjson
import psutil
from rich.console import Console
from rich.table import Table

from tests.benchmarks.trading import backend_seconds, flow, make_markets, write
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation
from tests.waiting import PROGRAM_SECONDS

ROUNDS, ROUND_SECONDS = 7, 6
EVENTS = 2
"""About so many come of a lone order."""


class Receiver(ThreadingHTTPServer):
    """Keeps the sequences of each endpoint, and how late each message came."""

    daemon_threads = True
    request_queue_size = 1_000

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.sequences: dict[str, list[int]] = defaultdict(list)
        self.late: list[float] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        now = time.time()
        message = orjson.loads(body)
        at = datetime.fromisoformat(message["timestamp"]).timestamp()
        self.server.late.append(now - at)
        self.server.sequences[self.path].append(message["sequence"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoints", type=int, default=1_000)
    parser.add_argument("--rate", type=int, default=100, help="events a second")
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    console = Console(width=120)
    receiver = Receiver()
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with throw_away_installation():
        accounts = open_endpoints(options.endpoints, receiver.server_port)
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run_webhooks"],
            env=os.environ | {"PARTNER_API_SANDBOX": "true"},
        )
        try:
            wait_for_lease()
            measured = psutil.Process(process.pid)
            before = cpu(measured)
            change(accounts, options.rate, options.seconds)
            sent = options.rate * options.seconds
            deadline = time.monotonic() + PROGRAM_SECONDS
            while len(receiver.late) < sent and time.monotonic() < deadline:
                time.sleep(0.1)
            used = cpu(measured) - before
            memory = measured.memory_info().rss
            late = sorted(receiver.late)
            ordered = all(s == sorted(set(s)) for s in receiver.sequences.values())
            dearer, slower = compare_orders(process, receiver, options.rate)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PROGRAM_SECONDS)
    table = Table("Figure", "Value", title=f"{options.endpoints:,} endpoints")
    table.add_row("events sent / received", f"{sent:,} / {len(late):,}")
    table.add_row("each once and in order", str(ordered))
    table.add_row("p50 from commit to receipt", f"{late[len(late) // 2] * 1000:.0f} ms")
    table.add_row("p99", f"{late[len(late) * 99 // 100] * 1000:.0f} ms")
    table.add_row("CPU of run_webhooks a message", f"{used / len(late) * 1000:.2f} ms")
    table.add_row("memory of run_webhooks", f"{memory / 1_000_000:.0f} MB")
    table.add_row("CPU of an order with deliveries", f"× {dearer:.3f}")
    table.add_row("p99 of an order with deliveries", f"× {slower:.2f}")
    console.print(table)
    sys.exit(0 if ordered and len(late) == sent else 1)


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def open_endpoints(number: int, port: int) -> list[Any]:
    """Accounts of as many partners, each with a key and an endpoint."""
    from accounts.access import Scope
    from accounts.accounts.models import Account
    from accounts.keys.models import Partner
    from accounts.people.models import User
    from issuers.callers import caller_of
    from partnerapi.sandbox.data.approvals import approved_key
    from partnerapi.webhooks.changes import new_endpoint
    from tests.approved import desk
    from tests.characters import START

    accounts = []
    for each in range(number):
        partner = Partner.objects.create(login=f"partner{each}", name=f"Partner {each}")
        user = User.objects.create(
            type=User.Type.INDIVIDUAL, first_name="Otto", last_name=f"Lund {each}"
        )
        account = Account.objects.open(partner, user, desk(), START)
        account.change_status("ACTIVE", desk(), None)
        key, _ = approved_key(partner, list(Scope))
        url = f"http://127.0.0.1:{port}/{each}"
        endpoint, _ = new_endpoint(caller_of(key), url, None)
        endpoint.save(force_insert=True)
        accounts.append(account)
    return accounts


def compare_orders(
    process: subprocess.Popen[bytes], receiver: Receiver, rate: int
) -> tuple[float, float]:
    """CPU and p99 of lone orders with deliveries, by those without: medians."""
    from accounts.access import Scope
    from accounts.accounts.models import Account
    from accounts.keys.models import Partner
    from issuers.callers import caller_of
    from partnerapi.sandbox.data.approvals import approved_key
    from partnerapi.webhooks.changes import new_endpoint

    tokens, accounts = make_markets()
    traders = Account.objects.filter(pk__in=accounts[0]).values("partner")
    for partner in Partner.objects.filter(pk__in=traders):
        key, _ = approved_key(partner, list(Scope))
        url = f"http://127.0.0.1:{receiver.server_port}/orders-of-{partner.pk}"
        endpoint, _ = new_endpoint(caller_of(key), url, None)
        endpoint.save(force_insert=True)
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    arguments = (tokens[0], accounts[0], rate, there)
    writer = spawn.Process(target=place_in_process, args=arguments)
    writer.start()
    dearer, slower = [], []
    for _ in range(ROUNDS):
        costs, lates = [], []
        for action in (signal.SIGCONT, signal.SIGSTOP):
            process.send_signal(action)
            here.send(True)
            cost, calls = here.recv()
            costs.append(cost)
            lates.append(sorted(calls)[len(calls) * 99 // 100])
        process.send_signal(signal.SIGCONT)
        await_deliveries(receiver)
        dearer.append(costs[0] / costs[1])
        slower.append(lates[0] / lates[1])
    here.send(False)
    writer.join()
    return statistics.median(dearer), statistics.median(slower)


def place_in_process(
    token: UUID, accounts: list[UUID], rate: int, there: Connection
) -> None:
    """Place lone orders, at about `rate` events a second, as often as it is asked."""
    import django

    django.setup()
    from marketdata.trading.market import place_each

    dice = random.Random(0)
    write(token, accounts, 0, 1, 1.0)
    while there.recv():
        calls = []
        used = process_time() + backend_seconds()
        began = time.perf_counter()
        for number in range(rate * ROUND_SECONDS // EVENTS):
            due = began + number * EVENTS / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            before = time.perf_counter()
            place_each(token, flow(dice, accounts, 1))
            calls.append(time.perf_counter() - before)
        there.send((process_time() + backend_seconds() - used, calls))


def await_deliveries(receiver: Receiver) -> None:
    """Wait until nothing has come for a second."""
    received = -1
    while received != len(receiver.late):
        received = len(receiver.late)
        time.sleep(1)


def wait_for_lease() -> None:
    from partnerapi.webhooks.models import WebhookLease

    while not WebhookLease.objects.exists():
        time.sleep(0.1)


def change(accounts: list[Any], rate: int, seconds: int) -> None:
    """Change the accounts' status in turn, so many a second."""
    from tests.approved import desk

    actor = desk()
    began = time.monotonic()
    for number in range(rate * seconds):
        account = accounts[number % len(accounts)]
        status = "ACTIVE" if account.status == "SUSPENDED" else "SUSPENDED"
        account.change_status(status, actor, None)
        time.sleep(max(0.0, began + (number + 1) / rate - time.monotonic()))


if __name__ == "__main__":
    with yardstick():
        main()
