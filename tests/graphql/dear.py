"""Bodies made to cost more than their points: those of `hostile`, and others.

`python -m tests.benchmarks.dear_documents` measures them. Each body is new to the
process that reads it, unless its name says that it is known.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from tests.benchmarks.graphql.answers import PRODUCT
from tests.graphql.dear_trading import TRADING
from tests.graphql.hostile import DOCUMENTS, VARIABLES, on_issuers, times

Body = Callable[[int], bytes]
"""A body by a number, which makes it unlike all others."""

PAGE = PRODUCT.document(50, 4)
TYPENAME = "{ __typename }"
ISSUER = "Issuer|00000000-0000-7000-8000-000000000000"
TABLE = 'issuer(slug: "large") { capitalizationTable { %s } }'
FIELDS = "id tradingName slug website description tagLine marketDescription lei "
INPUT = (
    "mutation M%s($i: UpdateAccountStatusInput!)"
    " { updateAccountStatus(input: $i) { changedAt } }"
)


def chain(length: int, opening: str, closing: str) -> str:
    """Fragments of which each spreads the next."""
    links = (
        f"fragment F{n} on Issuer {{ {opening} ...F{n + 1} {closing} }}"
        for n in range(length - 1)
    )
    return on_issuers("...F0", *links, f"fragment F{length - 1} on Issuer {{ id }}")


def doubling(fans: list[int], leaf: str) -> str:
    """Fragments that bring lists to as many places as the product of the fans."""
    links = []
    for level, fan in enumerate(fans):
        lists = times(fan, f"a#: tokens(first: 1) {{ ...G{level} }}")
        below = f"issuer {{ ...F{level + 1} }}" if level + 1 < len(fans) else leaf
        links.append(f"fragment F{level} on Issuer {{ {lists} }}")
        links.append(f"fragment G{level} on TokenConnection {{ nodes {{ {below} }} }}")
    return '{ a§: issuer(slug: "large") { ...F0 } } ' + " ".join(links)


NEW = {
    # As small as can be
    "tiny": "{ a§: __typename }",
    "tiny, known but for a comment": "{ __typename } #§",
    "tiny, named": "query q§ { __typename }",
    "tiny, a field": "{ a§: viewer { login } }",
    "tiny, a field of an issuer": '{ a§: issuer(slug: "no") { id } }',
    "tiny, an unknown field": "{ a§ }",
    "tiny, an open brace": "{ a§: __typename",
    "tiny, no document": "#§",
    "tiny, a variable": "query ($a§: Int) { issuers(first: $a§) { nodes { id } } }",
    "tiny, a missing variable": "query ($a§: Int!) { issuers(first: $a§) { nodes "
    "{ id } } }",
    "tiny, a fragment": "{ ...F } fragment F on Query { a§: __typename }",
    "tiny, a subscription": "subscription s§ { a }",
    "tiny, a type": '{ a§: __type(name: "Issuer") { kind } }',
    # Ordinary ones
    "the nested page": PAGE + " #§",
    "a short page": "{ issuers(first: 10) { nodes { id slug a§: website } } }",
    "a walk's page": '{ issuers(first: 100, after: "§") { nodes { id } } }',
    # Fragments
    "a chain of 21 fragments": chain(21, "a§: id", ""),
    "a chain of 49 fragments, each with fields": chain(49, "a§: id", FIELDS),
    "49 fragments in one place": on_issuers(
        times(49, "...F#"), times(49, "fragment F# on Issuer { a§: id slug website }")
    ),
    "50 fragments that no one spreads": "{ a§: __typename } "
    + times(50, "fragment F# on Issuer { id }"),
    "300 fragments that no one spreads": "{ a§: __typename } "
    + times(300, "fragment F# on Issuer { id }"),
    "lists 8 × 8 by fragments": doubling([8, 8], "id"),
    "prices 8 × 8 by fragments": doubling([8, 8], times(8, "p#: currentPrice")),
    "lists 10 × 10 × 10 by fragments": doubling([10, 10, 10], "id"),
    "20 types of a node": '{ node(id: "x") {'
    + times(20, "... on Issuer { a§: id } ... on Token { a§: id }")
    + "} }",
    # Counting, finding, listing
    "95 searches": "{"
    + times(95, 'a#: issuers(search: "issuer §#", first: 1) { nodes { id } }')
    + "}",
    "95 searches that find nothing": "{"
    + times(95, 'a#: issuers(search: "zz§#", first: 1) { nodes { id } }')
    + "}",
    "8 words in each of 95 searches": "{"
    + times(
        95,
        'a#: issuers(search: "iss mak dij köl müns §# iss 0", first: 1) '
        "{ nodes { id } }",
    )
    + "}",
    "a search narrowed by a country": '{ a§: issuers(search: "issuer", country: "ZZ", '
    "first: 1) { nodes { id } } }",
    "a search narrowed by an industry": '{ a§: issuers(search: "issuer", '
    'industryCode: "99", first: 1) { nodes { id } } }',
    "a search narrowed by a time": '{ a§: issuers(search: "issuer", updatedSince: '
    '"2099-01-01T00:00:00Z", first: 1) { nodes { id } } }',
    "a search narrowed by an ISIN": '{ a§: issuers(search: "issuer", '
    'isin: ["FR0000000000"], first: 1) { nodes { id } } }',
    "95 totals": "{" + times(95, "a§#: issuers { totalCount }") + "}",
    "95 totals of a search": "{"
    + times(95, 'a#: issuers(search: "issuer §#") { totalCount }')
    + "}",
    "95 totals of classes": "{"
    + times(95, "a§#: industryClassificationBenchmarks { totalCount }")
    + "}",
    "95 issuers": "{" + times(95, 'a§#: issuer(slug: "issuer-#") { id }') + "}",
    "95 issuers of all fields": "{"
    + times(
        95, f'a§#: issuer(slug: "issuer-000001") {{ {FIELDS} headquartersAddress }}'
    )
    + "}",
    "100 nodes of no issuer": '{ a§: nodes(ids: ["' + ISSUER + '"]) { id } }',
    "95 lists of codes": "{"
    + times(95, 'a§#: issuers(lei: ["a", "b", "c"], first: 1) { nodes { id } }')
    + "}",
    "95 pages of one row": "{"
    + times(95, "a§#: issuers(first: 1) { nodes { id } }")
    + "}",
    "95 last pages": "{" + times(95, "a§#: issuers(last: 1) { nodes { id } }") + "}",
    "95 countries": "{"
    + times(95, 'a§#: issuers(country: "FR", first: 1) { nodes { id } }')
    + "}",
    "95 industries": "{"
    + times(95, 'a§#: issuers(industryCode: "10", first: 1) { nodes { id } }')
    + "}",
    "one row on pages of one row": "{ issuers(first: 1) { nodes {"
    + times(90, "a§#: financialData(first: 1) { nodes { id } }")
    + "} } }",
    "lists of 100 in a list of 90": "{ issuers(first: 90) { nodes { a§: "
    "financialData(first: 100) { nodes { id } } } } }",
    "totals in a list": "{ issuers(first: 100) { nodes {"
    + times(50, "a§#: financialData(first: 1) { totalCount }")
    + "} } }",
    "90 empty lists of 100 issuers": "{ issuers(first: 100) { nodes {"
    + times(90, "a§#: tokens(first: 1) { totalCount }")
    + "} } }",
    "100 scalars of 100 issuers": "{ issuers(first: 100) { nodes {"
    + times(95, "a§#: description")
    + "} } }",
    "50 addresses of 100 issuers": "{ issuers(first: 100) { nodes {"
    + times(50, "a§#: headquartersAddress")
    + "} } }",
    "50 cursors of 100 issuers": "{ issuers(first: 100) { edges {"
    + times(50, "a§#: cursor")
    + "} } }",
    "all scalars of 100 issuers": "{ issuers(first: 100) { nodes { a§: id "
    + FIELDS
    + "headquartersAddress companyName } } }",
    # Tables
    "47,000 holders": "{ a§: " + TABLE % "holders { totalValue }" + "}",
    "47,000 holders of all fields": "{ a§: "
    + TABLE
    % "holders { userID percentage totalValue holderName user { id displayName } "
    "tokenBalances { tokenID balanceSpecificToken currentPrice totalTokenValue } }"
    + "}",
    "47,000 holders of eight scalars": "{ a§: "
    + TABLE
    % "holders { holderName userID percentage totalValue a: percentage b: percentage "
    "c: userID d: totalValue }" + "}",
    "50 tables": "{" + times(50, "a§#: " + TABLE % "totalValue") + "}",
    "50 tables of other dates": "{"
    + times(
        50,
        'a§#: issuer(slug: "large") { capitalizationTable('
        'date: "2020-01-02T00:00:00.#1Z") { totalValue } }',
    )
    + "}",
    "a table at a date": '{ a§: issuer(slug: "large") { capitalizationTable('
    'date: "2020-01-02T00:00:00.§Z") { date } } }',
    "a holder at a date": '{ a§: issuer(slug: "large") { capitalizationTable('
    'date: "2020-01-02T00:00:00.§Z") { holdersConnection(first: 1) { nodes { userID } '
    "pageInfo { hasNextPage } } } } }",
    "80 counts of holders": "{"
    + times(80, "a§#: " + TABLE % "holdersConnection(first: 1) { totalCount }")
    + "}",
    "50 pages of holders": "{"
    + times(50, "a§#: " + TABLE % "holdersConnection(last: 100) { nodes { userID } }")
    + "}",
    "90 pages of a ledger": '{ token(symbol: "large") {'
    + times(90, "a§#: transactions(last: 1) { totalCount nodes { id } }")
    + "} }",
    "90 pages of prices": '{ token(symbol: "large") {'
    + times(90, "a§#: priceHistory(last: 1) { totalCount nodes { price } }")
    + "} }",
    "entries with their holders": '{ token(symbol: "large") { a§: transactions('
    "first: 100) { nodes { source { id user { id } } target { id user { id } } } } } }",
    "balances of 100 holders": "{ a§: "
    + TABLE
    % "holdersConnection(first: 100) { nodes { userHolder { balances { value } } } }"
    + "}",
    "balances at 20 dates": "{ a§: "
    + TABLE
    % (
        "holdersConnection(first: 10) { nodes { userHolder {"
        + times(20, 'a#: balances(date: "20§-01-01") { value }').replace("20§", "2024")
        + "} } }"
    )
    + "}",
    # What a partner has
    "95 pages of events": "{" + times(95, "a§#: events(first: 1) { totalCount }") + "}",
    "90 pages of grants": "{ viewer {"
    + times(90, "a§#: grants(first: 1) { totalCount }")
    + "} }",
    "95 pages of accounts": "{"
    + times(95, 'a§#: accounts(first: 1, createdAfter: "2020-01-01") { totalCount }')
    + "}",
    "an event": "{ a§: events(first: 1) { nodes { sequence } } }",
    "95 pages of a type of events": "{"
    + times(95, "a§#: events(first: 1, types: [KEY_CHANGED]) { nodes { type } }")
    + "}",
    "95 updates": "{"
    + times(95, 'a§#: issuers(first: 1, updatedSince: "2099-01-01") { totalCount }')
    + "}",
    "95 grants": "{"
    + times(95, "a§#: issuers(first: 1, granted: false) { nodes { id } }")
    + "}",
    "90 idempotent requests": "{"
    + times(90, 'a§#: idempotentRequest(key: "x#") { key }')
    + "}",
    "95 tokens": "{" + times(95, 'a§#: token(symbol: "t§#") { id }') + "}",
    "95 subsectors": "{"
    + times(95, 'a§#: issuers(industryCode: "10101010", first: 1) { totalCount }')
    + "}",
    "articles of 100 issuers": "{ issuers(first: 100) { nodes {"
    + times(40, "a§#: articles(first: 1) { nodes { coverImage { id } } }")
    + "} } }",
    "owners of 100 issuers": "{ issuers(first: 100) { nodes { a§: owner { displayName "
    "lei companyName country { code name } } } } }",
    # Values
    "numbers": "{ issuers(first: §, last: " + "1 " * 1_800 + ") { totalCount } }",
    "a list 100 deep": "{ nodes(ids: " + "[" * 100 + '"§"' + "]" * 100 + ") { id } }",
    "95 ids a thousand times": "{"
    + times(15, "a§#: nodes(ids: [" + f'"{ISSUER}" ' * 100 + "]) { id }")
    + "}",
    "unicode escapes": '{ issuer(slug: "§' + "\\u0061" * 14_000 + '") { id } }',
    "90,000 characters": '{ issuer(slug: "§' + "x" * 90_000 + '") { id } }',
    "a block string of 90,000": '{ issuer(slug: """§'
    + " x\n" * 30_000
    + '""") { id } }',
    "90,000 characters of a comment": "#§" + "x" * 90_000 + "\n" + TYPENAME,
    "1,900 short comments": "#§\n" * 1_900 + TYPENAME,
    "90,000 blanks": " " * 90_000 + "{ a§: __typename }",
    "an argument for each of 80 enums": "{"
    + times(
        80,
        "a§#: issuers(first: 1) { nodes { financialData(periodType: YEAR) "
        "{ totalCount } } }",
    )
    + "}",
    # Directives
    "190 directives": "{ a§: __typename "
    + times(95, "b#: __typename @include(if: true) @skip(if: false)")
    + "}",
    "95 variables of directives": "query ("
    + times(95, "$v§#: Boolean = true")
    + ") {"
    + times(95, "a#: __typename @include(if: $v§#)")
    + "}",
    # Introspection
    "one kind of one type": '{ a§: __type(name: "Query") { name } }',
    "all types of all fields": "{ a§: __schema { types { name fields { name type "
    "{ name ofType { name } } } } } }",
    "10 types, all arguments": 'query ($n: String = "Issuer") {'
    + times(10, "a§#: __type(name: $n) { fields { args { name description } } }")
    + "}",
    "a schema without fields": "{ a§: __schema { __typename } }",
    # Many errors
    "200 unknown fields": "{" + times(200, "x§y#") + "}",
    "200 unknown fields below": on_issuers(times(200, "x§y#")),
    "100 unknown types": times(100, "fragment F§x# on T# { id }") + TYPENAME,
    "100 wrong arguments": "{"
    + times(99, 'a§#: issuers(first: "x", foo: 1) { totalCount }')
    + "}",
    "100 wrong leaves": "{" + times(99, "a§#: issuers") + "}",
    "100 leaves with selections": on_issuers(times(99, "a§#: id { x }")),
    "300 anonymous operations": "{ a§: __typename } " * 200,
    "a mutation without a key for it": "mutation { a§: updateAccountStatus(input: "
    '{accountID: "x", status: CLOSED}) { changedAt } }',
}

