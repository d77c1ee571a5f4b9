"""Words the refusals of functions in plain English."""

from django.db import migrations

from partnerapi.core.guards import rewritten


class Migration(migrations.Migration):
    dependencies = [("accounts", "0046_scopes_are_rows")]

    operations = [
        rewritten(
            "approvals_decide()",
            (
                """'Who decides a request is an active member of staff, has the '
            'right to decide its kind, and is not who filed it.'""",
                """'A request is decided by an active member of staff with the '
            'right to decide its kind, other than the one that filed it.'""",
            ),
            (
                "has expired, or was overtaken.",
                "has expired or was superseded.",
            ),
        ),
        rewritten(
            "approvals_file()",
            (
                """'Who files a request is an active member of staff, and has the '
            'right to ask for its kind: %.'""",
                """'A request is filed by an active member of staff with the right '
            'to file its kind: %.'""",
            ),
        ),
        rewritten(
            "approvals_check_rest(uuid, uuid, boolean, timestamp with time zone)",
            (
                """before % UTC: somebody else '
                'changed their access less""",
                """before % UTC: someone else '
                'changed their access less""",
            ),
            (
                """before % UTC: somebody else '
                'changed the access""",
                """before % UTC: someone else '
                'changed the access""",
            ),
        ),
        rewritten(
            "approvals_of_statement()",
            (
                """'A bank statement is booked by who asked for its approval, or is '
            'signed in: %, not %.'""",
                """'A bank statement is booked by the user that filed its request, or '
            'is signed in: %, not %.'""",
            ),
        ),
        rewritten(
            "cash_receive_statement()",
            (
                """'A bank statement has a closing balance, % cents, which is what '
            'lies at the bank by the books, % cents.'""",
                """'The closing balance of a bank statement, % cents, must equal '
            'the balance of the bank in the books, % cents.'""",
            ),
        ),
        rewritten(
            "accounts_join(uuid, uuid)",
            (
                """'An account is joined to a user of the same type who has the '
            'email or the LEI that the partner told.'""",
                """'An account is joined to a user of the same type that has the '
            'email or the LEI that the partner gave.'""",
            ),
        ),
    ]
