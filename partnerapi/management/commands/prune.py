from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Delete what is no longer kept."
    verbs = {
        "events": "issuers.management.prune_events",
        "book-log": "marketdata.management.prune_book_log",
        "exports": "partnerapi.management.prune_exports",
        "failed-sign-ins": "partnerapi.management.prune_failed_sign_ins",
        "idempotency-records": "partnerapi.management.prune_idempotency_records",
    }
