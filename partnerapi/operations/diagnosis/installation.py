"""The settings of this installation, as far as they can be judged by themselves."""

import os
from collections.abc import Iterator

from django.conf import settings
from django.utils import timezone

from accounts.access import Unauthenticated
from accounts.history.admin import may_decide
from accounts.keys.models import ApiKey
from accounts.passkeys.models import Passkey
from accounts.people.models import User
from partnerapi.operations.diagnosis.findings import Finding, State

MOST_NAMED = 5
LEAST_LENGTH, LEAST_KINDS = 50, 5
"""Of a secret's characters, and of how many different ones it is made."""
MAKE = "python3 -c 'import secrets; print(secrets.token_urlsafe(50))'"


def settings_stand() -> Iterator[Finding]:
    if not settings.DATABASE_URL:
        yield Finding(
            "settings", State.FAILED,
            "DATABASE_URL is not set, and there is no sandbox in "
            f"{settings.STATE_DIRECTORY}",
            "Set it as the page Settings describes, or run manage.py up.",
        )  # fmt: skip
    elif settings.REMOVED_BUT_SET:
        for name in settings.REMOVED_BUT_SET:
            yield Finding(
                "settings", State.WARNING,
                f"{name} is set but no longer used: {settings.REMOVED[name]}",
                f"Unset {name}.",
            )  # fmt: skip
    else:
        kind = "sandbox" if settings.PARTNER_API_SANDBOX else "production"
        yield Finding("settings", State.OK, f"They are valid for a {kind}")


def secrets() -> Iterator[Finding]:
    for name in ("SECRET_KEY", "PARTNER_API_KEY_PEPPER"):
        value = getattr(settings, name)
        if len(value) < LEAST_LENGTH or len(set(value)) < LEAST_KINDS:
            yield Finding(
                f"secret {name}", State.FAILED,
                f"{name} has {len(value)} characters, {len(set(value))} of them "
                f"different: it can be guessed. Use {LEAST_LENGTH} random characters",
                f"Generate a new one: {MAKE}. A new pepper ends all API keys.",
            )  # fmt: skip
        else:
            yield Finding(f"secret {name}", State.OK, "It cannot be guessed")


def statements() -> Iterator[Finding]:
    """Whether the register's statements can be signed and kept."""
    where, key = settings.PARTNER_API_STATEMENTS, settings.PARTNER_API_STATEMENT_KEY
    if bool(where) == bool(key):
        says = "They are signed each night" if key else "No statements are written"
        yield Finding("statements", State.OK, says)
        return
    lacks = "PARTNER_API_STATEMENT_KEY" if where else "PARTNER_API_STATEMENTS"
    yield Finding(
        "statements", State.FAILED,
        f"{lacks} is not set: no statements of the register are written",
        f"Set {lacks} as the page Settings describes; if there are statements "
        "already, use the key that signed them.",
    )  # fmt: skip


def passkeys() -> Iterator[Finding]:
    """Whether those who decide can sign what they decide."""
    domain = settings.PARTNER_API_PASSKEY_DOMAIN
    if domain == "localhost":
        yield Finding(
            "passkeys", State.FAILED,
            "PARTNER_API_PASSKEY_DOMAIN is localhost: no one can sign a decision in "
            "the back office",
            "Set it to the host name under which staff open the back office.",
        )  # fmt: skip
        return
    counting = Passkey.objects.counting().filter(domain=domain).values("person")
    unable = User.objects.filter(is_staff=True, is_active=True).exclude(pk__in=counting)
    names = sorted(str(user) for user in unable if may_decide(user))
    if names:
        yield Finding(
            "passkeys", State.WARNING,
            f"{len(names)} who may decide have no passkey that counts: "
            f"{', '.join(names[:MOST_NAMED])}",
            "They add one on the page Passkeys of the back office; see Passkeys in the "
            "document Register.",
            {"without": len(names)},
        )  # fmt: skip
    else:
        yield Finding("passkeys", State.OK, "All who may decide have one that counts")


def own_key() -> str:
    """The API key that checks may use; empty where there is none."""
    return os.environ.get("FIX_KEY") or settings.PARTNER_API_SANDBOX_KEY


def pepper() -> Iterator[Finding]:
    """Whether a key that was issued is still known."""
    try:
        ApiKey.objects.authenticate(own_key(), timezone.now())
    except Unauthenticated:
        yield Finding(
            "pepper", State.FAILED,
            "The key in FIX_KEY, or PARTNER_API_SANDBOX_KEY, is refused",
            "If `key list` shows it as live, PARTNER_API_KEY_PEPPER is not the one "
            "with which it was issued: restore that pepper.",
        )  # fmt: skip
    else:
        yield Finding("pepper", State.OK, "The API key is accepted")
