from uuid import UUID

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.keys.models import ApiKey, Partner
from partnerapi.core.commands import DRY_RUN, DryRunCommand


class Command(DryRunCommand):
    help = """Revoke an API key: every process rejects it within a second, permanently.

Give the key's id, or its partner's login and the key's last four characters. key list
shows both.

examples:
  manage.py key revoke 019376a2-5c1e-7b04-9c55-2f0e6f6f1d11
  manage.py key revoke acme x7Qp
  manage.py key revoke acme x7Qp --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument("key", metavar="ID|LOGIN", help="the key's id, or a login")
        parser.add_argument(
            "last_four", nargs="?", help="after a login: the key's last four characters"
        )

    def handle(self, *, key, last_four, dry_run, **options):
        api_key = key_by_id(key) if last_four is None else key_of(key, last_four)
        named = f"Key {api_key.id} (…{api_key.last_four}) of {api_key.partner.login}"
        if api_key.revoked_at:
            raise CommandError(
                f"{named} was already revoked at "
                f"{api_key.revoked_at:%Y-%m-%d %H:%M:%S} UTC. Nothing to do."
            )
        if dry_run:
            return f"{named} would be revoked{DRY_RUN}"
        api_key.revoke(timezone.now())
        return f"{named} is revoked; every process rejects it within one second."


def key_by_id(text):
    try:
        return ApiKey.objects.select_related("partner").get(id=UUID(text))
    except ValueError:
        raise CommandError(
            f"{text} is not the id of a key. Give the id that key list shows, "
            "or a login and the key's last four characters."
        ) from None
    except ApiKey.DoesNotExist:
        raise CommandError(
            f"There is no key {text}. key list shows all keys."
        ) from None


def key_of(login, last_four):
    if not Partner.objects.filter(login=login).exists():
        raise CommandError(f"There is no integration account {login}.")
    keys = list(
        ApiKey.objects.select_related("partner").filter(
            partner__login=login, last_four=last_four
        )
    )
    if not keys:
        raise CommandError(
            f"{login} has no key ending in {last_four}. See: key list --partner {login}"
        )
    live = [key for key in keys if key.revoked_at is None]
    if len(live) > 1:
        ids = ", ".join(str(key.id) for key in live)
        raise CommandError(
            f"{len(live)} keys of {login} end in {last_four}: {ids}. Give the id."
        )
    return (live or keys)[0]
