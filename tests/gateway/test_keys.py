import logging
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker

from accounts.access import Scope, Unauthenticated
from accounts.keys.models import ApiKey, Partner, checksum, new_secret
from accounts.keys.uses import KeyUses, uses
from partnerapi.gateway import authentication
from partnerapi.gateway.authentication import CACHE_SECONDS
from partnerapi.sandbox.data.approvals import approved_key
from tests.characters import Answer, Ask, World, page_of
from tests.gateway.conftest import WebServer
from tests.owner import as_owner, remove_approvals, remove_keys, tamper

REFUSED = (
    "The API key is malformed, unknown, revoked or expired. Send a live key as "
    "X-Token-Auth: service-apikey_<login>_<secret>."
)
VIEWER = "{ viewer { login partner scopes } }"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """A key's second of grace must not reach from one step of a test into the next."""
    authentication.cache.clear()


def ask(token: str) -> Answer:
    authentication.cache.clear()
    return Ask()(VIEWER, **{"X-Token-Auth": token})


def issue(partner: Partner, **options: Any) -> tuple[ApiKey, str]:
    return approved_key(partner, [Scope.ISSUERS_READ], **options)


def with_typo(token: str) -> str:
    position = len(token) - 20
    other = "a" if token[position] != "a" else "b"
    return token[:position] + other + token[position + 1 :]


def refused_tokens(world: World) -> dict[str, str]:
    key, revoked = issue(world.partner)
    key.revoke(NOW)
    key, expired = issue(world.partner)
    tamper(
        f"UPDATE accounts_apikey SET created_at = '{NOW - timedelta(days=2)}',"
        f" expires_at = '{NOW - timedelta(days=1)}' WHERE id = '{key.pk}'"
    )
    closed = Partner.objects.create(login="closed", name="Closed", is_active=False)
    _, live = issue(world.partner)
    return {
        "empty": "",
        "malformed": "nonsense",
        "without prefix": live.removeprefix("service-apikey_"),
        "with another prefix": live.replace("service-apikey", "service-api-key"),
        "in capitals": live.upper(),
        "with a space": f"{live} ",
        "as a bearer": f"Bearer {live}",
        "cut": live[:-1],
        "with a typo": with_typo(live),
        "of an unknown login": f"service-apikey_nobody_{new_secret()}",
        "of another login": live.replace("broker_one", "reader"),
        "with a wrong secret": f"service-apikey_broker_one_{new_secret()}",
        "revoked": revoked,
        "expired": expired,
        "of an inactive partner": issue(closed)[1],
        "of 8,000 characters": "service-apikey_" + "a_" * 4_000,
    }


def test_refuses_every_dead_key_in_the_same_words(world: World):
    for name, token in refused_tokens(world).items():
        answer = ask(token)
        assert answer.status == 401, name
        assert answer.body == {
            "errors": [
                {
                    "message": REFUSED,
                    "extensions": {
                        "code": "UNAUTHENTICATED",
                        "docUrl": page_of("UNAUTHENTICATED"),
                        "requestId": answer.headers["X-Request-Id"],
                    },
                }
            ]
        }
        assert answer.headers["WWW-Authenticate"] == 'X-Token-Auth realm="Partner API"'


def test_refuses_a_dead_key_even_where_none_is_needed(world: World):
    answer = Ask("service-apikey_nobody_x")("{ __typename }")
    assert (answer.status, answer.code) == (401, "UNAUTHENTICATED")


def test_splits_a_key_at_its_last_underscore(world: World):
    partner = Partner.objects.create(login="a_b__c-d_e", name="Underscores")
    viewer = ask(issue(partner)[1]).data["viewer"]
    assert viewer == {
        "login": "a_b__c-d_e",
        "partner": "Underscores",
        "scopes": ["issuers:read"],
    }


def test_two_live_keys_let_a_partner_rotate(world: World):
    old, old_token = issue(world.partner)
    _, new_token = issue(world.partner)
    assert ask(old_token).data == ask(new_token).data

    old.revoke(NOW)
    assert ask(old_token).status == 401
    assert ask(new_token).status == 200


def test_a_key_lives_until_it_expires(world: World):
    key, token = issue(world.partner, expires_at=datetime.now(UTC) + timedelta(days=1))
    assert ask(token).status == 200
    for moment, live in [(timedelta(0), False), (timedelta(microseconds=-1), True)]:
        assert ApiKey.objects.live(key.expires_at + moment).contains(key) is live


