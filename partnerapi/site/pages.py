"""What partners read in a browser: plain pages beside the API, without cookies."""

import json
import secrets
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.messages import get_messages
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe
from django.views.defaults import server_error
from graphql import extend_schema, parse

from accounts.access import Unauthenticated
from issuers.models import Document
from issuers.visible_documents import visible_documents
from marketdata.fix import reference as fix_reference
from marketdata.fix.conformance import rulebook
from marketdata.fix.downloads import FILES
from marketdata.fix.protocol import layouts, rules
from partnerapi.core.postgresql.faults import OutcomeUnknown, fault_of, took_too_long
from partnerapi.gateway.authentication import authenticate
from partnerapi.gateway.bills import Bill
from partnerapi.gateway.compression import admits_gzip, compress, representation
from partnerapi.gateway.refusals import InsecureTransport, Throttled
from partnerapi.gateway.views import CHALLENGE, check_transport
from partnerapi.schema import schema
from partnerapi.settings import VARIABLES
from partnerapi.site import reference
from partnerapi.site.exchanges import of_operations
from partnerapi.site.highlighting import highlighted

SDL_FILE = settings.BASE_DIR / "partnerapi" / "schema.graphql"
SANDBOX_SDL_FILE = settings.BASE_DIR / "partnerapi" / "sandbox" / "schema.graphql"
EXAMPLES_DIRECTORY = settings.BASE_DIR / "templates" / "examples"
CLIENTS = {
    "curl.sh": "curl",
    "python.py": "Python, gql",
    "apollo.mjs": "JavaScript, Apollo Client",
    "urql.mjs": "JavaScript, urql",
    "typescript.mts": "TypeScript, generated types",
}
"""Programs for partners, by their names in `clients` below the examples."""
TRADERS = {
    "trade.sh": "An order, curl",
    "trade.py": "An order, Python, gql",
    "trade.mjs": "An order, JavaScript, urql",
}
"""Programs that buy a unit, likewise."""
LANGUAGES = {
    ".sh": "bash",
    ".py": "python",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".mts": "typescript",
}
"""Of programs by the end of their names, as Pygments names them."""
CONFIGURATIONS = {"codegen.cjs": "TypeScript, configuration of the generator"}
"""Files that programs need beside them, likewise."""

PUBLIC_QUERY = (
    "{ industryClassificationBenchmarks(first: 3)"
    " { nodes { subsectorCode subsector } } }"
)
SCALARS = {
    "Time": {"input": "string", "output": "string"},
    "Uint64": {"input": "number | string", "output": "number"},
    "Int64": {"input": "number | string", "output": "number"},
}
"""TypeScript types of the schema's own scalars, as graphql-codegen's `scalars`."""

KEYED_QUERY = (
    "{ issuers(first: 3) { nodes { tradingName financialData(first: 2)"
    " { nodes { year periodType revenue } } } } }"
)

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self';"
    " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
GRAPHIQL_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self';"
    " style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
WITHDRAWN = "This document was withdrawn."
KEY_REFUSED = "The API key is malformed, unknown, revoked or expired.\n"
TEXT = "text/plain; charset=utf-8"
DOCUMENT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"


def answer_failure(request: HttpRequest) -> HttpResponse:
    """Answers what no one caught: 503 for want of the database, else 500."""
    error = sys.exception()
    # What the page was going to say that it did, it may not have done.
    list(get_messages(request))
    if not (fault_of(error) or took_too_long(error)):
        return server_error(request)
    # The whole page may need what is away, so it is the same for all readers.
    context = {"is_unknown": isinstance(error, OutcomeUnknown)}
    html = render_to_string("503.html", context)
    return HttpResponse(html, status=503, headers={"Retry-After": "1"})


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    context = {
        "sandbox": settings.PARTNER_API_SANDBOX,
        "key": sandbox_key(),
        "addresses": reference.addresses(),
        "endpoint": request.build_absolute_uri("/graphql"),
        "public_request": json.dumps({"query": PUBLIC_QUERY}),
        "keyed_request": json.dumps({"query": KEYED_QUERY}),
        "examples": examples(),
        "shown": of_operations()["issuer"],
    }
    return page(request, "landing.html", context, PAGE_POLICY)


@require_safe
def graphiql(request: HttpRequest) -> HttpResponse:
    key, nonce = sandbox_key(), secrets.token_urlsafe(16)
    configuration = {
        "endpoint": "/graphql",
        "headers": {"X-Token-Auth": key} if key else None,
        "examples": examples(),
        "nonce": nonce,
    }
    context = {"configuration": configuration, "examples": examples()}
    return page(request, "graphiql.html", context, GRAPHIQL_POLICY.format(nonce=nonce))


