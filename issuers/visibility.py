"""Which users a caller may see: those that some other field shows."""

from django.db import models
from django.db.models import Exists, OuterRef, Q

from accounts.access import Caller, Scope
from accounts.accounts.models import Account
from accounts.people.models import User, UserHolder
from issuers.legacy.models import LegacyShareholder
from issuers.models.issuers import Issuer
from issuers.register.models import HolderBalance


def users_visible_to(caller: Caller | None) -> models.QuerySet[User]:
    """Owners, shareholders, the caller's clients, and past and present holders."""
    if caller is None:
        return User.objects.none()
    balances = HolderBalance.objects.visible_to(caller)
    shareholdings = LegacyShareholder.objects.visible_to(caller)
    reached = Q(Exists(shareholdings.filter(user=OuterRef("pk"))))
    reached |= Q(Exists(balances.filter(account__user=OuterRef("pk"))))
    if Scope.ACCOUNTS_READ in caller.scopes:
        accounts = Account.objects.of_partner(caller)
        reached |= Q(Exists(accounts.filter(user=OuterRef("pk"))))
    if Scope.ISSUERS_READ in caller.scopes:
        reached |= Q(Exists(Issuer.objects.filter(owner=OuterRef("pk"))))
    return User.objects.filter(reached)


def holders_visible_to(caller: Caller | None) -> models.QuerySet[UserHolder]:
    """The holder profiles of the users that the caller may see."""
    return UserHolder.objects.filter(user__in=users_visible_to(caller))
