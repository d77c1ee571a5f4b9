"""Our validation against graphql-core's, of which it is a faster form."""

import graphql
import pytest
from graphql import GraphQLError, parse

from partnerapi.core.errors import MaxFragmentsExceeded
from partnerapi.graphql.documents import MAX_ERRORS, RULES
from partnerapi.graphql.validation import validate
from partnerapi.schema import schema
from tests.graphql.dear import KNOWN, NEW, VALUES
from tests.graphql.hostile import DOCUMENTS

TEXTS = {
    name: text.replace("§", "1")
    for name, text in (
        DOCUMENTS | NEW | KNOWN | {name: text for name, (text, _) in VALUES.items()}
    ).items()
}


UNREADABLE = {
    "600 inline fragments, nested",
    "900 levels",
    "14,000 opening braces",
    "14,000 opening brackets",
    "a list literal 900 deep",
    "an object literal 450 deep",
    "2,000 halves of surrogates",
    "4,900 comments",
    "an open string",
    "an open block string",
    "tiny, an open brace",
    "tiny, no document",
    "300 fragments that no one spreads",
    "numbers",
}
"""No code parses these, so that there is nothing to validate."""


def told(errors: list[GraphQLError]) -> list[object]:
    """What a partner reads of them, and whether there are more."""
    return [
        *((error.message, error.locations) for error in errors[:MAX_ERRORS]),
        len(errors) > MAX_ERRORS,
    ]


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in UNREADABLE])
def test_finds_what_graphql_core_finds(name: str):
    document = parse(TEXTS[name], max_tokens=2_000)
    try:
        ours = validate(schema, document, RULES, MAX_ERRORS)
    except MaxFragmentsExceeded:
        with pytest.raises(MaxFragmentsExceeded):
            graphql.validate(schema, document, RULES, MAX_ERRORS)
        return
    theirs = graphql.validate(schema, document, RULES, MAX_ERRORS)
    assert told(ours) == told(theirs)
