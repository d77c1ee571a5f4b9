from importlib import import_module

from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView

from partnerapi.desk import entry
from partnerapi.desk import keys as desk_keys
from partnerapi.desk import pages as desk
from partnerapi.exports.download import download
from partnerapi.gateway.views import graphql_view
from partnerapi.operations import probes
from partnerapi.schema import schema
from partnerapi.site import docs, feed, pages, search, statements

handler500 = pages.answer_failure

# Nothing else loads what only a sandbox has.
if settings.PARTNER_API_DRIVEN:
    schema = import_module("partnerapi.sandbox.schema").extended()
FOR_PROBES = [
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
]
FOR_PARTNERS = [
    path("", pages.landing, name="landing"),
    path("graphql", graphql_view(schema), name="graphql"),
    path("graphiql", pages.graphiql, name="graphiql"),
    path("schema.graphql", pages.schema_sdl, name="schema_sdl"),
    path("scalars.json", pages.schema_scalars, name="schema_scalars"),
    path("docs", docs.index, name="docs"),
    path("docs/clients", pages.clients, name="clients"),
    path("docs/schema", pages.schema_reference, name="schema_reference"),
    path("docs/schema/<str:name>", pages.schema_entry, name="schema_entry"),
    path("docs/search.json", search.index, name="search_index"),
    path("docs/fix", pages.fix, name="fix"),
    path("docs/fix/<str:name>", pages.fix_file, name="fix_file"),
    path("docs/changelog.atom", feed.changes, name="changes"),
    path("docs/chains", RedirectView.as_view(url="/docs/proof", permanent=True)),
    path("docs/<slug:name>", docs.page, name="docs_page"),
    path("docs/verify.py", docs.program, {"name": "verify.py"}, "verify_python"),
    path("docs/verify.mjs", docs.program, {"name": "verify.mjs"}, "verify_javascript"),
    path("documents/<uuid:pk>/<str:name>", pages.document, name="document"),
    path("exports/<uuid:pk>", download, name="export"),
    path("statements", statements.listing, name="statements"),
    path("statements/<int:number>", statements.statement, name="statement"),
    path(
        "statements/<int:number>/witnesses",
        statements.witnesses,
        name="statement_witnesses",
    ),
    path(".well-known/partner-api-keys.json", statements.keys, name="statement_keys"),
]
FOR_DESKS = [
    path("partner", desk.show_usage, name="desk"),
    path("partner/requests", desk.show_requests, name="desk_requests"),
    path("partner/keys", desk_keys.show_keys, name="desk_keys"),
    path("partner/access", desk.show_access, name="desk_access"),
    path("partner/exports", desk.show_exports, name="desk_exports"),
    path("partner/webhooks", desk.show_webhooks, name="desk_webhooks"),
    path("partner/sign-in", entry.sign_in, name="desk_sign_in"),
    path("partner/sign-out", entry.sign_out, name="desk_sign_out"),
    path(
        "partner/invitation/<str:signed>",
        entry.accept_invitation,
        name="desk_invitation",
    ),
]
FOR_SANDBOXES = [path("sandbox.graphql", pages.sandbox_sdl, name="sandbox_sdl")]
served: list[URLPattern | URLResolver] = [*FOR_PROBES]
if settings.PARTNER_API_SERVES != "admin":
    served = [*served, *FOR_PARTNERS, *FOR_DESKS]
    if settings.PARTNER_API_DRIVEN:
        served = [*served, *FOR_SANDBOXES]
if settings.PARTNER_API_SERVES != "api":
    admin.autodiscover()
    served = [*served, path("admin/", admin.site.urls)]
urlpatterns = served
