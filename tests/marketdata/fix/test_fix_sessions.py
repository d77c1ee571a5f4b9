import io
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from accounts.access import Scope
from accounts.keys.models import Partner
from marketdata.models import FixSession
from marketdata.models.sessions import NotBound
from partnerapi.sandbox.data.approvals import approved_key
from tests.owner import tamper


def run(*arguments: str, **options: object) -> str:
    output = io.StringIO()
    call_command(*arguments, stdout=output, **options)
    return output.getvalue().strip()


@pytest.fixture
def acme(db: None) -> Partner:
    return Partner.objects.create(login="acme_co", name="Acme")


def comp_ids(partner: Partner) -> list[str]:
    sessions = FixSession.objects.filter(partner=partner)
    return list(sessions.values_list("comp_id", flat=True))


def test_binds_two_comp_ids_and_says_how_to_log_on(acme, settings, capsys):
    settings.FIX_HOST, settings.FIX_PORT = "203.0.113.5", 19878
    said = run("fix_session", "issue", "acme_co")
    assert comp_ids(acme) == ["PARTNER001", "PARTNER002"]
    assert "Assigned to acme_co: PARTNER001, PARTNER002" in said
    rows = [line.split("  ") for line in said.splitlines() if "  " in line]
    assert {row[0].split(" (")[0].strip(): row[-1].strip() for row in rows} == {
        "BeginString": "FIX.4.4",
        "SenderCompID": "PARTNER001 or PARTNER002",
        "TargetCompID": "PARTNERAPI",
        "Host": "203.0.113.5",
        "Port": "19878",
        "Encryption": "none",
        "HeartBtInt": "5 to 60",
        "Username": "acme_co, or left out",
        "Password": "a live API key of acme_co, whole, as in X-Token-Auth",
    }
    assert "key issue acme_co --scope marketdata:read" in capsys.readouterr().err


def test_tells_no_partner_to_connect_to_every_address(acme, settings):
    settings.FIX_HOST = "0.0.0.0"
    said = run("fix_session", "issue", "acme_co")
    assert "Host                 the public name of the acceptor's machine" in said


def test_takes_the_first_that_are_free(acme, capsys):
    approved_key(acme, [Scope.MARKETDATA_READ])
    zeta = Partner.objects.create(login="zeta", name="Zeta")
    for number in (1, 3):
        FixSession.objects.create(comp_id=f"PARTNER00{number}", partner=zeta)
    run("fix_session", "issue", "acme_co", "--count=3")
    assert comp_ids(acme) == ["PARTNER002", "PARTNER004", "PARTNER005"]
    assert capsys.readouterr().err == ""


def test_a_key_that_has_ended_is_none(acme, capsys):
    at = timezone.now()
    key, _ = approved_key(acme, [Scope.MARKETDATA_READ], at + timedelta(hours=1))
    run("fix_session", "issue", "acme_co", "--count=1")
    assert capsys.readouterr().err == ""
    tamper(
        f"UPDATE accounts_apikey SET created_at = '{at - timedelta(hours=2)}',"
        f" expires_at = '{at - timedelta(hours=1)}' WHERE id = '{key.pk}'"
    )
    run("fix_session", "issue", "acme_co", "--count=1")
    warning = "acme_co has no active key with the scope marketdata:read"
    assert warning in capsys.readouterr().err


def test_a_dry_run_binds_nothing(acme):
    assert run("fix_session", "issue", "acme_co", "--dry-run") == (
        "PARTNER001, PARTNER002 would be assigned to acme_co (dry run: nothing was "
        "written)"
    )
    assert FixSession.objects.count() == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["absent"], "no integration account absent"),
        (["acme_co", "--count=3"], "acme_co has 3 CompIDs and may have 5; request 2"),
        (["acme_co", "--count=2"], "The pool of 4 CompIDs has only 1 left"),
        (["acme_co", "--count=0"], "'0' is not a number, 1 to 5"),
        (["acme_co", "--count=6"], "'6' is not a number, 1 to 5"),
    ],
)
def test_refuses_to_bind(acme, settings, arguments, reason):
    FixSession.objects.bind(acme, 3)
    settings.FIX_SESSIONS = 4
    with pytest.raises(CommandError, match=reason):
        run("fix_session", "issue", *arguments)
    assert FixSession.objects.count() == 3


