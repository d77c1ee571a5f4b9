"""The page of the log: sentences that say who did what, to what; a file, too."""

from datetime import UTC, datetime, timedelta

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.history.models import RowChange
from partnerapi.core.times import from_rfc3339
from partnerapi.staff.log.downloads import csv_file, download
from partnerapi.staff.log.reading import (
    KINDS,
    NEWEST,
    Fold,
    Line,
    Place,
    Wanted,
    folds,
    lines,
)
from partnerapi.staff.log.sentences import sentences
from partnerapi.staff.lookup import typed_text
from partnerapi.staff.picking import Picker

SHOWN, EXPORTED = 50, 10_000
DAYS = 7
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
SEEN_BY = "accounts.view_rowchange"
MOST_SKIPPED = 100_000
"""Lines of one time."""
DATE_LENGTH = len("2026-01-31")
MINUTE = forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class WantedForm(forms.Form):
    since = forms.DateTimeField(label="From (UTC)", required=False, widget=MINUTE)
    until = forms.DateTimeField(
        label="To (UTC, inclusive)", required=False, widget=MINUTE
    )
    kind = forms.ChoiceField(
        choices=[
            ("", "Everything"),
            *((key, name) for key, (name, _) in KINDS.items()),
        ],
        required=False,
    )
    who = forms.CharField(
        label="Person (beginning of email)",
        required=False,
        max_length=254,
        widget=Picker("person"),
    )
    object = forms.CharField(label="Object id", required=False, max_length=100)
    source = forms.CharField(
        label="Source (page, command, API, SQL …)", required=False, max_length=100
    )
    details = forms.BooleanField(
        label="Include trades, delivered lines, sessions", required=False
    )

    def criteria(self, place: Place) -> Wanted:
        """What is asked for; without times the last seven days, or an object's whole
        time. The last minute, or the last day where no minute is named, is included.
        """
        said = self.cleaned_data
        until, since = timezone.now(), BEGINNING
        if said["until"]:
            is_day = len(self.data["until"].strip()) == DATE_LENGTH
            until = said["until"] + (timedelta(1) if is_day else timedelta(minutes=1))
        if said["since"]:
            since = said["since"]
        elif not said["object"]:
            since = until - timedelta(DAYS)
        return Wanted(
            since,
            until,
            said["who"],
            said["object"],
            said["source"],
            said["kind"],
            said["details"],
            place,
        )


def place_of(text: str) -> Place:
    """The place that an address names; anything else is the newest."""
    at, _, skipped = text.partition("~")
    if not skipped.isdecimal():
        return NEWEST
    try:
        return Place(from_rfc3339(at), min(int(skipped), MOST_SKIPPED))
    except ValueError:
        return NEWEST


def show_log(request: HttpRequest) -> HttpResponseBase:
    """Who may see histories sees it; `?format=csv` is the file."""
    if not request.user.has_perm(SEEN_BY):  # type: ignore[union-attr]
        raise PermissionDenied
    form = WantedForm(request.GET)
    place = place_of(typed_text(request, "before"))
    found: list[Fold] = []
    has_more = False
    if form.is_valid():
        wanted = form.criteria(place)
        if request.GET.get("format") == "csv":
            file = csv_file(Line._fields, lines(wanted, EXPORTED))
            return download(request, RowChange, "Log", file, "log.csv")
        found, has_more = folds(wanted, SHOWN)
    query = request.GET.copy()
    query.pop("before", None)
    newest = query.urlencode()
    if has_more:
        query["before"] = str(found[-1].end)
    older = query.urlencode()
    query.pop("before", None)
    query["format"] = "csv"
    context = admin.site.each_context(request) | {
        "title": "Log",
        "form": form,
        "sentences": sentences(found),
        "older": older if has_more else "",
        "newest": newest,
        "is_first": place == NEWEST,
        "days": DAYS,
        "file": query.urlencode(),
        "exported": EXPORTED,
    }
    return TemplateResponse(request, "admin/log.html", context)
