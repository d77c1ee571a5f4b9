"""The feed of events: its events, their recipients, and what each key may see."""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from issuers import grants
from issuers.models import (
    Article,
    Event,
    EventHead,
    IssuerFinancialData,
    IssuerGrant,
    Token,
    UnnumberedEvent,
)
from issuers.models.events import EventType
from issuers.register import ledger
from issuers.register.ledger import Entry
from marketdata.trading import phases
from partnerapi.operations.tasks import announce_articles, prune_events
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.api.test_plans import all_planned
from tests.approved import asker, desk
from tests.characters import Ask, World
from tests.issuers.events import COUNT_EVENTS
from tests.issuers.register import people
from tests.marketdata.trading.trading import ALL_DAY
from tests.owner import as_committed, superuser, tamper

DOCUMENT = """
query ($first: Int, $after: String, $types: [EventType!]) {
  events(first: $first, after: $after, types: $types) {
    pageInfo { hasNextPage endCursor }
    nodes { sequence type at ledgerSequence
      subject { __typename id } issuer { slug } token { symbol } account { id } }
  }
}
"""


def read(ask: Ask, **variables: Any) -> list[dict[str, Any]]:
    as_committed()
    return ask(DOCUMENT, variables).data["events"]["nodes"]


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


@pytest.fixture
def told(world: World, partner: Ask) -> Ask:
    """The partner, which has read all that its world was made of."""
    read(partner)
    tamper(
        "DELETE FROM issuers_event", "UPDATE issuers_eventhead SET last_sequence = 0"
    )
    return partner


def test_a_change_of_an_account_is_told_to_its_partner(
    world: World, told: Ask, observer: Ask
):
    client = User.objects.create(type=User.Type.INDIVIDUAL, first_name="Otto")
    account = Account.objects.open(world.partner, client, desk(), timezone.now())
    as_committed()
    account.change_status("ACTIVE", desk(), None)
    first, second = read(told)
    assert (first["sequence"], second["sequence"]) == (1, 2)
    assert first["at"] <= second["at"]
    for event in (first, second):
        assert event["type"] == "ACCOUNT_STATUS_CHANGED"
        assert event["subject"] == {
            "__typename": "Account",
            "id": f"Account|{account.pk}",
        }
        assert event["account"] == {"id": f"Account|{account.pk}"}
    assert "ACCOUNT_STATUS_CHANGED" not in types(read(observer))


def test_entries_of_a_commit_are_one_event_of_their_token(world: World, told: Ask):
    accounts = list(ledger.holder_accounts(user.pk for user in people(3)).values())
    for _ in range(2):
        ledger.record(
            [
                Entry(token.pk, "MINT", 5, None, account)
                for account in accounts
                for token in (world.public_token, world.private_token)
            ],
            "me",
        )
    events = read(told)
    assert {(e["token"]["symbol"], e["ledgerSequence"]) for e in events} == {
        ("LUM", 6),
        ("LUMF", 6),
    }
    assert types(events) == ["REGISTER_CHANGED"] * 2
    assert [e["issuer"]["slug"] for e in events] == ["lumen"] * 2
    ledger.record([Entry(world.public_token.pk, "MINT", 5, None, accounts[0])], "me")
    [event] = read(told, after=str(events[-1]["sequence"]))
    assert (event["sequence"], event["ledgerSequence"]) == (3, 7)


def test_what_happened_and_was_taken_back_is_not_told(world: World, told: Ask):
    [account] = ledger.holder_accounts([people(1)[0].pk]).values()
    with transaction.atomic():
        ledger.record([Entry(world.public_token.pk, "MINT", 5, None, account)], "me")
        transaction.set_rollback(True)
    IssuerFinancialData.objects.filter(pk=world.figures[0].pk).update(revenue_cents=7)
    [event] = read(told)
    assert (event["sequence"], event["type"]) == (1, "FINANCIAL_DATA_PUBLISHED")


