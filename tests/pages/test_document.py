import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.people.models import User
from issuers.models import Article, Document, Issuer
from tests.pictures import noise, picture_bytes

pytestmark = pytest.mark.django_db


@pytest.fixture
def picture():
    document = Document.objects.new_document("logo.png", picture_bytes())
    document.save()
    return document


@pytest.fixture
def issuer():
    owner = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Ada", last_name="Owner"
    )
    return Issuer.objects.create(
        trading_name="Lumen", slug="lumen", trading_location="Nantes", owner=owner
    )


@pytest.fixture
def logo(picture, issuer):
    issuer.company_logo = picture
    issuer.save(update_fields=["company_logo"])
    return picture


def address(document):
    return f"/documents/{document.pk}/{document.name}"


def test_serves_a_logo_with_the_headers_that_keep_it_harmless(client, logo):
    response = client.get(address(logo))

    assert response.status_code == 200
    assert response.content == bytes(logo.content)
    assert response["Content-Type"] == "image/png"
    assert response["Content-Length"] == str(logo.size_bytes)
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response["ETag"] == f'"{logo.checksum_sha256}"'
    assert response["Content-Disposition"] == 'inline; filename="logo.png"'
    assert response["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    )


def test_serves_the_cover_of_an_article_only_once_it_is_published(
    client, picture, issuer
):
    article = Article.objects.create(
        issuer=issuer, title="News", slug="news", body="…", cover_image=picture
    )
    assert client.get(address(picture)).status_code == 404

    article.published_at = timezone.now() + timedelta(minutes=5)
    article.save(update_fields=["published_at"])
    assert client.get(address(picture)).status_code == 404

    article.published_at = timezone.now()
    article.save(update_fields=["published_at"])
    assert client.get(address(picture)).status_code == 200


def test_hides_what_nothing_public_refers_to(client, picture):
    assert client.get(address(picture)).status_code == 404


def test_hides_what_does_not_exist_in_the_same_words(client, picture):
    hidden = client.get(address(picture))
    absent = client.get(f"/documents/{uuid.uuid4()}/logo.png")

    assert (hidden.status_code, hidden.content) == (404, absent.content)


def test_refuses_another_name(client, logo):
    assert client.get(f"/documents/{logo.pk}/other.png").status_code == 404


def test_answers_head_without_reading_the_bytes(
    client, logo, django_assert_num_queries
):
    with django_assert_num_queries(1):
        response = client.head(address(logo))

    assert response.status_code == 200
    assert response["Content-Length"] == str(logo.size_bytes)
    assert response.content == b""


def test_answers_304_to_its_own_etag(client, logo, django_assert_num_queries):
    etag = f'"{logo.checksum_sha256}"'

    with django_assert_num_queries(1):
        response = client.get(address(logo), headers={"if-none-match": etag})

    assert (response.status_code, response.content) == (304, b"")
    assert response["ETag"] == etag
    assert response["Cache-Control"] == "public, max-age=31536000, immutable"


def test_documents_draw_on_the_budget_of_the_address(client, issuer, settings):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 12
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    large = Document.objects.new_document("large.png", noise(101_000))
    large.save()
    issuer.company_logo = large
    issuer.save(update_fields=["company_logo"])
    etag = f'"{large.checksum_sha256}"'

    assert client.get(address(large)).status_code == 200
    # A client that has the file pays only for the request.
    assert (
        client.get(address(large), headers={"If-None-Match": etag}).status_code == 304
    )
    assert client.head(address(large)).status_code == 200
    refused = client.get(address(large))
    assert (refused.status_code, refused["Retry-After"]) == (429, "2")
    assert b"budget" in refused.content


def test_a_withdrawn_document_is_gone(client, issuer, logo):
    assert client.get(address(logo)).status_code == 200
    issuer.company_logo = None
    issuer.save(update_fields=["company_logo"])
    gone = client.get(address(logo))
    assert (gone.status_code, gone.content) == (410, b"This document was withdrawn.")
    assert client.get(f"/documents/{logo.pk}/other.png").status_code == 404


def test_when_a_document_was_first_served_is_written_once(
    client, logo, django_assert_num_queries
):
    client.get(address(logo))
    logo.refresh_from_db()
    first = logo.served_at
    with django_assert_num_queries(2):
        client.get(address(logo))
    logo.refresh_from_db()
    assert first is not None
    assert logo.served_at == first
