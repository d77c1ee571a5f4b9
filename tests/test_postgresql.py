import psycopg
import pytest
from django.db import connection

from tests.characters import Ask


def end_the_session() -> None:
    """As a restart of the server would: from another session, without a word."""
    pid = connection.connection.info.backend_pid
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def first_of_a_request() -> int:
    # What Django does at the start of a request, and pages before their statements.
    connection.close_if_unusable_or_obsolete()
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    return connection.connection.info.backend_pid


@pytest.mark.django_db(transaction=True)
def test_a_request_finds_a_connection_after_a_restart():
    before = first_of_a_request()
    assert first_of_a_request() == before
    end_the_session()
    after = first_of_a_request()
    assert after != before
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


@pytest.mark.django_db(transaction=True)
def test_a_notice_does_not_end_a_connection():
    before = first_of_a_request()
    with psycopg.connect(
        **connection.get_connection_params(), autocommit=True
    ) as other:
        with connection.cursor() as cursor:
            cursor.execute("LISTEN bell")
        other.execute("NOTIFY bell")
    assert first_of_a_request() == before


@pytest.mark.django_db
def test_asks_no_statement_of_a_connection_that_is_well(
    stranger: Ask, django_assert_num_queries
):
    connection.close_if_unusable_or_obsolete()
    with django_assert_num_queries(1):
        assert stranger("{ issuers(first: 1) { nodes { id } } }").status == 200