def test_each_delivered_line_is_told_with_its_entry(world: World, told: Ask):
    for line in world.shareholders:
        line.token = world.public_token
        line.save(update_fields=["token"])
    superuser(
        "ana@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name="Ana",
        last_name="Sá",
    )
    call_command(
        "deliver_legacy_shares",
        "lumen",
        source="MINT",
        staff="ana@staff.example",
        stdout=io.StringIO(),
    )
    events = read(told)
    lines = [e for e in events if e["type"] == "LEGACY_SHARES_DELIVERED"]
    assert {e["subject"]["id"] for e in lines} == {
        f"IssuerLegacyShareholder|{line.pk}" for line in world.shareholders
    }
    for line in world.shareholders:
        line.refresh_from_db()
    assert {e["ledgerSequence"] for e in lines} == {
        line.ledger_seq for line in world.shareholders
    }
    assert types(events).count("REGISTER_CHANGED") == 1


def test_figures_are_told_when_they_change_and_not_when_they_do_not(
    world: World, told: Ask, stranger: Ask
):
    figures = world.figures[1]
    figures.save()
    assert read(told) == []
    figures.revenue_cents = 1
    figures.save()
    [event] = read(told)
    assert event["subject"]["id"] == f"IssuerFinancialData|{figures.pk}"
    figures.delete()
    [event] = read(told, after="1")
    assert (event["subject"], event["issuer"]) == (None, {"slug": "lumen"})


def test_an_article_is_told_at_its_time(world: World, told: Ask):
    Article.objects.create(issuer=world.listed, title="A", slug="a", body="…")
    coming = Article.objects.create(
        issuer=world.listed,
        title="B",
        slug="b",
        body="…",
        published_at=timezone.now() + timedelta(days=1),
    )
    announce_articles()
    assert read(told) == []
    hour_ago = timezone.now() - timedelta(hours=1)
    tamper(
        f"UPDATE issuers_article SET published_at = '{hour_ago}'"
        f" WHERE id = '{coming.pk}'",
        f"UPDATE issuers_articletocome SET published_at = '{hour_ago}'",
    )
    call_command("run", "articles", stdout=io.StringIO())
    announce_articles()
    [event] = read(told)
    assert event["type"] == "ARTICLE_PUBLISHED"
    assert event["subject"]["id"] == f"Article|{coming.pk}"
    coming.refresh_from_db()
    coming.published_at = None
    coming.save()
    [event] = read(told, after="1")
    assert (event["type"], event["subject"]) == ("ARTICLE_PUBLISHED", None)


def test_prices_of_public_tokens_are_told_to_all_and_of_private_ones_by_grant(
    world: World, told: Ask, observer: Ask
):
    read(observer)
    for token in (world.public_token, world.private_token):
        ledger.set_price(token.pk, 500, "MANUAL", "me")
    assert types(read(told)) == ["TOKEN_PRICE_CHANGED"] * 2
    prices = read(observer, types=["TOKEN_PRICE_CHANGED"])
    assert [event["token"]["symbol"] for event in prices] == ["LUM"]


PHASES = """
query ($types: [EventType!]) {
  events(types: $types) { totalCount nodes {
    type phase reason token { symbol } subject { __typename id } } }
}
"""


def test_phases_of_a_market_are_told_to_who_may_see_the_token(world: World, told: Ask):
    watcher = Ask(approved_key(world.observer, [Scope.MARKETDATA_READ])[1])
    for visibility in Token.Visibility:
        token = Token.objects.create(
            issuer=world.listed,
            name=visibility,
            symbol=visibility[:6],
            visibility=visibility,
            market_type=Token.MarketType.SECONDARY_MARKET,
        )
        phases.open_market(token.pk, ALL_DAY, asker(), reference_price=100)
        phases.change_phase(token.pk, "CONTINUOUS", "market")
        phases.change_phase(token.pk, "HALTED", asker(), "A reason for staff alone.")
    read(told)
    for ask, tokens in ((told, 2), (watcher, 1)):
        found = ask(PHASES, {"types": ["MARKET_PHASE_CHANGED"]}).data["events"]
        assert found["totalCount"] == 2 * tokens
        nodes = found["nodes"]
        assert [e["phase"] for e in nodes] == ["CONTINUOUS", "HALTED"] * tokens
        assert "PUBLIC" in {e["token"]["symbol"] for e in nodes}
        assert {e["subject"]["__typename"] for e in nodes} == {"Token"}
        assert {e["reason"] for e in nodes} == {None}
    unscoped = Ask(approved_key(world.observer, [Scope.TRADING_READ])[1])
    assert read(unscoped, types=["MARKET_PHASE_CHANGED"]) == []


