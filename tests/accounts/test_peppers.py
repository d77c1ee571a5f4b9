"""One pepper follows another, and no key notices."""

import io
import secrets

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts import peppers
from accounts.access import Scope, Unauthenticated
from accounts.key_uses import uses
from accounts.models import ApiKey, Partner, Pepper
from partnerapi.core.starting import StartRefused
from partnerapi.sandbox.data.approvals import approved_key
from tests.owner import tamper

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme(settings) -> Partner:
    settings.PARTNER_API_KEY_PEPPER = "old"
    settings.PARTNER_API_SANDBOX = False
    uses.noted.clear()
    uses.digests.clear()
    return Partner.objects.create(login="acme", name="Acme")


def issue(partner: Partner) -> str:
    return approved_key(partner, [Scope.ISSUERS_READ])[1]


def use(token: str) -> ApiKey:
    key = ApiKey.objects.authenticate(token, timezone.now())
    uses.write()
    return ApiKey.objects.get(pk=key.pk)


def spread() -> None:
    """Let an hour pass since the peppers became known."""
    # Not ten minutes and a second: the transaction may have begun a while before.
    tamper("UPDATE accounts_pepper SET first_used_at = first_used_at - interval '1h'")


def listed() -> str:
    output = io.StringIO()
    call_command("list_peppers", stdout=output)
    return output.getvalue()


def test_no_key_is_refused_while_peppers_change(acme, settings):
    before = issue(acme)
    peppers.check_peppers()
    first = issue(acme)
    spread()

    settings.PARTNER_API_KEY_PEPPER = "new,old"
    peppers.check_peppers()
    # Other processes may know the old one only, for ten minutes.
    early = issue(acme)
    for token in (before, first, early):
        assert use(token).pepper_id == peppers.known()[0].id
    settings.PARTNER_API_KEY_PEPPER = "old"
    for token in (before, first, early):
        use(token)

    settings.PARTNER_API_KEY_PEPPER = "new,old"
    spread()
    late = issue(acme)
    for token in (before, first, early, late):
        assert use(token).pepper_id == peppers.known()[1].id
    assert "keys new digests: 4 live keys, last used 2" in listed().splitlines()[0]
    assert listed().splitlines()[1].endswith(": no live keys")

    settings.PARTNER_API_KEY_PEPPER = "new"
    for token in (before, first, early, late):
        use(token)
    settings.PARTNER_API_KEY_PEPPER = "old"
    with pytest.raises(Unauthenticated):
        use(first)


def test_a_digest_that_changed_meanwhile_is_left_alone(acme, settings):
    peppers.check_peppers()
    token = issue(acme)
    spread()
    settings.PARTNER_API_KEY_PEPPER = "new,old"
    peppers.check_peppers()
    spread()
    key = ApiKey.objects.authenticate(token, timezone.now())
    other = secrets.token_bytes(32)
    tamper(f"UPDATE accounts_apikey SET secret_digest = '\\x{other.hex()}'")
    uses.write()
    key.refresh_from_db()
    assert bytes(key.secret_digest) == other


def test_a_pepper_that_the_database_does_not_know_starts_nothing(acme, settings):
    peppers.check_peppers()
    settings.PARTNER_API_KEY_PEPPER = "mistyped"
    with pytest.raises(StartRefused, match="is not the one that keyed the API keys"):
        peppers.check_peppers()
    assert Pepper.objects.count() == 1
    settings.PARTNER_API_KEY_PEPPER = "new, old"
    peppers.check_peppers()
    assert Pepper.objects.count() == 2


def test_keys_of_a_pepper_that_was_taken_out_are_told(acme, settings):
    peppers.check_peppers()
    issue(acme)
    settings.PARTNER_API_KEY_PEPPER = "new,old"
    peppers.check_peppers()
    settings.PARTNER_API_KEY_PEPPER = "new"
    assert "not listed, so refused: 1 live keys, last used never" in listed()
