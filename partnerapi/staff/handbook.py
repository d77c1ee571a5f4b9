"""The handbook of staff: a page for each job and role, and the job of each page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from partnerapi.staff.handbook_jobs import JOBS, Job
from partnerapi.staff.roles import PEOPLE, ROLES, SUPERUSER

ABOUT_ROLES: Mapping[str, str] = {
    "Support": "You answer partners and clients, and change the status of accounts.",
    "Operations": "You run the register, the markets and the imports.",
    "Compliance": "You decide what others request, and restrict holders and tokens.",
    "Treasury": "You book the bank's statements, assign receipts and pay withdrawals.",
    "Key manager": "You decide which partner has access to what.",
    SUPERUSER: "You may do everything, but never decide your own requests.",
}
OF_PAGES: Mapping[str, str] = {
    "find": "find", "roles": "colleagues", "passkeys": "decide",
    "recovery_codes": "recovery-codes",
    "approve_together": "decide", "log": "log", "issuer": "issuers",
    "captable": "captable", "captable_csv": "captable", "ledger": "units",
    "token": "units", "book": "watch-books", "book_poll": "watch-books",
    "books": "watch-books", "market": "halt", "auction": "watch-books",
    "auction_poll": "watch-books", "execution": "bust", "order": "orders",
    "offering": "offerings",
    "account": "accounts", "holder": "find", "holder_statement": "proofs",
    "holder_compliance": "restrict",
    "partner": "keys", "partner_requests": "partner-requests", "partner_key": "keys",
    "key": "keys", "revoke": "keys", "grant": "grants", "desk_member": "desks",
    "payments": "pay", "payment_file": "pay", "receipts": "receipts",
    "document": "documents", "document_file": "documents",
    "import": "import", "import_preview": "import", "import_job": "import",
    "import_progress": "import", "delivery": "deliver",
    "delivery_confirm": "deliver", "deliveries": "deliver", "delivery_job": "deliver",
    "delivery_progress": "deliver", "delivery_csv": "deliver",
    "password_change": "colleagues", "password_change_done": "colleagues",
    "books_poll": "watch-books", "cash": "bank", "data": "find", "pick": "find",
    "waiting": "find",
    "view_on_site": "find",
}  # fmt: skip
"""Which job a page of the back office's own belongs to, by the name of its address.

Help on the others lists all jobs."""
OF_REQUESTS: Mapping[str, str] = {
    "mint": "units", "burn": "units", "forced_transfer": "units", "transfer": "units",
    "reversal": "units", "price": "price", "key": "keys", "closing": "accounts",
    "rule": "rules", "lifting": "restrict", "withdrawal": "withdrawals",
    "assignment": "receipts", "bust": "bust", "reopen": "halt",
    "identity": "identity", "grant": "grants", "desk": "desks",
    "release": "orders", "sign_in": "reset-sign-in",
    "tariff": "tariffs", "parameters": "parameters",
    "offering": "offerings", "settlement": "offerings", "payout": "payouts",
}  # fmt: skip
OF_WORK: Mapping[str, str] = {
    "withdraw-draft": "offerings", "open-secondary": "open-market",
}  # fmt: skip
"""Work of which no job has the name."""
OF_LISTS: Mapping[str, str] = {
    "accounts_account": "accounts", "accounts_accountstatuschange": "accounts",
    "accounts_apikey": "keys", "accounts_approvalpolicy": "decide",
    "accounts_approvalrequest": "decide", "accounts_bankline": "receipts",
    "accounts_bankstatement": "bank", "accounts_cashaccount": "bank",
    "accounts_country": "find", "accounts_houseaccount": "pay",
    "accounts_investorattestation": "investors",
    "accounts_investorprofile": "investors", "accounts_partner": "keys",
    "accounts_staffchange": "colleagues", "accounts_user": "colleagues",
    "accounts_userholder": "find", "accounts_withdrawal": "withdrawals",
    "auth_group": "colleagues", "issuers_approvedholder": "rules",
    "issuers_article": "publish", "issuers_document": "publish",
    "issuers_industryclassificationbenchmark": "issuers", "issuers_issuer": "issuers",
    "issuers_issuerfinancialdata": "publish", "issuers_issuergrant": "grants",
    "issuers_legacyshareholder": "deliver", "issuers_restriction": "restrict",
    "issuers_token": "issuers", "issuers_tokenrule": "rules",
    "marketdata_conformancereport": "conformance",
    "marketdata_fixsession": "assign-compids", "trading_market": "halt",
    "trading_order": "orders", "trading_orderblock": "orders",
    "trading_refusedorder": "orders", "trading_issueddocument": "documents",
    "trading_tariff": "tariffs", "trading_marketparameters": "parameters",
    "issuers_offering": "offerings",
    "partnerapi_export": "partner-requests",
    "partnerapi_failedsignin": "unlock-sign-in",
    "partnerapi_idempotencyrecord": "partner-requests",
    "partnerapi_jobrun": "run-check",
    "partnerapi_webhookdelivery": "webhooks",
    "partnerapi_webhookendpoint": "webhooks",
}  # fmt: skip


def job_of(name: str, given: Mapping[str, Any]) -> str:
    """The job that a page belongs to, by the name and the arguments of its address."""
    if name == "ask":
        return OF_REQUESTS[given["kind"].lower()]
    if name == "work":
        return OF_WORK.get(given["name"], str(given["name"]))
    return OF_PAGES.get(name) or OF_LISTS[name.rpartition("_")[0]]


def help_link(request: HttpRequest) -> str:
    """The page of the handbook for the page that is requested."""
    match = request.resolver_match
    try:
        job = job_of(match.url_name or "", match.kwargs) if match else ""
    except KeyError:
        job = ""
    if job not in JOBS:
        return reverse("admin:help")
    return reverse("admin:help_job", args=[job])


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    slug: str
    about: str
    jobs: list[Job]


def role_of(name: str) -> Role:
    person = PEOPLE[name]
    jobs = [job for job in JOBS.values() if not job.right or person.has_perm(job.right)]
    return Role(name, name.lower().replace(" ", "-"), ABOUT_ROLES[name], jobs)


def roles() -> list[Role]:
    return [role_of(name) for name in (*ROLES, SUPERUSER)]


def show_help(request: HttpRequest) -> HttpResponse:
    """All staff see it."""
    context = admin.site.each_context(request) | {
        "title": "Handbook",
        "roles": roles(),
        "jobs": JOBS.values(),
    }
    return TemplateResponse(request, "admin/help.html", context)


def show_role(request: HttpRequest, slug: str) -> HttpResponse:
    for role in roles():
        if role.slug == slug:
            context = admin.site.each_context(request)
            context |= {"title": role.name, "role": role}
            return TemplateResponse(request, "admin/help_role.html", context)
    raise Http404("There is no such role.")


def show_job(request: HttpRequest, slug: str) -> HttpResponse:
    if slug not in JOBS:
        raise Http404("The handbook has no such page.")
    job = JOBS[slug]
    user: Any = request.user
    context = admin.site.each_context(request) | {
        "title": job.title,
        "job": job,
        "may": not job.right or user.has_perm(job.right),
        "who": [role for role in roles() if job in role.jobs],
    }
    return TemplateResponse(request, "admin/help_job.html", context)
