"""Writers call what refuses a snapshot, in place of a text of their own."""

from django.db import migrations

from partnerapi.core.guards import SNAPSHOT_CHECK, rewritten

CALL = "    PERFORM accounts_read_committed();\n"
SIGNATURES = (
    "cash_order_payments(text, text, text, uuid[])",
    "approvals_decide_requests(uuid[], uuid, boolean, text)",
    "approvals_decide_signed(uuid[], uuid, boolean, text, uuid, bytea, bytea, bytea)",
    "approvals_file_request(uuid, text, jsonb, text, text, uuid, timestamp with time zone)",
    "approvals_overtake(uuid, text)",
    "accounts_hold_cash(bigint[])",
    "cash_book_statement(text, text, text, bigint, text[], text[], bigint[], date[], bigint[], uuid[])",
    "cash_decide_withdrawal(text, uuid, text, text)",
    "cash_move_receipt(text, bigint, bigint, bigint, text)",
    "cash_read_account(uuid, text)",
    "cash_withdraw(text, uuid, uuid, bigint, text)",
    "desk_enrol(uuid, bytea, bytea, text)",
    "desk_invite(uuid, uuid, text, text[])",
    "desk_issue_key(uuid, bigint, timestamp with time zone, uuid, bytea, bigint, text, text[], timestamp with time zone)",
    "binds_attest(uuid, uuid, text, uuid, text, timestamp with time zone, text, text, text)",
    "binds_decide(uuid, text, uuid, uuid, text, timestamp with time zone, text, text, text)",
    "passkeys_enrol(uuid, uuid, text, bytea, bytea, text)",
    "passkeys_list(uuid[])",
    "passkeys_revoke(uuid, uuid)",
    "passkeys_vouch(uuid, uuid, uuid, bytea, bytea, bytea)",
    "accounts_join(uuid, uuid)",
    "accounts_lock(uuid)",
    "accounts_share(uuid[])",
)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0069_one_guard_a_table")]

    operations = [
        rewritten(signature, (SNAPSHOT_CHECK, CALL)) for signature in SIGNATURES
    ]
