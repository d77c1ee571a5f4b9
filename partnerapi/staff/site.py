"""The back office as a whole: who comes in, and how."""

from base64 import b32encode
from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.views import redirect_to_login
from django.db import models
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from accounts.history.models import RowChange
from accounts.people.models import User
from partnerapi.core.backoffice import BoundedPaginator
from partnerapi.core.form_fields import NumberField, WholeField
from partnerapi.gateway.requests import address_of
from partnerapi.staff import cash, find, handbook, home, picking, roles, work
from partnerapi.staff.approvals import filing, inbox, together
from partnerapi.staff.authentication import passkeys
from partnerapi.staff.authentication.second_factor import (
    CodeForm,
    RecoveryForm,
    device_of,
    is_needed,
    picture,
    show_recovery_codes,
)
from partnerapi.staff.authentication.sign_in import SignInForm
from partnerapi.staff.log import pages as log
from partnerapi.staff.log.authorship import written_by_user
from partnerapi.staff.market import (
    auction,
    books,
    execution,
    market,
    offering,
    order,
    wall,
)
from partnerapi.staff.money import documents, payments, receipts
from partnerapi.staff.people import (
    account,
    compliance,
    desk,
    grants,
    holder,
    keys,
    partner,
)
from partnerapi.staff.register import (
    captable,
    import_jobs,
    imports,
    issuer,
    ledger,
    token,
    uploads,
)
from partnerapi.staff.register.delivery import choosing, confirming, jobs

NUMBERS: dict[type, dict[str, Any]] = {
    **{
        field: {"form_class": WholeField, "widget": WholeField.widget}
        for field in (
            models.IntegerField,
            models.BigIntegerField,
            models.SmallIntegerField,
            models.PositiveIntegerField,
        )
    },
    models.DecimalField: {"form_class": NumberField, "widget": NumberField.widget},
}
"""How forms read each kind of column that holds numbers."""


