import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import orjson
import pytest
from django.db import connection, transaction
from django.http import HttpResponse

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.sandbox.data.approvals import approved_key
from tests.approved import desk
from tests.characters import START, Ask, World, new_world
from tests.owner import break_table, tamper

KEY = "3f0c1d52-8a44-4d7e-9b1a-6c2e5f7a8b90"
CHANGE = """
mutation Change($input: UpdateAccountStatusInput!) {
  updateAccountStatus(input: $input) { previousStatus changedAt account { status } }
}
"""
ASKED = """
query ($key: String!) {
  idempotentRequest(key: $key) {
    key operationName createdAt expiresAt outcome errorCodes
  }
}
"""
Send = Callable[..., HttpResponse]


def open_account(partner: Partner) -> Account:
    client = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name="Lund"
    )
    account = Account.objects.open(partner, client, desk(), START)
    account.change_status("ACTIVE", desk(), None)
    return account


@pytest.fixture
def account(world: World) -> Account:
    return open_account(world.partner)


@pytest.fixture
def send(account: Account, partner: Ask) -> Send:
    """Suspends the partner's account; what is passed differs from that."""

    def post(
        key: str | None = KEY,
        query: str = CHANGE,
        variables: dict[str, Any] | None = None,
        token: str | None = partner.key,
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> HttpResponse:
        fields = {"accountID": f"Account|{account.pk}", "status": "SUSPENDED"}
        variables = {"input": fields | values} if variables is None else variables
        body = orjson.dumps({"query": query, "variables": variables})
        sent = {"X-Token-Auth": token, "Idempotency-Key": key} | (headers or {})
        given = {name: value for name, value in sent.items() if value is not None}
        response: Any = partner.client.generic(
            "POST", "/graphql", body, "application/json", headers=given
        )
        return response

    return post


def code_of(response: HttpResponse) -> str:
    [error] = orjson.loads(response.content)["errors"]
    assert error["extensions"]["requestId"] == response["X-Request-Id"]
    return error["extensions"]["code"]


def previous_status(response: HttpResponse) -> str:
    return orjson.loads(response.content)["data"]["updateAccountStatus"][
        "previousStatus"
    ]


def rows(account: Account) -> tuple[str, int, int]:
    """The account's status, its history's length, and how many answers are kept."""
    account.refresh_from_db()
    return account.status, account.history.count(), IdempotencyRecord.objects.count()


UNTOUCHED = ("ACTIVE", 2, 0)
SUSPENDED = ("SUSPENDED", 3, 1)


@pytest.mark.parametrize(
    "again",
    [KEY.upper(), f'"{KEY}"', f'"{KEY.upper()}"', f"  {KEY} ", KEY.title()],
    ids=["upper", "quoted", "quoted-upper", "spaces", "mixed"],
)
def test_reads_every_form_of_a_key_as_the_same_key(
    again: str, send: Send, account: Account
):
    first = send()
    second = send(again)
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"
    assert rows(account) == SUSPENDED


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        '""',
        "nonsense",
        "e3d3f1c8-6f0a-11ee-8c99-0242ac120002",  # version 1
        "0190b6a5-7c1e-7a3b-8f4d-2a6c9e1b5d70",  # version 7
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        KEY.replace("-9b1a-", "-cb1a-"),  # version 4 of another variant
        KEY.replace("-", ""),
        f"{{{KEY}}}",
        f"urn:uuid:{KEY}",
        f"'{KEY}'",
        f'"{KEY}',
        KEY[:-1],
        f"{KEY}0",
        f"{KEY},{KEY}",
        KEY.replace("3", "３"),
    ],
)
def test_refuses_what_is_not_a_uuid_v4(wrong: str, send: Send, account: Account):
    response = send(wrong)
    assert response.status_code == 400
    assert code_of(response) == "IDEMPOTENCY_KEY_INVALID"
    assert "Idempotency-Key-Expires" not in response
    assert rows(account) == UNTOUCHED


def test_requires_a_key(send: Send, account: Account):
    response = send(None)
    assert response.status_code == 400
    assert code_of(response) == "IDEMPOTENCY_KEY_REQUIRED"
    assert rows(account) == UNTOUCHED


def test_requires_an_api_key_first(send: Send, account: Account):
    response = send(key=None, token=None)
    assert response.status_code == 401
    assert code_of(response) == "UNAUTHENTICATED"
    assert response["WWW-Authenticate"] == 'X-Token-Auth realm="Partner API"'
    assert rows(account) == UNTOUCHED


