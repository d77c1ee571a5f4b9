"""The documents whose cost is measured do what their names say."""

import pytest

from partnerapi.graphql.documents import Refused, prepare
from partnerapi.schema import schema
from tests.graphql.dear import NEW, REFUSED


@pytest.mark.parametrize("name", NEW)
def test_is_refused_only_where_it_is_meant_to_be(name: str):
    try:
        prepare(schema, NEW[name].replace("§", "1"), None, {})
    except Refused:
        assert name in REFUSED
    else:
        assert name not in REFUSED
