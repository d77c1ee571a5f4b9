"""Words the refusals of functions in plain English."""

from django.db import migrations

from partnerapi.core.guards import rewritten


class Migration(migrations.Migration):
    dependencies = [("trading", "0012_name_commands_of_today")]

    operations = [
        rewritten(
            "trading_book_is_orders()",
            (
                """'The book is its open orders; a market of ours is fed by '
            'nothing else: %.'""",
                """'The book is its open orders; nothing else feeds an internal '
            'market: %.'""",
            ),
        ),
        rewritten(
            "trading_follow_placed()",
            (
                """'An order is of an account that is ACTIVE, of its user, partner '
            'and accounts, on a market of ours: %.'""",
                """'An order belongs to an ACTIVE account, to its user, partner and '
            'accounts, on an internal market: %.'""",
            ),
        ),
        rewritten(
            "trading_tape_is_executions()",
            (
                """'The tape of a market of ours has its executions, and nothing '
            'else: %.'""",
                """'The tape of an internal market holds its executions and nothing '
            'else: %.'""",
            ),
        ),
    ]