def test_tells_until_when_the_answer_is_kept(send: Send):
    began = datetime.now(UTC)
    first = send()
    ended = datetime.now(UTC)
    expires_at = datetime.fromisoformat(first["Idempotency-Key-Expires"])
    assert first["Idempotency-Key-Expires"].endswith("Z")
    assert began <= expires_at - timedelta(hours=24) <= ended
    assert "Idempotent-Replayed" not in first
    again = send()
    assert again["Idempotency-Key-Expires"] == first["Idempotency-Key-Expires"]
    assert again["X-Request-Id"] != first["X-Request-Id"]


@pytest.mark.parametrize(
    "other",
    [
        {"status": "CLOSED"},
        {"reason": "another"},
        {"query": CHANGE.replace("changedAt", "")},
        {"query": CHANGE.replace("Change(", "Other(")},
        {"query": CHANGE.replace("updateAccountStatus(", "a: updateAccountStatus(")},
    ],
    ids=["status", "reason", "selection", "operation-name", "alias"],
)
def test_refuses_a_key_of_another_request(
    other: dict[str, str], send: Send, account: Account
):
    first = send()
    refused = send(**other)
    assert refused.status_code == 422
    assert code_of(refused) == "IDEMPOTENCY_KEY_PARAMETER_MISMATCH"
    assert "Idempotent-Replayed" not in refused
    assert rows(account) == SUSPENDED
    assert send().content == first.content


def test_does_not_mind_white_space_comments_and_the_order_of_members(
    send: Send, account: Account
):
    first = send()
    spaced = "# twice\n" + CHANGE.replace(" ", "  ,").replace("{", "{ # here\n")
    fields = {"status": "SUSPENDED", "accountID": f"Account|{account.pk}"}
    again = send(query=spaced, variables={"input": fields})
    assert again.content == first.content
    assert again["Idempotent-Replayed"] == "true"
    assert rows(account) == SUSPENDED


def expire(by: timedelta) -> None:
    at = datetime.now(UTC) - by
    tamper(f"UPDATE partnerapi_idempotencyrecord SET expires_at = '{at}'")


def test_an_expired_key_is_new(send: Send, account: Account):
    send()
    began = datetime.now(UTC)
    expire(timedelta(seconds=-30))
    assert send()["Idempotent-Replayed"] == "true"
    expire(timedelta(0))
    fresh = send(status="ACTIVE")
    assert previous_status(fresh) == "SUSPENDED"
    assert "Idempotent-Replayed" not in fresh
    assert rows(account) == ("ACTIVE", 4, 1)
    assert send(status="ACTIVE").content == fresh.content
    record = IdempotencyRecord.objects.get()
    assert record.created_at > began


def test_replays_after_the_api_key_was_rotated(
    send: Send, account: Account, world: World
):
    first = send()
    ApiKey.objects.get(partner=world.partner).revoke(datetime.now(UTC))
    again = send(token=approved_key(world.partner, list(Scope))[1])
    assert again.content == first.content
    assert again["Idempotent-Replayed"] == "true"
    assert rows(account) == SUSPENDED


def test_partners_do_not_share_keys(send: Send, account: Account, world: World):
    send()
    theirs = open_account(world.observer)
    token = approved_key(world.observer, list(Scope))[1]
    # The same request would be another partner's answer if keys were shared.
    unseen = send(token=token)
    assert code_of(unseen) == "NOT_FOUND"
    assert "Idempotent-Replayed" not in unseen
    other = send(str(uuid.uuid4()), token=token, accountID=f"Account|{theirs.pk}")
    assert previous_status(other) == "ACTIVE"
    assert rows(account) == ("SUSPENDED", 3, 3)


@pytest.mark.parametrize("key", [KEY, "nonsense"])
def test_ignores_the_key_of_a_query(key: str, send: Send, account: Account):
    response = send(key, query="{ viewer { login } }", variables={})
    assert response.content == b'{"data":{"viewer":{"login":"broker_one"}}}'
    assert "Idempotency-Key-Expires" not in response
    assert rows(account) == UNTOUCHED
    assert "Idempotent-Replayed" not in send()


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        ({"query": CHANGE.replace("changedAt", "when")}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": CHANGE.replace("}", "")}, "GRAPHQL_PARSE_FAILED"),
        ({"status": "ASLEEP"}, "BAD_USER_INPUT"),
        ({"variables": {}}, "BAD_USER_INPUT"),
        ({"reason": "é" * 501}, "BAD_USER_INPUT"),
        ({"reason": "a\0b"}, "BAD_USER_INPUT"),
    ],
    ids=["field", "syntax", "status", "no-input", "long-reason", "nul"],
)
def test_a_request_that_was_refused_may_be_corrected_with_its_key(
    mistake: dict[str, Any], code: str, send: Send, account: Account
):
    refused = send(**mistake)
    assert refused.status_code == 200
    assert code_of(refused) == code
    assert "Idempotency-Key-Expires" not in refused
    assert rows(account) == UNTOUCHED
    corrected = send()
    assert previous_status(corrected) == "ACTIVE"
    assert "Idempotent-Replayed" not in corrected
    assert rows(account) == SUSPENDED


