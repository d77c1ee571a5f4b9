import pytest
from django.contrib import admin
from django.test import Client

from partnerapi.staff.log.reading import Line
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


def lines_of_log(client: Client, wanted: dict[str, str]) -> list[Line]:
    """All lines that a page of the log can open."""
    page = client.get("/admin/log/", wanted)
    return [line for said in page.context["sentences"] for line in said.fold.lines]
