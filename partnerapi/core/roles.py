"""What each role of the database may do: grants, tests and documentation follow this.

The owner has the tables and migrates them. The application serves requests: where
something must never change it may only insert, and what is derived it may only read,
because functions of the owner write it. It gives no row an id that a sequence gives:
the sequence would reach that id later. Readers read all but secrets, and a backup
reads everything.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

from django.db.backends.base.base import BaseDatabaseWrapper

from partnerapi.core.sql_files import every_file


class Role(StrEnum):
    APPLICATION = "application"
    READ_ONLY = "read-only"
    BACKUP = "backup"


class RoleRefused(Exception):
    """No grant can bind this role, or there is none; the message says why."""


RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")
NOTHING = ""
READ = "SELECT"
APPEND = "SELECT, INSERT"
KEEP = "SELECT, INSERT, UPDATE"
ALL = "SELECT, INSERT, UPDATE, DELETE"

APPLICATION: Mapping[str, str] = {
    "accounts_account": READ,
    "accounts_accountstatuschange": READ,
    # Its last use is noted aside.
    "accounts_apikey": "SELECT, UPDATE (last_used_at)",
    "accounts_applicant": READ,
    "accounts_approvaldecision": READ,
    "accounts_approvaloutcome": READ,
    "accounts_approvalpolicy": READ,
    "accounts_approvalrequest": READ,
    "accounts_assertion": READ,
    "accounts_bankline": READ,
    "accounts_bankstatement": READ,
    "accounts_cashaccount": READ,
    "accounts_cashhead": READ,
    "accounts_cashposting": READ,
    "accounts_cashtransaction": READ,
    "accounts_country": ALL,
    "accounts_deskkey": READ,
    "accounts_deskmember": READ,
    # Functions write an e-mail; a worker says what became of it.
    "accounts_desknotice": "SELECT, UPDATE (tries, next_try_at, sent_at, error)",
    "accounts_holderimport": APPEND,
    "accounts_houseaccount": READ,
    "accounts_investorattestation": READ,
    "accounts_investorchange": READ,
    "accounts_investorprofile": READ,
    "accounts_keyscope": READ,
    "accounts_partner": ALL,
    "accounts_passkey": READ,
    "accounts_passkeyvoucher": READ,
    "accounts_payee": READ,
    "accounts_paymentfile": READ,
    "accounts_paymentorder": READ,
    "accounts_pepper": APPEND,
    "accounts_recoverycode": READ,
    "accounts_rowchange": READ,
    "accounts_soleamount": READ,
    "accounts_staffchange": READ,
    # Triggers write an e-mail; a worker says what became of it.
    "accounts_staffnotice": "SELECT, UPDATE (tries, next_try_at, sent_at, error)",
    "accounts_total": READ,
    "accounts_totalchange": READ,
    "accounts_user": ALL,
    "accounts_user_groups": ALL,
    "accounts_user_user_permissions": ALL,
    "accounts_userholder": ALL,
    "accounts_userholdername": READ,
    "accounts_withdrawal": READ,
    "auth_group": ALL,
    "auth_group_permissions": ALL,
    "auth_permission": READ,
    "axes_accessattempt": ALL,
    "axes_accessattemptexpiration": ALL,
    "axes_accessfailurelog": READ,
    "axes_accesslog": READ,
    "cash_entry_lines": READ,
    # A trigger keeps every row. Django deletes a user's rows with the user, and asks
    # for the right even where there are none.
    "django_admin_log": "SELECT, INSERT, DELETE",
    "django_content_type": READ,
    "django_migrations": READ,
    # Signing out deletes a session.
    "django_session": ALL,
    "issuers_approvedholder": READ,
    "issuers_article": ALL,
    "issuers_articletocome": READ,
    # Its progress; functions begin and release it.
    "issuers_deliveryjob": "SELECT, UPDATE (position, delivered, skipped, refused,"
    " finished_at, handed_over_at, resumed_by, tried_at, held)",
    "issuers_deliverystep": "SELECT, UPDATE (refusals, skipped_ids)",
    "issuers_document": "SELECT, INSERT, UPDATE (served_at), DELETE",
    "issuers_entrykind": READ,
    "issuers_erasure": READ,
    "issuers_event": READ,
    "issuers_eventcount": READ,
    "issuers_eventhead": READ,
    "issuers_formerissuer": READ,
    "issuers_holderbalance": READ,
    # The process that signs statements keeps the trees of holdings.
    "issuers_holdercommitment": "SELECT, INSERT, UPDATE (until)",
    "issuers_holdersalt": APPEND,
    "issuers_holdingpage": APPEND,
    "issuers_holdingperiod": READ,
    "issuers_holdingtree": APPEND,
    "issuers_industryclassificationbenchmark": ALL,
    "issuers_issuer": ALL,
    "issuers_issuerfinancialdata": ALL,
    "issuers_issuercash": READ,
    "issuers_issuergrant": READ,
    "issuers_issuerterm": READ,
    "issuers_judgedledger": READ,
    "issuers_ledgeraccount": READ,
    "issuers_ledgerposting": READ,
    "issuers_ledgertransaction": READ,
    "issuers_legacyimport": APPEND,
    # Lines that are PENDING; a trigger keeps those that were delivered.
    "issuers_legacyshareholder": ALL,
    "issuers_legacyshareholderchange": "SELECT, INSERT, DELETE",
    "issuers_offering": READ,
    "issuers_recordinstant": APPEND,
    "issuers_redactedline": READ,
    "issuers_restriction": READ,
    "issuers_statedtoken": APPEND,
    "issuers_statedrows": APPEND,
    "issuers_statement": APPEND,
    "issuers_statementkey": APPEND,
    # Tables of the past list a token from its creation on.
    "issuers_subscription": READ,
    "issuers_token": KEEP,
    "issuers_tokenledgerhead": READ,
    "issuers_tokenprice": READ,
    "issuers_tokenrule": READ,
    "issuers_unnumberedevent": READ,
    "issuers_witness": APPEND,
    "issuers_witnesskey": APPEND,
    "marketdata_bookchange": READ,
    "marketdata_booklevel": READ,
    "marketdata_booksnapshot": READ,
    "marketdata_conformancereport": APPEND,
    "marketdata_fixlease": ALL,
    "marketdata_fixsession": ALL,
    "marketdata_orderbookhead": READ,
    "marketdata_trade": READ,
    "marketdata_tradingday": READ,
    "partnerapi_export": KEEP,
    "partnerapi_exportmember": READ,
    "otp_totp_totpdevice": ALL,
    "partnerapi_failedsignin": APPEND,
    "partnerapi_idempotencyrecord": KEEP,
    "partnerapi_importjob": ALL,
    "partnerapi_jobrun": APPEND,
    "partnerapi_requestcount": READ,
    "partnerapi_webhookdelivery": "SELECT, INSERT, DELETE",
    # Neither its address nor its key ever changes; a function ends one that fails.
    "partnerapi_webhookendpoint": "SELECT, INSERT, UPDATE (sealed_secrets, rolled_at,"
    " position, attempts, failing_since, due_at, test_at, delivered_at, ended_at,"
    " reason)",
    "partnerapi_webhooklease": ALL,
    "register_entry_lines": READ,
    "register_price_lines": READ,
    "staff_log": READ,
    "trading_auction": READ,
    "trading_auctionfill": READ,
    "trading_bust": READ,
    "trading_canceltimer": READ,
    "trading_clocklease": ALL,
    "trading_execution": READ,
    "trading_executionfee": READ,
    "trading_fill": READ,
    "trading_issueddocument": READ,
    "trading_market": READ,
    "trading_marketparameters": READ,
    "trading_order": READ,
    "trading_orderblock": READ,
    "trading_orderevent": READ,
    "trading_orderfee": READ,
    "trading_refusedorder": READ,
    "trading_registertold": READ,
    "trading_tariff": READ,
}
"""The application's rights on every table and view. INSERT and UPDATE are rights on all
columns but those of sequences."""

CALLED_BY_APPLICATION = tuple(
    function.signature
    for file in every_file()
    if "application" in file.callers
    for function in file.functions()
)
"""Functions that do as their owner what the application may not do itself: those whose
file says `called by: application`."""

RELEASE_BEFORE: Mapping[str, str] = {}
"""Rights on tables that only the release before needs: it writes them itself."""

CALLED_BY_RELEASE_BEFORE = tuple(
    function.signature
    for file in every_file()
    if "release before" in file.callers
    for function in file.functions()
)
"""Functions that only the release before calls: their file says so."""

SECRETS: Mapping[str, tuple[str, ...]] = {
    "accounts_apikey": ("secret_digest",),
    "accounts_pepper": ("digest",),
    "accounts_recoverycode": ("digest",),
    "accounts_user": ("password",),
    # Some type their password where the login belongs.
    "axes_accessattempt": ("username", "get_data", "post_data"),
    "django_session": (),
    "partnerapi_exportmember": (),
    "partnerapi_importjob": (),
    "otp_totp_totpdevice": ("key",),
    "partnerapi_failedsignin": ("login",),
    "partnerapi_idempotencyrecord": (),
    "partnerapi_webhookendpoint": ("sealed_secrets",),
}
"""What readers do not see: these columns, or, without any, the whole table."""


def statements(
    connection: BaseDatabaseWrapper,
    role: Role,
    name: str,
    keeps_release_before: bool = False,
) -> Iterator[str]:
    """The SQL that gives `name` the rights of a role, and takes all others from it.

    An application that `keeps_release_before` keeps the rights with which the release
    before serves meanwhile.

    What other roles own in the schema, such as an extension's functions, is left alone:
    the owner of the tables has no say in it.

    Raises:
        RoleRefused: `name` is no role, is a superuser, or owns the tables.
    """
    with connection.cursor() as cursor:
        cursor.execute(ABOUT, {"name": name})
        [(database, owner, exists, is_superuser, is_owner)] = cursor.fetchall()
        cursor.execute(TABLES)
        tables = {
            table: (columns, given) for table, columns, given in cursor.fetchall()
        }
        cursor.execute(OWNED)
        owned = dict(cursor.fetchall())
    if not exists:
        raise RoleRefused(
            f"There is no role {name}; an administrator of the server makes it: "
            f"CREATE ROLE {quote_name(name)} LOGIN PASSWORD '…'."
        )
    if is_superuser:
        raise RoleRefused(f"{name} is a superuser, whose rights cannot be revoked.")
    if is_owner:
        raise RoleRefused(
            f"{name} is a member of {owner}, which owns the tables, and has all its "
            "rights. Choose another role."
        )
    to = quote_name(name)
    yield f"REVOKE CREATE ON SCHEMA public FROM PUBLIC, {to}"
    # `verify` and imports make temporary tables.
    rights = "CONNECT, TEMPORARY" if role is Role.APPLICATION else "CONNECT"
    yield f"GRANT {rights} ON DATABASE {quote_name(database)} TO {to}"
    yield f"GRANT USAGE ON SCHEMA public TO {to}"
    for kind, names in owned.items():
        yield f"REVOKE ALL ON {kind} {names} FROM {to}"
    default = f"ALTER DEFAULT PRIVILEGES FOR ROLE {quote_name(owner)} IN SCHEMA public"
    yield f"{default} REVOKE ALL ON TABLES FROM {to}"
    if role is not Role.READ_ONLY:
        yield f"{default} GRANT SELECT ON TABLES TO {to}"
    if role is Role.BACKUP:
        yield f"GRANT SELECT ON TABLE {owned['TABLE']} TO {to}"
        yield f"{default} GRANT SELECT ON SEQUENCES TO {to}"
        yield f"GRANT SELECT ON SEQUENCE {owned['SEQUENCE']} TO {to}"
        return
    for table, (columns, given) in sorted(tables.items()):
        if role is Role.APPLICATION:
            rights = writable(APPLICATION.get(table, READ), columns, given)
        else:
            rights = readable(table, columns)
        if rights:
            yield f"GRANT {rights} ON {quote_name(table)} TO {to}"
    if role is Role.APPLICATION:
        # `doctor` reports their progress.
        yield f"GRANT SELECT ON SEQUENCE {owned['SEQUENCE']} TO {to}"
        for function in CALLED_BY_APPLICATION:
            yield f"GRANT EXECUTE ON FUNCTION {function} TO {to}"
        if keeps_release_before:
            for table, rights in RELEASE_BEFORE.items():
                yield f"GRANT {rights} ON {quote_name(table)} TO {to}"
            for function in CALLED_BY_RELEASE_BEFORE:
                yield f"GRANT EXECUTE ON FUNCTION {function} TO {to}"


def session_statements(
    connection: BaseDatabaseWrapper, name: str, session: Mapping[str, str]
) -> Iterator[str]:
    """The SQL that gives every session of a role in this database these settings.

    A pooler gives a session to one client after the other, so that none can set them
    for itself. The role may run it, or an administrator of the server.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        [(database,)] = cursor.fetchall()
    alter = f"ALTER ROLE {quote_name(name)} IN DATABASE {quote_name(database)} SET"
    for setting, value in session.items():
        yield f"{alter} {setting} = '{value}'"


