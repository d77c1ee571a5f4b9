"""A venue that writes recordings as Kraken's would be, from books of its own.

Its checksums are made of texts, as the venue's guide says: none of the code under test
has a part in them.
"""

import json
import random
from decimal import Decimal
from zlib import crc32

NAMES = {"a": "as", "b": "bs"}


class Venue:
    """One pair at one depth; `price` and `quantity` are the decimals of its texts.

    It has more levels than it publishes: one that comes into the depth again is
    published again, with a mark; one that falls out is not mentioned.
    """

    def __init__(self, pair, depth=10, price=3, quantity=8, seed=1, stripped=False):
        self.pair, self.depth, self.chance = pair, depth, random.Random(seed)
        self.price, self.quantity, self.stripped = price, quantity, stripped
        self.levels = {"a": {}, "b": {}}
        self.at = 1_600_000_000.0

    def text(self, number, decimals):
        text = f"{Decimal(number).scaleb(-decimals):.{decimals}f}"
        if self.stripped and decimals:
            text = text.rstrip("0").rstrip(".")
        return text

    def size(self):
        return self.chance.randint(1, 10**9) * self.chance.choice([1, 10, 10_000])

    def frame(self, *parts):
        self.at += 0.01
        message = [336, *parts, f"book-{self.depth}", self.pair]
        return f"{self.at:.6f}: {json.dumps(message, separators=(',', ':'))}\n"

    def published(self, side):
        return sorted(self.levels[side], reverse=side == "b")[: self.depth]

    def row(self, side, price, *mark):
        quantity = self.levels[side].get(price, 0)
        texts = self.text(price, self.price), self.text(quantity, self.quantity)
        return [*texts, f"{self.at:.6f}", *mark]

    def change(self, side, price, quantity):
        """The rows that tell of a level's new quantity."""
        before = self.published(side)
        if quantity:
            self.levels[side][price] = quantity
        else:
            del self.levels[side][price]
        after = self.published(side)
        rows = [self.row(side, price)] if price in before + after else []
        again = [other for other in after if other not in (*before, price)]
        return rows + [self.row(side, other, "r") for other in again]

    def snapshot(self):
        for side, first, step in (("a", 5_001, 1), ("b", 5_000, -1)):
            self.levels[side] = {first + step * i: self.size() for i in range(30)}
        return self.frame(
            {
                NAMES[side]: [self.row(side, price) for price in self.published(side)]
                for side in "ab"
            }
        )

    def update(self):
        """Some changes of one side or both, most of them near the best price."""
        parts = {}
        for side in self.chance.choice(["a", "b", "ab"]):
            rows = parts[side] = []
            while not rows or self.chance.random() < 0.5:
                away = int(self.chance.expovariate(0.2))
                price = 5_001 + away if side == "a" else 5_000 - away
                there = price in self.levels[side] and len(self.levels[side]) > 15
                removed = there and self.chance.random() < 0.4
                rows += self.change(side, price, 0 if removed else self.size())
        *others, last = ({side: rows} for side, rows in parts.items())
        return self.frame(*others, {**last, "c": str(self.checksum())})

    def checksum(self):
        texts = [
            self.text(number, decimals).replace(".", "").lstrip("0")
            for side in "ab"
            for price in self.published(side)[:10]
            for number, decimals in (
                (price, self.price),
                (self.levels[side][price], self.quantity),
            )
        ]
        return crc32("".join(texts).encode())

    def recording(self, updates):
        return self.snapshot() + "".join(self.update() for _ in range(updates))
