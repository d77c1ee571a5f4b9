"""Approves the holders of a token, where its rule asks for it."""

from datetime import datetime

from uuid_utils.compat import uuid7

from accounts.people.followers import change_and_follow
from accounts.people.models import User
from issuers.compliance.models import ApprovedHolder
from issuers.models import Token
from issuers.register import ledger
from partnerapi.core.database import value_of


def approve_holder(
    token: Token, user: User, until: datetime | None, actor: str
) -> ApprovedHolder:
    """Approve a holder, in place of an approval in force.

    Open orders that need a longer one are cancelled. `actor` is the e-mail address of a
    member of staff with the right to add approved holders. The first approval of a user
    opens its ledger account.

    Raises:
        LockTimeout: a lock was not released in time.
    """
    account = ledger.holder_accounts([user.pk])[user.pk]

    def change() -> ApprovedHolder:
        [made] = ApprovedHolder.objects.raw(
            APPROVE, [uuid7(), actor, token.pk, account, until]
        )
        return made

    return change_and_follow([user.pk], [token.pk], "NOT_ELIGIBLE", change)


APPROVE = "SELECT * FROM binds_approve_holder(%s, %s, %s, %s, %s)"


def end_approval(approved: ApprovedHolder, user: User, actor: str) -> None:
    """End an approval; open orders that need it are cancelled.

    Raises:
        LockTimeout: a lock was not released in time.
    """
    change_and_follow(
        [user.pk],
        [approved.token_id],
        "NOT_ELIGIBLE",
        lambda: value_of(END, [actor, approved.pk]),
    )


END = "SELECT binds_end_approval(%s, %s)"