def test_takes_a_reason_of_500_characters(send: Send, account: Account):
    assert previous_status(send(reason="é" * 500)) == "ACTIVE"
    assert rows(account) == SUSPENDED
    assert account.status_reason == "é" * 500


@pytest.mark.parametrize("length", [200, 201, 10_000])
def test_an_operation_may_have_a_long_name(
    length: int, send: Send, account: Account, partner: Ask
):
    def named(end: str) -> str:
        return CHANGE.replace("Change", "n" * (length - 1) + end, 1)

    first = send(query=named("a"))
    assert previous_status(first) == "ACTIVE"
    assert rows(account) == SUSPENDED
    assert send(query=named("a")).content == first.content
    assert send(query=named("b")).status_code == 422
    kept = partner(ASKED, {"key": KEY}).data["idempotentRequest"]["operationName"]
    assert kept == ("n" * (length - 1) + "a")[:200]


def test_checks_the_scope_before_the_key_is_claimed(
    send: Send, account: Account, world: World
):
    scopes = [scope for scope in Scope if scope != Scope.ACCOUNTS_WRITE]
    refused = send(token=approved_key(world.partner, scopes)[1])
    assert refused.status_code == 200
    assert orjson.loads(refused.content)["data"] == {"updateAccountStatus": None}
    assert code_of(refused) == "FORBIDDEN"
    [error] = orjson.loads(refused.content)["errors"]
    assert error["extensions"]["requiredScope"] == "accounts:write"
    assert rows(account) == UNTOUCHED
    assert previous_status(send()) == "ACTIVE"


@pytest.mark.parametrize("number", [2, 3])
def test_refuses_several_mutations_in_one_request(
    number: int, send: Send, account: Account
):
    field = "updateAccountStatus(input: $input) { previousStatus }"
    fields = " ".join(f"a{n}: {field}" for n in range(number))
    query = f"mutation ($input: UpdateAccountStatusInput!) {{ {fields} }}"
    refused = send(query=query)
    assert refused.status_code == 200
    assert code_of(refused) == "MAX_MUTATIONS_EXCEEDED"
    assert "data" not in orjson.loads(refused.content)
    assert rows(account) == UNTOUCHED
    assert previous_status(send()) == "ACTIVE"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"status": "PENDING"}, "INVALID_STATUS_TRANSITION"),
        ({"accountID": "Account|00000000-0000-7000-8000-000000000000"}, "NOT_FOUND"),
    ],
)
def test_keeps_and_replays_a_refusal_of_the_domain(
    wrong: dict[str, str], code: str, send: Send, account: Account
):
    first = send(**wrong)
    assert first.status_code == 200
    assert code_of(first) == code
    assert "Idempotency-Key-Expires" in first
    assert rows(account) == ("ACTIVE", 2, 1)
    # What would be answered now is something else; the key keeps its first answer.
    account.change_status("SUSPENDED", desk(), None)
    again = send(**wrong)
    assert again.status_code == 200
    assert again.content == first.content
    assert again["Idempotent-Replayed"] == "true"
    [error] = orjson.loads(again.content)["errors"]
    assert error["extensions"]["requestId"] == first["X-Request-Id"]
    assert again["X-Request-Id"] != first["X-Request-Id"]


def test_an_error_below_the_mutation_undoes_it_and_says_so(
    send: Send, account: Account
):
    nested = "account { statusHistory(first: 1000) { totalCount } }"
    refused = send(query=CHANGE.replace("changedAt", nested))
    assert code_of(refused) == "BAD_USER_INPUT"
    assert orjson.loads(refused.content)["data"] == {"updateAccountStatus": None}
    assert rows(account) == ("ACTIVE", 2, 1)


