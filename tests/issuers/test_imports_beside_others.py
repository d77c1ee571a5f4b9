"""Long imports, and concurrent work on the same issuers."""

import io
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.people.imports import make_incoming
from accounts.people.models import User
from issuers.imports.issuers import import_issuers
from issuers.legacy.imports import (
    COLUMN_TYPES,
    HOLDERS_OF_LINES,
    OTHER_WORDS,
    import_legacy_shareholders,
)
from issuers.legacy.models import LegacyImport, LegacyShareholder
from issuers.models import Issuer, Token
from issuers.register.captable import capitalization_tables
from partnerapi.core.commands import importing
from partnerapi.core.database import make_temporary
from tests.issuers.register import empty_token, new_issuer, people
from tests.owner import superuser
from tests.waiting import until_waiting_for_a_lock

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_locks"),
]
STAFF = "ana@example.com"
HEADER = "reference,holder_email,token_symbol,number_of_shares,price_cents\n"
COMPANIES = "name,isin,symbol,country,city\nAcme SA,FR0000131104,ACM,FR,{}\n"


@pytest.fixture
def issuer():
    issuer = new_issuer()
    empty_token(issuer, "ACM", "2024-01-01T00:00:00Z")
    [user] = people(1)
    user.email = "bo@example.com"
    user.save()
    return issuer


def import_lines(issuer, *references, symbol="ACM"):
    lines = [f"{reference},bo@example.com,{symbol},5,100\n" for reference in references]
    content = "".join([HEADER, *lines]).encode()
    return import_legacy_shareholders(
        issuer, "acme.csv", content, STAFF, untold, create_holders=False, dry_run=False
    )


def untold(work, total):
    return lambda done: None


def import_city(city):
    rows = COMPANIES.format(city).encode()
    return import_issuers(rows, untold, dry_run=False)


def test_lines_find_their_new_holders_by_one_value_and_not_one_by_one():
    """Each of n lines against each of n holders would take n² comparisons."""
    with transaction.atomic(), connection.cursor() as cursor:
        make_temporary("incoming_line", COLUMN_TYPES)
        make_incoming()
        cursor.execute(
            "INSERT INTO incoming_line (line, id, wallet, name, kind)"
            " SELECT n, gen_random_uuid(), '0x' || n, 'W', 'INDIVIDUAL'"
            " FROM generate_series(1, 300) n"
        )
        cursor.execute(HOLDERS_OF_LINES)
        cursor.execute("UPDATE incoming_line SET name = 'X' WHERE line = 7")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {OTHER_WORDS}")
        [([explained],)] = cursor.fetchall()
    assert explained["Plan"]["Actual Rows"] == 1
    assert "Nested Loop" not in str(explained)


def elsewhere(work):
    """Begin work on a connection of its own; the thread, and what it answers."""
    answers = []

    def answer():
        try:
            answers.append(work())
        finally:
            connection.close()

    thread = threading.Thread(target=answer)
    thread.start()
    return thread, answers


def test_a_capitalization_table_is_answered_while_legacy_lines_are_imported(issuer):
    with transaction.atomic():
        assert import_lines(issuer, "L-1").created == 1
        thread, answers = elsewhere(
            lambda: capitalization_tables([str(issuer.pk)], None, True)
        )
        thread.join()
    [[table]] = answers
    assert [token.supply for token in table.tokens] == [0]


def test_an_issuer_is_changed_while_its_legacy_lines_are_imported(issuer):
    with transaction.atomic():
        import_lines(issuer, "L-1")
        thread, answers = elsewhere(
            lambda: Issuer.objects.filter(pk=issuer.pk).update(website="https://a.eu")
        )
        thread.join()
    assert answers == [1]


def test_a_capitalization_table_is_answered_while_its_issuer_is_changed():
    import_city("Paris")
    issuer = Issuer.objects.get()
    with transaction.atomic():
        assert import_city("Lyon").updated == 1
        thread, answers = elsewhere(
            lambda: capitalization_tables([str(issuer.pk)], None, True)
        )
        thread.join()
    [[table]] = answers
    assert [token.token_id for token in table.tokens] == [str(Token.objects.get().pk)]


def test_two_imports_of_one_file_at_once_import_it_once(issuer):
    with transaction.atomic():
        import_lines(issuer, "L-1", "L-2")
        thread, answers = elsewhere(lambda: import_lines(issuer, "L-1", "L-2"))
        until_waiting_for_a_lock()
        assert answers == []
    thread.join()
    [changes] = answers
    assert (changes.was_imported, changes.created) == (True, 0)
    assert LegacyImport.objects.count() == 1
    assert LegacyShareholder.objects.count() == 2


def test_two_files_of_one_issuer_at_once_bring_a_line_once(issuer):
    with transaction.atomic():
        import_lines(issuer, "L-1")
        thread, answers = elsewhere(lambda: import_lines(issuer, "L-1", "L-2"))
        until_waiting_for_a_lock()
        assert answers == []
    thread.join()
    [changes] = answers
    assert (changes.unchanged, changes.created) == (1, 1)


