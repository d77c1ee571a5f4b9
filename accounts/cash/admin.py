"""Cash: its accounts, bank statements, and the withdrawals that staff decide."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from stdnum import iban

from accounts.accounts.admin import ActionWithReasonForm
from accounts.cash.models import (
    BankLine,
    BankStatement,
    CashAccount,
    Withdrawal,
    normalised_reference,
)
from accounts.cash.suspense import unassigned_deposits
from accounts.cash.withdrawals import NotRefused, refuse
from partnerapi.core.backoffice import ListWithActions, ReadOnlyAdmin, money
from partnerapi.core.money import euros

LAST_ENTRIES = 50
OF_ACCOUNT = ("account__user", "account__partner")


def asks(kind: str, label: str, **given: object) -> str:
    """A link to the page on which staff file the request."""
    page = reverse("admin:ask", args=[kind])
    return format_html('<a href="{}?{}">{}</a>', page, urlencode(given), label)


def account_link(account: CashAccount) -> str:
    page = reverse("admin:accounts_cashaccount_change", args=[account.pk])
    return format_html('<a href="{}">{}</a>', page, account)


class ByIdentifierAdmin(ReadOnlyAdmin):
    """Finds rows by identifiers, never by names, so that every search uses an index."""

    references: tuple[str, ...]
    """Columns of references, which are compared without white space."""
    keys: tuple[str, ...] = ()
    """Columns of UUIDs."""
    show_full_result_count = False
    # The box is shown; what is typed is compared as `get_search_results` does.
    search_fields = ["pk"]

    def get_search_results(self, request, queryset, search_term):
        text = search_term.strip()
        if not text:
            return queryset, False
        found = queryset.none()
        for column in self.references:
            found |= queryset.filter(
                **{f"{column}__in": [text, normalised_reference(text)]}
            )
        try:
            key = UUID(text.rpartition("|")[2])
        except ValueError:
            return found, False
        for column in self.keys:
            found |= queryset.filter(**{column: key})
        return found, False


@admin.register(CashAccount)
class CashAccountAdmin(ByIdentifierAdmin):
    list_display = ["__str__", "kind", "deposit_reference", "balance", "reserved"]
    list_select_related = ["head", *OF_ACCOUNT]
    list_filter = ["kind"]
    references = ("deposit_reference",)
    keys = ("account",)
    search_help_text = "Deposit reference, or account id"
    ordering = ["id"]
    readonly_fields = (
        "kind",
        "of",
        "deposit_reference",
        "balance",
        "reserved",
        "entries",
    )
    fields = readonly_fields

    @admin.display(description="account")
    def of(self, cash):
        if cash.account_id is None:
            return "platform account"
        page = reverse("admin:account", args=[cash.account_id])
        return format_html('<a href="{}">{}</a>', page, cash.account)

    @admin.display(description="balance")
    def balance(self, cash):
        return euros(cash.head.balance)

    @admin.display(description="reserved")
    def reserved(self, cash):
        return euros(cash.head.reserved)

    @admin.display(description=f"last {LAST_ENTRIES} entries")
    def entries(self, cash):
        postings = cash.postings.select_related("transaction").order_by("-number")
        rows = format_html_join(
            "",
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
            "<td>{}</td></tr>",
            (
                (
                    posting.number,
                    f"{posting.transaction.at:%Y-%m-%d %H:%M:%S}",
                    posting.transaction.get_kind_display(),
                    euros(posting.delta),
                    euros(posting.balance_after),
                    posting.transaction.reference_id or "",
                    posting.transaction.actor,
                )
                for posting in postings[:LAST_ENTRIES]
            ),
        )
        if not rows:
            return "none"
        return format_html(
            '<div role="region" aria-label="Entries" tabindex="0">'
            "<table><thead><tr><th>Number</th><th>UTC</th><th>Kind</th><th>Amount</th>"
            "<th>Balance after</th><th>Bank line</th><th>By</th></tr></thead>"
            "<tbody>{}</tbody></table></div>",
            rows,
        )


@admin.register(BankStatement)
class BankStatementAdmin(ReadOnlyAdmin):
    list_display = ["name", "booked_at", "booked_by", "said", "due", "difference"]
    readonly_fields = (
        "name", "digest", "booked_at", "booked_by", "said", "due", "difference",
        "lines",
    )  # fmt: skip
    fields = readonly_fields
    ordering = ["-id"]
    search_fields = ["^name"]
    said = money("closing_balance", "bank closing balance")
    due = money("booked_balance", "expected balance")

    @admin.display(description="difference")
    def difference(self, statement):
        if statement.closing_balance is None:
            return None
        return euros(statement.closing_balance - statement.booked_balance)

    @admin.display(description="lines")
    def lines(self, statement):
        page = reverse("admin:accounts_bankline_changelist")
        query = f"statement__id__exact={statement.pk}"
        return format_html('<a href="{}?{}">lines</a>', page, query)


class StateFilter(admin.SimpleListFilter):
    """Lines whose money is unallocated."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request, model_admin):
        return [("SUSPENSE", "Unallocated")]

    def queryset(self, request, queryset):
        if self.value() == "SUSPENSE":
            return queryset.filter(transaction__in=unassigned_deposits())
        return queryset


