"""Keys whose first request still runs, or whose connection broke: a live server."""

import http.client
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass

import orjson
import pytest
from django.db import OperationalError, connection, transaction
from graphql import ExecutionResult, GraphQLError

from accounts.access import Scope
from accounts.accounts.models import Account, AccountStatusChange
from accounts.cash.models import CashAccount, CashHead
from accounts.keys.models import Partner
from accounts.people.models import User
from partnerapi.core.database import fetch
from partnerapi.core.postgresql.faults import Fault, fault_of
from partnerapi.gateway.idempotency import run_in_savepoint
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.sandbox.data.approvals import approved_key
from tests.approved import desk
from tests.characters import START
from tests.gateway.conftest import WebServer
from tests.owner import as_owner, remove_approvals, remove_keys, tamper
from tests.waiting import PATIENCE_SECONDS, until_waiting_for_a_lock

CHANGE = """
mutation ($input: UpdateAccountStatusInput!) {
  updateAccountStatus(input: $input) { previousStatus changedAt }
}
"""


@dataclass
class Sent:
    status: int
    headers: http.client.HTTPMessage
    content: bytes
    seconds: float

    @property
    def code(self) -> str:
        [error] = orjson.loads(self.content)["errors"]
        return error["extensions"]["code"]


@dataclass
class Client:
    """A partner with one active account, and a connection for each request."""

    port: int
    token: str
    account: Account

    def send(self, key: str, *more_keys: str) -> Sent:
        fields = {"accountID": f"Account|{self.account.pk}", "status": "SUSPENDED"}
        body = orjson.dumps({"query": CHANGE, "variables": {"input": fields}})
        began = time.monotonic()
        client = http.client.HTTPConnection("127.0.0.1", self.port, PATIENCE_SECONDS)
        client.putrequest("POST", "/graphql")
        client.putheader("Content-Type", "application/json")
        client.putheader("Content-Length", str(len(body)))
        client.putheader("X-Token-Auth", self.token)
        for each in (key, *more_keys):
            client.putheader("Idempotency-Key", each)
        client.endheaders(body)
        response = client.getresponse()
        content = response.read()
        client.close()
        taken = time.monotonic() - began
        return Sent(response.status, response.headers, content, taken)

    def rows(self) -> tuple[str, int, int]:
        self.account.refresh_from_db()
        kept = IdempotencyRecord.objects.filter(partner_id=self.account.partner_id)
        return self.account.status, self.account.history.count(), kept.count()


@pytest.fixture
def client(
    web_server: WebServer, keeps_rows: None, transactional_db: None
) -> Iterator[Client]:
    partner = Partner.objects.create(login="impatient", name="Impatient")
    user = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name="Lund"
    )
    account = Account.objects.open(partner, user, desk(), START)
    account.change_status("ACTIVE", desk(), None)
    token = approved_key(partner, list(Scope))[1]
    yield Client(web_server.port, token, account)
    with as_owner():
        IdempotencyRecord.objects.filter(partner=partner).delete()
        AccountStatusChange.objects.filter(account=account).delete()
        CashHead.objects.filter(cash_account__account=account).delete()
        CashAccount.objects.filter(account=account).delete()
        account.delete()
        remove_keys(partner)
        partner.delete()
        user.delete()
        remove_approvals()


@pytest.fixture
def before_each_entry(client: Client) -> Iterator[Callable[[str], None]]:
    """Lets the database do something before an entry of a history is written."""

    def do(statement: str) -> None:
        tamper(
            "CREATE OR REPLACE FUNCTION disturb() RETURNS trigger"
            f" LANGUAGE plpgsql AS $$ BEGIN {statement} RETURN NEW; END $$"
        )

    do("")
    tamper(
        "CREATE TRIGGER disturbed BEFORE INSERT ON accounts_accountstatuschange"
        " FOR EACH ROW EXECUTE FUNCTION disturb()"
    )
    try:
        yield do
    finally:
        tamper(
            "DROP TRIGGER disturbed ON accounts_accountstatuschange",
            "DROP FUNCTION disturb()",
        )


HOLD = (
    # It waits as long as it takes, and not as others do for a lock.
    "PERFORM set_config('lock_timeout', '0', true); PERFORM pg_advisory_xact_lock(1);"
)