def test_grants_and_keys_are_told_to_whom_they_are_given(world: World, told: Ask):
    grant = approved_grant(world.partner, world.quiet)
    as_committed()
    grants.end(grant, asker())
    as_committed()
    key, _ = approved_key(world.partner, [Scope.ISSUERS_READ])
    as_committed()
    key.revoke(timezone.now())
    as_committed()
    key.revoke(timezone.now())
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=timezone.now())
    events = read(told)
    assert types(events) == ["GRANT_CHANGED"] * 2 + ["KEY_CHANGED"] * 2
    assert events[0]["subject"]["id"] == f"Issuer|{world.quiet.pk}"
    assert events[2]["subject"] is None


def test_scopes_and_grants_count_at_the_time_of_reading(world: World, told: Ask):
    [account] = ledger.holder_accounts([people(1)[0].pk]).values()
    ledger.record([Entry(world.public_token.pk, "MINT", 5, None, account)], "me")
    assert types(read(told)) == ["REGISTER_CHANGED"]
    _, narrow = approved_key(world.partner, [Scope.SHAREHOLDERS_READ])
    assert types(read(Ask(narrow))) == ["KEY_CHANGED"]
    _, unused = approved_key(world.partner, list(Scope))
    as_committed()
    grants.end(IssuerGrant.objects.get(partner=world.partner), asker())
    # A key that was just used is remembered for a second, with its grants.
    events = read(Ask(unused))
    assert types(events) == ["KEY_CHANGED", "KEY_CHANGED", "GRANT_CHANGED"]
    assert [event["sequence"] for event in events] == [2, 3, 4]


def test_without_a_key_there_are_no_events(stranger: Ask):
    assert stranger("{ events { nodes { sequence } } }").code == "UNAUTHENTICATED"


def test_pages_go_on_from_a_cursor_or_a_number(world: World, told: Ask):
    for number in range(5):
        world.figures[0].revenue_cents = number
        world.figures[0].save()
        as_committed()
    page = told(DOCUMENT, {"first": 2}).data["events"]
    assert page["pageInfo"]["hasNextPage"]
    rest = told(DOCUMENT, {"after": page["pageInfo"]["endCursor"]}).data["events"]
    assert [event["sequence"] for event in rest["nodes"]] == [3, 4, 5]
    assert rest == told(DOCUMENT, {"after": "2"}).data["events"]
    newest = "{ events(last: 1) { nodes { sequence } } }"
    assert told(newest).data["events"]["nodes"] == [{"sequence": 5}]
    for wrong in ("-1", "x", "9" * 19, ""):
        assert told(DOCUMENT, {"after": wrong}).code == "INVALID_CURSOR"
    many = ["KEY_CHANGED"] * (len(EventType) + 1)
    assert told(DOCUMENT, {"types": many}).code == "BAD_USER_INPUT"
    assert read(told, types=[]) == []


WALKED = """
query ($first: Int, $last: Int, $after: String, $before: String, $types: [EventType!]) {
  events(first: $first, last: $last, after: $after, before: $before, types: $types) {
    totalCount nodes { sequence type }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}
"""


