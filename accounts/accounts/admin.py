from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db import transaction
from django.db.models import F, Value

from accounts.accounts.models import (
    Account,
    AccountStatusChange,
    Actor,
    InvalidStatusTransition,
)
from accounts.applicants.models import Applicant
from accounts.people.admin import user_columns
from partnerapi.core.backoffice import (
    MOST_PEOPLE,
    IsOneOf,
    ListWithActions,
    OwnPage,
    PrefixSearchAdmin,
    ReadOnly,
)


class AccountSearchAdmin(PrefixSearchAdmin):
    """Finds rows by an account's id, or the beginning of the client's email or name."""

    account_field: str
    """The column that holds the account's id."""
    search_help_text = "Account id, or beginning of the client's email address or name"
    ordering = ["-id"]

    def get_search_results(self, request, queryset, search_term):
        try:
            key = UUID(search_term.strip().lower().removeprefix("account|"))
        except ValueError:
            return super().get_search_results(request, queryset, search_term)
        return queryset.filter(**{self.account_field: key}), False


class ActionWithReasonForm(ActionForm):
    reason = forms.CharField(
        label="Reason (visible to the partner):",
        max_length=AccountStatusChange._meta.get_field("reason").max_length,
        required=False,
    )


@admin.register(Account)
class AccountAdmin(ListWithActions, OwnPage, AccountSearchAdmin):
    """The command account open opens accounts; actions here change their status.

    No action closes an account: a second member of staff approves that.
    """

    own_page = "account"

    list_display = [
        "user", "partner", "status", "status_reason", "created_at", "updated_at"
    ]  # fmt: skip
    list_select_related = ["user", "partner"]
    list_filter = ["status", "partner"]
    account_field = "pk"
    search_fields = user_columns("user__")
    person = "user_id"
    phrase_fields = ("user__company_name",)
    search_help_text = (
        f"{AccountSearchAdmin.search_help_text}, or an applicant's email address, LEI "
        "or reference"
    )
    action_form = ActionWithReasonForm
    actions = ["activate", "reject", "suspend", "reactivate"]

    def get_search_results(self, request, queryset, search_term):
        found, has_duplicates = super().get_search_results(
            request, queryset, search_term
        )
        if term := search_term.strip():
            applicants = Applicant.objects.search(term, MOST_PEOPLE)
            if keys := [applicant.pk for applicant in applicants]:
                found |= queryset.filter(IsOneOf(F("pk"), Value(keys)))
        return found, has_duplicates

    @admin.action(description="Activate pending accounts", permissions=["change"])
    def activate(self, request, queryset):
        self.move(request, queryset, Account.Status.PENDING, Account.Status.ACTIVE)

    @admin.action(description="Reject pending accounts", permissions=["change"])
    def reject(self, request, queryset):
        self.move(request, queryset, Account.Status.PENDING, Account.Status.REJECTED)

    @admin.action(description="Suspend active accounts", permissions=["change"])
    def suspend(self, request, queryset):
        self.move(request, queryset, Account.Status.ACTIVE, Account.Status.SUSPENDED)

    @admin.action(description="Reactivate suspended accounts", permissions=["change"])
    def reactivate(self, request, queryset):
        self.move(request, queryset, Account.Status.SUSPENDED, Account.Status.ACTIVE)

    def move(self, request, queryset, source, target):
        """Move the accounts of the status `source`, each in its own transaction."""
        actor = Actor(request.user.email, is_staff=True)
        reason = request.POST.get("reason", "").strip()
        if not reason:
            self.message_user(
                request,
                "The reason is empty. Enter why the status changes; the partner sees "
                "it. Nothing was changed.",
                messages.ERROR,
            )
            return
        selected, moved = queryset.count(), 0
        for account in queryset.filter(status=source).order_by("pk"):
            with transaction.atomic():
                try:
                    previous = account.change_status(target, actor, reason)
                except InvalidStatusTransition:
                    # Someone else has moved it since the query above.
                    continue
                if previous != target:
                    self.log_change(request, account, f"{previous} → {target}.")
                    moved += 1
        self.message_user(
            request, f"{moved} accounts are now {target}.", messages.SUCCESS
        )
        if moved < selected:
            self.message_user(
                request,
                f"{selected - moved} accounts were not {source}, and stay unchanged.",
                messages.WARNING,
            )


@admin.register(AccountStatusChange)
class AccountStatusChangeAdmin(ReadOnly, OwnPage, AccountSearchAdmin):
    """The history of accounts, which no one edits."""

    own_page, shown_row, part_of_page = "account", "account_id", "timeline"

    list_display = [
        "account", "created_at", "previous_status", "status", "actor", "approved_by",
        "reason",
    ]  # fmt: skip
    list_select_related = ["account__user", "account__partner"]
    list_filter = ["account__partner"]
    account_field = "account"
    search_fields = user_columns("account__user__")
    person = "account__user_id"
    phrase_fields = ("account__user__company_name",)