REFUSED = {
    "tiny, an unknown field",
    "tiny, an open brace",
    "tiny, no document",
    "tiny, a missing variable",
    "tiny, a subscription",
    "50 fragments that no one spreads",
    "300 fragments that no one spreads",
    "lists 10 × 10 × 10 by fragments",
    "numbers",
    "a list 100 deep",
    "200 unknown fields",
    "200 unknown fields below",
    "100 unknown types",
    "100 wrong arguments",
    "100 wrong leaves",
    "100 leaves with selections",
    "300 anonymous operations",
}
"""Of the new documents those that are refused before they are run."""

KNOWN = {
    "known: tiny": "{ __typename id: __typename }",
    "known: a field": "{ viewer { login } }",
    "known: the largest introspection": DOCUMENTS["the full introspection"],
    "known: 95 searches": "{"
    + times(95, 'a#: issuers(search: "issuer", first: 1) { nodes { id } }')
    + "}",
    "known: 95 pages of one row": "{"
    + times(95, "a#: issuers(first: 1) { nodes { id } }")
    + "}",
    "known: 95 totals": "{" + times(95, "a#: issuers { totalCount }") + "}",
    "known: unknown field": "{ nothing }",
    "known: an issuer by an id": '{ issuer(id: "' + ISSUER + '") { id } }',
    "known: a hundred rows": "{ issuers(first: 100) { nodes { id } } }",
    "known: all rows of 100 lists": "{ issuers(first: 90) { nodes { "
    "financialData(first: 100) { nodes { id revenue } } } } }",
}

