"""What the rows are called that lines of the log are about: one statement for all."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import ForeignKey

from accounts.people.models import TURNS_AROUND
from partnerapi.core.database import rows_of

Row = tuple[str, str]
"""A table, and a row's key as text."""

PERSON = "coalesce(u.company_name, btrim(concat_ws(' ', u.first_name, u.last_name)))"
NAMES: Mapping[str, tuple[Callable[[str], Any], str, str]] = {
    "accounts_account": (
        UUID,
        f"concat({PERSON}, ' at ', p.name)",
        "accounts_account r JOIN accounts_user u ON u.id = r.user_id"
        " JOIN accounts_partner p ON p.id = r.partner_id",
    ),
    "accounts_apikey": (
        UUID,
        "concat(p.login, ' …', r.last_four)",
        "accounts_apikey r JOIN accounts_partner p ON p.id = r.partner_id",
    ),
    "accounts_approvalrequest": (UUID, "r.title", "accounts_approvalrequest r"),
    "accounts_bankstatement": (int, "r.name", "accounts_bankstatement r"),
    "accounts_cashaccount": (
        int,
        f"coalesce(r.deposit_reference, {PERSON})",
        "accounts_cashaccount r LEFT JOIN accounts_account a ON a.id = r.account_id"
        " LEFT JOIN accounts_user u ON u.id = a.user_id",
    ),
    "accounts_holderimport": (UUID, "r.file_name", "accounts_holderimport r"),
    "accounts_investorchange": (
        UUID,
        PERSON,
        "accounts_investorchange r JOIN accounts_user u ON u.id = r.user_id",
    ),
    "accounts_partner": (
        UUID,
        "concat(r.name, ' (', r.login, ')')",
        "accounts_partner r",
    ),
    "accounts_user": (UUID, PERSON.replace("u.", "r."), "accounts_user r"),
    "accounts_paymentfile": (int, "r.message", "accounts_paymentfile r"),
    "accounts_userholder": (UUID, "r.name", "accounts_userholder r"),
    "accounts_withdrawal": (UUID, "r.payment_reference", "accounts_withdrawal r"),
    "auth_group": (int, "r.name", "auth_group r"),
    "issuers_approvedholder": (
        UUID,
        "concat(h.name, ' for ', t.symbol)",
        "issuers_approvedholder r JOIN issuers_token t ON t.id = r.token_id"
        " JOIN issuers_ledgeraccount a ON a.id = r.ledger_account_id"
        " JOIN accounts_userholder h ON h.id = a.holder_id",
    ),
    "issuers_article": (UUID, "r.title", "issuers_article r"),
    "issuers_deliveryjob": (
        UUID,
        "concat(r.line_count, ' lines of ', r.created_by)",
        "issuers_deliveryjob r",
    ),
    "issuers_document": (UUID, "r.name", "issuers_document r"),
    "issuers_issuer": (UUID, "r.trading_name", "issuers_issuer r"),
    "issuers_issuerfinancialdata": (
        UUID,
        "concat_ws(' ', i.trading_name, r.year)",
        "issuers_issuerfinancialdata r JOIN issuers_issuer i ON i.id = r.issuer_id",
    ),
    "issuers_issuergrant": (
        UUID,
        "concat(p.login, ' → ', coalesce(i.trading_name, 'every issuer'))",
        "issuers_issuergrant r JOIN accounts_partner p ON p.id = r.partner_id"
        " LEFT JOIN issuers_issuer i ON i.id = r.issuer_id",
    ),
    "issuers_ledgeraccount": (
        int,
        "coalesce(h.name, concat('Treasury of ', i.trading_name))",
        "issuers_ledgeraccount r LEFT JOIN accounts_userholder h ON h.id = r.holder_id"
        " LEFT JOIN issuers_issuer i ON i.id = r.issuer_id",
    ),
    "issuers_legacyimport": (
        UUID,
        "concat(r.file_name, ' of ', i.trading_name)",
        "issuers_legacyimport r JOIN issuers_issuer i ON i.id = r.issuer_id",
    ),
    "issuers_legacyshareholder": (
        UUID,
        f"concat_ws(', ', r.reference, {PERSON}, i.trading_name)",
        "issuers_legacyshareholder r JOIN accounts_user u ON u.id = r.user_id"
        " JOIN issuers_issuer i ON i.id = r.issuer_id",
    ),
    "issuers_offering": (
        UUID,
        "t.symbol",
        "issuers_offering r JOIN issuers_token t ON t.id = r.token_id",
    ),
    "issuers_restriction": (
        UUID,
        "concat(h.name, ', ', coalesce(t.symbol, 'every token'))",
        "issuers_restriction r JOIN issuers_ledgeraccount a"
        " ON a.id = r.ledger_account_id JOIN accounts_userholder h ON h.id ="
        " a.holder_id LEFT JOIN issuers_token t ON t.id = r.token_id",
    ),
    "issuers_token": (UUID, "r.symbol", "issuers_token r"),
    "issuers_tokenrule": (
        UUID,
        "t.symbol",
        "issuers_tokenrule r JOIN issuers_token t ON t.id = r.token_id",
    ),
    "marketdata_fixsession": (UUID, "r.comp_id", "marketdata_fixsession r"),
}
"""Of a table: how its keys are read, the SQL of a row's name, and the rows `r`."""
KEYED_BY_ANOTHER = {
    "accounts_staffchange": "accounts_user",
    "accounts_user_groups": "accounts_user",
    "accounts_user_user_permissions": "accounts_user",
    "auth_group_permissions": "auth_group",
    "otp_totp_totpdevice": "accounts_user",
    "trading_market": "issuers_token",
}
"""Tables whose lines have another table's key."""
STATEMENT = (
    "SELECT '{table}', r.id::text, {name} FROM {rows} WHERE r.id = ANY (%({table})s)"
)


def named_table(table: str | None) -> str:
    return KEYED_BY_ANOTHER.get(table or "", table or "")


def columns_that_name(table: str | None) -> dict[str, str]:
    """The columns of a table that name a row of another, and this other's table."""
    return {
        field.column: target
        for model in apps.get_models(include_auto_created=True)
        if model._meta.db_table == table
        for field in model._meta.concrete_fields
        if isinstance(field, ForeignKey)
        and (target := field.related_model._meta.db_table) in NAMES
    }


def names_of(rows: Iterable[Row]) -> dict[Row, str]:
    """What people call them; a row that is gone, or has no name, is left out."""
    keys: dict[str, list[Any]] = {}
    for table, text in {(named_table(table), text) for table, text in rows}:
        if table in NAMES:
            try:
                keys.setdefault(table, []).append(NAMES[table][0](text))
            except ValueError:
                # Some lines of a table have another key.
                continue
    if not keys:
        return {}
    statements = []
    for table in keys:
        _, name, of = NAMES[table]
        statements.append(STATEMENT.format(table=table, name=name, rows=of))
    return {
        (table, key): TURNS_AROUND.sub("", name)
        for table, key, name in rows_of(" UNION ALL ".join(statements), keys)
        if name
    }
