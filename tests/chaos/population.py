"""The accounts that are changed; to be imported once Django is set up."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from django.db import transaction

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from accounts.people.models import User
from partnerapi.sandbox.data.approvals import approved_key
from tests.approved import desk
from tests.chaos.installation import close_connection


@transaction.atomic
def insert_accounts(count: int) -> tuple[str, list[UUID]]:
    staff = desk()
    now = datetime.now(UTC)
    partner = Partner.objects.create(login=f"p{uuid4().hex}", name="Impatient")
    accounts = []
    for number in range(count):
        user = User.objects.create(
            type=User.Type.INDIVIDUAL, first_name="Otto", last_name=f"Lund {number}"
        )
        account = Account.objects.open(partner, user, staff, now)
        account.change_status("ACTIVE", staff, None)
        accounts.append(account.pk)
    return approved_key(partner, list(Scope))[1], accounts


def make_accounts(count: int) -> tuple[str, list[UUID]]:
    """The token of a new partner, and accounts of it, all active."""
    made = insert_accounts(count)
    close_connection()
    return made
