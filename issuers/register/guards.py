"""What guards the register: `verify_register` compares it with its list."""

from pathlib import Path

from partnerapi.core.guard_lists import Guarded

GUARDED = Guarded(
    Path(__file__).with_name("guards.txt"),
    (
        "accounts_account",
        "accounts_accountstatuschange",
        "accounts_apikey",
        "accounts_approvaldecision",
        "accounts_approvaloutcome",
        "accounts_approvalpolicy",
        "accounts_approvalrequest",
        "accounts_rowchange",
        "accounts_user",
        "accounts_userholder",
        "accounts_userholdername",
        "django_admin_log",
        "issuers_articletocome",
        "issuers_deliveryjob",
        "issuers_deliverystep",
        "issuers_event",
        "issuers_eventhead",
        "issuers_formerissuer",
        "issuers_holderbalance",
        "issuers_holdingperiod",
        "issuers_issuer",
        "issuers_issuergrant",
        "issuers_ledgeraccount",
        "issuers_ledgerposting",
        "issuers_ledgertransaction",
        "issuers_legacyshareholder",
        "issuers_legacyshareholderchange",
        "issuers_token",
        "issuers_tokenledgerhead",
        "issuers_tokenprice",
        "issuers_unnumberedevent",
        "partnerapi_idempotencyrecord",
        "register_entry_lines",
        "register_price_lines",
        "staff_log",
    ),
    (
        "accounts\\_",
        "approvals\\_",
        "delivery\\_",
        "events\\_",
        "history\\_",
        "isin\\_",
        "lei\\_",
        "partnerapi\\_",
        "register\\_",
        "staff\\_",
    ),
)
"""`manage.py write_guards` writes the list, of a database that was just migrated."""
