"""Pages on which staff upload a file and confirm what it would do.

A file waits in the cache for an hour, one for each member of staff; a worker imports
a large one.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.approvals.four_eyes import NotApproved
from accounts.cash.camt import is_xml
from accounts.people.models import User
from issuers.models import Issuer
from partnerapi.core.form_fields import EurosField
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.staff.lookup import link
from partnerapi.staff.picking import Picker
from partnerapi.staff.register import import_jobs
from partnerapi.staff.register.imports import KINDS, Upload, attempt, confirm, may
from partnerapi.staff.register.models import ImportJob

AT_ONCE_BYTES = 5 * 1024 * 1024
"""A larger file is imported by a worker."""
MOST_BYTES = 64 * 1024 * 1024
KEPT_SECONDS = 3600
OF_HOLDERS = KINDS["holders"].permissions


class UploadForm(forms.Form):
    kind = forms.ChoiceField(label="Type of file")
    issuer = forms.SlugField(
        label="Issuer",
        required=False,
        help_text=(
            "For legacy shareholders only. Slug; type a name to choose an issuer."
        ),
        widget=Picker("issuer"),
    )
    creates_holders = forms.BooleanField(
        label="Create holders that do not exist yet",
        required=False,
        help_text="For legacy shareholders only.",
    )
    closing_balance = EurosField(
        label="The bank's closing balance, €",
        required=False,
        max_digits=16,
        help_text=(
            "For a bank statement in CSV: the bank's balance after the last line. The "
            "books must agree. A camt.053 states it."
        ),
    )
    file = forms.FileField(
        label="File",
        help_text=(
            "CSV in UTF-8, or a bank's camt.053; at most 64 MiB. A worker imports a "
            "file of more than 5 MiB, and a page shows its progress."
        ),
        allow_empty_file=True,
    )

    def __init__(self, user: Any, *given: Any) -> None:
        super().__init__(*given)
        self.user = user
        choices = [(name, k.title) for name, k in KINDS.items() if may(user, k)]
        self.fields["kind"] = forms.ChoiceField(label="Type of file", choices=choices)

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError(
                f"{file.name} has {file.size:,} bytes; at most {MOST_BYTES:,} can be "
                "imported here. Split the file."
            )
        return file

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        kind = KINDS.get(given.get("kind", ""))
        if kind and kind.of_issuer:
            given["found"] = Issuer.objects.filter(slug=given.get("issuer")).first()
            if given["found"] is None:
                self.add_error(
                    "issuer", ("There is no such issuer; enter an issuer's slug.")
                )
            if given.get("creates_holders") and not self.user.has_perms(OF_HOLDERS):
                self.add_error(
                    "creates_holders", ("You do not have the right to create holders.")
                )
        file = given.get("file")
        is_csv = file is not None and not is_xml(file.read())
        if file is not None:
            file.seek(0)
        needs_balance = is_csv and given.get("kind") == "bank"
        if needs_balance and given.get("closing_balance", 0) is None:
            said = "Enter the bank's balance after the last line."
            self.add_error("closing_balance", said)
        return given

    def upload(self) -> Upload:
        given = self.cleaned_data
        of_issuer = KINDS[given["kind"]].of_issuer
        closing = given["closing_balance"] if given["kind"] == "bank" else None
        return Upload(
            given["kind"],
            given["file"].name,
            given["file"].read(),
            given["found"].pk if of_issuer else None,
            of_issuer and given["creates_holders"],
            closing,
        )


def cache_key(request: HttpRequest) -> str:
    return f"import:{request.user.pk}"


def upload_file(request: HttpRequest) -> HttpResponse:
    """Take a file, look through it, and go to the preview."""
    if not any(may(request.user, kind) for kind in KINDS.values()):
        raise PermissionDenied
    if request.method == "POST":
        form = UploadForm(request.user, request.POST, request.FILES)
        if form.is_valid():
            upload = form.upload()
            if len(upload.content) > AT_ONCE_BYTES:
                assert isinstance(request.user, User)
                job = import_jobs.hand_over(upload, request.user)
                return HttpResponseRedirect(import_jobs.address_of(job))
            found = attempt(upload, actor_of(request), dry_run=True)
            cache.set(cache_key(request), (upload, found), KEPT_SECONDS)
            return HttpResponseRedirect(reverse("admin:import_preview"))
    else:
        form = UploadForm(request.user)
    context = admin.site.each_context(request) | {
        "title": "Import a file",
        "form": form,
        "jobs": ImportJob.objects.filter(person=request.user.pk)
        .defer("content", "found")
        .order_by("-pk"),
        "kinds": [kind for kind in KINDS.values() if may(request.user, kind)],
    }
    return TemplateResponse(request, "admin/import.html", context)


def actor_of(request: HttpRequest) -> str:
    return str(request.user.get_username())


def preview_file(request: HttpRequest) -> HttpResponse:
    """What the file would do; when staff confirm, do it."""
    waiting = cache.get(cache_key(request))
    if waiting is None:
        messages.warning(
            request, "The file has expired after an hour. Upload it again."
        )
        return HttpResponseRedirect(reverse("admin:import"))
    upload, found = waiting
    if not may(request.user, KINDS[upload.kind]):
        raise PermissionDenied
    if request.method == "POST" and not found.problem and not found.problems:
        if request.POST.get("checksum") != upload.checksum:
            messages.warning(
                request, "You have uploaded another file since. This is its preview."
            )
            return HttpResponseRedirect(request.path)
        try:
            assert isinstance(request.user, User)
            reason = request.POST.get("reason", "").strip()[:REASON_LENGTH]
            done, asked = confirm(upload, found, request.user, reason)
        except NotApproved as error:
            again = attempt(upload, actor_of(request), dry_run=True)
            cache.set(cache_key(request), (upload, again), KEPT_SECONDS)
            messages.error(request, str(error))
            return HttpResponseRedirect(request.path)
        if done == found:
            cache.delete(cache_key(request))
            if asked:
                messages.success(request, "Submitted. Waiting for a second approver.")
                return HttpResponseRedirect(link(asked))
            messages.success(
                request,
                f"{upload.file_name}: {done.created:,} new, {done.updated:,} changed, "
                f"{done.unchanged:,} unchanged.",
            )
            return HttpResponseRedirect(reverse("admin:import"))
        cache.set(cache_key(request), (upload, done), KEPT_SECONDS)
        messages.warning(request, import_jobs.CHANGED)
        return HttpResponseRedirect(request.path)
    context = admin.site.each_context(request) | {
        "title": f"Import {upload.file_name}",
        "upload": upload,
        "kind": KINDS[upload.kind],
        "found": found,
    }
    return TemplateResponse(request, "admin/import_preview.html", context)
