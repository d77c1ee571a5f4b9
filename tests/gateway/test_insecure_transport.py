"""Keys over plain HTTP, by the word of the trusted proxy."""

from typing import Any

import pytest

from accounts.keys.models import ApiKey
from accounts.keys.uses import uses
from tests.characters import Ask, World

VIEWER = "{ viewer { login } }"
SECURE = {"X-Forwarded-Proto": "https"}


@pytest.fixture
def https(settings: Any) -> None:
    """As settings are with PARTNER_API_HTTPS and one trusted proxy."""
    settings.PARTNER_API_HTTPS = True
    settings.PARTNER_API_TRUSTED_PROXIES = 1
    settings.SECURE_HSTS_SECONDS = 31_536_000
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


@pytest.mark.parametrize("sent", [{}, {"X-Forwarded-Proto": "http"}])
def test_a_key_over_plain_http_is_refused_unread(
    sent: dict[str, str], world: World, partner: Ask, https: None
):
    answer = partner(VIEWER, **sent)
    assert (answer.status, answer.code) == (403, "INSECURE_TRANSPORT")
    assert "Strict-Transport-Security" not in answer.headers
    assert ApiKey.objects.get(partner=world.partner).pk not in uses.noted
    wrong = Ask("service-apikey_nobody_wrong")(VIEWER, **sent)
    assert wrong.errors[0]["message"] == answer.errors[0]["message"]


def test_a_key_over_https_is_answered(world: World, partner: Ask, https: None):
    answer = partner(VIEWER, **SECURE)
    assert answer.data == {"viewer": {"login": "broker_one"}}
    assert answer.headers["Strict-Transport-Security"] == (
        "max-age=31536000; includeSubDomains; preload"
    )


def test_who_has_no_key_has_nothing_to_lose(world: World, stranger: Ask, https: None):
    assert stranger(VIEWER).data == {"viewer": None}


def test_nobody_but_a_trusted_proxy_says_that_a_request_was_secure(
    world: World, partner: Ask, https: None, settings: Any
):
    settings.SECURE_PROXY_SSL_HEADER = None
    assert partner(VIEWER, **SECURE).code == "INSECURE_TRANSPORT"


def test_a_sandbox_without_https_takes_keys(world: World, partner: Ask):
    answer = partner(VIEWER)
    assert answer.data == {"viewer": {"login": "broker_one"}}
    assert "Strict-Transport-Security" not in answer.headers


@pytest.mark.parametrize("query", [VIEWER, "{"])
def test_no_answer_is_sniffed(query: str, world: World, stranger: Ask):
    assert stranger(query).headers["X-Content-Type-Options"] == "nosniff"
