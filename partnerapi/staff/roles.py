"""The roles of staff, and the page that shows their permissions.

A role is a group of this name. Each migration gives it the rights listed here; users
who need others get another group. The page asks the other pages for their rights.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from accounts.approvals.models import ApprovalKind
from partnerapi.core.authors import written_by
from partnerapi.staff.register.delivery.choosing import MAY_DELIVER, MAY_VIEW
from partnerapi.staff.register.imports import KINDS as IMPORTS
from partnerapi.staff.work import WORK

READ = tuple(
    f"{app}.view_{model}"
    for app, models in {
        "accounts": "account accountstatuschange apikey approvalpolicy approvalrequest"
        " country deskmember investorattestation investorprofile partner staffchange"
        " user userholder",
        "issuers": "approvedholder article document industryclassificationbenchmark"
        " issuer issuerfinancialdata issuergrant legacyshareholder offering restriction"
        " token tokenrule",
        "marketdata": "conformancereport fixsession",
        "trading": "market marketparameters order orderblock execution refusedorder"
        " tariff",
        "partnerapi": "export idempotencyrecord jobrun webhookdelivery webhookendpoint",
    }.items()
    for model in models.split()
)
"""Rows that all staff can read."""
CASH = (
    *(
        f"accounts.view_{model}"
        for model in (
            "bankline",
            "bankstatement",
            "cashaccount",
            "houseaccount",
            "withdrawal",
        )  # fmt: skip
    ),
    "trading.view_issueddocument",
)
WATCH = ("accounts.view_rowchange", "partnerapi.view_failedsignin")


def rights(app: str, models: str, *actions: str) -> tuple[str, ...]:
    return tuple(f"{app}.{do}_{model}" for model in models.split() for do in actions)


def kinds(action: str, *names: str) -> tuple[str, ...]:
    return tuple(f"accounts.{action}_{name.lower()}" for name in names)


Of = ApprovalKind
REGISTER = (
    Of.MINT, Of.BURN, Of.FORCED_TRANSFER, Of.REVERSAL, Of.PRICE, Of.DELIVERY,
    Of.TRANSFER, Of.REGISTER,
)  # fmt: skip
OF_RULES = (Of.RULE, Of.LIFTING)
OF_CASH = (Of.WITHDRAWAL, Of.ASSIGNMENT, Of.STATEMENT, Of.PAYOUT)
OF_ACCESS = (Of.KEY, Of.GRANT, Of.DESK, Of.SIGN_IN)
OF_MARKETS = (Of.BUST, Of.REOPEN, Of.RELEASE, Of.TARIFF, Of.PARAMETERS)
OF_OFFERINGS = (Of.OFFERING, Of.SETTLEMENT)
ROLES: Mapping[str, tuple[str, ...]] = {
    "Support": (
        *READ,
        *CASH,
        "accounts.change_account",
        *kinds("file", Of.CLOSING, Of.ERASURE),
    ),
    "Operations": (
        *READ,
        *rights("issuers", "issuer token legacyshareholder", "add", "change"),
        "issuers.add_document",
        *rights("issuers", "article issuerfinancialdata", "add", "change", "delete"),
        *rights("accounts", "user userholder", "add", "change"),
        "trading.change_market",
        "partnerapi.add_jobrun",
        *kinds("file", *REGISTER, *OF_MARKETS, *OF_OFFERINGS, Of.IDENTITY),
        *kinds("decide", Of.PRICE, Of.DELIVERY, Of.REOPEN, Of.RELEASE),
    ),
    "Compliance": (
        *READ,
        *CASH,
        *WATCH,
        "partnerapi.add_jobrun",
        "accounts.change_account",
        "accounts.add_investorchange",
        *rights("issuers", "restriction approvedholder", "add"),
        *kinds("file", Of.CLOSING, Of.REVERSAL, Of.FORCED_TRANSFER, Of.ERASURE),
        *kinds("file", *OF_RULES),
        *kinds("decide", *REGISTER, Of.CLOSING, *OF_CASH, *OF_RULES, *OF_MARKETS),
        *kinds("decide", *OF_OFFERINGS),
        *kinds("decide", Of.IDENTITY, Of.GRANT, Of.DESK, Of.SIGN_IN, Of.ERASURE),
    ),
    "Treasury": (
        *READ,
        *CASH,
        "accounts.add_bankstatement",
        "accounts.add_paymentfile",
        "accounts.change_withdrawal",
        *kinds("file", *OF_CASH),
        *kinds("decide", *OF_CASH),
    ),
    "Key manager": (
        *READ,
        *WATCH,
        *rights("accounts", "partner", "add", "change"),
        "accounts.change_apikey",
        "issuers.change_issuergrant",
        "marketdata.change_fixsession",
        "partnerapi.change_failedsignin",
        "accounts.change_deskmember",
        *kinds("file", *OF_ACCESS),
        *kinds("decide", *OF_ACCESS),
    ),
}
SUPERUSER = "Superuser"

READS_ISSUERS = ("issuers.view_issuer",)
READS_TOKENS = ("issuers.view_token",)
READS_LINES = (MAY_VIEW,)
READS_PARTNERS = ("accounts.view_partner",)
PAGES: Mapping[str, tuple[str, ...]] = {
    "issuer": READS_ISSUERS,
    "captable": READS_ISSUERS,
    "captable_csv": READS_ISSUERS,
    "token": READS_TOKENS,
    "ledger": READS_TOKENS,
    "book": READS_TOKENS,
    "book_poll": READS_TOKENS,
    "books": READS_TOKENS,
    "books_poll": READS_TOKENS,
    "market": ("trading.view_market",),
    "auction": ("trading.view_market",),
    "auction_poll": ("trading.view_market",),
    "order": ("trading.view_order",),
    "execution": ("trading.view_execution",),
    "offering": ("issuers.view_offering",),
    "payments": ("accounts.view_withdrawal",),
    "payment_file": ("accounts.add_paymentfile",),
    "receipts": ("accounts.view_bankline",),
    "document": ("trading.view_issueddocument",),
    "document_file": ("trading.view_issueddocument",),
    "delivery": READS_LINES,
    "delivery_confirm": (MAY_DELIVER,),
    "deliveries": READS_LINES,
    "delivery_job": READS_LINES,
    "delivery_progress": READS_LINES,
    "delivery_csv": READS_LINES,
    "account": ("accounts.view_account",),
    "holder": ("accounts.view_user",),
    "holder_statement": ("accounts.view_user", "issuers.view_token"),
    "holder_compliance": ("issuers.view_restriction",),
    "partner": READS_PARTNERS,
    "partner_requests": READS_PARTNERS,
    "key": ("accounts.view_apikey",),
    "partner_key": ("accounts.file_key",),
    "revoke": ("accounts.change_apikey",),
    "grant": ("issuers.change_issuergrant",),
    "desk_member": ("accounts.change_deskmember",),
    "log": ("accounts.view_rowchange",),
    "passkeys": (),
    "recovery_codes": (),
    "roles": (),
    "help": (),
    "help_role": (),
    "help_job": (),
    "find": (),
    "data": (),
    "cash": ("accounts.view_bankstatement",),
    "waiting": (),
}
"""The rights that pages of the back office's own ask for; none: all staff see it."""