@require_safe
def clients(request: HttpRequest) -> HttpResponse:
    html = clients_page(request.build_absolute_uri("/graphql"))
    return html_page(request, html)


def clients_page(endpoint: str = "") -> str:
    context = {
        "sandbox": settings.PARTNER_API_SANDBOX,
        "key": sandbox_key(),
        "addresses": reference.addresses(),
        "endpoint": endpoint,
        "clients": client_programs(),
    }
    return render_to_string("clients.html", context)


@require_safe
def schema_sdl(request: HttpRequest) -> HttpResponse:
    return cacheable(request, sdl(), "text/plain; charset=utf-8")


@require_safe
def sandbox_sdl(request: HttpRequest) -> HttpResponse:
    text = SANDBOX_SDL_FILE.read_text()
    return cacheable(request, text, "text/plain; charset=utf-8")


@require_safe
def schema_scalars(request: HttpRequest) -> HttpResponse:
    return cacheable(request, scalars(), "application/json")


@require_safe
def schema_reference(request: HttpRequest) -> HttpResponse:
    return html_page(request, reference_page())


@require_safe
def schema_entry(request: HttpRequest, name: str) -> HttpResponse:
    found = reference_entries().get(name)
    if found is None:
        raise Http404
    return html_page(request, found)


@require_safe
def fix(request: HttpRequest) -> HttpResponse:
    return html_page(request, fix_page())