def fill(world: World, events: int) -> None:
    """Every hundredth is of a grant, the one before it of a key."""
    tamper(
        "INSERT INTO issuers_event (id, partner_id, sequence, type, at)"
        f" SELECT gen_random_uuid(), '{world.partner.pk}', n, CASE mod(n, 100)"
        " WHEN 0 THEN 'GRANT_CHANGED' WHEN 99 THEN 'KEY_CHANGED'"
        f" ELSE 'ARTICLE_PUBLISHED' END, now() FROM generate_series(1, {events}) AS n",
        f"UPDATE issuers_eventhead SET last_sequence = {events}",
        COUNT_EVENTS,
    )


@pytest.mark.parametrize(
    "types",
    [["KEY_CHANGED", "GRANT_CHANGED"], ["ARTICLE_PUBLISHED"], ["REGISTER_CHANGED"]],
)
def test_pages_of_types_are_the_whole_list_in_both_directions(
    types: list[str], world: World, told: Ask
):
    fill(world, 450)
    expected = {
        "KEY_CHANGED": [99, 100, 199, 200, 299, 300, 399, 400],
        "ARTICLE_PUBLISHED": [n for n in range(1, 451) if n % 100 not in (0, 99)],
        "REGISTER_CHANGED": [],
    }[types[0]]
    size = 3 if len(types) == 2 else 100
    for way, cursor, ends in (
        ("first", "after", ("hasNextPage", "hasPreviousPage", "endCursor")),
        ("last", "before", ("hasPreviousPage", "hasNextPage", "startCursor")),
    ):
        walked: list[int] = []
        place = None
        while True:
            given = {way: size, cursor: place, "types": types}
            page = told(WALKED, given).data["events"]
            assert page["totalCount"] == len(expected)
            found = [event["sequence"] for event in page["nodes"]]
            walked = found + walked if way == "last" else walked + found
            assert page["pageInfo"][ends[1]] is (place is not None)
            if not page["pageInfo"][ends[0]]:
                break
            place = page["pageInfo"][ends[2]]
        assert walked == expected
    between = {"after": "99", "before": "300", "types": types}
    page = told(WALKED, between).data["events"]
    inside = [n for n in expected if 99 < n < 300]
    assert [event["sequence"] for event in page["nodes"]] == inside[:100]
    for wrong in ("-1", "x", "9" * 19, ""):
        refused = told(WALKED, {"before": wrong})
        assert refused.errors[0]["extensions"]["argument"] == "before"


def test_a_page_of_a_rare_type_reads_the_events_of_that_type(world: World, told: Ask):
    fill(world, 5_000)
    with connection.cursor() as cursor:
        cursor.execute("SELECT partnerapi_analyze(%s)", [["issuers_event"]])
    for given in (
        {"types": ["KEY_CHANGED", "GRANT_CHANGED"], "first": 5},
        {"types": ["KEY_CHANGED", "GRANT_CHANGED"], "last": 5},
        {"types": ["KEY_CHANGED"], "first": 5, "after": "2000"},
        {"types": ["REGISTER_CHANGED"], "first": 5},
    ):
        plans = all_planned(
            told, WALKED.replace("totalCount", ""), "issuers_event ", given
        )
        scans = [
            node
            for nodes in plans
            for node in nodes
            if node.get("Relation Name") == "issuers_event"
        ]
        assert scans
        read = sum(
            (scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0))
            * scan["Actual Loops"]
            for scan in scans
        )
        # Of 5,000 events, 100 are of these types.
        assert read <= 100, given


@pytest.mark.parametrize("events", [1, 10, 30])
def test_a_page_takes_so_many_statements(events: int, world: World, told: Ask):
    accounts = list(ledger.holder_accounts(user.pk for user in people(1)).values())
    for number in range(events):
        world.figures[0].revenue_cents = number
        world.figures[0].save()
        client = User.objects.create(type=User.Type.INDIVIDUAL, first_name=str(number))
        Account.objects.open(world.partner, client, desk(), timezone.now())
        entry = Entry(world.public_token.pk, "MINT", 1, None, accounts[0])
        ledger.record([entry], "me")
        as_committed()
    with CaptureQueriesContext(connection) as queries:
        assert len(told(DOCUMENT, {"after": "0"}).data["events"]["nodes"]) == 3 * events
    asked = [q["sql"] for q in queries if "accounts_apikey" not in q["sql"]]
    grants = [sql for sql in asked if 'FROM "issuers_issuergrant"' in sql]
    # What is kept, the page, three types of subjects, issuers, tokens, accounts.
    assert len(asked) - len(grants) == 8