def write_roles(using: str) -> None:
    """Give each role its rights, and no other; its people go on deciding."""
    with written_by("migrate", "migrate", using=using):
        write(using)


def write(using: str) -> None:
    names = {name for codes in ROLES.values() for name in codes}
    found = Permission.objects.using(using).filter(
        codename__in=[name.partition(".")[2] for name in names]
    )
    ids = {
        f"{app}.{code}": pk
        for pk, app, code in found.values_list(
            "pk", "content_type__app_label", "codename"
        )
    }
    Group.objects.using(using).bulk_create(
        [Group(name=role) for role in ROLES], ignore_conflicts=True
    )
    groups = Group.objects.using(using).in_bulk(ROLES, field_name="name")
    given_to = Group.permissions.through.objects.using(using)
    wanted = {
        (groups[role].pk, ids[name])
        for role, codes in ROLES.items()
        for name in codes
        if name in ids
    }
    kept = set()
    for pk, *pair in given_to.filter(group__in=groups.values()).values_list(
        "pk", "group_id", "permission_id"
    ):
        if tuple(pair) in wanted:
            kept.add(tuple(pair))
        else:
            given_to.filter(pk=pk).delete()
    given_to.bulk_create(
        [
            Group.permissions.through(group_id=group, permission_id=permission)
            for group, permission in wanted - kept
        ]
    )


@dataclass(frozen=True, slots=True)
class Someone:
    """A member of staff of one role, whom pages ask for rights."""

    names: frozenset[str]
    is_superuser: bool = False
    is_active: bool = True
    is_staff: bool = True
    pk: None = None

    def has_perm(self, name: str, obj: Any = None) -> bool:
        return self.is_superuser or name in self.names

    def has_perms(self, names: Any, obj: Any = None) -> bool:
        return all(map(self.has_perm, names))

    def has_module_perms(self, app: str) -> bool:
        return self.is_superuser or any(
            name.startswith(f"{app}.") for name in self.names
        )


PEOPLE: Mapping[str, Someone] = {
    role: Someone(frozenset(names)) for role, names in ROLES.items()
} | {SUPERUSER: Someone(frozenset(), is_superuser=True)}


@dataclass(frozen=True, slots=True)
class Row:
    """A thing to do, and for each role whether it may."""

    what: str
    may: list[bool]


def row(what: object, *names: str) -> Row:
    """The roles that have all of these rights."""
    return Row(str(what), [person.has_perms(names) for person in PEOPLE.values()])


def table() -> Iterator[tuple[str, list[Row]]]:
    """Each part of the back office, with what can be done there."""
    registered = admin.site._registry
    for model in sorted(registered, key=lambda model: model._meta.label):
        yield str(model._meta.verbose_name_plural), [*of_model(registered[model])]
    yield "pages", [row(name, *names) for name, names in PAGES.items()]
    yield "imports", [row(each.title, *each.permissions) for each in IMPORTS.values()]
    yield "work", [row(each.title, each.right) for each in WORK.values()]
    for action, verb in (("file", "request"), ("decide", "decide")):
        rows = [row(kind.label, *kinds(action, kind)) for kind in ApprovalKind]
        yield f"requests: {verb}", rows


def of_model(page: Any) -> Iterator[Row]:
    may: dict[str, list[dict[str, Any]]] = {"rights": [], "actions": []}
    for person in PEOPLE.values():
        request: Any = HttpRequest()
        request.user = person
        may["rights"].append(page.get_model_perms(request))
        may["actions"].append(page.get_actions(request))
    for name in ("view", "add", "change", "delete"):
        yield Row(name, [rights[name] for rights in may["rights"]])
    for name in dict.fromkeys(name for one in may["actions"] for name in one):
        yield Row(
            name.replace("_", " "),
            [name in one for one in may["actions"]],
        )


def show_roles(request: HttpRequest) -> HttpResponse:
    """All staff see it."""
    context = admin.site.each_context(request) | {
        "title": "Roles and permissions",
        "roles": [*PEOPLE],
        "parts": [*table()],
    }
    return TemplateResponse(request, "admin/roles.html", context)