@admin.register(BankLine)
class BankLineAdmin(ByIdentifierAdmin):
    list_display = ["reference", "date", "cents", "text", "booked_to"]
    list_select_related = [
        "transaction__source__account__user", "transaction__source__account__partner",
        "transaction__target__account__user", "transaction__target__account__partner",
    ]  # fmt: skip
    list_filter = [StateFilter]
    references = ("reference",)
    search_help_text = "Bank reference"
    ordering = ["-statement", "reference"]
    readonly_fields = (
        "reference", "statement", "date", "cents", "text", "booked_to", "assigned_to",
        "assignment",
    )  # fmt: skip
    fields = readonly_fields
    cents = money("amount", "amount")

    def lookup_allowed(self, lookup, value, request=None):
        return lookup == "statement__id__exact" or super().lookup_allowed(
            lookup, value, request
        )

    @admin.display(description="booked to")
    def booked_to(self, line):
        entered = line.transaction
        return account_link(entered.target if line.amount > 0 else entered.source)

    @admin.display(description="assigned to")
    def assigned_to(self, line):
        assigned = line.transaction.assigned_by.filter(reversed_by=None)
        found = assigned.select_related("target__account__user").first()
        return account_link(found.target) if found else None

    @admin.display(description="next step")
    def assignment(self, line):
        if line.transaction.target.kind != CashAccount.Kind.SUSPENSE:
            return "none: the line was booked automatically"
        return asks("assignment", "Request assignment", line=line.pk)


@admin.register(Withdrawal)
class WithdrawalAdmin(ListWithActions, ByIdentifierAdmin):
    """An approval needs a second member of staff; a refusal needs only one."""

    list_display = [
        "payment_reference", "of", "cents", "reference", "status", "created_at",
    ]  # fmt: skip
    list_select_related = [
        "cash_account__account__user",
        "cash_account__account__partner",
    ]
    list_filter = ["status"]
    references = ("payment_reference", "reference")
    keys = ("pk", "cash_account__account")
    search_help_text = "Payment reference, partner's reference, or id"
    ordering = ["-created_at"]
    readonly_fields = (
        "id", "of", "cents", "payee_name", "payee_iban", "reference",
        "payment_reference", "payment_file", "status", "status_reason", "asking",
        "request", "requested_by", "created_at", "updated_at",
    )  # fmt: skip
    fields = readonly_fields
    cents = money("amount", "amount")
    action_form = ActionWithReasonForm
    actions = ["refuse"]

    @admin.display(description="account")
    def of(self, withdrawal):
        return account_link(withdrawal.cash_account)

    @admin.display(description="payee")
    def payee_name(self, withdrawal):
        return withdrawal.payee.name if hasattr(withdrawal, "payee") else None

    @admin.display(description="IBAN of the payee")
    def payee_iban(self, withdrawal):
        if not hasattr(withdrawal, "payee"):
            return None
        return iban.format(withdrawal.payee.iban)

    @admin.display(description="payment file")
    def payment_file(self, withdrawal):
        if not hasattr(withdrawal, "payment_order"):
            return None
        page = reverse("admin:payments")
        return format_html('<a href="{}">{}</a>', page, withdrawal.payment_order.file)

    @admin.display(description="next step")
    def asking(self, withdrawal):
        if withdrawal.status == Withdrawal.Status.REQUESTED:
            label, to = "Request approval", Withdrawal.Status.APPROVED
            return asks("withdrawal", label, withdrawal=withdrawal.pk, to=to)
        if withdrawal.status == Withdrawal.Status.APPROVED:
            label, to = "Request cancellation", Withdrawal.Status.CANCELLED
            return asks("withdrawal", label, withdrawal=withdrawal.pk, to=to)
        return f"none: {withdrawal.get_status_display()} is final"

    @admin.action(description="Refuse requested withdrawals", permissions=["change"])
    def refuse(self, request, queryset):
        reason = request.POST.get("reason", "").strip()
        if not reason:
            self.message_user(
                request,
                "The reason is empty. Enter why the withdrawals are refused; the "
                "partner sees it. Nothing was changed.",
                messages.ERROR,
            )
            return
        refused = 0
        for withdrawal in queryset.order_by("pk"):
            try:
                refuse(withdrawal, reason, request.user.email)
            except NotRefused as error:
                self.message_user(
                    request,
                    f"{withdrawal.payment_reference}: {error}",
                    messages.WARNING,
                )
                continue
            self.log_change(request, withdrawal, "REQUESTED → REFUSED.")
            refused += 1
        self.message_user(
            request, f"{refused} withdrawals are now refused.", messages.SUCCESS
        )
