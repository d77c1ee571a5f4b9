"""Documents for partners and their clients, kept as they were issued."""

import uuid_utils.compat as uuid
from django.db import models
from django.db.models import F, Q

from accounts.access import Caller, Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from partnerapi.core.constraints import check


class DocumentKind(models.TextChoices):
    CONTRACT_NOTE = "CONTRACT_NOTE", "Contract note"
    STATEMENT = "STATEMENT", "Statement"
    INVOICE = "INVOICE", "Invoice"


class IssuedDocumentQuerySet(models.QuerySet["IssuedDocument"]):
    def visible_to(self, caller: Caller | None) -> "IssuedDocumentQuerySet":
        """Those of the caller and its clients; none without the scope."""
        if caller is None or Scope.DOCUMENTS_READ not in caller.scopes:
            return self.none()
        return self.filter(partner_id=caller.partner_id)


class IssuedDocument(models.Model):
    """A contract note or a statement of an account, or an invoice of a partner.

    It never changes: `trading_issue_document` alone writes it, from `content`, which is
    JSON; `pdf` shows the same. `begins` and `ends` are days in MARKET_TIME_ZONE, both
    included.
    """

    Kind = DocumentKind

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    kind = models.CharField(max_length=13, choices=DocumentKind)
    number = models.BigIntegerField(help_text="From 1 without gaps, of its kind.")
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    account = models.ForeignKey(
        Account, models.PROTECT, null=True, related_name="+", db_index=False,
        db_constraint=False, help_text="Empty: an invoice.",
    )  # fmt: skip
    begins = models.DateField()
    ends = models.DateField()
    fee_net = models.BigIntegerField(
        help_text="Fees in the period, less those that came back; euro cents."
    )
    fee_vat = models.BigIntegerField(help_text="Their value added tax, euro cents.")
    content = models.BinaryField()
    content_digest = models.BinaryField(max_length=32, help_text="SHA-256.")
    pdf = models.BinaryField()
    pdf_digest = models.BinaryField(max_length=32, help_text="SHA-256.")
    issued_at = models.DateTimeField()

    objects = IssuedDocumentQuerySet.as_manager()

    class Meta:
        constraints = [
            check(
                "issued_document_is_of_an_account_unless_an_invoice",
                Q(kind="INVOICE", account__isnull=True)
                | Q(kind__in=["CONTRACT_NOTE", "STATEMENT"], account__isnull=False),
            ),
            check("issued_document_ends_after_it_begins", Q(ends__gte=F("begins"))),
            models.UniqueConstraint(
                fields=["kind", "number"], name="issued_document_has_its_own_number"
            ),
            models.UniqueConstraint(
                fields=["account", "kind", "begins"],
                name="account_document_is_issued_once",
            ),
            models.UniqueConstraint(
                fields=["partner", "begins"],
                condition=Q(kind="INVOICE"),
                name="invoice_is_issued_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "issued_at", "id"], name="account_documents"
            ),
            models.Index(
                fields=["partner", "issued_at", "id"],
                condition=Q(kind="INVOICE"),
                name="partner_invoices",
            ),
        ]

    def __str__(self):
        return f"{self.get_kind_display()} {self.number}"
