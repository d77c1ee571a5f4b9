"""The page of the log: who did what, to what, from where; as a file, too."""

from datetime import UTC, datetime, time, timedelta

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.history.models import RowChange
from partnerapi.staff.log.downloads import csv_file, download
from partnerapi.staff.log.reading import Line, Wanted, lines

SHOWN, EXPORTED = 200, 10_000
DAYS = 7
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
SEEN_BY = "accounts.view_rowchange"


DAY = forms.DateInput({"type": "date"}, format="%Y-%m-%d")


class WantedForm(forms.Form):
    since = forms.DateField(label="From (UTC)", required=False, widget=DAY)
    until = forms.DateField(label="To (UTC, inclusive)", required=False, widget=DAY)
    who = forms.CharField(
        label=("Person (beginning of email)"), required=False, max_length=254
    )
    object = forms.CharField(label="Object id", required=False, max_length=100)
    source = forms.CharField(
        label="Source (page, command, API, SQL …)", required=False, max_length=100
    )
    trades = forms.BooleanField(label="Include trade prices", required=False)

    def criteria(self) -> Wanted:
        """What is asked for; without days the last seven, or an object's whole time."""
        said = self.cleaned_data
        until, since = timezone.now(), BEGINNING
        if said["until"]:
            until = midnight(said["until"] + timedelta(1))
        if said["since"]:
            since = midnight(said["since"])
        elif not said["object"]:
            since = until - timedelta(DAYS)
        return Wanted(
            since, until, said["who"], said["object"], said["source"], said["trades"]
        )


def midnight(day) -> datetime:
    return datetime.combine(day, time(), timezone.get_default_timezone())


def show_log(request: HttpRequest) -> HttpResponseBase:
    """Who may see histories sees it; `?format=csv` is the file."""
    if not request.user.has_perm(SEEN_BY):  # type: ignore[union-attr]
        raise PermissionDenied
    form = WantedForm(request.GET)
    if not form.is_valid():
        found: list[Line] = []
    elif request.GET.get("format") == "csv":
        file = csv_file(Line._fields, lines(form.criteria(), EXPORTED))
        return download(request, RowChange, "Log", file, "log.csv")
    else:
        found = list(lines(form.criteria(), SHOWN + 1))
    query = request.GET.copy()
    query["format"] = "csv"
    context = admin.site.each_context(request) | {
        "title": "Log",
        "form": form,
        "lines": found[:SHOWN],
        "is_cut": len(found) > SHOWN,
        "shown": SHOWN,
        "days": DAYS,
        "file": query.urlencode(),
        "exported": EXPORTED,
    }
    return TemplateResponse(request, "admin/log.html", context)
