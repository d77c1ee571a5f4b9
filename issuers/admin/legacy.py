"""Legacy shareholders, and their delivery as tokens."""

from django import forms
from django.contrib import admin, messages
from django.template.response import TemplateResponse

from accounts.people.admin import user_columns
from issuers.legacy.models import LegacyShareholder
from issuers.models import Issuer
from issuers.register.models import LedgerTransaction
from partnerapi.core.backoffice import (
    InEuros,
    PrefixSearchAdmin,
    ProtectedAdmin,
    money,
)

MOST_LINES = 500
"""Django reads no more fields of a form, and a request should do no more work."""


class LegacyShareholderForm(forms.ModelForm):
    def clean_replaces(self):
        """Allow a line to replace only one whose delivery was reversed."""
        wrong = self.cleaned_data["replaces"]
        if wrong is None:
            return wrong
        if wrong.status == LegacyShareholder.Status.PENDING:
            raise forms.ValidationError("This line is PENDING: correct it directly.")
        if not LedgerTransaction.objects.filter(
            token=wrong.token_id, reverses=wrong.ledger_seq
        ).exists():
            raise forms.ValidationError(
                "The delivery of this line has not been reversed; reverse it first "
                f"(entry {wrong.ledger_seq})."
            )
        return wrong


@admin.register(LegacyShareholder)
class LegacyShareholderAdmin(InEuros, PrefixSearchAdmin, ProtectedAdmin):
    form = LegacyShareholderForm
    in_euros = {"price_cents": "price"}
    protection = (
        "A DELIVERED line is final; a PENDING line can be deleted here. To correct the "
        "issuer, the holder or the number of shares, import the same reference again; "
        "the import previews the changes."
    )
    list_display = [
        "user", "issuer", "token", "status", "number_of_shares", "price",
        "created_at",
    ]  # fmt: skip
    list_select_related = ["user", "issuer", "token"]
    list_filter = ["status"]
    search_fields = user_columns("user__")
    person = "user_id"
    phrase_fields = ("user__company_name",)
    search_help_text = (
        "Full slug of an issuer, beginning of a holder's email address or name, or both"
    )
    ordering = ["-id"]
    autocomplete_fields = ["issuer", "user", "token"]
    raw_id_fields = ["replaces"]
    readonly_fields = [
        "id", "status", "created_at", "delivered_at", "delivered_by", "ledger_entry"
    ]  # fmt: skip
    actions = ["mark_delivered"]
    price = money("price_cents", "price")

    @admin.display(description="ledger entry")
    def ledger_entry(self, line):
        return line.ledger_seq

    def get_readonly_fields(self, request, obj=None):
        fixed = [] if obj is None else ["issuer", "user", "number_of_shares"]
        return [*self.readonly_fields, *fixed]

    def has_change_permission(self, request, obj=None):
        if obj is not None and obj.status == LegacyShareholder.Status.DELIVERED:
            return False
        return super().has_change_permission(request, obj)

    @admin.action(description="Mark DELIVERED", permissions=["change"])
    def mark_delivered(self, request, queryset):
        """Ask for the source of the tokens; the next page shows a preview."""
        if (count := queryset.count()) > MOST_LINES:
            reason = (
                f"{count:,} lines are selected; the limit for this list is "
                f"{MOST_LINES}. Use the Deliver page for all lines of an issuer."
            )
            self.message_user(request, reason, messages.ERROR)
            return None
        context = self.admin_site.each_context(request) | {
            "title": "Deliver legacy shares",
            "ids": queryset.order_by("pk").values_list("pk", flat=True),
        }
        return TemplateResponse(request, "admin/deliver_legacy_shares.html", context)

    def get_search_results(self, request, queryset, search_term):
        words = search_term.lower().split()
        issuers = list(Issuer.objects.filter(slug__in=words).values_list("slug", "pk"))
        if issuers:
            queryset = queryset.filter(issuer__in=[pk for _, pk in issuers])
            slugs = {slug for slug, _ in issuers}
            words = [word for word in words if word not in slugs]
        return super().get_search_results(request, queryset, " ".join(words))
