"""`GET /exports/<id>`: the file of an export, whole or from any byte on.

The address is signed and gives the file to its holder alone: it needs no key. It ends
after an hour; one made for a member of a desk also ends with the membership.
"""

import re
from collections.abc import Iterator
from uuid import UUID

from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.http import urlencode
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from accounts.desk.models import DeskMember
from partnerapi.core.postgresql.lending import rest
from partnerapi.exports.access import reader_of
from partnerapi.exports.models import Export, ExportMember
from partnerapi.gateway.bills import Bill
from partnerapi.gateway.refusals import Throttled

SIGNED_SECONDS = 3_600
RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")

signer = TimestampSigner(salt="exports")


class Unsatisfiable(Exception):
    """No byte of the file lies in the range."""


def address(pk: str, member: str = "") -> str:
    """The path and query at which the file can be had for an hour from now.

    `member` is the id of the member of a desk for whom it is made; "" for none.
    """
    signature = signer.sign(pk + member).removeprefix(f"{pk}{member}:")
    query = {"member": member} if member else {}
    return f"/exports/{pk}?{urlencode({**query, 'signature': signature})}"


def is_signed(pk: UUID, member: str, signature: str) -> bool:
    """Whether the address was made within the hour, and for whom it says."""
    try:
        signer.unsign(f"{pk}{member}:{signature}", max_age=SIGNED_SECONDS)
    except BadSignature:
        return False
    return True


# Other methods are refused for what they are, before cookies are read.
@csrf_exempt
@require_safe
def download(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """The file, gzip of JSON lines; each request draws on the address's budget."""
    bill = Bill(request, None)
    try:
        bill.charge(1)
    except Throttled as refusal:
        return refusal_response(429, f"{refusal}", refusal.headers)
    member = request.GET.get("member", "")
    if not is_signed(pk, member, request.GET.get("signature", "")):
        return refusal_response(403, NOT_SIGNED)
    if member and not DeskMember.objects.get(pk=member).may_use():
        return refusal_response(403, "You are no longer a member of the desk.")
    export = Export.objects.filter(
        pk=pk, status=Export.Status.READY, expires_at__gt=timezone.now()
    ).first()
    if export is None:
        return refusal_response(410, "The export has expired; request a new one.")
    if reader_of(export) is None:
        return refusal_response(403, "You may no longer read the data of the export.")
    etag = f'"{export.pk}"'
    name = f"{export.connection.lower()}-{export.pk}.jsonl.gz"
    headers = {
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-store",
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Type": "application/gzip",
        "ETag": etag,
    }
    unchanged = get_conditional_response(
        request, etag, response=HttpResponse(headers=headers)
    )
    if unchanged is not None and unchanged.status_code != 200:
        return unchanged
    size = export.size_bytes
    first, end, status = 0, size, 200
    wanted = request.headers.get("Range", "")
    # Another file than the client has a part of is sent whole (RFC 9110, 13.1.5).
    if request.method == "GET" and request.headers.get("If-Range", etag) == etag:
        try:
            part = part_of(wanted, size)
        except Unsatisfiable:
            return refusal_response(
                416, f"The file has {size} bytes.", {"Content-Range": f"bytes */{size}"}
            )
        if part is not None:
            (first, end), status = part, 206
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{size}"
    headers["Content-Length"] = str(end - first)
    if request.method == "HEAD":
        return HttpResponse(status=status, headers=headers)
    # Other threads send the file, and this one's request does not end before.
    rest()
    return StreamingHttpResponse(
        content(export.pk, first, end), status=status, headers=headers
    )


NOT_SIGNED = (
    "The address is not signed, or was signed more than an hour ago; query the "
    "export's `url` again."
)


def refusal_response(
    status: int, message: str, headers: dict[str, str] | None = None
) -> HttpResponse:
    return HttpResponse(
        f"{message}\n",
        status=status,
        content_type="text/plain; charset=utf-8",
        headers=headers,
    )


def part_of(header: str, size: int) -> tuple[int, int] | None:
    """The first byte of a Range header's only range, and the byte behind its last.

    None: the header is absent, malformed, or has several ranges; then it does not
    count (RFC 9110, 14.2).

    Raises:
        Unsatisfiable
    """
    match = RANGE.fullmatch(header.strip())
    if match is None or match[0] == "bytes=-":
        return None
    first, last = match.groups()
    if not first:
        begin, end = max(0, size - int(last)), size
    else:
        begin, end = int(first), min(size, int(last) + 1 if last else size)
        if last and int(last) < begin:
            return None
    if begin >= size:
        raise Unsatisfiable
    return begin, end


def content(pk: UUID, first: int, end: int) -> Iterator[bytes]:
    """The bytes of the file from one to before another, member by member.

    Raises:
        ExportMember.DoesNotExist: the file was deleted meanwhile.
    """
    members = ExportMember.objects.filter(export=pk)
    found = members.filter(position__lte=first).order_by("-number")
    number = found.values_list("number", flat=True)[0]
    at = first
    while at < end:
        position, data = members.values_list("position", "data").get(number=number)
        piece = bytes(data)[at - position : end - position]
        # Others use it while the client takes the piece, however long that lasts.
        rest()
        yield piece
        at += len(piece)
        number += 1
