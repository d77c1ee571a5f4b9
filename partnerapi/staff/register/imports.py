"""Files that staff import: checked first, written when they confirm.

The file waits in the cache for an hour, one for each member of staff. Only previewed
changes are written: where the stored rows have changed meanwhile, nothing is written,
and the page shows a new preview.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db import DataError, IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.approvals.four_eyes import NotApproved, carrying, file_request, is_needed
from accounts.approvals.models import REASON_LENGTH, ApprovalKind, ApprovalRequest
from accounts.cash.bank_statements import (
    MOST_TOLD,
    OtherBalance,
    book_statement,
    moves,
    statement_title,
)
from accounts.cash.camt import is_xml
from accounts.people.imports import import_holders
from accounts.people.models import User
from issuers.imports.issuers import import_issuers
from issuers.imports.publications import import_financial_data
from issuers.legacy.imports import import_legacy_shareholders
from issuers.models import Issuer
from partnerapi.core import lock_waits
from partnerapi.core.form_fields import EurosField
from partnerapi.core.money import euros
from partnerapi.core.problems import Problem, WrongFileError
from partnerapi.staff.lookup import link

MOST_BYTES = 5 * 1024 * 1024
KEPT_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Upload:
    kind: str
    file_name: str
    content: bytes
    issuer_id: UUID | None
    creates_holders: bool
    closing_balance: int | None
    """The bank's balance after the last line, euro cents; None where none was given."""

    @property
    def checksum(self) -> str:
        """Of the file, and of what was chosen for it."""
        chosen = self.kind, self.issuer_id, self.creates_holders, self.closing_balance
        return hashlib.sha256(f"{chosen} ".encode() + self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an import does; with a `problem` or `problems` it does nothing.

    `moves` are clients' accounts and what they have before and after. What needs a
    second person `asks`: the content of the request, and its title.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    notes: tuple[str, ...] = ()
    moves: tuple[tuple[str, str, str], ...] = ()
    asks: tuple[dict[str, Any], str] | None = None
    keeps: bool = False
    """Whether the file itself is kept, though it changes nothing."""
    problem: str = ""
    problems: tuple[tuple[int, str, str, str], ...] = ()
    problem_count: int = 0

    @property
    def changes_something(self) -> bool:
        return bool(self.created or self.updated or self.keeps)


@dataclass(frozen=True, slots=True)
class Kind:
    title: str
    columns: str
    permissions: tuple[str, ...]
    run: Callable[[Upload, str, bool], Outcome]
    """Gets the file, the importer, and whether it is a dry run."""
    of_issuer: bool = False


def begin(work: str, total: int) -> Callable[[int], object]:
    return lambda done: None


def outcome(changes: Any, *notes: str) -> Outcome:
    if getattr(changes, "was_imported", False):
        return Outcome(problem="This file has already been imported.")
    if changes.ignored_columns:
        notes += (f"Columns ignored: {', '.join(changes.ignored_columns)}.",)
    updated = changes.updated if hasattr(changes, "updated") else changes.completed
    return Outcome(changes.created, updated, changes.unchanged, notes)


def legacy(upload: Upload, actor: str, dry_run: bool) -> Outcome:
    assert upload.issuer_id
    changes = import_legacy_shareholders(
        Issuer.objects.get(pk=upload.issuer_id),
        upload.file_name,
        upload.content,
        actor,
        begin,
        create_holders=upload.creates_holders,
        dry_run=dry_run,
    )
    if not (made := changes.holders):
        return outcome(changes)
    said = f"Holders: {made.created:,} new, {made.completed:,} completed."
    return outcome(changes, said)


def holders(upload: Upload, actor: str, dry_run: bool) -> Outcome:
    changes = import_holders(
        upload.file_name, upload.content, actor, begin, dry_run=dry_run
    )
    if not changes.other_names:
        return outcome(changes)
    said = f"{changes.other_names:,} have another name in the register, which stays."
    return outcome(changes, said)


def issuers(upload: Upload, actor: str, dry_run: bool) -> Outcome:
    changes = import_issuers(upload.content, begin, dry_run=dry_run)
    return outcome(changes, *map(str, changes.taken_symbols[:20]))


def figures(upload: Upload, actor: str, dry_run: bool) -> Outcome:
    return outcome(import_financial_data(upload.content, begin, dry_run=dry_run))


def bank_lines(upload: Upload, actor: str, dry_run: bool) -> Outcome:
    try:
        booked = book_statement(
            upload.content,
            upload.file_name,
            actor,
            begin,
            closing_balance=upload.closing_balance,
            dry_run=dry_run,
        )
    except OtherBalance as error:
        return Outcome(problem=str(error))
    said = (
        f"{booked.deposits:,} deposits, {euros(booked.deposited)}; "
        f"{booked.withdrawals:,} withdrawals, {euros(booked.withdrawn)}; the closing "
        f"balance agrees with the bank: {euros(booked.balance)}."
    )
    unknown = [f"Unallocated: {line}" for line in booked.unknown[:MOST_TOLD]]
    if left := len(booked.unknown) - len(unknown):
        unknown.append(f"Unallocated: {left:,} more.")
    if booked.ignored_columns:
        unknown.append(f"Columns ignored: {', '.join(booked.ignored_columns)}.")
    new = booked.deposits + booked.withdrawals + len(booked.unknown)
    needed = booked.deposits and is_needed(
        ApprovalKind.STATEMENT, str(User.objects.get(email=actor).pk), booked.deposited
    )
    return Outcome(
        new,
        0,
        booked.known,
        (said, *unknown),
        moves=tuple(
            (str(account), euros(was), euros(became))
            for account, was, became in moves(booked)
        ),
        asks=(booked.content, statement_title(booked)) if needed else None,
        keeps=not booked.is_known,
    )


KINDS = {
    "legacy": Kind(
        "Legacy shareholders",
        "reference, one or more of holder_email, holder_wallet and holder_lei, "
        "token_symbol, number_of_shares, price_cents; optional: created_at, "
        "holder_name, holder_kind, holder_country",
        ("issuers.add_legacyshareholder", "issuers.change_legacyshareholder"),
        legacy,
        of_issuer=True,
    ),
    "holders": Kind(
        "Holders",
        "name, kind (INDIVIDUAL or COMPANY), one or more of email, wallet and lei; "
        "optional: country",
        ("accounts.add_user", "accounts.change_user", "accounts.add_userholder"),
        holders,
    ),
    "figures": Kind(
        "Financial data",
        "issuer (slug), year, period_type (YEAR or FIRST_SEMESTER); optional: "
        "revenue_cents, ebitda_cents, ebit_cents, net_income_cents",
        ("issuers.add_issuerfinancialdata", "issuers.change_issuerfinancialdata"),
        figures,
    ),
    "issuers": Kind(
        "Issuers",
        "name, isin, symbol, country, city; optional: website, sector, industry, "
        "formation_date (1998-04-30)",
        ("issuers.add_issuer", "issuers.change_issuer", "issuers.add_token"),
        issuers,
    ),
    "bank": Kind(
        "Bank statement",
        "reference (the bank's own), text, amount (euro cents, negative for outgoing "
        "payments), date (2027-01-31)",
        ("accounts.add_bankstatement",),
        bank_lines,
    ),
}
OF_HOLDERS = KINDS["holders"].permissions


class UploadForm(forms.Form):
    kind = forms.ChoiceField(label="Type of file")
    issuer = forms.SlugField(
        label="Issuer's slug", required=False, help_text="For legacy shareholders only."
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
        decimal_places=2,
        help_text=(
            "For a bank statement in CSV: the bank's balance after the last line. The "
            "books must agree. A camt.053 states it."
        ),
    )
    file = forms.FileField(
        label="File",
        help_text="CSV in UTF-8, or a bank's camt.053; at most 5 MiB.",
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
                "imported here. Split the file, or import it with manage.py."
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
            None if closing is None else int(closing * 100),
        )


def may(user: Any, kind: Kind) -> bool:
    return user.has_perms(kind.permissions)


def attempt(upload: Upload, actor: str, dry_run: bool) -> Outcome:
    try:
        with lock_waits.name_locked_row():
            return KINDS[upload.kind].run(upload, actor, dry_run)
    except WrongFileError as error:
        told = tuple(map(in_columns, error.problems))
        return Outcome(problems=told, problem_count=error.count)
    except DataError as error:
        said = str(error).splitlines()[0]
        return Outcome(problem=f"The database rejected the value: {said}.")
    except (IntegrityError, lock_waits.LockTimeout) as error:
        said = str(error).splitlines()[0]
        return Outcome(problem=f"Another change is in progress: {said}")


def in_columns(problem: Problem) -> tuple[int, str, str, str]:
    """Line, field, rule and remedy."""
    rule, _, remedy = problem.rule.rpartition("; ")
    if not rule:
        return problem.line, problem.field, remedy, "correct the value"
    return problem.line, problem.field, rule, remedy


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
            found = attempt(upload, actor_of(request), dry_run=True)
            cache.set(cache_key(request), (upload, found), KEPT_SECONDS)
            return HttpResponseRedirect(reverse("admin:import_preview"))
    else:
        form = UploadForm(request.user)
    context = admin.site.each_context(request) | {
        "title": "Import a file",
        "form": form,
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
            done, asked = confirm(upload, found, request)
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
        messages.warning(
            request,
            "The data has changed since the preview. Nothing was written; this is the "
            "new preview.",
        )
        return HttpResponseRedirect(request.path)
    context = admin.site.each_context(request) | {
        "title": f"Import {upload.file_name}",
        "upload": upload,
        "kind": KINDS[upload.kind],
        "found": found,
    }
    return TemplateResponse(request, "admin/import_preview.html", context)


def confirm(
    upload: Upload, previewed: Outcome, request: HttpRequest
) -> tuple[Outcome, ApprovalRequest | None]:
    """Write what was previewed, or ask a second person for it.

    Where it differs by now, nothing is written; what would be is returned.

    Raises:
        NotApproved: this person may not ask, gives no reason, or by now has to ask.
    """
    assert isinstance(request.user, User)
    reason = request.POST.get("reason", "").strip()[:REASON_LENGTH]
    if previewed.asks and not reason:
        raise NotApproved("A reason is required; the approver sees it.")
    asked = None
    with carrying([]):
        done = attempt(upload, actor_of(request), dry_run=previewed.asks is not None)
        if done != previewed:
            transaction.set_rollback(True)
        elif done.asks:
            content, title = done.asks
            asked = file_request(
                ApprovalKind.STATEMENT, content, title, reason, request.user
            )
    return done, asked
