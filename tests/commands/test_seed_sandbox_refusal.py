import pytest
from django.core.management import CommandError, call_command

from accounts.people.models import User
from issuers.models import Issuer


@pytest.mark.django_db
def test_refuses_a_database_with_issuers_of_somebody_else():
    owner = User.objects.create(type=User.Type.COMPANY, company_name="Real SA")
    Issuer.objects.create(
        trading_name="Real", slug="real", trading_location="Paris", owner=owner
    )
    with pytest.raises(CommandError, match="has issuers that are not the sandbox's"):
        call_command("sandbox", "seed")
    assert Issuer.objects.count() == 1
    assert User.objects.count() == 1
