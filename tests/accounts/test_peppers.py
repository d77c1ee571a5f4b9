"""One pepper replaces another, and every key keeps working."""

import io
import secrets
from contextlib import suppress

import pytest
from django.core.management import call_command
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.utils import timezone

from accounts.access import Scope, Unauthenticated
from accounts.history.models import RowChange
from accounts.keys import peppers
from accounts.keys.models import ApiKey, Partner, Pepper
from accounts.keys.uses import MOVE, uses
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
    """Move the time when the peppers became known an hour into the past."""
    # Not ten minutes and a second: the transaction may have begun a while before.
    tamper("UPDATE accounts_pepper SET first_used_at = first_used_at - interval '1h'")


def listed() -> str:
    output = io.StringIO()
    call_command("key", "peppers", stdout=output)
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
        assert use(token).pepper_id == peppers.known_peppers()[0].id
    settings.PARTNER_API_KEY_PEPPER = "old"
    for token in (before, first, early):
        use(token)

    settings.PARTNER_API_KEY_PEPPER = "new,old"
    spread()
    late = issue(acme)
    for token in (before, first, early, late):
        assert use(token).pepper_id == peppers.known_peppers()[1].id
    assert (
        "used for new digests: 4 active keys, last used 2"
    ) in listed().splitlines()[0]
    assert listed().splitlines()[1].endswith(": no active keys")

    settings.PARTNER_API_KEY_PEPPER = "new"
    for token in (before, first, early, late):
        use(token)
    settings.PARTNER_API_KEY_PEPPER = "old"
    with pytest.raises(Unauthenticated):
        use(first)


def by_release_before(token: str, pepper: Pepper | None) -> ApiKey:
    """The key, as a release that keyed secrets alone has left it."""
    login, _, secret = token.removeprefix("service-apikey_").rpartition("_")
    alone = peppers.digests(login, secret)[1].digest
    bound = peppers.digests(login, secret)[0].digest
    named = "NULL" if pepper is None else str(pepper.pk)
    tamper(
        f"UPDATE accounts_apikey SET secret_digest = '\\x{alone.hex()}',"
        f" pepper_id = {named} WHERE secret_digest = '\\x{bound.hex()}'"
    )
    return ApiKey.objects.get(secret_digest=alone)


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_key_of_the_release_before_is_bound_when_it_is_used(acme, is_noted: bool):
    [_, alone] = peppers.canaries()
    before = Pepper.objects.create(digest=alone) if is_noted else None
    peppers.check_peppers()
    token = issue(acme)
    key = by_release_before(token, before)
    if is_noted:
        tamper(
            "UPDATE accounts_pepper SET first_used_at = now() - interval '1 day'"
            " WHERE NOT is_bound"
        )
        # Processes of the release before may still serve: they know this one.
        spread()
        assert use(token).pepper == before
        assert ", of secrets alone, used for new digests: 1 active keys" in listed()
    tamper("UPDATE accounts_pepper SET first_used_at = now() - interval '25 hours'")
    moved = use(token)
    assert moved.pepper is not None
    assert moved.pepper.is_bound
    assert moved.secret_digest != key.secret_digest
    assert use(token) == moved
    last = RowChange.objects.filter(row_id=str(key.pk)).latest("id")
    assert last.after == {"secret_digest": "…", "pepper_id": moved.pepper_id}


def test_each_pepper_leaves_a_row_of_history(acme):
    peppers.check_peppers()
    [pepper] = Pepper.objects.all()
    [kept] = RowChange.objects.filter(table_name="accounts_pepper")
    assert (kept.row_id, kept.after["digest"]) == (str(pepper.pk), "…")


class Thief:
    """A thief with its own key, the application's role and the pepper."""

    def __init__(self, acme: Partner) -> None:
        peppers.check_peppers()
        [self.pepper] = Pepper.objects.all()
        self.other = Partner.objects.create(login="rich", name="Rich")
        self.token, rich = issue(acme), issue(self.other)
        self.secret = self.token.rpartition("_")[2]
        self.own = ApiKey.objects.get(partner=acme)
        self.key = ApiKey.objects.get(partner=self.other)
        self.entry = f"service-apikey_rich_{self.secret}"
        self.wanted = peppers.digests("rich", self.secret)
        self.rich = rich

    def move(self, pepper: int, opening: bytes, digest: bytes) -> None:
        with connection.cursor() as cursor:
            cursor.execute(MOVE, [pepper, [self.key.pk], [opening], [digest]])

    def set(self, **columns: object) -> None:
        ApiKey.objects.filter(pk=self.key.pk).update(**columns)

    def another_pepper(self, **columns: object) -> Pepper:
        return Pepper.objects.create(digest=secrets.token_bytes(32), **columns)


THEFTS = {
    "digest": lambda o: o.set(secret_digest=o.wanted[0].digest),
    "digest of the secret alone": lambda o: o.set(
        secret_digest=o.wanted[1].digest, pepper=None
    ),
    "digest by another pepper": lambda o: o.set(
        secret_digest=o.wanted[0].digest, pepper=o.another_pepper()
    ),
    "no pepper": lambda o: o.set(pepper=None),
    "digest of one's own": lambda o: (
        o.set(secret_digest=secrets.token_bytes(32), pepper=o.another_pepper()),
        o.set(secret_digest=o.own.secret_digest),
    ),
    "move with what is stored": lambda o: o.move(
        o.another_pepper(is_bound=True).pk,
        bytes(o.key.secret_digest),
        o.wanted[0].digest,
    ),
    "move with one's own opening": lambda o: o.move(
        o.another_pepper(is_bound=True).pk, o.wanted[0].opening, o.wanted[0].digest
    ),
    "move to a pepper of secrets alone": lambda o: o.move(
        o.another_pepper().pk, o.wanted[1].opening, o.wanted[1].digest
    ),
    "move to no pepper": lambda o: o.move(
        0, bytes(o.key.secret_digest), o.wanted[1].digest
    ),
}


@pytest.mark.parametrize("theft", THEFTS.values(), ids=THEFTS.keys())
def test_no_key_gets_another_s_secret(acme, theft):
    thief = Thief(acme)
    with suppress(IntegrityError, ProgrammingError), transaction.atomic():
        theft(thief)
    thief.key.refresh_from_db()
    with pytest.raises(Unauthenticated):
        use(thief.entry)
    assert use(thief.rich).pk == thief.key.pk
    assert use(thief.token).pk == thief.own.pk


def test_a_digest_is_of_its_login(acme):
    """Not even the owner's copy of a digest opens another partner's key."""
    thief = Thief(acme)
    digest = bytes(thief.own.secret_digest).hex()
    tamper(
        f"UPDATE accounts_apikey SET secret_digest = sha256('{thief.own.pk}')"
        f" WHERE id = '{thief.own.pk}'",
        f"UPDATE accounts_apikey SET secret_digest = '\\x{digest}'"
        f" WHERE id = '{thief.key.pk}'",
    )
    with pytest.raises(Unauthenticated):
        use(thief.entry)


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
    with pytest.raises(StartRefused, match="does not match the API keys"):
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
    assert "not in the setting, so rejected: 1 active keys, last used never" in listed()
