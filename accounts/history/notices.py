"""Sends the e-mails that notify people of changes of staff.

A trigger wrote them with the changes. Before each attempt the row gets the time of the
next one, so no e-mail is lost when a worker dies; it may arrive twice. After
`MOST_TRIES` attempts, seventeen hours, the worker gives up, and the row stays.
"""

import logging
from time import monotonic

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone

from accounts.history.models import MOST_TRIES, StaffChange, StaffNotice
from partnerapi.core.database import fetch

logger = logging.getLogger(__name__)

SUBJECT = "A colleague's access has changed"


def send_notices(seconds: float) -> tuple[int, int]:
    """Send due e-mails for so many seconds; return how many were sent and failed.

    Without EMAIL_URL nothing is sent, and all e-mails wait.
    """
    sent = failed = 0
    until = monotonic() + seconds
    while settings.EMAIL_URL and monotonic() < until and (pk := take()):
        notice = StaffNotice.objects.select_related("change").get(pk=pk)
        try:
            message(notice).send()
        # Django raises this for an address with a line break, or an invalid one.
        except (OSError, ValueError) as error:
            failed += 1
            tell_failure(notice, f"{type(error).__name__}: {error}"[:200])
        else:
            sent += 1
            StaffNotice.objects.filter(pk=pk).update(sent_at=timezone.now(), error="")
    return sent, failed


def take() -> int | None:
    """The id of an e-mail that is due now; concurrent workers get different ones."""
    rows = fetch(TAKE, [MOST_TRIES], tuple)
    return rows[0][0] if rows else None


def tell_failure(notice: StaffNotice, error: str) -> None:
    StaffNotice.objects.filter(pk=notice.pk).update(error=error)
    if notice.tries == MOST_TRIES:
        logger.error(
            "E-mail %d about a staff change failed after %d attempts and is not "
            "retried: %s",
            *(notice.pk, notice.tries, error),
        )


def message(notice: StaffNotice) -> EmailMessage:
    first = notice.change
    changes = StaffChange.objects.filter(
        pk__gte=first.pk, recorded_in=first.recorded_in, at__gte=first.at
    ).select_related("person", "change")
    lines = [
        f"- {change.person.email}: {change.get_what_display().lower()}"
        + (f" ({change.detail})" if change.detail else "")
        + f", by {change.change.who}, {change.change.source},"
        f" {change.at:%d %b %Y %H:%M} UTC"
        for change in changes.order_by("pk")
    ]
    address = (
        settings.PARTNER_API_LOCAL_URL
        if settings.PARTNER_API_SANDBOX
        else settings.PARTNER_API_BASE_URL
    )
    body = "\n".join(
        [
            *lines,
            "",
            "For 24 hours after another person has changed their access, a colleague "
            "cannot approve or reject requests. This does not apply if the last line "
            "about them says that the owner's command appointed them.",
            "",
            "If you did not expect this, contact your colleagues now. The back office "
            "lists all changes under Staff changes: "
            f"{address}/admin/accounts/staffchange/",
        ]
    )
    return EmailMessage(SUBJECT, body, to=[notice.recipient])


# A minute, two, four … after this attempt.
TAKE = """
    UPDATE accounts_staffnotice n SET tries = n.tries + 1,
        next_try_at = clock_timestamp() + interval '1 minute' * 2 ^ n.tries
    WHERE n.id = (
        SELECT id FROM accounts_staffnotice
        WHERE sent_at IS NULL AND tries < %s AND next_try_at <= clock_timestamp()
        ORDER BY next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING n.id
"""
