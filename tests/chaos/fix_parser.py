"""Mutated messages that pass the acceptor's checks, in QuickFIX's own parser.

Its faults end a process, so it runs in processes of its own, which `fix_mutations`
starts: their arguments are a seed and how many messages.
"""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from marketdata.fix.acceptor.inbound import Inbound, RuleBroken
from marketdata.fix.protocol.dictionary import STOCK_DICTIONARY
from tests.chaos import mutations
from tests.chaos.installation import ROOT

PROCESSES = 2
OF_A_BATCH = 20_000
WITH_A_LENGTH = 0.5
"""The share of messages with a field that tells a length, whatever else is wrong."""
REFUSED = "refused"


@dataclass
class Parsed:
    """`came_of` counts what was refused, and what the parser said of the rest."""

    messages: int = 0
    came_of: Counter[str] = field(default_factory=Counter)
    deaths: list[str] = field(default_factory=list)


def parse_all(messages: int) -> Parsed:
    """Have so many mutants parsed; a batch that ends its process is named."""
    batches = [
        (seed, min(OF_A_BATCH, messages - begin))
        for seed, begin in enumerate(range(0, messages, OF_A_BATCH))
    ]
    found = Parsed(messages)
    with ThreadPoolExecutor(PROCESSES) as pool:
        for (seed, count), ended in zip(
            batches, pool.map(run_batch, batches), strict=True
        ):
            if ended.returncode:
                found.deaths.append(
                    f"tests.chaos.fix_parser {seed} {count}: {ended.returncode} "
                    f"{ended.stderr[-200:]}"
                )
            else:
                found.came_of.update(json.loads(ended.stdout))
    return found


def run_batch(batch: tuple[int, int]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.chaos.fix_parser", *map(str, batch)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )


def mutants(seed: int, count: int) -> Iterator[list[bytes]]:
    dice = random.Random(seed)
    for _ in range(count):
        fields = mutations.request(dice, 2, "PARTNER001", "PARTNERAPI", "TKN0", "key")
        if dice.random() < WITH_A_LENGTH:
            fields = mutations.length_field(fields, dice)
        _, pieces = mutations.mutant(fields, dice)
        yield pieces


def came_of(seed: int, count: int) -> Counter[str]:
    """What comes of each message; a fault of the parser ends the process."""
    # A web worker, or who only mutates, must not import it.
    import quickfix as fix

    dictionary = fix.DataDictionary(str(STOCK_DICTIONARY))
    found: Counter[str] = Counter()
    for pieces in mutants(seed, count):
        inbound = Inbound()
        try:
            for piece in pieces:
                for message in inbound.messages(piece):
                    text = message.decode(errors="replace")
                    try:
                        dictionary.validate(fix.Message(text, dictionary, True))
                    except fix.FIXException as refusal:
                        found[type(refusal).__name__] += 1
                    else:
                        found["valid"] += 1
        except RuleBroken:
            found[REFUSED] += 1
    return found


if __name__ == "__main__":
    seed, count = map(int, sys.argv[1:])
    sys.stdout.write(json.dumps(came_of(seed, count)))