@pytest.fixture
def broken_history(db: None) -> Callable[[], None]:
    """A database that refuses every entry of a history, until it is mended."""
    tamper(
        "CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE 'the history is broken'; END $$",
        "CREATE TRIGGER broken BEFORE INSERT ON accounts_accountstatuschange"
        " FOR EACH ROW EXECUTE FUNCTION break()",
    )
    return mend_history


def mend_history() -> None:
    tamper("DROP TRIGGER broken ON accounts_accountstatuschange")


def test_an_internal_error_undoes_everything_and_may_be_tried_again(
    send: Send, account: Account, broken_history: Callable[[], None]
):
    failed = send()
    assert failed.status_code == 200
    assert code_of(failed) == "INTERNAL_SERVER_ERROR"
    assert orjson.loads(failed.content)["data"] == {"updateAccountStatus": None}
    assert b"broken" not in failed.content
    assert "Idempotency-Key-Expires" not in failed
    assert rows(account) == UNTOUCHED
    broken_history()
    assert previous_status(send()) == "ACTIVE"
    assert rows(account) == SUSPENDED


def test_an_answer_never_shows_what_was_undone(send: Send, account: Account):
    # A nullable field fails, so that the fields around it would stand.
    nested = "account { user { country { code } } }"
    User.objects.filter(pk=account.user_id).update(country="FR")
    break_table("accounts_country")
    failed = send(query=CHANGE.replace("changedAt", nested))
    assert code_of(failed) == "INTERNAL_SERVER_ERROR"
    assert orjson.loads(failed.content)["data"] == {"updateAccountStatus": None}
    assert rows(account) == UNTOUCHED


def test_a_mutation_that_took_too_long_may_be_tried_again(
    send: Send, account: Account, settings: Any
):
    settings.PARTNER_API_MAX_SECONDS = 0
    failed = send()
    assert code_of(failed) == "TIMEOUT"
    [error] = orjson.loads(failed.content)["errors"]
    assert error["extensions"]["outcome"] == "NOT_COMMITTED"
    assert "nothing was changed" in error["message"]
    assert int(failed["Retry-After"]) >= 1
    assert "Idempotency-Key-Expires" not in failed
    assert rows(account) == UNTOUCHED
    settings.PARTNER_API_MAX_SECONDS = 10
    assert previous_status(send()) == "ACTIVE"
    assert rows(account) == SUSPENDED


def test_replays_the_cost_that_the_first_request_was_told(send: Send):
    first = send(headers={"X-Cost-Debug": "1"})
    cost = orjson.loads(first.content)["extensions"]["cost"]
    assert cost["price"] == int(first["X-Query-Cost"])
    assert send().content == first.content
    plain = send(str(uuid.uuid4()))
    assert orjson.loads(plain.content).keys() == {"data"}


def test_tells_whether_a_request_has_happened(
    send: Send, account: Account, partner: Ask, world: World
):
    def told(key: str = KEY, ask: Ask = partner) -> Any:
        return ask(ASKED, {"key": key}).data["idempotentRequest"]

    assert told() is None
    first = send()
    happened = told()
    assert told(f'"{KEY.upper()}"') == happened
    created_at = datetime.fromisoformat(happened.pop("createdAt"))
    assert created_at == IdempotencyRecord.objects.get().created_at
    assert happened == {
        "key": KEY,
        "operationName": "Change",
        "expiresAt": first["Idempotency-Key-Expires"],
        "outcome": "SUCCEEDED",
        "errorCodes": [],
    }
    assert told(str(uuid.uuid4())) is told("nonsense") is told("") is None
    stranger = Ask(approved_key(world.observer, list(Scope))[1])
    assert told(ask=stranger) is None
    expire(timedelta(0))
    assert told() is None


def test_tells_that_a_request_was_refused(send: Send, account: Account, partner: Ask):
    assert code_of(send(status="PENDING")) == "INVALID_STATUS_TRANSITION"
    told = partner(ASKED, {"key": KEY}).data["idempotentRequest"]
    assert told["outcome"] == "REFUSED"
    assert told["errorCodes"] == ["INVALID_STATUS_TRANSITION"]


def test_does_not_mind_null_for_what_may_be_left_out(send: Send, account: Account):
    query = """
    mutation ($id: ID!, $status: AccountStatus!, $reason: String) {
      updateAccountStatus(input: {accountID: $id, status: $status, reason: $reason}) {
        previousStatus
      }
    }
    """
    values = {"id": f"Account|{account.pk}", "status": "SUSPENDED"}
    first = send(query=query, variables=values)
    assert previous_status(first) == "ACTIVE"
    again = send(query=query, variables=values | {"reason": None})
    assert again["Idempotent-Replayed"] == "true"
    other = send(query=query, variables=values | {"reason": ""})
    assert code_of(other) == "IDEMPOTENCY_KEY_PARAMETER_MISMATCH"