VALUES: dict[str, tuple[str, Any]] = {
    "1,000 unknown variables": (TYPENAME, {f"v{n}": None for n in range(1_000)}),
    "1,900 members of a variable": (
        TYPENAME,
        {"v": {f"m{n}": n for n in range(1_900)}},
    ),
    "60,000 members": (TYPENAME, {"v": list(range(60_000))}),
    "a refused input of 60,000 members": (
        INPUT % "",
        {"i": {f"m{n}": n for n in range(60_000)}},
    ),
    "a refused input of 1,900 members": (
        INPUT % "",
        {"i": {f"m{n}": n for n in range(1_900)}},
    ),
    "a refused list of 1,900": (
        "query ($n: [String!]) { issuers(lei: $n) { totalCount } }",
        {"n": [None] * 1_900},
    ),
    "lists 200 deep": (TYPENAME, {"v": orjson.loads("[" * 200 + "]" * 200)}),
    "900,000 characters": (TYPENAME, {"v": "x" * 900_000}),
    "900,000 emoji bytes": (TYPENAME, {"v": "🏢" * 220_000}),
    "a variable that is not a number": (
        "query ($n: Int) { issuers(first: $n) { totalCount } }",
        {"n": "x" * 100_000},
    ),
    "100 ids": ("query ($i: [ID!]!) { nodes(ids: $i) { id } }", {"i": [ISSUER] * 100}),
    "100 ids, 15 times": (
        "query ($i: [ID!]!) {" + times(15, "a#: nodes(ids: $i) { id }") + "}",
        {"i": [ISSUER] * 100},
    ),
}

