import pytest
from django.contrib import admin
from django.test import Client

from tests.owner import superuser

# Some ask which pages are registered.
admin.autodiscover()


@pytest.fixture
def staff(db: None) -> Client:
    """A superuser who has signed in."""
    user = superuser(
        "sam@example.com", type="INDIVIDUAL", first_name="Sam", last_name="Staff"
    )
    client = Client()
    client.force_login(user)
    return client