class BackOffice(admin.AdminSite):
    login_form = SignInForm

    def register(self, *given: Any, **options: Any) -> None:
        """Count no more rows of a list than are looked at; read numbers as typed."""
        page = options.get("admin_class") or admin.ModelAdmin
        super().register(
            *given,
            formfield_overrides={**NUMBERS, **page.formfield_overrides},
            paginator=BoundedPaginator,
            show_full_result_count=False,
            show_facets=admin.ShowFacets.NEVER,
            **options,
        )

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and not lacks_factor(request)

    def get_urls(self) -> list[Any]:
        views: list[tuple[str, Callable[..., HttpResponseBase], str]] = [
            ("find/", find.show_results, "find"),
            ("pick/<slug:kind>/", picking.offer, "pick"),
            ("cash/", cash.show_cash, "cash"),
            ("data/", self.show_data, "data"),
            ("waiting/", home.poll_waiting, "waiting"),
            ("issuer/<uuid:pk>/", issuer.show_issuer, "issuer"),
            ("issuer/<uuid:pk>/captable/", captable.show_captable, "captable"),
            ("issuer/<uuid:pk>/captable.csv", captable.download_csv, "captable_csv"),
            ("token/<uuid:pk>/", token.show_token, "token"),
            ("token/<uuid:pk>/ledger/", ledger.show_ledger, "ledger"),
            ("token/<uuid:pk>/book/", books.show_book, "book"),
            ("token/<uuid:pk>/book/ladder/", books.poll_ladder, "book_poll"),
            ("token/<uuid:pk>/market/", market.show_market, "market"),
            ("token/<uuid:pk>/auction/<int:began>/", auction.show_auction, "auction"),
            (
                "token/<uuid:pk>/auction/<int:began>/figures/",
                auction.poll_auction,
                "auction_poll",
            ),
            (
                "token/<uuid:pk>/trade/<int:trade>/",
                execution.show_execution,
                "execution",
            ),
            ("order/<uuid:pk>/", order.show_order, "order"),
            ("offering/<uuid:pk>/", offering.show_offering, "offering"),
            ("account/<uuid:pk>/", account.show_account, "account"),
            ("holder/<uuid:pk>/", holder.show_holder, "holder"),
            ("holder/<uuid:pk>/statement", holder.statement, "holder_statement"),
            (
                "holder/<uuid:pk>/compliance/",
                compliance.show_compliance,
                "holder_compliance",
            ),
            ("partner/<uuid:pk>/", partner.show_partner, "partner"),
            ("partner/<uuid:pk>/requests/", partner.show_requests, "partner_requests"),
            ("partner/<uuid:pk>/key/", keys.issue_key, "partner_key"),
            ("key/<uuid:pk>/", keys.show_key, "key"),
            ("keys/revoke/", keys.revoke_keys, "revoke"),
            ("grant/<uuid:pk>/", grants.end_grant, "grant"),
            ("desk/<uuid:pk>/", desk.end_member, "desk_member"),
            ("books/", wall.show_wall, "books"),
            ("books/rows/", wall.poll_rows, "books_poll"),
            ("payments/", payments.show_payments, "payments"),
            ("payments/<int:pk>/file.xml", payments.download_payments, "payment_file"),
            ("document/<uuid:pk>/", documents.show_document, "document"),
            (
                "document/<uuid:pk>/<str:name>",
                documents.download_document,
                "document_file",
            ),
            ("receipts/", receipts.show_receipts, "receipts"),
            ("import/", uploads.upload_file, "import"),
            ("import/preview/", uploads.preview_file, "import_preview"),
            ("import/<uuid:pk>/", import_jobs.show_job, "import_job"),
            ("import/<uuid:pk>/progress/", import_jobs.poll_job, "import_progress"),
            ("delivery/", choosing.choose_lines, "delivery"),
            ("delivery/confirm/", confirming.confirm_delivery, "delivery_confirm"),
            ("deliveries/", jobs.show_jobs, "deliveries"),
            ("deliveries/<uuid:pk>/", jobs.show_job, "delivery_job"),
            ("deliveries/<uuid:pk>/progress/", jobs.poll_progress, "delivery_progress"),
            ("deliveries/<uuid:pk>/lines.csv", jobs.download_lines, "delivery_csv"),
            ("ask/<slug:kind>/", filing.ask_for, "ask"),
            ("approve/", together.approve_together, "approve_together"),
            ("do/<slug:name>/", work.show_work, "work"),
            ("log/", log.show_log, "log"),
            ("passkeys/", passkeys.show_passkeys, "passkeys"),
            ("recovery-codes/", show_recovery_codes, "recovery_codes"),
            ("roles/", roles.show_roles, "roles"),
            ("help/", handbook.show_help, "help"),
            ("help/role/<slug:slug>/", handbook.show_role, "help_role"),
            ("help/<slug:slug>/", handbook.show_job, "help_job"),
        ]
        pages = [
            path("second-factor/", self.second_factor, name="second_factor"),
            *(path(at, self.admin_view(view), name=name) for at, view, name in views),
        ]
        return [*pages, *super().get_urls()]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context: dict[str, Any] = super().each_context(request)
        return context | {
            "help_link": handbook.help_link(request),
            "may_import": any(
                imports.may(request.user, kind) for kind in imports.KINDS.values()
            ),
            # The page of the second factor does not show what waits.
            "inbox": inbox.read(request) if context["has_permission"] else None,
        }

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """What needs attention; all lists stand on a page of their own."""
        context = home.context_of(request)
        return super().index(request, context | (extra_context or {}))

    def show_data(self, request: HttpRequest) -> TemplateResponse:
        """All lists, with what may be added."""
        context = self.each_context(request) | {
            "title": "All data",
            "app_list": self.get_app_list(request),
        }
        return TemplateResponse(request, "admin/data.html", context)

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Sign in with a password, before the second factor."""
        if request.method == "GET" and super().has_permission(request):
            return redirect_to_login(
                after(request), reverse("admin:second_factor"), "next"
            )
        answer = super().login(request, extra_context)
        if request.method == "POST" and request.user.is_authenticated:
            note_sign_in(request, "password")
        return answer

    @method_decorator([never_cache, csrf_protect])
    def second_factor(self, request: HttpRequest) -> HttpResponse:
        """Ask for a code, or show how to enrol the first device."""
        if not super().has_permission(request):
            return redirect_to_login(after(request), reverse("admin:login"))
        if not lacks_factor(request):
            return HttpResponseRedirect(after(request))
        assert isinstance(request.user, User)
        device = device_of(request.user)
        recovers = device.confirmed and "recovery_code" in request.POST
        form = CodeForm(request, device, None if recovers else request.POST or None)
        recovery = RecoveryForm(request, device, request.POST if recovers else None)
        if form.is_valid():
            form.let_in()
            note_sign_in(request, "second factor")
            return HttpResponseRedirect(after(request))
        if recovery.is_valid():
            note_sign_in(request, "recovery code")
            messages.success(
                request,
                "The recovery code is used, and your lost authenticator is removed. "
                "Enrol another.",
            )
            return redirect_to_login(
                after(request), reverse("admin:second_factor"), "next"
            )
        context = self.each_context(request) | {
            "title": "Second factor",
            "form": form,
            "recovery": recovery,
            "next": after(request),
        }
        if not device.confirmed:
            context |= {
                "picture": picture(device),
                "secret": b32encode(device.bin_key).decode(),
            }
        return TemplateResponse(request, "admin/second_factor.html", context)


def note_sign_in(request: HttpRequest, by: str) -> None:
    """Record in the log that the user of a request signed in, and `by` what."""
    assert isinstance(request.user, User)
    with written_by_user(request):
        RowChange.objects.note_sign_in(request.user, by=by, address=address_of(request))


def lacks_factor(request: HttpRequest) -> bool:
    user: Any = request.user
    return is_needed(user) and not user.is_verified()


def after(request: HttpRequest) -> str:
    """The address of this site to which someone wanted to go."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(
        wanted, {request.get_host()}, request.is_secure()
    )
    return wanted if is_ours else reverse("admin:index")
