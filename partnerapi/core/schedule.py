"""When beat asks for which job, by the name of the job's task."""

from datetime import timedelta

BY_DAY = {
    "prune_idempotency_records": timedelta(minutes=10),
    "prune_book_log": timedelta(hours=1),
    "prune_events": timedelta(hours=1),
    "prune_exports": timedelta(minutes=10),
    "prune_request_counts": timedelta(hours=1),
    "announce_articles": timedelta(minutes=1),
}
"""How long after its last beginning a job begins again."""
AT_NIGHT = {
    "verify_register": 0,
    "verify_books": 20,
    "sweep_fees": 25,
    "verify_cash": 30,
    "verify_market": 35,
    "verify_approvals": 38,
    "register_statement": 40,
    "issue_documents": 45,
    "clear_sessions": 50,
    "prune_job_runs": 55,
    "prune_failed_sign_ins": 58,
    "prune_refused_orders": 59,
}
"""The minute after two o'clock, UTC, at which a job begins. What was verified stands
in the statement that follows."""
PERIODS = BY_DAY | dict.fromkeys(AT_NIGHT, timedelta(days=1))
"""The time from one beginning to the next."""
TASK_SECONDS = 540
"""After so long a job is ended."""
