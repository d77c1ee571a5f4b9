"""Legacy shareholders, and their delivery as tokens."""

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import models, transaction

from accounts.admin.users import user_columns
from accounts.four_eyes import NotApproved, file_request, is_needed
from accounts.models import ApprovalKind
from issuers.legacy import delivery
from issuers.legacy.approvals import delivery_content, delivery_title
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Issuer
from issuers.register.models import LedgerTransaction
from partnerapi.core.backoffice import (
    PrefixSearchAdmin,
    ProtectedAdmin,
    confirm,
    money,
)
from partnerapi.core.lock_waits import LockTimeout

NO_REASON = "Chosen in the list of legacy shareholders"
MOST_LINES = 500
"""Django reads no more fields of a form, and a request should do no more work."""


class LegacyShareholderForm(forms.ModelForm):
    def clean_replaces(self):
        """Let a line replace only one whose delivery was reversed."""
        wrong = self.cleaned_data["replaces"]
        if wrong is None:
            return wrong
        if wrong.status == LegacyShareholder.Status.PENDING:
            raise forms.ValidationError(
                "This line is PENDING: correct it, or leave it out."
            )
        if not LedgerTransaction.objects.filter(
            token=wrong.token_id, reverses=wrong.ledger_seq
        ).exists():
            raise forms.ValidationError(
                "The delivery of this line stands; reverse it first "
                f"(entry {wrong.ledger_seq})."
            )
        return wrong


@admin.register(LegacyShareholder)
class LegacyShareholderAdmin(PrefixSearchAdmin, ProtectedAdmin):
    form = LegacyShareholderForm
    protection = "A DELIVERED line is for ever; a PENDING one can be deleted here."
    list_display = [
        "user", "issuer", "token", "status", "number_of_shares", "price",
        "created_at",
    ]  # fmt: skip
    list_select_related = ["user", "issuer", "token"]
    list_filter = ["status"]
    search_fields = user_columns("user__")
    phrase_fields = ("user__company_name",)
    search_help_text = (
        "An issuer's whole slug, the beginning of a holder's email address or name, "
        "or both"
    )
    ordering = ["-id"]
    autocomplete_fields = ["issuer", "user", "token"]
    raw_id_fields = ["replaces"]
    readonly_fields = [
        "id", "status", "created_at", "delivered_at", "delivered_by", "ledger_entry"
    ]  # fmt: skip
    actions = ["mark_delivered"]
    price = money("price_cents", "price")

    @admin.display(description="entry in the ledger")
    def ledger_entry(self, line):
        return line.ledger_seq

    def has_change_permission(self, request, obj=None):
        if obj is not None and obj.status == LegacyShareholder.Status.DELIVERED:
            return False
        return super().has_change_permission(request, obj)

    @admin.action(description="Mark DELIVERED", permissions=["change"])
    def mark_delivered(self, request, queryset):
        """Ask first; when staff confirm, deliver the selected lines."""
        if (count := queryset.count()) > MOST_LINES:
            reason = (
                f"{count:,} lines are selected; at most {MOST_LINES} are delivered "
                "here. manage.py deliver_legacy_shares delivers all of an issuer's."
            )
            self.message_user(request, reason, messages.ERROR)
            return None
        source = request.POST.get("source")
        if source not in DeliveryJob.Source.values:
            return self.confirm_delivery(request, queryset)
        ids = list(queryset.order_by("pk").values_list("pk", flat=True))
        pending = list(self.pending(queryset).values_list("pk", flat=True))
        warnings = delivery.unpriced(pending)
        with transaction.atomic():
            job = delivery.begin_job(source, ids, request.user.email)
            _, shares = delivery.frozen_totals(job)
            if is_needed(ApprovalKind.DELIVERY, shares):
                reason = request.POST.get("reason", "").strip()
                return self.ask_for(request, job, reason or NO_REASON)
            delivery.release(job)
        held = ""
        try:
            while job.is_open:
                delivery.deliver_next(job)
        except LockTimeout as error:
            held = str(error)
        delivered = LegacyShareholder.objects.filter(
            pk__in=pending, delivered_by=job.created_by
        )
        self.log_changes(request, delivered.select_related("user", "issuer"))
        if held:
            reason = (
                f"{held} Of {len(ids)} lines {job.summary()}, until then. Mark the "
                "rest again."
            )
            self.message_user(request, reason, messages.ERROR)
        else:
            level = messages.WARNING if job.refused else messages.SUCCESS
            self.message_user(request, f"{job.summary()}.", level)
        for warning in warnings:
            self.message_user(request, warning, messages.WARNING)
        for reason in sorted({reason for _, reason in job.refusals()}):
            self.message_user(request, reason, messages.WARNING)
        return None

    def ask_for(self, request, job, reason):
        """Let a second person decide whether the lines of a job are delivered."""
        content = delivery_content(job)
        kind, title = ApprovalKind.DELIVERY, delivery_title(content)
        try:
            asked = file_request(kind, content, title, reason, request.user)
        except NotApproved as error:
            transaction.set_rollback(True)
            self.message_user(request, str(error), messages.ERROR)
        else:
            said = f"{asked}: a second person decides it."
            self.message_user(request, said, messages.WARNING)

    def pending(self, queryset):
        return queryset.filter(status=LegacyShareholder.Status.PENDING)

    def log_changes(self, request, shareholders):
        LogEntry.objects.log_actions(
            request.user.pk, shareholders, CHANGE, "Marked DELIVERED."
        )

    def confirm_delivery(self, request, queryset):
        pending = self.pending(queryset)
        totals = pending.values("token__symbol").annotate(
            lines=models.Count("pk"), shares=models.Sum("number_of_shares")
        )
        context = {
            "title": "Deliver legacy shares",
            "totals": totals.order_by("token__symbol"),
            "others": queryset.exclude(pk__in=pending).count(),
            "sources": DeliveryJob.Source.choices,
        }
        template = "admin/deliver_legacy_shares.html"
        return confirm(self, request, queryset, "mark_delivered", template, context)

    def get_search_results(self, request, queryset, search_term):
        words = search_term.lower().split()
        issuers = list(Issuer.objects.filter(slug__in=words).values_list("slug", "pk"))
        if issuers:
            queryset = queryset.filter(issuer__in=[pk for _, pk in issuers])
            slugs = {slug for slug, _ in issuers}
            words = [word for word in words if word not in slugs]
        return super().get_search_results(request, queryset, " ".join(words))
