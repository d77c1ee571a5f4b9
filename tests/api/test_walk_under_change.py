"""Rows come and go while a client walks a list: what stays is met exactly once."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from issuers.legacy.models import LegacyShareholder
from issuers.models import Article, Issuer, Token
from tests.characters import Ask, World
from tests.owner import tamper
from tests.tiers import count

pytestmark = pytest.mark.usefixtures("unlimited_budgets")
START = datetime(2024, 5, 1, tzinfo=UTC)


# Few keys, so that most rows share theirs with others and the id decides.
def issuer(world: World, id: UUID, key: int) -> Issuer:
    return Issuer(
        id=id,
        trading_name="abC"[key % 3] + "é|"[: key // 3],
        slug=f"i-{id}",
        trading_location="Lyon",
        owner=world.owner,
    )


def token(world: World, id: UUID, key: int) -> Token:
    return Token(
        id=id,
        issuer=world.listed,
        name="Class",
        symbol=f"T{id.hex[:19].upper()}",
        created_at=START + timedelta(microseconds=key),
    )


def article(world: World, id: UUID, key: int) -> Article:
    return Article(
        id=id,
        issuer=world.listed,
        title="News",
        slug=f"a-{id}",
        body="…",
        published_at=START + timedelta(microseconds=key),
    )


def legacy_shareholder(world: World, id: UUID, key: int) -> LegacyShareholder:
    return LegacyShareholder(
        id=id,
        issuer=world.listed,
        user=world.owner,
        number_of_shares=1,
        price_cents=1,
        created_at=START + timedelta(microseconds=key),
    )


KEY_FIELDS = {
    Issuer: "trading_name",
    Token: "created_at",
    Article: "published_at",
    LegacyShareholder: "created_at",
}
PAGE = "nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
ARGUMENTS = "query ($first: Int, $last: Int, $after: String, $before: String)"
GIVEN = "(first: $first, last: $last, after: $after, before: $before)"


# Only the owner can take a token away, or give it another beginning.
def remove(row: Any) -> None:
    if isinstance(row, Token):
        tamper(f"DELETE FROM issuers_token WHERE id = '{row.pk}'")
    else:
        row.delete()


def move(model: Any, id: UUID, field: str, place: Any) -> None:
    if model is Token:
        tamper(f"UPDATE issuers_token SET {field} = '{place}' WHERE id = '{id}'")
    else:
        model.objects.filter(pk=id).update(**{field: place})


keys = st.integers(0, 6)
sizes = st.integers(1, 4)


def machine(make: Any, field: str, world: World, ask: Ask) -> type:
    """The states of one walk over a list, with the rows that `make` builds."""
    model = type(make(world, UUID(int=0), 0))
    at_root = field == "issuers"
    inner = f"{field}{GIVEN} {{ {PAGE} }}"
    document = inner if at_root else f'issuer(slug: "lumen") {{ {inner} }}'

    class Walk(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.savepoint = transaction.atomic()
            self.savepoint.__enter__()
            self.rows: dict[UUID, Any] = {
                row.pk: row
                for row in model.objects.all()
                if getattr(row, KEY_FIELDS[model])
            }
            self.met: list[str] = []
            self.cursor: str | None = None
            self.ended = False

        @initialize(
            rows=st.dictionaries(st.uuids(), keys, max_size=14),
            forwards=st.booleans(),
        )
        def begin(self, rows: dict[UUID, int], forwards: bool) -> None:
            for id, key in rows.items():
                self.insert(id, key)
            self.stays = set(self.rows)
            self.forwards = forwards

        @rule(id=st.uuids(), key=keys)
        def insert(self, id: UUID, key: int) -> None:
            if id not in self.rows:
                self.rows[id] = make(world, id, key)
                self.rows[id].save(force_insert=True)

        @precondition(lambda self: self.rows)
        @rule(data=st.data())
        def delete(self, data: st.DataObject) -> None:
            made = sorted(self.rows.keys() - untouchable)
            if made:
                id = data.draw(st.sampled_from(made))
                remove(self.rows.pop(id))
                self.stays.discard(id)

        @precondition(lambda self: self.rows)
        @rule(data=st.data(), key=keys)
        def move(self, data: st.DataObject, key: int) -> None:
            id = data.draw(st.sampled_from(sorted(self.rows)))
            field = KEY_FIELDS[model]
            place = getattr(make(world, id, key), field)
            move(model, id, field, place)
            self.stays.discard(id)

        @precondition(lambda self: not self.ended)
        @rule(size=sizes)
        def step(self, size: int) -> None:
            if self.forwards:
                arguments = {"first": size, "after": self.cursor}
            else:
                arguments = {"last": size, "before": self.cursor}
            data = ask(f"{ARGUMENTS} {{ {document} }}", arguments).data
            page = data[field] if at_root else data["issuer"][field]
            ids = [node["id"].partition("|")[2] for node in page["nodes"]]
            self.met += ids if self.forwards else ids[::-1]
            info = page["pageInfo"]
            more = info["hasNextPage" if self.forwards else "hasPreviousPage"]
            # Without rows behind the cursor there is no new cursor, and no more rows.
            assert ids or not more
            self.cursor = info["endCursor" if self.forwards else "startCursor"]
            self.ended = not more

        def teardown(self) -> None:
            try:
                while not self.ended:
                    self.step(2)
                for id in self.stays:
                    assert self.met.count(str(id)) == 1, id
            finally:
                transaction.set_rollback(True)
                self.savepoint.__exit__(None, None, None)

    untouchable = set(model.objects.values_list("pk", flat=True))
    return Walk


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (issuer, "issuers"),
        (token, "tokens"),
        (article, "articles"),
        (legacy_shareholder, "legacyShareholders"),
    ],
)
def test_rows_that_stay_are_met_exactly_once(make, field, world: World, partner: Ask):
    run_state_machine_as_test(
        machine(make, field, world, partner),
        settings=settings(
            max_examples=count(10, 40),
            stateful_step_count=20,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
