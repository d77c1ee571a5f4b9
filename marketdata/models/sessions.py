"""FIX sessions: the partner of each CompID, and the state of its connection."""

from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q

from accounts.keys.models import Partner
from partnerapi.core.constraints import check

USUAL_SESSIONS, MOST_SESSIONS = 2, 5
"""CompIDs that a partner is given unless asked otherwise, and at most."""
SILENT = timedelta(seconds=150)
"""After so long a session is not heard of: two heartbeats of a minute, and half."""


def pool() -> list[str]:
    """The CompIDs whose Logons the acceptor takes, bound to a partner or not."""
    return [f"PARTNER{number:03d}" for number in range(1, settings.FIX_SESSIONS + 1)]


class NotBound(Exception):
    """No more CompIDs for this partner. The message has the reason and the remedy."""


class FixSessionQuerySet(models.QuerySet["FixSession"]):
    def bind(
        self, partner: Partner, count: int = 1, is_drop_copy: bool = False
    ) -> list["FixSession"]:
        """Give a partner the first free CompIDs of the pool: all of them or none.

        Raises:
            NotBound
        """
        with transaction.atomic():
            # One transaction at a time per partner, so that it never exceeds its limit.
            Partner.objects.select_for_update().get(pk=partner.pk)
            has = self.filter(partner=partner).count()
            if has + count > MOST_SESSIONS:
                raise NotBound(
                    f"{partner.login} has {has} CompIDs and may have "
                    f"{MOST_SESSIONS}; request {MOST_SESSIONS - has} or fewer."
                )
            taken = set(self.values_list("comp_id", flat=True))
            bound: list[FixSession] = []
            for comp_id in pool():
                if len(bound) == count:
                    break
                if comp_id in taken:
                    continue
                # If another transaction is binding it, take the next one.
                session, created = self.get_or_create(
                    comp_id=comp_id,
                    defaults={"partner": partner, "is_drop_copy": is_drop_copy},
                )
                if created:
                    bound.append(session)
            if len(bound) < count:
                raise NotBound(
                    f"The pool of {settings.FIX_SESSIONS} CompIDs has only "
                    f"{len(bound)} left; raise FIX_SESSIONS and restart the acceptor."
                )
        return bound


def validate_network(text: str) -> None:
    try:
        ip_network(text)
    except ValueError as error:
        raise ValidationError(f"No IP network: {error}.") from None


class NetworkField(models.Field):
    """An IP network as text, PostgreSQL's cidr; an address is a network of one."""

    default_validators = [validate_network]

    def db_type(self, connection: Any) -> str:
        return "cidr"

    def formfield(self, **options: Any) -> Any:
        # A form would say that an item is wrong, but not why.
        return super().formfield(**options | {"validators": [validate_network]})


class FixSession(models.Model):
    """A CompID of the acceptor's pool, bound to an integration account.

    The acceptor knows every CompID of its pool from its start; binding one needs no
    restart. The columns about the connection are only for display.
    """

    comp_id = models.CharField(
        "CompID",
        max_length=20,
        unique=True,
        help_text="SenderCompID (tag 49) that the partner sends.",
    )
    partner = models.ForeignKey(Partner, models.PROTECT, related_name="fix_sessions")
    enabled = models.BooleanField(default=True, help_text="Off: its Logon is refused.")
    book_sequence = models.BooleanField(
        "BookSequence(5083)",
        default=False,
        help_text="Whether W and X carry the book's sequence number, in a tag outside "
        "FIX 4.4.",
    )
    is_drop_copy = models.BooleanField(
        "drop copy",
        default=False,
        db_default=False,
        editable=False,
        help_text="Whether it gets reports of the partner's orders instead of market "
        "data.",
    )
    sources = ArrayField(
        NetworkField(),
        verbose_name="source networks",
        default=list,
        db_default=[],
        blank=True,
        help_text="Networks from which its Logon is accepted, such as 203.0.113.0/24, "
        "separated by commas; none: any.",
    )
    created_at = models.DateTimeField(db_default=models.functions.Now(), editable=False)
    connected_since = models.DateTimeField(null=True, editable=False)
    last_heartbeat_at = models.DateTimeField(null=True, editable=False)
    last_logout_reason = models.CharField(max_length=200, blank=True, editable=False)
    messages_sent = models.BigIntegerField(
        default=0, editable=False, help_text="Since the session was created."
    )

    objects = FixSessionQuerySet.as_manager()

    class Meta:
        ordering = ["comp_id"]
        verbose_name = "FIX session"
        constraints = [
            check(
                "fix_session_comp_id_is_upper_case", Q(comp_id__regex=r"^[A-Z0-9]+$")
            ),
        ]

    def __str__(self):
        return self.comp_id

    def may_come_from(self, address: IPv4Address | IPv6Address) -> bool:
        """Whether its Logon is accepted from this address."""
        networks = [ip_network(source) for source in self.sources]
        return not networks or any(address in network for network in networks)

    def health(self, at: datetime) -> str:
        """The state of the session, in words for people."""
        if not self.enabled:
            return "switched off"
        if self.connected_since is None:
            return "not connected"
        heard = max(
            self.last_heartbeat_at or self.connected_since, self.connected_since
        )
        return "silent" if heard < at - SILENT else "connected"

    def switch(self, enabled: bool) -> bool:
        """Allow or refuse its Logons; False if nothing changed.

        A live session is ended by the acceptor within seconds.
        """
        changed = FixSession.objects.filter(pk=self.pk, enabled=not enabled)
        return bool(changed.update(enabled=enabled))