def test_a_key_that_was_believed_is_asked_again_after_a_second(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    now = 0.0
    monkeypatch.setattr(authentication, "monotonic", lambda: now)
    # Other tests believe keys for longer; it was read before they began.
    monkeypatch.setattr(authentication, "CACHE_SECONDS", CACHE_SECONDS)
    key, token = issue(world.partner)
    Ask(token)(VIEWER)
    key.revoke(NOW)
    now = 0.999
    with CaptureQueriesContext(connection) as queries:
        assert Ask(token)(VIEWER).status == 200
    assert len(queries) == 0
    now = 1.0
    assert Ask(token)(VIEWER).status == 401


def test_a_refused_key_is_not_remembered(world: World):
    token = f"service-apikey_broker_one_{new_secret()}"
    Ask(token)(VIEWER)
    assert len(authentication.cache) == 0


def test_notes_the_use_of_a_key_once_a_minute(world: World):
    key, token = issue(world.partner)

    def used(at: datetime) -> tuple[datetime | None, int]:
        with CaptureQueriesContext(connection) as queries:
            ApiKey.objects.authenticate(token, at)
        uses.write()
        key.refresh_from_db()
        return key.last_used_at, len(queries)

    assert used(NOW) == (NOW, 1)
    assert used(NOW + timedelta(seconds=59))[0] == NOW
    assert used(NOW + timedelta(seconds=60))[0] == NOW
    later = NOW + timedelta(seconds=61)
    assert used(later)[0] == later


def test_a_refused_key_leaves_no_mark(world: World):
    key, token = issue(world.partner)
    key.revoke(NOW)
    with pytest.raises(Unauthenticated):
        ApiKey.objects.authenticate(token, NOW)
    uses.write()
    key.refresh_from_db()
    assert key.last_used_at is None


def test_stores_a_digest_that_the_pepper_keys(world: World, settings: Any):
    key, token = issue(world.partner)
    secret = token.rpartition("_")[2]
    digest = bytes(key.secret_digest)
    assert len(digest) == 32
    assert digest != sha256(secret.encode()).digest()
    assert ask(token).status == 200

    settings.PARTNER_API_KEY_PEPPER = "another pepper"
    assert ask(token).status == 401


def test_a_secret_is_43_random_characters_and_their_checksum(world: World):
    _, token = issue(world.partner)
    secret = token.rpartition("_")[2]
    assert len(secret) == 49
    assert secret.isalnum()
    assert secret[43:] == checksum(secret[:43])
    # CRC32 of these is 0 and 0xCBF43926.
    assert checksum("") == "000000"
    assert checksum("123456789") == "3jZRME"


def test_a_typo_is_refused_before_the_database_is_asked(world: World):
    _, token = issue(world.partner)
    with CaptureQueriesContext(connection) as queries:
        assert ask(with_typo(token)).status == 401
    assert len(queries) == 0


def test_an_unknown_login_and_a_wrong_secret_run_the_same_statements(world: World):
    issue(world.partner)
    statements = []
    for login in ("nobody_at", "broker_one"):
        secret = new_secret()
        with CaptureQueriesContext(connection) as queries:
            assert ask(f"service-apikey_{login}_{secret}").status == 401
        # Login and digest differ, and the instant: nothing else does.
        [sql] = [query["sql"].replace(login, "…") for query in queries]
        statements.append(sql.partition(" WHERE ")[0])
        assert sql.count("…") == 1
    assert statements[0] == statements[1]


def test_no_secret_is_ever_logged(
    world: World, caplog: pytest.LogCaptureFixture, settings: Any
):
    caplog.set_level(logging.DEBUG)
    settings.DEBUG = True
    _, token = issue(world.partner)
    wrong = f"service-apikey_broker_one_{new_secret()}"
    for sent in (token, wrong, with_typo(token)):
        answer = ask(sent)
        assert sent.rpartition("_")[2] not in caplog.text
        assert sent.rpartition("_")[2] not in str(answer)


@pytest.fixture
def live_key(web_server: WebServer, django_db_blocker: DjangoDbBlocker) -> Any:
    """A committed key of a partner of its own, which the web server can see."""
    with django_db_blocker.unblock():
        partner = Partner.objects.create(login="rotating", name="Rotating")
        try:
            yield approved_key(partner, [Scope.ISSUERS_READ])
        finally:
            with as_owner():
                remove_keys(partner)
                partner.delete()
                remove_approvals()


class Superseded(KeyUses):
    """Another writer writes all between this one's statement and its end."""

    is_overtaken = False

    def write_digests(self) -> None:
        if not self.is_overtaken:
            self.is_overtaken = True
            self.write()
        super().write_digests()


@pytest.mark.django_db
def test_two_writers_of_uses_do_not_disturb_each_other():
    overtaken = Superseded()
    overtaken.noted[uuid4()] = NOW
    overtaken.write()
    assert overtaken.noted == {}


def test_every_process_refuses_a_revoked_key_within_a_second(
    live_key: tuple[ApiKey, str], web_server: WebServer
):
    key, token = live_key
    body = b'{"query":"{ viewer { login } }"}'
    # Enough requests that each worker has the key in its cache.
    for _ in range(30):
        status, answer = web_server.post(body, **{"X-Token-Auth": token})
        assert (status, answer) == (200, {"data": {"viewer": {"login": "rotating"}}})

    call_command("key", "revoke", str(key.id))
    revoked_at = time.monotonic()
    # Every worker refuses requests sent more than a second after the revocation.
    refused = 0
    while refused < 60:
        sent_at = time.monotonic()
        status, _ = web_server.post(body, **{"X-Token-Auth": token})
        if sent_at > revoked_at + 1:
            assert status == 401
            refused += 1


def test_the_server_logs_no_secret(live_key: tuple[ApiKey, str], web_server: WebServer):
    _, token = live_key
    for sent in (token, f"service-apikey_rotating_{new_secret()}"):
        web_server.post(b'{"query":"{ viewer { login } }"}', **{"X-Token-Auth": sent})
        assert sent.rpartition("_")[2] not in web_server.log.read_text()