def test_null_for_a_member_of_an_input_is_its_absence(send: Send, account: Account):
    first = send()
    assert send(reason=None)["Idempotent-Replayed"] == "true"
    assert send(reason=None).content == first.content


def test_null_for_a_variable_with_a_default_is_another_request(
    send: Send, account: Account
):
    query = """
    mutation ($id: ID!, $why: String = "lost") {
      updateAccountStatus(input: {accountID: $id, status: SUSPENDED, reason: $why}) {
        previousStatus
      }
    }
    """
    values = {"id": f"Account|{account.pk}"}
    assert previous_status(send(query=query, variables=values)) == "ACTIVE"
    other = send(query=query, variables=values | {"why": None})
    assert code_of(other) == "IDEMPOTENCY_KEY_PARAMETER_MISMATCH"


@pytest.mark.parametrize(
    "locked",
    [
        "SELECT * FROM accounts_lock(%(account)s)",
        # What is numbered at the commit.
        "SELECT tests.tamper('UPDATE issuers_eventhead SET last_at = last_at"
        " WHERE partner_id = ' || quote_literal(%(partner)s), FALSE)",
    ],
)
def test_what_another_holds_is_a_timeout_and_may_be_tried_again(
    locked: str, transactional_db: None
):
    with transaction.atomic():
        world = new_world()
        account = open_account(world.partner)
    ask = Ask(approved_key(world.partner, list(Scope))[1])
    values = {"accountID": f"Account|{account.pk}", "status": "SUSPENDED"}
    change = partial(ask, CHANGE, {"input": values}, **{"Idempotency-Key": KEY})
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            named = {"account": account.pk, "partner": str(world.partner.pk)}
            cursor.execute(locked, named)
            answer = change()
        assert (answer.status, answer.code) == (200, "TIMEOUT")
        assert int(answer.headers["Retry-After"]) >= 1
        [error] = answer.errors
        assert error["extensions"]["outcome"] == "NOT_COMMITTED"
        assert "nothing was changed" in error["message"].lower()
        assert ask(ASKED, {"key": KEY}).data == {"idempotentRequest": None}
        assert rows(account) == UNTOUCHED
    finally:
        other.close()
    assert change().data["updateAccountStatus"]["previousStatus"] == "ACTIVE"
    assert rows(account) == SUSPENDED


def test_tells_nobody_without_an_api_key(stranger: Ask):
    answer = stranger(ASKED, {"key": KEY})
    assert (answer.status, answer.code) == (200, "UNAUTHENTICATED")
    assert answer.body["data"] == {"idempotentRequest": None}


NAMED = CHANGE.replace("{ status }", "{ user { displayName } }")


def test_a_replay_needs_the_scopes_that_its_answer_needed(
    send: Send, account: Account, world: World
):
    scopes = [Scope.ACCOUNTS_WRITE]
    writer = approved_key(world.partner, scopes)[1]
    reader = approved_key(world.partner, [*scopes, Scope.ACCOUNTS_READ])[1]
    first = send(query=NAMED)
    assert b"Otto Lund" in first.content
    refused = send(query=NAMED, token=writer)
    assert (refused.status_code, code_of(refused)) == (403, "FORBIDDEN")
    assert b"Otto Lund" not in refused.content
    extensions = orjson.loads(refused.content)["errors"][0]["extensions"]
    assert extensions["requiredScope"] == "accounts:read"
    assert send(query=NAMED, token=reader).content == first.content
    assert rows(account) == SUSPENDED


def test_a_replay_needs_no_scope_that_the_first_key_had_not(
    send: Send, account: Account, world: World
):
    writer = approved_key(world.partner, [Scope.ACCOUNTS_WRITE])[1]
    first = send(query=NAMED, token=writer)
    assert code_of(first) == "FORBIDDEN"
    assert send(query=NAMED, token=writer).content == first.content
    assert send(query=NAMED).content == first.content


def test_other_scopes_of_the_first_key_do_not_matter(
    send: Send, account: Account, world: World
):
    writer = approved_key(world.partner, [Scope.ACCOUNTS_WRITE])[1]
    first = send()
    assert send(token=writer).content == first.content