@contextmanager
def held() -> Iterator[None]:
    """Whoever reaches HOLD waits there until this is left."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(1)")
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(1)")


def test_a_key_whose_first_request_runs_on_is_409_after_two_seconds(
    client: Client, before_each_entry: Callable[[str], None]
):
    before_each_entry(HOLD)
    key = str(uuid.uuid4())
    with ThreadPoolExecutor() as threads:
        with held():
            running = threads.submit(client.send, key)
            until_waiting_for_a_lock()
            early = client.send(key)
        first = running.result()
    assert (early.status, early.code) == (409, "IDEMPOTENCY_CONCURRENT_REQUEST")
    assert early.headers["Retry-After"] == "1"
    assert "Idempotent-Replayed" not in early.headers
    # It was answered while the first ran on, by what ends every wait for a lock.
    assert early.seconds >= 2
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("2s",)
    assert first.status == 200
    assert client.rows() == ("SUSPENDED", 3, 1)
    later = client.send(key)
    assert later.content == first.content
    assert later.headers["Idempotent-Replayed"] == "true"


def test_a_key_whose_first_request_ends_soon_is_waited_for(
    client: Client, before_each_entry: Callable[[str], None]
):
    before_each_entry(HOLD)
    key = str(uuid.uuid4())
    with ThreadPoolExecutor() as threads:
        with held():
            running = threads.submit(client.send, key)
            until_waiting_for_a_lock()
            # Four at once; the first has a thread of a worker, too.
            waiting = [threads.submit(client.send, key) for _ in range(4)]
            until_waiting_for_a_lock(2)
        answers = [running.result(), *(each.result() for each in waiting)]
    assert {answer.status for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    replayed = [answer.headers["Idempotent-Replayed"] for answer in answers]
    assert replayed == [None, *["true"] * 4]
    assert client.rows() == ("SUSPENDED", 3, 1)


def test_one_of_those_who_wait_takes_over_when_the_first_fails(
    client: Client, before_each_entry: Callable[[str], None]
):
    # Sequences do not roll back: only the first to come meets the error.
    tamper("CREATE SEQUENCE entries", "GRANT USAGE ON SEQUENCE entries TO PUBLIC")
    try:
        before_each_entry(f"IF nextval('entries') = 1 THEN {HOLD} RAISE 'no'; END IF;")
        key = str(uuid.uuid4())
        with ThreadPoolExecutor() as threads:
            with held():
                running = threads.submit(client.send, key)
                until_waiting_for_a_lock()
                waiting = [threads.submit(client.send, key) for _ in range(4)]
                until_waiting_for_a_lock(2)
            answers = [each.result() for each in waiting]
            failed = running.result()
    finally:
        tamper("DROP SEQUENCE entries")
    assert (failed.status, failed.code) == (200, "INTERNAL_SERVER_ERROR")
    assert len({answer.content for answer in answers}) == 1
    replayed = [answer.headers["Idempotent-Replayed"] for answer in answers]
    assert sorted(replayed, key=str) == [None, *["true"] * 3]
    assert client.rows() == ("SUSPENDED", 3, 1)


def test_a_lost_connection_undoes_everything_and_may_be_tried_again(
    client: Client, before_each_entry: Callable[[str], None]
):
    before_each_entry("PERFORM pg_terminate_backend(pg_backend_pid());")
    key = str(uuid.uuid4())
    failed = client.send(key)
    assert (failed.status, failed.code) == (503, "UNAVAILABLE")
    assert failed.headers["Retry-After"] == "1"
    assert "Idempotency-Key-Expires" not in failed.headers
    assert client.rows() == ("ACTIVE", 2, 0)
    before_each_entry("")
    again = client.send(key)
    assert again.status == 200
    assert orjson.loads(again.content)["data"]["updateAccountStatus"]
    assert client.rows() == ("SUSPENDED", 3, 1)


@pytest.mark.usefixtures("keeps_rows", "transactional_db")
def test_a_session_that_ends_before_a_refusal_is_undone_is_an_outage():
    def refuse() -> ExecutionResult:
        other = connection.copy()
        with closing(other), other.cursor() as cursor:
            ended = "SELECT pg_terminate_backend(%s, %s)"
            process = connection.connection.info.backend_pid
            cursor.execute(ended, [process, round(PATIENCE_SECONDS * 1000)])
        return ExecutionResult(errors=[GraphQLError("no")])

    def answer() -> None:
        with transaction.atomic():
            run_in_savepoint(refuse)
            fetch("SELECT 1", [], tuple)

    connection.ensure_connection()
    with pytest.raises(OperationalError) as outage:
        answer()
    assert fault_of(outage.value) == Fault.AWAY


@pytest.mark.parametrize("same", [True, False])
def test_refuses_two_keys_in_one_request(same: bool, client: Client):
    key = str(uuid.uuid4())
    refused = client.send(key, key if same else str(uuid.uuid4()))
    assert (refused.status, refused.code) == (400, "IDEMPOTENCY_KEY_INVALID")
    assert client.rows() == ("ACTIVE", 2, 0)