def test_imports_of_two_issuers_do_not_wait_for_each_other(issuer):
    other = new_issuer()
    empty_token(other, "OTH", "2024-01-01T00:00:00Z")
    with transaction.atomic():
        import_lines(issuer, "L-1")
        thread, answers = elsewhere(lambda: import_lines(other, "L-1", symbol="OTH"))
        thread.join()
    assert [changes.created for changes in answers] == [1]


def test_a_file_is_read_before_anything_is_held(issuer):
    import_lines(issuer, "L-1")
    with CaptureQueriesContext(connection) as captured:
        import_lines(issuer, "L-1", "L-2")
    statements = [query["sql"] for query in captured]
    [lock] = [n for n, sql in enumerate(statements) if "pg_advisory_xact_lock" in sql]
    [made] = [n for n, sql in enumerate(statements) if "TABLE incoming_line" in sql]
    written = [n for n, sql in enumerate(statements) if "INSERT INTO" in sql]
    assert made < lock < min(written)
    [lines] = [sql for sql in statements if "FOR UPDATE" in sql]
    assert "ORDER BY s.id FOR UPDATE" in lines


def refused(*arguments, **options):
    """What the command ends with on a connection that waits for 0.1 s."""

    def run():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 100")
        with pytest.raises(CommandError) as error:
            call_command(*arguments, **options, stdout=io.StringIO())
        return str(error.value)

    thread, answers = elsewhere(run)
    thread.join()
    [answer] = answers
    return answer


def test_an_import_says_what_is_held(issuer, tmp_path):
    superuser(
        STAFF, "a long password", type="INDIVIDUAL", first_name="Ana", last_name="Lund"
    )
    import_lines(issuer, "L-1")
    file = tmp_path / "acme.csv"
    file.write_text(f"{HEADER}L-1,bo@example.com,ACM,6,100\n")
    command = ["import", "legacy-shareholders", file]
    with transaction.atomic():
        LegacyShareholder.objects.select_for_update().get(reference="L-1")
        said = refused(*command, issuer=issuer.slug, staff=STAFF)
    assert said == (
        "Another transaction holds one of the lines and did not release it in time "
        "(canceling statement due to lock timeout). Nothing was changed; run this "
        "again."
    )
    with transaction.atomic():
        import_lines(issuer, "L-2")
        said = refused(*command, issuer=issuer.slug, staff=STAFF)
    assert said.startswith(
        "Another transaction holds rows that this needs and did not release"
    )
    lines = LegacyShareholder.objects.order_by("reference")
    assert list(lines.values_list("number_of_shares", flat=True)) == [5, 5]


def test_an_import_of_companies_says_what_is_held(tmp_path):
    import_city("Paris")
    file = tmp_path / "companies.csv"
    file.write_text(COMPANIES.format("Lyon"))
    with transaction.atomic():
        Issuer.objects.select_for_update().get()
        said = refused("import", "issuers", file)
    assert said.startswith("Another transaction holds an issuer and did not release it")
    assert Issuer.objects.get().trading_location == "Paris"


def test_a_command_that_writes_the_register_says_what_is_held(issuer):
    superuser(
        STAFF, "a long password", type="INDIVIDUAL", first_name="Ana", last_name="Lund"
    )
    with transaction.atomic():
        token = Token.objects.get(symbol="ACM")
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT register_read(%s::uuid[], '{}', '{}', TRUE)", [[token.pk]]
            )
        said = refused(
            "ledger", "mint", "ACM", "5", staff=STAFF, reason="Capital increase"
        )
    assert said == (
        "Another transaction holds a token's ledger and did not release it in time "
        "(canceling statement due to lock timeout). Nothing was written; run the "
        "command again."
    )


def test_a_deadlock_is_told_too(issuer, tmp_path):
    """Two who change two people the other way round."""
    users = people(2)
    barrier = threading.Barrier(2)
    errors = []

    def change(first, second):
        try:
            with importing(tmp_path / "acme.csv", None), transaction.atomic():
                User.objects.filter(pk=first).update(city="Lyon")
                barrier.wait()
                User.objects.filter(pk=second).update(city="Lyon")
        except CommandError as error:
            errors.append(str(error))
        finally:
            connection.close()

    ids = [user.pk for user in users]
    threads = [threading.Thread(target=change, args=pair) for pair in (ids, ids[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [
        "Another transaction holds a user and did not release it in time (deadlock "
        "detected). Nothing was changed; run this again."
    ]


def test_other_trouble_with_the_database_stays_what_it_is(tmp_path):
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 50")
        with (
            pytest.raises(OperationalError, match="statement timeout"),
            importing(tmp_path / "acme.csv", None),
        ):
            cursor.execute("SELECT pg_sleep(1)")
        cursor.execute("RESET statement_timeout")
