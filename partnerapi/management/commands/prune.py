from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Delete data past its retention."
    verbs = {
        "events": "issuers.management.prune_events.Command",
        "book-log": "marketdata.management.prune_book_log.Command",
        "exports": "partnerapi.management.prune_exports.Command",
        "failed-sign-ins": "partnerapi.management.prune_failed_sign_ins.Command",
        "idempotency-records": "partnerapi.management.prune_idempotency.Command",
        "refused-orders": "marketdata.trading.management.prune_refused.Command",
        "request-counts": "partnerapi.management.prune_request_counts.Command",
    }
