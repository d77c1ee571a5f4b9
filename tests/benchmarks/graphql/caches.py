"""Many different documents: caches stay within their bounds, memory stays flat."""

import functools
import gc
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import psutil
from cachetools import LRUCache
from rich.table import Table

from partnerapi.graphql.documents import documents
from partnerapi.graphql.introspection import results
from tests.benchmarks.graphql.answers import FIGURES, OWN, WrongAnswer
from tests.benchmarks.graphql.inside import Application
from tests.benchmarks.graphql.progress import shown

FIELDS = OWN.split()
FIGURE_FIELDS = FIGURES.split()
PROJECT = ("partnerapi", "accounts", "issuers", "marketdata")
# More than the largest cache holds: from then on memory has to stay what it is.
WARM_DOCUMENTS = 3000
MOST_DOCUMENTS = 10_000_000
"""Keeps the numbers of three kinds of documents apart."""
GROWTH_BYTES = 32 * 1024 * 1024


def document(number: int) -> tuple[str, dict[str, bool]]:
    """The document of this number and its variables; no two are alike."""
    chance = random.Random(number)
    own = " ".join(chance.sample(FIELDS, chance.randint(1, 3)))
    figures = " ".join(chance.sample(FIGURE_FIELDS, chance.randint(1, 2)))
    asked = f' type{number}: __type(name: "Issuer") {{ kind }}' * (number % 10 == 0)
    directive = "@include(if: $with)" if number % 3 else "@skip(if: $with)"
    return (
        f"query Number{number}($with: Boolean!) {{ list{number}: issuers(first: 1)"
        f" {{ nodes {{ {own} financialData(first: 1) {directive}"
        f" {{ nodes {{ {figures} }} }} }} }}{asked} }}",
        {"with": chance.random() < 0.5},
    )


def mostly_the_same(count: int) -> Iterator[int]:
    """Numbers as programs ask: the n-th most frequent is asked 1/n as often."""
    chance = random.Random(count)
    for _ in range(count):
        # The inverse of the distribution's (approximate) cumulative function.
        yield MOST_DOCUMENTS + int(count ** chance.random())


class Counters(NamedTuple):
    """The statistics of a cache, as `functools.lru_cache` reports them.

    Here sizes, not entries, count.
    """

    hits: int
    misses: int
    maxsize: float
    currsize: float


class Counted:
    """Counts what is found in a cache and what is not."""

    def __init__(self, cache: LRUCache[Any, Any]) -> None:
        self.cache = cache
        self.hits = self.misses = 0
        self.find = cache.get
        cache.get = self.get  # type: ignore[assignment,method-assign]

    def get(self, key: Any) -> Any:
        found = self.find(key)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        return found

    def cache_info(self) -> Counters:
        sizes = self.cache.maxsize, self.cache.currsize
        return Counters(self.hits, self.misses, *sizes)


DOCUMENTS, RESULTS = Counted(documents), Counted(results)


@dataclass
class Caches:
    """The caches of the project, and their counters at one time."""

    counters: dict[str, Any]

    @classmethod
    def now(cls) -> "Caches":
        found = [
            one
            for one in gc.get_objects()
            if isinstance(one, functools._lru_cache_wrapper)
            and one.__module__.partition(".")[0] in PROJECT
        ]
        own = {
            "documents, in characters": DOCUMENTS.cache_info(),
            "introspections": RESULTS.cache_info(),
        }
        return cls(
            {f"{c.__module__}.{c.__qualname__}": c.cache_info() for c in found} | own
        )


def storm(key: str, count: int) -> Table:
    """Ask `count` different documents, then up to 20,000 that are mostly the same.

    Raises:
        WrongAnswer: an answer is not 200, a cache has outgrown its bound or has none,
            or memory has grown.
    """
    application = Application(key)
    again = min(count, 20_000)
    table = Table(
        title=f"Caches under {count:,} documents, all different, then {again:,} more, "
        "the n-th most frequent 1/n as often",
        title_justify="left",
    )
    table.add_column("cache")
    for heading in (
        "holds at most",
        "holds",
        "hit rate, all different",
        "hit rate, mostly the same",
    ):
        table.add_column(heading, justify="right")
    for number in range(WARM_DOCUMENTS):
        ask(application, 2 * MOST_DOCUMENTS + number)
    start, memory = Caches.now(), resident_bytes()
    began = time.perf_counter()
    for number in shown(range(count), "all different", count):
        ask(application, number)
    middle, grown = Caches.now(), resident_bytes() - memory
    for number in shown(mostly_the_same(again), "mostly the same", again):
        ask(application, number)
    end = Caches.now()
    for name, info in sorted(end.counters.items()):
        check_bound(name, info)
        table.add_row(
            name,
            "one" if info.maxsize is None else f"{info.maxsize:,}",
            f"{info.currsize:,}",
            hit_rate(middle.counters[name], start.counters.get(name)),
            hit_rate(info, middle.counters[name]),
        )
    seconds = time.perf_counter() - began
    table.caption = (
        f"{(count + again) / seconds:,.0f} documents/s; memory grew by "
        f"{grown / 2**20:.1f} MiB after the first {WARM_DOCUMENTS:,}"
    )
    if grown > GROWTH_BYTES:
        raise WrongAnswer(f"memory grew by {grown:,} bytes under different documents")
    return table


def ask(application: Application, number: int) -> None:
    text, variables = document(number)
    body = application(text, variables)
    if b'"errors"' in body:
        raise WrongAnswer(f"{text} {variables} was answered {body[:300].decode()}")


def check_bound(name: str, now: Any) -> None:
    if now.maxsize is None and now.currsize > 1:
        raise WrongAnswer(f"the cache of {name} has no bound and holds {now.currsize}")
    if now.maxsize is not None and now.currsize > now.maxsize:
        raise WrongAnswer(f"the cache of {name} holds {now.currsize}: beyond its bound")


def hit_rate(now: Any, before: Any) -> str:
    hits = now.hits - (before.hits if before else 0)
    asked = hits + now.misses - (before.misses if before else 0)
    return f"{hits / asked:.1%}" if asked else "not asked"


def resident_bytes() -> int:
    return psutil.Process(os.getpid()).memory_info().rss