@pytest.fixture
def eight(keeps_rows: None, transactional_db: None) -> Iterator[list[Partner]]:
    yield [
        Partner.objects.create(login=f"racer{number}", name="Racer")
        for number in range(8)
    ]
    FixSession.objects.all().delete()
    Partner.objects.all().delete()


def test_partners_who_bind_at_once_get_different_ones(patient_locks, eight, settings):
    settings.FIX_SESSIONS = 15
    refused = []
    together = threading.Barrier(len(eight))

    def bind(partner: Partner) -> None:
        together.wait()
        try:
            FixSession.objects.bind(partner, 2)
        except NotBound as error:
            refused.append((partner, str(error)))
        finally:
            connection.close()

    threads = [threading.Thread(target=bind, args=[partner]) for partner in eight]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [(last, told)] = refused
    assert told.startswith("The pool of 15 CompIDs has only 1 left")
    counts = [len(comp_ids(partner)) for partner in eight]
    assert sorted(counts) == [0] + [2] * 7
    assert comp_ids(last) == []


def test_switches_a_session_off_and_on(acme):
    FixSession.objects.bind(acme)
    arguments = ["fix_session", "switch", "PARTNER001"]
    assert run(*arguments, "off", "--dry-run") == (
        "PARTNER001 of acme_co would be switched off (dry run: nothing was written)"
    )
    assert FixSession.objects.get().enabled
    assert run(*arguments, "off") == "PARTNER001 of acme_co is off."
    assert not FixSession.objects.get().enabled
    with pytest.raises(CommandError, match="PARTNER001 of acme_co is already off"):
        run(*arguments, "off")
    assert run(*arguments, "on") == "PARTNER001 of acme_co is on."
    assert FixSession.objects.get().enabled
    with pytest.raises(CommandError, match="There is no FIX session PARTNER009"):
        run("fix_session", "switch", "PARTNER009", "off")


def test_lists_sessions_and_how_they_fare(acme):
    assert run("fix_session", "list") == (
        "There are no FIX sessions. fix_session issue assigns some."
    )
    zeta = Partner.objects.create(login="zeta", name="Zeta")
    one, two = FixSession.objects.bind(acme, 2)
    [three] = FixSession.objects.bind(zeta)
    since = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    FixSession.objects.filter(pk=one.pk).update(
        connected_since=since, last_heartbeat_at=since, messages_sent=12
    )
    FixSession.objects.filter(pk=two.pk).update(
        enabled=False, last_logout_reason="slow consumer"
    )
    rows = json.loads(run("fix_session", "list", "--json"))
    assert rows[0] == {
        "compID": "PARTNER001",
        "login": "acme_co",
        "dropCopy": False,
        "state": "connected",
        "sources": "",
        "connectedSince": "2026-03-02T09:30:00Z",
        "lastHeartbeatAt": "2026-03-02T09:30:00Z",
        "messagesSent": 12,
        "lastLogoutReason": "",
    }
    assert [(row["state"], row["lastLogoutReason"]) for row in rows[1:]] == [
        ("switched off", "slow consumer"),
        ("not connected", ""),
    ]
    table = run("fix_session", "list", "--partner=zeta").splitlines()
    assert [line.split() for line in table[1:]] == [
        [three.comp_id, "zeta", "False", "not", "connected", "-", "-", "-", "0", "-"]
    ]
    with pytest.raises(CommandError, match="no integration account absent"):
        run("fix_session", "list", "--partner=absent")
