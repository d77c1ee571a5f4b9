"""Sends the e-mails about a partner's desk: invitations, and what its members did.

The database writes them with the changes. Before each attempt the row gets the time of
the next one, so no e-mail is lost when a worker dies; it may arrive twice.
"""

import logging
from time import monotonic

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone

from accounts.desk.invitations import invitation_path
from accounts.desk.models import MOST_TRIES, DeskNotice
from partnerapi.core.database import rows_of

logger = logging.getLogger(__name__)


def send_desk_notices(seconds: float) -> tuple[int, int]:
    """Send due e-mails for so many seconds; return how many were sent and failed.

    Without EMAIL_URL nothing is sent, and all e-mails wait.
    """
    sent = failed = 0
    until = monotonic() + seconds
    while settings.EMAIL_URL and monotonic() < until and (pk := take()):
        notice = DeskNotice.objects.select_related("member__partner").get(pk=pk)
        row = DeskNotice.objects.filter(pk=pk)
        try:
            message(notice).send()
        # Django raises this for an address with a line break, or an invalid one.
        except (OSError, ValueError) as error:
            failed += 1
            row.update(error=f"{type(error).__name__}: {error}"[:200])
            if notice.tries == MOST_TRIES:
                logger.error(
                    "E-mail %d about a partner's desk failed after %d attempts and is "
                    "not retried: %s",
                    *(notice.pk, notice.tries, error),
                )
        else:
            sent += 1
            row.update(sent_at=timezone.now(), error="")
    return sent, failed


def take() -> int | None:
    """The id of an e-mail that is due now; concurrent workers get different ones."""
    rows = rows_of(TAKE, [MOST_TRIES])
    return rows[0][0] if rows else None


def message(notice: DeskNotice) -> EmailMessage:
    member, site = notice.member, settings.PARTNER_API_SITE
    name = member.partner.name
    if notice.what == DeskNotice.What.INVITED:
        subject = f"Your access to the API desk of {name}"
        lines = [
            f"You are invited to the API desk of {name}. This link sets the passkey "
            "with which you sign in; it works once, until "
            f"{member.expires_at:%d %b %Y %H:%M} UTC:",
            "",
            f"{site}{invitation_path(member)}",
            "",
            "Your passkey can be used 24 hours later. If you did not expect this, "
            "ignore the link and write to your account manager.",
        ]
    elif notice.what == DeskNotice.What.ENROLLED:
        subject = f"A new passkey at the API desk of {name}"
        lines = [
            f"{member.email} has set a passkey for the API desk of {name}. It can be "
            f"used from {member.usable_from:%d %b %Y %H:%M} UTC on, to see requests "
            "and exports"
            + (
                f", and to issue API keys with {', '.join(member.scopes)}."
                if member.scopes
                else "."
            ),
            "",
            "If you did not expect this, write to your account manager now: staff can "
            "end the access before it begins.",
        ]
    elif notice.what == DeskNotice.What.WEBHOOK:
        subject = f"A webhook endpoint of {name} is off"
        lines = [
            f"A webhook endpoint of {name} receives no more events. The desk shows "
            f"which one, and why: {site}/partner/webhooks",
            "",
            "No event is lost: `events` has all of them. A new endpoint receives those "
            "after its creation, and earlier ones by `redeliverWebhooks`.",
        ]
    else:
        subject = f"A new API key of {name}"
        lines = [
            f"{member.email} has issued an API key at the desk of {name}. The desk "
            f"lists all keys: {site}/partner/keys",
            "",
            "If you did not expect this, revoke the key there.",
        ]
    return EmailMessage(subject, "\n".join(lines), to=[notice.recipient])


# A minute, two, four … after this attempt.
TAKE = """
    UPDATE accounts_desknotice n SET tries = n.tries + 1,
        next_try_at = clock_timestamp() + interval '1 minute' * 2 ^ n.tries
    WHERE n.id = (
        SELECT id FROM accounts_desknotice
        WHERE sent_at IS NULL AND tries < %s AND next_try_at <= clock_timestamp()
        ORDER BY next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING n.id
"""