def writable(rights: str, columns: list[str], given: list[str] | None) -> str:
    """Rights on a table, without that to write the columns that its sequence gives."""
    if not given:
        return rights
    own = ", ".join(quote_name(column) for column in columns if column not in given)
    return re.sub(r"(?:INSERT|UPDATE)(?! \()", rf"\g<0> ({own})", rights)


def readable(table: str, columns: list[str]) -> str:
    """A reader's right on a table; empty where it has none."""
    if table not in SECRETS:
        return READ
    shown = [column for column in columns if column not in SECRETS[table]]
    return (
        f"{READ} ({', '.join(map(quote_name, shown))})" if SECRETS[table] else NOTHING
    )


def quote_name(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


ABOUT = """
    SELECT current_database(), r.rolname, n.oid IS NOT NULL,
        coalesce(n.rolsuper, FALSE),
        coalesce(pg_has_role(n.oid, r.oid, 'MEMBER'), FALSE)
    FROM pg_class c
    JOIN pg_roles r ON r.oid = c.relowner
    LEFT JOIN pg_roles n ON n.rolname = %(name)s
    WHERE c.oid = 'public.issuers_token'::regclass
"""
OWNER = """
            SELECT relowner FROM pg_class WHERE oid = 'public.issuers_token'::regclass
        """
TABLES = f"""
    SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum),
        array_agg(a.attname::text) FILTER (WHERE a.attidentity <> '')
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'p')
        AND pg_has_role(({OWNER}), c.relowner, 'MEMBER')
    GROUP BY c.relname
"""
OWNED = f"""
    SELECT kind, string_agg(name, ', ' ORDER BY name) FROM (
        SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind,
            format('%I.%I', 'public', relname) AS name
        FROM pg_class
        WHERE relnamespace = 'public'::regnamespace
            AND relkind IN ('r', 'v', 'm', 'f', 'p', 'S')
            AND pg_has_role(({OWNER}), relowner, 'MEMBER')
        UNION ALL
        SELECT 'ROUTINE', format('%I.%I(%s)', 'public', proname,
            pg_get_function_identity_arguments(oid))
        FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace
            AND pg_has_role(({OWNER}), proowner, 'MEMBER')
    ) AS owned
    GROUP BY kind ORDER BY kind DESC
"""