def test_the_application_can_forge_no_event(world: World, told: Ask):
    for statement in (
        "INSERT INTO issuers_event SELECT * FROM issuers_event",
        "UPDATE issuers_event SET type = 'KEY_CHANGED'",
        "DELETE FROM issuers_event",
        "UPDATE issuers_eventhead SET last_sequence = 0",
        "INSERT INTO issuers_unnumberedevent DEFAULT VALUES",
        f"SELECT {written(world, 'KEY_CHANGED', True)}",
        "DELETE FROM issuers_articletocome",
        "SELECT events_prune(29, 1)",
    ):
        with (
            pytest.raises(DatabaseError),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def written(world: World, kind: str, last: bool) -> str:
    """The call by which a writer tells the partner two events of its own."""
    of_two = f"ARRAY['{world.partner.pk}', '{world.partner.pk}']::uuid[]"
    subjects = f"ARRAY['{world.figures[0].pk}', '{world.figures[1].pk}']::uuid[]"
    return (
        f"events_write(NULL, {of_two}, ARRAY['{kind}', '{kind}'], {subjects}, NULL,"
        f" array_fill('{world.public_token.pk}'::uuid, '{{2}}'), NULL, last => {last})"
    )


def test_the_last_writer_numbers_behind_what_was_collected(world: World, told: Ask):
    kinds = ["KEY_CHANGED", "GRANT_CHANGED"]
    tamper(f"SELECT {written(world, kinds[0], True)}", guarded=True)
    assert types(read(told)) == kinds[:1] * 2
    calls = [(kinds[1], False), (kinds[1], False), (kinds[0], True)]
    tamper("SELECT " + ", ".join(written(world, *call) for call in calls), guarded=True)
    events = read(told)
    assert types(events) == [*kinds[:1] * 2, *kinds[1:] * 2, *kinds[:1] * 2]
    assert [event["sequence"] for event in events] == [*range(1, 7)]
    assert {event["issuer"]["slug"] for event in events} == {"lumen"}
    assert not UnnumberedEvent.objects.exists()


def test_only_what_is_old_is_pruned_and_a_cursor_before_it_is_refused(
    world: World, told: Ask, settings: Any
):
    for number in range(4):
        world.figures[0].revenue_cents = number
        world.figures[0].save()
        as_committed()
    settings.PARTNER_API_EVENT_DAYS = 40
    tamper(
        "UPDATE issuers_event SET at = at - interval '41 days' WHERE sequence <= 2",
        "UPDATE issuers_event SET at = at - interval '39 days' WHERE sequence > 2",
    )
    old, kept = (
        set(Event.objects.filter(**which).values_list("pk", flat=True))
        for which in ({"sequence__lte": 2}, {"sequence__gt": 2})
    )
    assert min(len(old), len(kept)) >= 2 * Partner.objects.count()
    output = io.StringIO()
    call_command("prune", "events", "--dry-run", stdout=output)
    assert output.getvalue().startswith(f"{len(old)} events would be deleted")
    prune_events()
    prune_events()
    assert set(Event.objects.values_list("pk", flat=True)) == kept
    [head] = EventHead.objects.filter(partner=world.partner)
    assert (head.pruned_sequence, head.last_sequence) == (2, 4)
    assert [event["sequence"] for event in read(told)] == [3, 4]
    assert [event["sequence"] for event in read(told, after="2")] == [3, 4]
    refused = told(DOCUMENT, {"after": "1"})
    assert refused.code == "INVALID_CURSOR"
    assert refused.errors[0]["extensions"]["oldest"] == 3
    assert refused.errors[0]["extensions"]["argument"] == "after"
