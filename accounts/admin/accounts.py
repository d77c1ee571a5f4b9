from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db import transaction
from django.utils import timezone

from accounts.admin.users import companies_called
from accounts.models import (
    Account,
    AccountStatusChange,
    Actor,
    InvalidStatusTransition,
)

Status = Account.Status


def with_account_id(term, queryset, account):
    """The rows of the account that a search names by its id; None: by something else.

    `account` is the column that holds the id.
    """
    try:
        key = UUID(term.strip().lower().removeprefix("account|"))
    except ValueError:
        return None
    return queryset.filter(**{account: key})


class AccountStatusChangeInline(admin.TabularInline):
    model = AccountStatusChange
    verbose_name_plural = "status history"
    fields = [
        "created_at", "previous_status", "status", "actor", "is_staff", "approved_by",
        "reason",
    ]  # fmt: skip
    readonly_fields = ["created_at"]
    ordering = ["number"]
    extra = 0

    def has_add_permission(self, request, obj):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        return False


class ActionWithReasonForm(ActionForm):
    reason = forms.CharField(
        label="Reason (the partner reads it):",
        max_length=AccountStatusChange._meta.get_field("reason").max_length,
        required=False,
    )


@admin.register(Account)
class AccountAdmin(admin.ModelAdmin):
    """Accounts are opened by create_account; here their status is changed, by actions.

    Closing is not among them: a second member of staff approves it, which the command
    change_account_status asks for.
    """

    list_display = [
        "user", "partner", "status", "status_reason", "created_at", "updated_at"
    ]  # fmt: skip
    list_select_related = ["user", "partner"]
    list_filter = ["status", "partner"]
    # Prefixes that have an index each: partners have many clients.
    search_fields = [
        "user__email__startswith", "^user__first_name", "^user__last_name",
        "^user__company_name",
    ]  # fmt: skip
    search_help_text = (
        "An account's id, or the beginning of the client's email address or name"
    )
    ordering = ["-id"]
    show_full_result_count = False
    fieldsets = [
        (
            None,
            {
                "fields": [
                    "id", "partner", "user", "status", "status_reason", "created_at",
                    "updated_at",
                ],
                "description": "The list's actions change the status. An account is "
                "closed by manage.py change_account_status, which asks for a second "
                "member of staff.",
            },
        )
    ]  # fmt: skip
    readonly_fields = [
        "id", "partner", "user", "status", "status_reason", "created_at", "updated_at"
    ]  # fmt: skip
    inlines = [AccountStatusChangeInline]
    action_form = ActionWithReasonForm
    actions = ["activate", "reject", "suspend", "reactivate"]

    def has_add_permission(self, request):
        return False

    def has_change_permission(self, request, obj=None):
        # For the list and its actions; the page of one account is for reading.
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request, obj=None):
        return False

    def get_search_results(self, request, queryset, search_term):
        named = with_account_id(search_term, queryset, "pk")
        if named is not None:
            return named, False
        term = search_term.lower()
        found, has_duplicates = super().get_search_results(request, queryset, term)
        return found | companies_called(term, queryset, "user__"), has_duplicates

    @admin.action(description="Activate pending accounts", permissions=["change"])
    def activate(self, request, queryset):
        self.move(request, queryset, Status.PENDING, Status.ACTIVE)

    @admin.action(description="Reject pending accounts", permissions=["change"])
    def reject(self, request, queryset):
        self.move(request, queryset, Status.PENDING, Status.REJECTED)

    @admin.action(description="Suspend active accounts", permissions=["change"])
    def suspend(self, request, queryset):
        self.move(request, queryset, Status.ACTIVE, Status.SUSPENDED)

    @admin.action(description="Reactivate suspended accounts", permissions=["change"])
    def reactivate(self, request, queryset):
        self.move(request, queryset, Status.SUSPENDED, Status.ACTIVE)

    def move(self, request, queryset, source, target):
        """Move the accounts that have the status `source`, each on its own."""
        actor = Actor(request.user.email, is_staff=True)
        reason = request.POST.get("reason", "").strip() or None
        at = timezone.now()
        selected, moved = queryset.count(), 0
        for account in queryset.filter(status=source).order_by("pk"):
            with transaction.atomic():
                try:
                    previous = account.change_status(target, actor, reason, at)
                except InvalidStatusTransition:
                    # Somebody else has moved it since it was read.
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
                f"{selected - moved} were left as they are: they were not {source}.",
                messages.WARNING,
            )


@admin.register(AccountStatusChange)
class AccountStatusChangeAdmin(admin.ModelAdmin):
    """What has happened to accounts; nobody edits history."""

    list_display = [
        "account", "created_at", "previous_status", "status", "actor", "approved_by",
        "reason",
    ]  # fmt: skip
    list_select_related = ["account__user", "account__partner"]
    list_filter = ["status", "is_staff", "account__partner"]
    search_fields = [
        "account__user__email__startswith", "^account__user__first_name",
        "^account__user__last_name", "^account__user__company_name",
    ]  # fmt: skip
    search_help_text = AccountAdmin.search_help_text
    ordering = ["-id"]
    show_full_result_count = False

    def has_add_permission(self, request):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        return False

    def get_search_results(self, request, queryset, search_term):
        named = with_account_id(search_term, queryset, "account")
        if named is not None:
            return named, False
        term = search_term.lower()
        found, has_duplicates = super().get_search_results(request, queryset, term)
        companies = companies_called(term, queryset, "account__user__")
        return found | companies, has_duplicates
