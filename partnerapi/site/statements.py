"""Public statements of the register and the keys that sign them, for anyone."""

import json
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from issuers.register.publication import published_keys
from issuers.register.statement_models import Statement
from issuers.register.witnesses import witnesses_text
from partnerapi.core.times import to_rfc3339
from partnerapi.gateway.bills import Bill
from partnerapi.gateway.refusals import Throttled
from partnerapi.site.pages import cacheable, too_many

LISTED = 1_000


@require_safe
def listing(request: HttpRequest) -> HttpResponse:
    """The last statements, newest first; `?before=NUMBER` has those before one."""
    before = request.GET.get("before", "")
    if before and not (before.isdecimal() and len(before) < 19):
        raise Http404
    found = Statement.objects.order_by("-number")
    if before:
        found = found.filter(number__lt=int(before))
    return answer(
        request,
        lambda: json.dumps(
            {
                "statements": [
                    {
                        "number": one.number,
                        "at": to_rfc3339(one.at),
                        "digest": one.digest,
                        "key": one.key_id,
                        "address": f"/statements/{one.number}",
                    }
                    for one in found[:LISTED]
                ]
            }
        ),
        "application/json",
    )


@require_safe
def statement(request: HttpRequest, number: int) -> HttpResponse:
    """A statement: its line, the base64 of the line's signature, and its details."""

    def lines() -> str:
        found = Statement.objects.filter(number=number).first()
        if found is None:
            raise Http404
        parts = [found.said, found.signature, found.details]
        return "".join(f"{part}\n" for part in parts if part is not None)

    return answer(request, lines, "text/plain; charset=utf-8")


@require_safe
def witnesses(request: HttpRequest, number: int) -> HttpResponse:
    """The partners that witnessed a statement, with their keys and signatures."""
    return answer(request, lambda: witnesses_text(number), "application/json")


@require_safe
def keys(request: HttpRequest) -> HttpResponse:
    return answer(request, lambda: json.dumps(published_keys()), "application/json")


def answer(
    request: HttpRequest, read: Callable[[], str], content_type: str
) -> HttpResponse:
    """What is read, for a point of the budget of the address."""
    try:
        Bill(request, None).charge(1)
    except Throttled as refusal:
        return too_many(refusal)
    return cacheable(request, read(), content_type)
