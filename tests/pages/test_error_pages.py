from django.test import Client
from django.urls import path
from django.views.defaults import server_error

from partnerapi import urls


def break_down(request):
    raise ZeroDivisionError("a secret detail")


urlpatterns = [
    path("broken", break_down),
    path("graphql", break_down),
    *urls.FOR_PROBES,
]


def test_an_unknown_address_is_told_in_the_house_style(client):
    response = client.get("/nothing-here")

    assert response.status_code == 404
    page = response.content.decode()
    assert "<h1>Page not found</h1>" in page
    assert '<link rel="stylesheet" href="/static/pages.css">' in page
    assert "nothing-here" not in page


def test_a_crash_tells_nothing_of_itself(settings):
    settings.ROOT_URLCONF = __name__

    response = Client(raise_request_exception=False).get("/broken")

    assert response.status_code == 500
    page = response.content.decode()
    assert "<h1>Something went wrong on our side</h1>" in page
    assert "secret" not in page
    assert "ZeroDivisionError" not in page


def test_the_page_of_a_crash_needs_no_request(rf):
    assert server_error(rf.get("/")).status_code == 500