RAW = {
    "no JSON": b"{" * 2_000,
    "a batch": orjson.dumps([{"query": TYPENAME}] * 20_000),
    "a batch of one": orjson.dumps([{"query": TYPENAME}]),
    "a megabyte of blanks": b" " * 1_000_000 + b'{"query":"{ __typename }"}',
    "a megabyte of nothing": b" " * 1_000_000,
    "40,000 members": orjson.dumps(
        {f"member{n}": n for n in range(40_000)} | {"query": TYPENAME}
    ),
    "an empty body": b"",
    "JSON 900 deep": b'{"query":"{ __typename }","extensions":{"a":'
    + b"[" * 900
    + b"]" * 900
    + b"}}",
    "a multipart form": b"--x\r\nContent-Disposition: form-data\r\n\r\n",
}


def with_text(text: str, variables: Any, number: int) -> bytes:
    query = text.replace("§", str(number))
    return orjson.dumps({"query": query, "variables": variables})


def as_it_is(body: bytes, number: int) -> bytes:
    return body


def bodies() -> dict[str, Body]:
    found: dict[str, Body] = {
        name: partial(with_text, f"{text}\n#§", VARIABLES.get(name))
        for name, text in DOCUMENTS.items()
        if name not in VALUES
    }
    found |= {name: partial(with_text, text, None) for name, text in NEW.items()}
    found |= {name: partial(with_text, text, None) for name, text in KNOWN.items()}
    found |= {name: partial(with_text, text, None) for name, text in TRADING.items()}
    for name, (text, variables) in VALUES.items():
        found[name] = partial(with_text, f"{text} #§", variables)
        found[f"known: {name}"] = partial(with_text, text, variables)
    # What is a tiny body can be repeated as it is.
    found |= {name: partial(as_it_is, body) for name, body in RAW.items()}
    return found
