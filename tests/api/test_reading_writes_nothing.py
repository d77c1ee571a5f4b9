"""What a request that only reads leaves in the database's log: nothing."""

import re

import pytest
from django.db import connection, transaction

from accounts.access import Scope
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.schema import schema
from partnerapi.site.exchanges import of_operations
from tests.characters import Ask, new_world

QUERIES = [(name, of_operations()[name].request) for name in schema.query_type.fields]


@pytest.mark.django_db(transaction=True)
def test_a_query_has_no_transaction_id_and_so_waits_for_no_standby():
    world = new_world()
    ask = Ask(approved_key(world.partner, list(Scope))[1])
    for name, document in QUERIES:
        here = re.sub(r"Issuer\|[0-9a-f-]{36}", f"Issuer|{world.listed.pk}", document)
        with transaction.atomic():
            answer = ask(here)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_current_xact_id_if_assigned()::text")
                [(written,)] = cursor.fetchall()
        assert written is None, name
        assert answer.status == 200, (name, answer.body)
