"""A Logon against the rules of engagement, the keys and the CompIDs."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access import Scope
from accounts.keys.models import ApiKey, Partner
from issuers import grants
from issuers.models import IssuerGrant
from marketdata.fix.acceptor.failed_logons import REMEMBERED, FailedLogons
from marketdata.fix.acceptor.logon import (
    CREDENTIALS_REFUSED,
    SCOPE_REFUSED,
    SWITCHED_OFF,
    TOO_MANY_FAILURES,
    Admission,
    Admissions,
    LogonRefused,
    NotForUs,
)
from marketdata.fix.acceptor.supervision import reasons_to_end
from marketdata.models import FixSession
from partnerapi.core.addresses import address_of
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.approved import asker
from tests.characters import World

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
NO_MARKET_DATA = SCOPE_REFUSED.format(scope=Scope.MARKETDATA_READ)
HERE, ELSEWHERE = address_of("192.0.2.7"), address_of("192.0.2.8")


@pytest.fixture
def acme() -> Partner:
    partner = Partner.objects.create(login="acme_co", name="Acme")
    FixSession.objects.create(comp_id="PARTNER001", partner=partner)
    return partner


@pytest.fixture
def token(acme: Partner) -> str:
    return approved_key(acme, [Scope.MARKETDATA_READ])[1]


@pytest.fixture
def admissions() -> Admissions:
    return Admissions()


def logon(token: str, **changed: str | None) -> dict[int, str]:
    """A Logon that passes, with tags changed (t49="…") or left out (t49=None)."""
    fields = {
        34: "1",
        49: "PARTNER001",
        52: "20260302-09:30:00.123",
        56: "PARTNERAPI",
        98: "0",
        108: "30",
        141: "Y",
        554: token,
    }
    for name, value in changed.items():
        fields.pop(int(name[1:]), None)
        if value is not None:
            fields[int(name[1:])] = value
    return fields


def secret(token: str) -> str:
    return token.rpartition("_")[2]


def refusal(admissions: Admissions, fields: dict[int, str], address=HERE) -> str:
    with pytest.raises(LogonRefused) as refused:
        admissions.admit(fields, address, NOW)
    return str(refused.value)


def test_takes_a_comp_id_from_its_networks_only(admissions, acme, token):
    FixSession.objects.update(sources=["192.0.2.7", "2001:db8::/32"])
    assert admissions.admit(logon(token), HERE, NOW)
    assert admissions.admit(logon(token), address_of("2001:db8::9"), NOW)
    said = refusal(admissions, logon(token), ELSEWHERE)
    assert said.startswith("Logons of this CompID are not accepted from 192.0.2.8;")
    wrong = logon(token[:-1] + ("a" if token[-1] != "a" else "b"))
    assert refusal(admissions, wrong, ELSEWHERE) == CREDENTIALS_REFUSED


def test_an_admission_acts_for_the_partner_of_its_key(admissions, acme, token):
    admission = admissions.admit(logon(token), HERE, NOW)
    assert (admission.comp_id, admission.login) == ("PARTNER001", "acme_co")
    assert admission.caller.partner_id == str(acme.pk)
    assert admission.caller.granted_issuers == frozenset()


def test_takes_the_key_whole_with_its_login_or_split(admissions, token):
    for fields in (
        logon(token, t553="acme_co"),
        logon(secret(token), t553="acme_co"),
    ):
        assert admissions.admit(fields, HERE, NOW).login == "acme_co"


def test_every_failure_of_the_credentials_has_one_text(admissions, acme, token):
    other = Partner.objects.create(login="zeta", name="Zeta")
    FixSession.objects.create(comp_id="PARTNER003", partner=other)
    revoked, revoked_token = approved_key(acme, [Scope.MARKETDATA_READ])
    revoked.revoke(NOW)
    changed = token[:-1] + ("a" if token[-1] != "a" else "b")
    for number, fields in enumerate(
        [
            logon(token, t49="PARTNER002"),
            logon(token, t49="PARTNER003"),
            logon(token, t553="zeta"),
            logon(secret(token), t553="zeta"),
            logon(secret(token)),
            logon(changed),
            logon("anything"),
            logon(revoked_token),
            logon(revoked_token, t49="PARTNER002"),
        ]
    ):
        assert refusal(admissions, fields, address_of(f"192.0.2.{number}")) == (
            CREDENTIALS_REFUSED
        )


def test_an_unknown_comp_id_costs_the_same_statements_without_a_key(admissions, token):
    wrong = ApiKey.objects.get().partner.login
    wrong = f"service-apikey_{wrong}_{secret(token)[:43]}000000"
    statements = []
    for comp_id in ("PARTNER001", "PARTNER002"):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert refusal(admissions, logon(wrong, t49=comp_id)) == CREDENTIALS_REFUSED
        statements.append(len(asked))
    assert statements[0] == statements[1]


def test_who_has_proved_the_key_is_told_more(admissions, acme, token):
    narrow = approved_key(acme, [Scope.ISSUERS_READ])[1]
    assert refusal(admissions, logon(narrow)) == NO_MARKET_DATA
    FixSession.objects.update(enabled=False)
    assert refusal(admissions, logon(token)) == SWITCHED_OFF
    Partner.objects.update(is_active=False)
    assert refusal(admissions, logon(token)) == CREDENTIALS_REFUSED


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"t98": None}, "EncryptMethod(98) must be 0"),
        ({"t98": "1"}, "EncryptMethod(98) must be 0"),
        ({"t108": None}, "HeartBtInt(108) must be 5 to 60 seconds"),
        ({"t108": "0"}, "HeartBtInt(108) must be 5 to 60 seconds"),
        ({"t108": "4"}, "HeartBtInt(108) must be 5 to 60 seconds"),
        ({"t108": "61"}, "HeartBtInt(108) must be 5 to 60 seconds"),
        ({"t108": "-5"}, "HeartBtInt(108) must be 5 to 60 seconds"),
        ({"t108": "٣٠"}, "HeartBtInt(108) must be 5 to 60 seconds"),
        (
            {"t52": "20260302-09:29:29"},
            "SendingTime(52) differs by more than 30 seconds",
        ),
        ({"t52": "20260302-09:30:31.5"}, "SendingTime(52) must be the time in UTC"),
        (
            {"t52": "20260302-09:30:31.500"},
            "SendingTime(52) differs by more than 30 seconds",
        ),
        ({"t52": "2026-03-02T09:30:00Z"}, "SendingTime(52) must be the time in UTC"),
        ({"t52": "20260230-09:30:00"}, "SendingTime(52) must be the time in UTC"),
        ({"t52": ""}, "SendingTime(52) must be the time in UTC"),
        ({"t141": None, "t34": "7"}, "send ResetSeqNumFlag(141)=Y, or MsgSeqNum(34)=1"),
        ({"t141": "N", "t34": "7"}, "send ResetSeqNumFlag(141)=Y, or MsgSeqNum(34)=1"),
        ({"t34": "-1"}, "MsgSeqNum(34) must be a whole number from 1"),
        ({"t34": "0"}, "MsgSeqNum(34) must be a whole number from 1"),
        ({"t34": "1" * 10}, "MsgSeqNum(34) must be a whole number from 1"),
        ({"t925": "new"}, "NewPassword(925) is not supported"),
        ({"t554": None}, "Password(554) is missing: send your API key"),
        ({"t554": ""}, "Password(554) is missing: send your API key"),
    ],
)
def test_refuses_what_breaks_a_rule_and_names_it(admissions, token, changed, told):
    assert told in refusal(admissions, logon(token, **changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"t108": "5"},
        {"t108": "60"},
        {"t52": "20260302-09:29:30"},
        {"t52": "20260302-09:30:30.999999999"},
        {"t141": None},
        {"t34": "7"},
    ],
)
def test_admits_what_is_just_within_the_rules(admissions, token, changed):
    assert admissions.admit(logon(token, **changed), HERE, NOW)


def test_settings_loosen_heartbeat_and_reset(admissions, token, settings):
    settings.FIX_MIN_HEARTBEAT, settings.FIX_REQUIRE_RESET = 2, False
    assert admissions.admit(logon(token, t108="2", t141=None, t34="5"), HERE, NOW)
    assert "must be 2 to 60" in refusal(admissions, logon(token, t108="1"))


def test_has_nothing_to_say_to_who_asks_for_somebody_else(admissions, token):
    for comp_id in ("DLSI", "", None):
        with pytest.raises(NotForUs, match="not PARTNERAPI"):
            admissions.admit(logon(token, t56=comp_id), HERE, NOW)


def test_has_nothing_to_say_to_who_is_nobody_here(admissions, token, settings):
    settings.FIX_SESSIONS = 3
    for comp_id in ("PARTNER004", "WT", "partner001", "PARTNER001\0", "", None):
        with pytest.raises(NotForUs, match="not in the pool"):
            admissions.admit(logon(token, t49=comp_id), HERE, NOW)


def test_stops_looking_after_ten_failures_of_a_login_at_an_address(
    admissions, token, django_assert_num_queries
):
    wrong = logon("x" * 49, t553="acme_co")
    texts = [refusal(admissions, wrong) for _ in range(11)]
    assert texts == [CREDENTIALS_REFUSED] * 10 + [TOO_MANY_FAILURES]
    with django_assert_num_queries(0):
        assert refusal(admissions, logon(token)) == TOO_MANY_FAILURES
    assert admissions.admit(logon(token), ELSEWHERE, NOW)


def test_failures_of_other_logins_lock_no_good_key_of_the_address_out(
    admissions, token
):
    for number in range(15):
        wrong = logon("wrong", t553=f"login{number}")
        assert refusal(admissions, wrong) == CREDENTIALS_REFUSED
    assert admissions.admit(logon(token), HERE, NOW)


def test_only_a_sandbox_takes_sessions_for_tests(admissions, token, settings):
    settings.PARTNER_API_SANDBOX = False
    told = refusal(admissions, logon(token, t464="Y"))
    assert "TestMessageIndicator(464)=Y: this is not a sandbox" in told
    settings.PARTNER_API_SANDBOX = True
    assert admissions.admit(logon(token, t464="Y"), HERE, NOW)


def test_only_failures_of_the_credentials_count(admissions, token):
    for _ in range(30):
        admissions.admit(logon(token), HERE, NOW)
        refusal(admissions, logon(token, t108="1"))


def test_a_failure_is_forgotten_after_its_share_of_a_minute():
    # One is forgotten in ten seconds: nothing while a busy machine counts them.
    failed = FailedLogons(per_minute=6)
    for _ in range(6):
        failed.count("a", HERE)
    assert failed.is_exhausted("a", HERE)
    assert not failed.is_exhausted("b", HERE)
    assert not failed.is_exhausted("a", ELSEWHERE)
    failed.buckets["a", HERE].at -= 10
    assert not failed.is_exhausted("a", HERE)


def test_remembers_a_bounded_number_of_logins():
    failed = FailedLogons(per_minute=1)
    for number in range(REMEMBERED + 5):
        failed.count(f"login {number}", HERE)
    assert len(failed.buckets) == REMEMBERED
    assert not failed.is_exhausted("login 4", HERE)
    assert failed.is_exhausted("login 5", HERE)


@pytest.fixture
def session(admissions, token) -> Admission:
    return admissions.admit(logon(token), HERE, NOW)


def test_a_session_goes_on_while_nothing_changes(session, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert reasons_to_end([session], timezone.now()) == {}
    with django_assert_num_queries(0):
        assert reasons_to_end([], timezone.now()) == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda: ApiKey.objects.get().revoke(NOW), "no longer live"),
        (lambda: Partner.objects.update(is_active=False), "no longer live"),
        (lambda: FixSession.objects.update(enabled=False), SWITCHED_OFF),
        (lambda: FixSession.objects.update(comp_id="PARTNER009"), SWITCHED_OFF),
        (lambda: ApiKey.objects.get().narrow(scopes=[]), NO_MARKET_DATA),
    ],
)
def test_a_session_ends_when_it_may_no_longer_be(session, change, told):
    change()
    [(comp_id, text)] = reasons_to_end([session], timezone.now()).items()
    assert comp_id == "PARTNER001"
    assert told in text


def test_a_session_ends_when_its_key_expires(session):
    at = timezone.now()
    ApiKey.objects.get().end_at(at + timedelta(minutes=1))
    assert reasons_to_end([session], at) == {}
    assert list(reasons_to_end([session], at + timedelta(minutes=1))) == ["PARTNER001"]


def test_grants_follow_the_database(world: World, session, acme):
    listed = str(world.listed.pk)
    assert not session.caller.may_see(listed)
    approved_grant(acme, world.listed)
    reasons_to_end([session], timezone.now())
    assert session.caller.granted_issuers == {listed}
    assert session.caller.may_see(listed)
    approved_grant(acme)
    reasons_to_end([session], timezone.now())
    assert session.caller.may_see(str(world.quiet.pk))
    for grant in IssuerGrant.objects.live().filter(partner=acme):
        grants.end(grant, asker())
    reasons_to_end([session], timezone.now())
    assert not session.caller.may_see(listed)
