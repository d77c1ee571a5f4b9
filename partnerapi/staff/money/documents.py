"""An issued document on one page, and its two files as they were issued."""

from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from accounts.history.models import RowChange
from marketdata.trading.models import IssuedDocument
from partnerapi.core.database import confirm
from partnerapi.core.money import euros
from partnerapi.staff.log.authorship import written_by_user

RIGHT = "trading.view_issueddocument"
FORMS = {
    "document.pdf": ("application/pdf", "pdf"),
    "document.json": ("application/json", "content"),
}
"""By the end of a file's address: its type and its column."""


@require_safe
def show_document(request: HttpRequest, pk: UUID) -> HttpResponse:
    if not request.user.has_perm(RIGHT):
        raise PermissionDenied
    rows = IssuedDocument.objects.defer("content", "pdf")
    related = rows.select_related("partner", "account__user", "account__partner")
    document = get_object_or_404(related, pk=pk)
    context = admin.site.each_context(request) | {
        "title": str(document),
        "document": document,
        "net": euros(document.fee_net),
        "vat": euros(document.fee_vat),
        "pdf_digest": bytes(document.pdf_digest).hex(),
        "json_digest": bytes(document.content_digest).hex(),
    }
    return TemplateResponse(request, "admin/document.html", context)


@require_safe
def download_document(request: HttpRequest, pk: UUID, name: str) -> HttpResponse:
    """A file, once the log has who takes it. Each time it is the same file."""
    if not request.user.has_perm(RIGHT):
        raise PermissionDenied
    if name not in FORMS:
        raise Http404
    type_, column = FORMS[name]
    document = get_object_or_404(IssuedDocument, pk=pk)
    saved = f"{document.kind.lower()}-{document.number}.{name.rpartition('.')[2]}"
    with written_by_user(request):
        RowChange.objects.note_export(document, what=f"{document}", file=saved)
        confirm()
    return HttpResponse(
        bytes(getattr(document, column)),
        content_type=type_,
        headers={"Content-Disposition": f'attachment; filename="{saved}"'},
    )
