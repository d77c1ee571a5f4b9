"""The exports that partners have asked for, and their files."""

from collections.abc import Callable

import uuid_utils.compat as uuid
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.db.models.lookups import LessThanOrEqual

from accounts.access import Caller
from accounts.keys.models import Partner
from issuers.models import IssuerGrant, Token
from partnerapi.core.constraints import check
from partnerapi.core.database import delete_in_batches
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.exports.connections import CONNECTIONS, ExportedConnection

MOST_AT_WORK = 2
"""Exports of one partner that are written at the same time."""
MEMBER_BYTES = 1024 * 1024


class ExportQuerySet(models.QuerySet["Export"]):
    def of_partner(self, caller: Caller) -> "ExportQuerySet":
        return self.filter(partner_id=caller.partner_id)

    def visible_to(self, caller: Caller | None) -> "ExportQuerySet":
        """The partner's exports, as far as the key's scopes and grants go now."""
        if caller is None:
            return self.none()
        read = {c for c, e in CONNECTIONS.items() if caller.scopes.issuperset(e.scopes)}
        exports = self.of_partner(caller).filter(connection__in=read)
        if caller.granted_issuers is None:
            return exports
        open_to_all = {c for c in read if not CONNECTIONS[c].needs_grant}
        showing = {c for c in read if CONNECTIONS[c].shows_granted}
        tokens = Token.objects.visible_to(caller).values("pk")
        ended = IssuerGrant.objects.filter(
            partner=OuterRef("partner"), ended_at__gt=OuterRef("created_at")
        )
        return exports.exclude(Q(connection__in=showing) & Exists(ended)).filter(
            Q(issuer_id__in=caller.granted_issuers)
            | Q(connection__in=open_to_all, token_id__isnull=True)
            | Q(connection__in=open_to_all, token_id__in=tokens)
        )

    def prune(self, advance: Callable[[int], object] = lambda done: None) -> int:
        """Delete what is no longer kept, in committed batches; return how many rows.

        Files go when their export has expired or failed, and what is known of an
        export goes after 30 days. `advance` gets the size of each batch.
        """
        return delete_in_batches(PRUNE_EXPORTS, [MEMBERS_PRUNED_AT_ONCE], advance)


PRUNE_EXPORTS = "SELECT partnerapi_prune_exports(%s)"
MEMBERS_PRUNED_AT_ONCE = 100


class Export(models.Model):
    """A connection that a partner wants as a file: as it was asked for, and written.

    Its file is its members, one behind the other; they are counted with it.
    """

    Connection = ExportedConnection

    class Status(models.TextChoices):
        WAITING = "WAITING", "Waiting"
        RUNNING = "RUNNING", "Running"
        READY = "READY", "Ready"
        FAILED = "FAILED", "Failed"
        EXPIRED = "EXPIRED", "Expired"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="+", db_index=False
    )
    connection = models.CharField(max_length=19, choices=ExportedConnection)
    # What these name may be gone before the export is.
    issuer_id = models.UUIDField(null=True)
    token_id = models.UUIDField(null=True)
    account_id = models.UUIDField(null=True)
    date = models.DateTimeField(null=True, help_text="The instant of its rows.")
    last_sequence = models.BigIntegerField(
        null=True, help_text="The last transaction that it contains."
    )
    status = models.CharField(
        max_length=7, choices=Status, default=Status.WAITING, db_default=Status.WAITING
    )
    place = models.PositiveSmallIntegerField(
        null=True, help_text="Its place among the partner's running exports."
    )
    cursor = models.TextField(null=True, help_text="Cursor of the last row written.")
    is_written = models.BooleanField(
        default=False,
        help_text="Every row is written, though some may not be charged yet.",
    )
    members = models.PositiveIntegerField(default=0)
    rows = models.PositiveBigIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    charged = models.PositiveBigIntegerField(
        default=0, help_text="Points charged to the partner's budget."
    )
    attempts = models.PositiveSmallIntegerField(
        default=0, help_text="Attempts since its last page was written."
    )
    due_at = models.DateTimeField(
        db_default=Now(), help_text="When a worker takes it up, or tries again."
    )
    reason = models.CharField(
        max_length=REASON_LENGTH, null=True, help_text="Why it failed."
    )
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    objects = ExportQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["partner", "place"], name="exports_at_work_have_their_places"
            ),
            check(
                "export_has_a_place_while_it_runs",
                Q(
                    status="RUNNING",
                    place__isnull=False,
                    place__gte=1,
                    place__lte=MOST_AT_WORK,
                )
                | Q(
                    status__in=["WAITING", "READY", "FAILED", "EXPIRED"],
                    place__isnull=True,
                ),
            ),
            check(
                "export_names_what_it_is_of",
                Q(
                    connection__in=[
                        "HOLDERS",
                        "ARTICLES",
                        "FINANCIAL_DATA",
                        "LEGACY_SHAREHOLDERS",
                    ],
                    issuer_id__isnull=False,
                )
                | Q(
                    connection="TRANSACTIONS",
                    issuer_id__isnull=False,
                    token_id__isnull=False,
                    last_sequence__isnull=False,
                )
                | Q(
                    connection__in=["PRICES", "TRADES", "TRADING_DAYS"],
                    issuer_id__isnull=False,
                    token_id__isnull=False,
                )
                | Q(connection="TOKENS", token_id__isnull=True, account_id__isnull=True)
                | Q(
                    connection__in=[
                        "STATUS_CHANGES",
                        "CASH_ENTRIES",
                        "WITHDRAWALS",
                        "DOCUMENTS",
                    ],
                    account_id__isnull=False,
                )
                | Q(
                    connection__in=["ORDERS", "EXECUTIONS", "POSITIONS"],
                    issuer_id__isnull=True,
                )
                | Q(
                    connection__in=[
                        "ISSUERS",
                        "MARKETS",
                        "INDUSTRY_BENCHMARKS",
                        "ACCOUNTS",
                        "REFUSED_ORDERS",
                        "INVOICES",
                        "EVENTS",
                        "GRANTS",
                    ],
                    issuer_id__isnull=True,
                    account_id__isnull=True,
                ),
            ),
            check(
                "export_is_ready_when_it_is_written",
                ~Q(status="READY")
                | Q(is_written=True, expires_at__isnull=False, date__isnull=False),
            ),
            check(
                "export_failed_for_a_reason",
                ~Q(status="FAILED") | Q(reason__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["partner", "status"], name="exports_of_partner"),
            models.Index(
                fields=["status", "due_at"],
                condition=Q(status__in=["WAITING", "RUNNING"]),
                name="exports_to_write",
            ),
        ]

    def __str__(self):
        return f"{self.connection} {self.id}"


class ExportMember(models.Model):
    """A part of an export's file: a whole gzip file of whole lines."""

    export = models.ForeignKey(
        Export, models.DO_NOTHING, related_name="parts", db_index=False
    )
    number = models.PositiveIntegerField(help_text="From 1, without gaps.")
    position = models.PositiveBigIntegerField(
        help_text="Bytes of the file before this part."
    )
    rows = models.PositiveIntegerField()
    data = models.BinaryField(max_length=MEMBER_BYTES)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["export", "number"], name="export_members_are_numbered"
            ),
            check(
                "export_member_is_small",
                LessThanOrEqual(
                    models.Func(
                        models.F("data"),
                        function="octet_length",
                        output_field=models.IntegerField(),
                    ),
                    MEMBER_BYTES,
                ),
            ),
        ]

    def __str__(self):
        return f"{self.export_id} {self.number}"
