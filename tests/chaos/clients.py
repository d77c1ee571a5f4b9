"""Impatient clients: they send every request many times, and again after a failure.

Each account gets a chain of keys, one after the other suspended and made active.
Copies of a key are sent at once, and the rest of them after two later keys of the
account have been answered.
"""

import asyncio
import json
import random
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

CLIENTS = 32
ANSWER_SECONDS = 15
LONGEST_PAUSE = 0.05
STATUSES = ("SUSPENDED", "ACTIVE")
REPEATABLE = ("INTERNAL_SERVER_ERROR", "TIMEOUT")
"""Codes of a 200 that is no answer yet."""
CHANGE = (
    "mutation ($input: UpdateAccountStatusInput!) { updateAccountStatus(input: $input)"
    " { previousStatus changedAt account { id status } } }"
)


@dataclass
class Key:
    """An idempotency key, its one request, and the bodies that answered it."""

    text: str
    account: uuid.UUID
    place: int
    request: bytes
    answers: Counter[bytes] = field(default_factory=Counter)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def is_final(self) -> bool:
        """Whether an answer is final: a failure of the server has no such header."""
        return self.status == 200 and "idempotency-key-expires" in self.headers


class UnexpectedAnswer(Exception):
    """An answer that no retry can correct."""


def make_request(token: str, key: str, account: uuid.UUID, status: str) -> bytes:
    """A request as it goes over the wire; the history will name its key."""
    values = {"accountID": f"Account|{account}", "status": status, "reason": key}
    body = json.dumps({"query": CHANGE, "variables": {"input": values}})
    head = (
        "POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
        f"\r\nX-Token-Auth: {token}\r\nIdempotency-Key: {key}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode()


def make_chains(token: str, accounts: list[uuid.UUID], length: int) -> list[list[Key]]:
    """`length` keys for each of these accounts, which are active."""
    chains = []
    for account in accounts:
        chain = []
        for place in range(length):
            key, status = str(uuid.uuid4()), STATUSES[place % 2]
            request = make_request(token, key, account, status)
            chain.append(Key(key, account, place, request))
        chains.append(chain)
    return chains


class Clients:
    """Sends every key of the chains `copies` times; counts what had to be repeated."""

    def __init__(self, port: int, chains: Iterable[list[Key]], copies: int) -> None:
        self.port = port
        self.chains = {chain[0].account: chain for chain in chains}
        self.early, self.late = copies - copies // 2, copies // 2
        self.total = copies * sum(map(len, self.chains.values()))
        self.answered = 0
        self.repeated: Counter[str] = Counter()
        self.waiting: deque[Key] = deque()
        for chain in self.chains.values():
            self.waiting.extend([chain[0]] * self.early)

    @property
    def acknowledged(self) -> list[Key]:
        chains = self.chains.values()
        return [key for chain in chains for key in chain if key.answers]

    async def run(self, after_each: Callable[[], None]) -> None:
        """Until everything is answered; `after_each` runs after every answer."""
        async with asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(self.client(after_each))

    async def client(self, after_each: Callable[[], None]) -> None:
        connection = Connection(self.port)
        while self.answered < self.total:
            if not self.waiting:
                await asyncio.sleep(0.002)
                continue
            key = self.waiting.popleft()
            body = await self.deliver(connection, key)
            key.answers[body] += 1
            self.answered += 1
            if key.answers.total() == 1:
                self.go_on(key)
            after_each()
        connection.close()

    def go_on(self, key: Key) -> None:
        """After a key's first answer: the next key, and old ones again."""
        chain = self.chains[key.account]
        following = chain[key.place + 1 : key.place + 2]
        for new in following:
            self.waiting.extend([new] * self.early)
        # The end of a chain has no later keys to wait for.
        last = key.place - 1 if following else len(chain)
        for old in chain[max(0, key.place - 2) : max(0, last)]:
            self.waiting.extend([old] * self.late)

    async def deliver(self, connection: "Connection", key: Key) -> bytes:
        """The final answer, after any number of attempts.

        Raises:
            UnexpectedAnswer
        """
        while True:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    answer = await connection.ask(key.request)
            except (OSError, EOFError) as error:
                # TimeoutError is an OSError.
                connection.close()
                self.repeated[type(error).__name__] += 1
            else:
                if answer.is_final:
                    return answer.body
                if answer.status not in (200, 409, 429) and answer.status < 500:
                    raise UnexpectedAnswer(f"{answer.status}: {answer.body!r}")
                self.repeated[code_of(answer)] += 1
            await asyncio.sleep(random.uniform(0, LONGEST_PAUSE))


def code_of(answer: Answer) -> str:
    try:
        [error] = json.loads(answer.body)["errors"]
    except ValueError:
        return str(answer.status)
    code: str = error["extensions"]["code"]
    if answer.status == 200 and code not in REPEATABLE:
        raise UnexpectedAnswer(f"{code} without a key's expiry: {answer.body!r}")
    return f"{answer.status} {code}"


class Connection:
    """One connection that is kept alive, and opened again when it has broken."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> Answer:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, *lines = head.rstrip().split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(int(status.split()[1]), headers, body)

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None
