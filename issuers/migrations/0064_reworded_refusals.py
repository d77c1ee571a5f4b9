"""Words the refusals of functions in plain English."""

from django.db import migrations

from partnerapi.core.guards import rewritten


class Migration(migrations.Migration):
    dependencies = [("issuers", "0063_one_function_refuses_changes")]

    operations = [
        rewritten(
            "register_keep_approvedholder()",
            (
                "'It begins now, and somebody is who began it.'",
                "'An approved holder begins now, and names who began it.'",
            ),
            (
                "'It is ended, once, by somebody, and stays otherwise: %.'",
                "'An approved holder is ended once, by a named person, and does not change: %.'",
            ),
        ),
        rewritten(
            "register_keep_restriction()",
            (
                "'It begins now, and somebody is who began it.'",
                "'A restriction begins now, and names who began it.'",
            ),
            (
                "'It is ended, once, by somebody, and stays otherwise: %.'",
                "'A restriction is ended once, by a named person, and does not change: %.'",
            ),
        ),
        rewritten(
            "register_keep_tokenrule()",
            (
                "'It begins now, and somebody is who began it.'",
                "'A rule begins now, and names who began it.'",
            ),
            (
                "'It is ended, once, by somebody, and stays otherwise: %.'",
                "'A rule is ended once, by a named person, and does not change: %.'",
            ),
        ),
        rewritten(
            "register_instant(uuid[], timestamp with time zone, timestamp with time zone)",
            (
                "that only reads can wait for nobody, and answers",
                "that only reads cannot wait for writers, and answers",
            ),
        ),
        rewritten(
            "register_note(uuid[], timestamp with time zone, timestamp with time zone)",
            (
                "that only reads can wait for nobody, and answers",
                "that only reads cannot wait for writers, and answers",
            ),
            (
                "-- Up to then whoever wrote has committed.",
                "-- Every writer up to then has committed.",
            ),
        ),
        rewritten(
            "register_keep_token()",
            (
                "market and can not go back.",
                "market and cannot go back.",
            ),
        ),
        rewritten(
            "search_issuer_changed()",
            (
                "-- Who changes the owner can not see yet that it is the owner.",
                "-- A writer of the new owner cannot see yet that it is the owner.",
            ),
        ),
        rewritten(
            "keep_issuer_industry()",
            (
                "-- Who changes the code meanwhile is waited for, or waits.",
                "-- This waits for a writer of the code, or that writer waits.",
            ),
        ),
    ]
