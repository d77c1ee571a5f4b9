"""The page on which staff choose the legacy lines that become tokens.

The lines are of one issuer, whom the filters name, by its token or an import, too.
"""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse

from issuers.legacy.models import DeliveryJob, LegacyImport, LegacyShareholder
from issuers.models import Issuer, Token
from partnerapi.core.money import euros
from partnerapi.staff.lookup import as_uuid, typed_text
from partnerapi.staff.picking import Picker

MAY_VIEW = "issuers.view_legacyshareholder"
MAY_DELIVER = "issuers.change_legacyshareholder"
LINES_OF_A_PAGE = 100
MOST_LINES = 10_000
"""Of a delivery that staff begin on a page."""
ISSUERS_SHOWN = 100
IMPORTS_SHOWN = 50
ANY = "ANY"
Status = LegacyShareholder.Status


class ChoiceForm(forms.Form):
    """Which lines; the issuer may follow from the token or the import."""

    issuer = forms.SlugField(
        label="Issuer’s slug", required=False, widget=Picker("issuer")
    )
    token = forms.CharField(
        label="Token’s symbol",
        required=False,
        max_length=20,
        widget=Picker("token"),
    )
    status = forms.ChoiceField(
        label="Status", required=False, choices=[*Status.choices, (ANY, "Any")]
    )
    batch = forms.UUIDField(label="Import", required=False, widget=Picker("import"))
    since = forms.DateField(
        label="Created from", required=False, widget=forms.DateInput({"type": "date"})
    )
    until = forms.DateField(
        label="To (UTC, inclusive)",
        required=False,
        widget=forms.DateInput({"type": "date"}),
    )

    def __init__(self, given: QueryDict) -> None:
        super().__init__({"status": Status.PENDING} | given.dict())
        self.found: Issuer | None = None

    def clean(self) -> dict[str, Any]:
        """Find what the filters name; each that names nothing gets its sentence."""
        given = super().clean() or self.cleaned_data
        issuers = []
        if slug := given.get("issuer"):
            if issuer := Issuer.objects.filter(slug=slug).first():
                issuers.append(issuer)
            else:
                self.add_error(
                    "issuer", (f"There is no issuer {slug}; enter an issuer's slug.")
                )
        if symbol := given.get("token", "").strip().upper():
            tokens = Token.objects.select_related("issuer")
            if token := tokens.filter(symbol=symbol).first():
                issuers.append(token.issuer)
                given["token"] = token
            else:
                said = f"There is no token {symbol}; enter a token's symbol."
                self.add_error("token", said)
        if batch_id := given.get("batch"):
            batches = LegacyImport.objects.select_related("issuer")
            if batch := batches.filter(pk=batch_id).first():
                issuers.append(batch.issuer)
            else:
                self.add_error("batch", "There is no such import; choose another.")
        if len({issuer.pk for issuer in issuers}) > 1:
            names = ", ".join(sorted({str(issuer) for issuer in issuers}))
            said = f"The filters name different issuers: {names}. Clear one of them."
            raise forms.ValidationError(said)
        self.found = issuers[0] if issuers else None
        return given

    def lines(self) -> QuerySet[LegacyShareholder]:
        """The lines of the issuer that the filters leave."""
        given = self.cleaned_data
        rows = LegacyShareholder.objects.filter(issuer=self.found)
        if given["status"] != ANY:
            rows = rows.filter(status=given["status"] or Status.PENDING)
        if given["token"]:
            rows = rows.filter(token=given["token"])
        if given["batch"]:
            rows = rows.filter(batch=given["batch"])
        if given["since"]:
            rows = rows.filter(created_at__gte=midnight(given["since"]))
        if given["until"]:
            day_after = given["until"] + timedelta(days=1)
            rows = rows.filter(created_at__lt=midnight(day_after))
        return rows

    def ids(self) -> list[UUID]:
        """The oldest of the lines, as many as one delivery has here."""
        oldest = self.lines().order_by("created_at", "pk")
        return list(oldest.values_list("pk", flat=True)[:MOST_LINES])

    def hidden(self) -> list[tuple[str, str]]:
        """The filters, as a form sends them on."""
        return [(name, self.data[name]) for name in self.fields if self.data.get(name)]


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def address(**filters: Any) -> str:
    page = reverse("admin:delivery")
    return f"{page}?{urlencode(filters)}" if filters else page


def choose_lines(request: HttpRequest) -> HttpResponse:
    """Without filters: the issuers who have PENDING lines; else the lines."""
    if not request.user.has_perm(MAY_VIEW):
        raise PermissionDenied
    form = ChoiceForm(request.GET)
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "Deliver legacy shares",
        "form": form,
        "may_deliver": request.user.has_perm(MAY_DELIVER),
        "sources": DeliveryJob.Source.choices,
        "most": MOST_LINES,
    }
    is_valid = form.is_valid()
    if is_valid and form.found:
        context |= page_of_lines(request, form, form.found)
    elif is_valid:
        context |= issuers_with_lines()
    return TemplateResponse(
        request, "admin/delivery.html", context, status=200 if is_valid else 400
    )


def issuers_with_lines() -> dict[str, Any]:
    pending = LegacyShareholder.objects.filter(
        issuer=OuterRef("pk"), status=Status.PENDING
    )
    issuers = Issuer.objects.filter(Exists(pending)).order_by("trading_name", "pk")
    found = [*issuers[: ISSUERS_SHOWN + 1]]
    return {
        "issuers": found[:ISSUERS_SHOWN],
        "has_more_issuers": len(found) > ISSUERS_SHOWN,
        "lists_issuers": True,
    }


def page_of_lines(
    request: HttpRequest, form: ChoiceForm, issuer: Issuer
) -> dict[str, Any]:
    """A page of the lines, by their creation; four statements."""
    rows = form.lines()
    count = rows.order_by()[: MOST_LINES + 1].count()
    shown = rows.select_related("user", "token").order_by("created_at", "pk")
    at, _, after = typed_text(request, "after").partition(",")
    if (pk := as_uuid(after)) and (instant := instant_of(at)):
        shown = shown.filter(
            Q(created_at__gt=instant) | Q(created_at=instant, pk__gt=pk),
            # The index begins here; the condition above only leaves rows out.
            created_at__gte=instant,
        )
    found = [*shown[: LINES_OF_A_PAGE + 1]]
    following = None
    if len(found) > LINES_OF_A_PAGE:
        last = found[LINES_OF_A_PAGE - 1]
        place = f"{last.created_at.isoformat()},{last.pk}"
        following = address(**dict(form.hidden()), after=place)
    imports = LegacyImport.objects.filter(issuer=issuer).order_by("-pk")
    return {
        "issuer": issuer,
        "count": min(count, MOST_LINES),
        "has_more": count > MOST_LINES,
        "lines": [(line, euros(line.price_cents)) for line in found[:LINES_OF_A_PAGE]],
        "following": following,
        "first": address(**dict(form.hidden())) if after else None,
        "imports": imports[:IMPORTS_SHOWN],
    }


def instant_of(text: str) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo else None