@require_safe
def fix_file(request: HttpRequest, name: str) -> HttpResponse:
    """A file of FILES, to be saved."""
    if name not in FILES:
        raise Http404
    make, content_type = FILES[name]
    response = cacheable(request, make(), content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


NO_CONTACT = VARIABLES["EMAIL_FROM"].default


def contact() -> str:
    """The address that partners write to; "": none is set."""
    address = settings.DEFAULT_FROM_EMAIL
    is_set = address != NO_CONTACT
    return address if is_set else ""


def first_test() -> dict[str, object]:
    """What the first commands of a partner name: in a sandbox, what it has."""
    if not settings.PARTNER_API_SANDBOX:
        return {
            "try_host": "<host>",
            "try_port": "<port>",
            "try_comp_id": "<CompID>",
            "try_symbol": "LUM",
        }
    return {
        "try_host": "localhost",
        "try_port": settings.FIX_PORT,
        "try_comp_id": "PARTNER001",
        "try_symbol": "LUMARELLE",
    }


def fix_page() -> str:
    context = {
        "version": rules.VERSION,
        "zone": settings.MARKET_TIME_ZONE,
        "sandbox": settings.PARTNER_API_SANDBOX,
        "comp_id": settings.FIX_COMP_ID,
        "port": settings.FIX_PORT,
        "contact": contact(),
        "conflation": settings.FIX_CONFLATION_MS,
        "event_days": settings.PARTNER_API_EVENT_DAYS,
        **first_test(),
        "layouts": layouts.LAYOUTS,
        "session_rules": rules.SESSION_RULES,
        "limits": fix_reference.limits(),
        "reject_reasons": rules.MD_REJECT_REASONS,
        "logouts": fix_reference.logouts(),
        "steps": fix_reference.conversation(),
        "engine_settings": fix_reference.engine_settings(),
        "conformance": rulebook.rulebook(),
        "change_policy": rulebook.CHANGE_POLICY,
        "in_time": rulebook.ANSWER_SECONDS,
    }
    return render_to_string("fix_reference.html", context)


def html_page(request: HttpRequest, html: str) -> HttpResponse:
    """A page that is the same for all readers who asks this address for it."""
    response = cacheable(request, html, "text/html; charset=utf-8")
    response["Content-Security-Policy"] = PAGE_POLICY
    return response


DOCUMENT_BYTES_PER_POINT = 20_000


@require_safe
def document(request: HttpRequest, pk: UUID, name: str) -> HttpResponse:
    """A document's bytes, which never change once they are stored.

    A document that is not public needs the key of a partner that may see its offering.
    Each answer draws on the address's budget, by its bytes. One that was public when it
    was served, and is no more, is gone.
    """
    bill = Bill(request, None)
    try:
        bill.charge(1)
    except Throttled as refusal:
        return too_many(refusal)
    documents = Document.objects.filter(pk=pk, name=name).defer("content")
    found = visible_documents(None, documents).first()
    is_public = found is not None
    token = request.headers.get("X-Token-Auth")
    if token is not None and not is_public:
        try:
            check_transport(request)
            found = visible_documents(authenticate(token), documents).first()
        except InsecureTransport as refusal:
            return HttpResponse(f"{refusal}\n", TEXT, refusal.status)
        except Unauthenticated:
            return HttpResponse(KEY_REFUSED, TEXT, 401, headers=CHALLENGE)
    if found is None:
        get_object_or_404(documents, served_at__isnull=False)
        return HttpResponse(WITHDRAWN, TEXT, 410)
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable"
        if is_public
        else "private, no-store",
        "Content-Disposition": f'inline; filename="{found.name}"',
        "Content-Security-Policy": DOCUMENT_POLICY,
        "ETag": f'"{found.checksum_sha256}"',
        "X-Content-Type-Options": "nosniff",
    }
    response = HttpResponse(content_type=found.content_type, headers=headers)
    etag = headers["ETag"]
    answer = get_conditional_response(request, etag, response=response) or response
    if answer is response:
        response["Content-Length"] = found.size_bytes
        if request.method == "GET":
            try:
                bill.charge(found.size_bytes // DOCUMENT_BYTES_PER_POINT)
            except Throttled as refusal:
                return too_many(refusal)
            response.content = found.content
            if is_public and found.served_at is None:
                documents.filter(served_at=None).update(served_at=Now())
    return answer


def too_many(refusal: Throttled) -> HttpResponse:
    return HttpResponse(f"{refusal}\n", TEXT, refusal.status, headers=refusal.headers)


def page(
    request: HttpRequest, template: str, context: dict[str, Any], policy: str
) -> HttpResponse:
    response = render(request, template, context)
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = policy
    compress(request, response)
    return response


def cacheable(request: HttpRequest, content: str, content_type: str) -> HttpResponse:
    compressed = admits_gzip(request)
    body, etag = representation(content, compressed)
    headers = {
        "Cache-Control": "public, no-cache",
        "ETag": etag,
        "Vary": "Accept-Encoding",
    }
    if compressed:
        headers["Content-Encoding"] = "gzip"
    response = HttpResponse(body, content_type=content_type, headers=headers)
    return get_conditional_response(request, etag, response=response) or response


def sandbox_key() -> str:
    """The key that pages show; empty outside a sandbox, whatever is configured."""
    return settings.PARTNER_API_SANDBOX_KEY if settings.PARTNER_API_SANDBOX else ""


@cache
def examples() -> list[dict[str, str]]:
    """Saved requests: N-name.graphql, its first line the title, and N-name.json."""
    found = []
    paths = EXAMPLES_DIRECTORY.glob("*.graphql")
    for path in sorted(paths, key=lambda path: int(path.stem.partition("-")[0])):
        query = path.read_text()
        variables = path.with_suffix(".json")
        found.append(
            {
                "name": path.stem.partition("-")[2],
                "title": query.partition("\n")[0].removeprefix("# "),
                "query": query,
                "variables": variables.read_text() if variables.exists() else "",
            }
        )
    return found


@cache
def client_programs() -> list[dict[str, str]]:
    directory = EXAMPLES_DIRECTORY / "clients"
    return [
        {
            "anchor": name.partition(".")[0] if name in CLIENTS else name,
            "name": name,
            "title": title,
            "program": mark_safe(
                highlighted(
                    (directory / name).read_text(), LANGUAGES[Path(name).suffix]
                )
            ),
        }
        for name, title in (CLIENTS | CONFIGURATIONS | TRADERS).items()
    ]


@cache
def sdl() -> str:
    return SDL_FILE.read_text()


@cache
def scalars() -> str:
    return json.dumps(SCALARS, indent=2) + "\n"


@cache
def reference_page() -> str:
    context = {
        "addresses": reference.addresses(),
        "limits": reference.limits(),
        "errors": reference.errors(),
        "sections": sections(),
    }
    return render_to_string("schema_reference.html", context)


@cache
def sections() -> list[reference.Section]:
    """Of production's schema, and what a sandbox has beside it."""
    extended = extend_schema(schema, parse(SANDBOX_SDL_FILE.read_text()))
    return [*reference.sections(schema), reference.of_sandboxes(schema, extended)]


@cache
def reference_entries() -> dict[str, str]:
    """The pages of operations, types and codes, by the last part of their address."""
    shown: list[tuple[str, str, Sequence[reference.Entry | reference.PublishedError]]]
    shown = [
        ("schema_entry.html", section.title, section.entries) for section in sections()
    ]
    shown.append(("schema_error.html", "Errors", reference.errors()))
    return {
        entry.anchor: render_to_string(
            template, {"entry": entry, "title": title, "entries": entries}
        )
        for template, title, entries in shown
        for entry in entries
    }
