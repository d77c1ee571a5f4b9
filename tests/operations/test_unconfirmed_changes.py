"""What tells people and programs that a change was not confirmed by a standby.

The standby that commits of this test wait for does not exist; commits of other tests,
whose sessions are asynchronous, wait for none.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from issuers.models import Issuer, Token
from partnerapi.core.postgresql.faults import OutcomeUnknown
from partnerapi.sandbox.data.approvals import approved_key
from tests.administration import administrator_of
from tests.approved import desk
from tests.characters import START, Ask, World, new_world
from tests.owner import superuser
from tests.waiting import until

CHANGE = (
    "mutation ($input: UpdateAccountStatusInput!) { updateAccountStatus(input: $input)"
    " { previousStatus account { status } } }"
)
DONE = "query ($key: String!) { idempotentRequest(key: $key) { key } }"
TABLE = "query ($id: ID!) { issuer(id: $id) { capitalizationTable { date } } }"
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
CANCEL = (
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
)

pytestmark = pytest.mark.django_db(transaction=True)


class Primary:
    def __init__(self, url: str) -> None:
        self.url = url

    def wait_for(self, names: str) -> None:
        with administrator_of(self.url) as session:
            session.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
            session.execute("SELECT pg_reload_conf()")
        with connection.cursor() as cursor:

            def is_heard() -> bool:
                cursor.execute("SHOW synchronous_standby_names")
                return cursor.fetchone() == (names,)

            until(is_heard)

    @contextmanager
    def cancelling(self) -> Iterator[None]:
        """Cancel the wait of each session that waits for the standby."""
        ended = threading.Event()

        def cancel() -> None:
            with administrator_of(self.url) as session:
                while not ended.wait(0.05):
                    session.execute(CANCEL)

        thread = threading.Thread(target=cancel)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def until_one_waits(self) -> None:
        with administrator_of(self.url) as session:
            until(lambda: session.execute(WAITS).fetchone() != (0,))


@pytest.fixture
def primary(environment_of_owner: dict[str, str]) -> Iterator[Primary]:
    if "DATABASE_OWNER_URL" not in environment_of_owner:
        pytest.skip("needs a server of the tests' own")
    made = Primary(environment_of_owner["DATABASE_OWNER_URL"])
    yield made
    made.wait_for("")


@pytest.fixture
def world(transactional_db: None) -> World:
    return new_world()


@pytest.fixture
def account(world: World) -> Account:
    staff = desk()
    opened = Account.objects.open(world.partner, world.owner, staff, START)
    opened.change_status("ACTIVE", staff, None)
    return opened


@pytest.fixture
def partner(world: World) -> Ask:
    return Ask(approved_key(world.partner, list(Scope))[1])


@pytest.fixture
def synchronous(primary: Primary, account: Account, partner: Ask) -> Iterator[None]:
    """All is made; from now on commits of this thread wait for what is not there."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
    primary.wait_for("absent")
    yield
    connection.close()


def change(partner: Ask, account: Account, key: str) -> Any:
    values = {"accountID": f"Account|{account.pk}", "status": "SUSPENDED"}
    return partner(CHANGE, {"input": values}, Idempotency_Key=key)


def test_a_mutation_and_its_repetitions_are_unavailable_until_a_standby_has_it(
    synchronous: None, primary: Primary, partner: Ask, account: Account
):
    key = str(uuid4())
    with primary.cancelling():
        for answer in (
            change(partner, account, key),
            change(partner, account, key),
            partner(DONE, {"key": key}),
        ):
            assert (answer.status, answer.code) == (503, "UNAVAILABLE")
            assert "The outcome is unknown" in answer.errors[0]["message"]
            assert answer.errors[0]["extensions"]["outcome"] == "UNKNOWN"
            assert answer.headers["Retry-After"] == "1"
    account.refresh_from_db()
    assert account.status == "SUSPENDED"
    primary.wait_for("")
    again = change(partner, account, key)
    assert again.data["updateAccountStatus"]["previousStatus"] == "ACTIVE"
    assert again.headers["Idempotent-Replayed"] == "true"
    assert partner(DONE, {"key": key}).data["idempotentRequest"]["key"] == key


def test_a_repetition_that_waited_for_the_first_request_is_unavailable_too(
    synchronous: None, primary: Primary, partner: Ask, account: Account
):
    key = str(uuid4())
    answers: list[Any] = []

    def send() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit = on")
        answers.append(change(partner, account, key))
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    primary.until_one_waits()
    with primary.cancelling():
        for thread in threads:
            thread.join()
    assert {answer.status for answer in answers} <= {503, 409}
    assert "UNAVAILABLE" in {answer.code for answer in answers}


def test_a_table_is_read_while_a_writer_of_it_waits_for_the_standby(
    synchronous: None, primary: Primary, partner: Ask, world: World
):
    caught: list[BaseException] = []

    def write() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit = on")
        issuer = Issuer.objects.get(pk=world.listed.pk)
        try:
            Token.objects.create(issuer=issuer, name="New", symbol="NEW")
        except OutcomeUnknown as error:
            caught.append(error)
        connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    primary.until_one_waits()
    answer = partner(TABLE, {"id": f"Issuer|{world.listed.pk}"})
    assert answer.data["issuer"]["capitalizationTable"]["date"]
    assert writer.is_alive()
    with primary.cancelling():
        writer.join()
    assert len(caught) == 1


def test_the_back_office_does_not_say_that_it_saved(
    primary: Primary, world: World, account: Account, partner: Ask
):
    client = Client(raise_request_exception=False)
    client.force_login(
        superuser("sam@example.com", type="INDIVIDUAL", first_name="S", last_name="T")
    )
    address = f"/admin/accounts/partner/{world.partner.pk}/change/"
    form = client.get(address).context["adminform"].form
    fields = {name: form[name].value() or "" for name in form.fields}
    inlines = {
        f"{prefix}-{part}": "0"
        for prefix in ("apikeys", "grants", "apikey_set", "issuergrant_set")
        for part in ("TOTAL_FORMS", "INITIAL_FORMS")
    }
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
    primary.wait_for("absent")
    with primary.cancelling():
        answer = client.post(address, fields | inlines | {"name": "Another name"})
    assert answer.status_code == 503, answer.content
    assert b"The outcome is unknown" in answer.content
    assert b"changed successfully" not in client.get("/admin/", follow=True).content
    assert Partner.objects.get(pk=world.partner.pk).name == "Another name"
    connection.close()


def test_a_command_says_that_the_outcome_is_unknown_and_says_so_again(
    synchronous: None, primary: Primary, tmp_path: Any
):
    file = tmp_path / "issuers.csv"
    file.write_text(
        "name,isin,symbol,country,city\nNew Works,FR0000120271,NWRK,FR,Paris\n"
    )
    for _ in range(2):
        with (
            primary.cancelling(),
            pytest.raises(CommandError, match=r"The outcome is unknown\. A commit was"),
        ):
            call_command("import", "issuers", str(file))
    assert Issuer.objects.filter(trading_name="New Works").count() == 1
    primary.wait_for("")
    call_command("import", "issuers", str(file))
