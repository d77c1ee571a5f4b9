"""How many statements an answer takes: one a connection, a relation, a total."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker

from accounts.access import Scope
from accounts.keys.models import Partner
from accounts.people.models import Country, User
from issuers.legacy.models import LegacyShareholder
from issuers.models import (
    IndustryClassificationBenchmark,
    Issuer,
    IssuerFinancialData,
    Token,
)
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.characters import Ask
from tests.owner import as_committed

pytestmark = pytest.mark.usefixtures("unlimited_budgets")
MOST = 50
OF_KEYS = ('FROM "accounts_apikey"', 'UPDATE "accounts_apikey"', "issuers_issuergrant")
FULL = """
query ($first: Int!) {
  issuers(first: $first) {
    totalCount
    pageInfo { hasNextPage hasPreviousPage endCursor }
    nodes {
      tradingName lei headquartersAddress
      country { name }
      owner { displayName country { code } }
      industryClassificationBenchmark { subsector }
      financialData(first: 4) { nodes { year periodType revenue } }
      tokens(first: 3) { edges { cursor node { symbol issuer { slug } } } }
      legacyShareholders(first: 5) {
        totalCount
        pageInfo { hasNextPage hasPreviousPage }
        nodes { numberOfShares user { displayName } }
      }
    }
  }
}
"""
# issuers and their total; country; owner and its country; classification; financial
# data; tokens and their issuers; shareholders, their total and their users.
FULL_STATEMENTS = 12


@pytest.fixture(scope="module")
def key(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """A key for everything, among issuers that each have everything."""
    with django_db_blocker.unblock(), transaction.atomic():
        made = made_key()
        # Else each test would run the triggers of all these rows.
        as_committed()
        yield made
        transaction.set_rollback(True)


def made_key() -> str:
    owners = [
        User.objects.create(
            type=User.Type.COMPANY,
            company_name=f"Company {number} SA",
            country=Country.objects.get(code=code),
        )
        for number, code in zip(range(MOST), ["FR", "PT"] * MOST, strict=False)
    ]
    benchmark = IndustryClassificationBenchmark.objects.create(
        industry_code="10",
        supersector_code="1010",
        sector_code="101010",
        subsector_code="10101010",
    )
    for number, owner in enumerate(owners):
        issuer = Issuer.objects.create(
            trading_name=f"Company {number}",
            slug=f"company-{number}",
            trading_location="Lyon",
            owner=owner,
            country=owner.country,
            industry_classification_benchmark=benchmark,
        )
        for line in range(5):
            Token.objects.create(
                issuer=issuer, name="Class", symbol=f"T{number}.{line}"
            )
            LegacyShareholder.objects.create(
                issuer=issuer,
                user=owners[line],
                number_of_shares=line + 1,
                price_cents=1,
            )
            IssuerFinancialData.objects.create(
                issuer=issuer, year=2020 + line, period_type="YEAR"
            )
    partner = Partner.objects.create(login="reader", name="Reader")
    approved_grant(partner)
    return approved_key(partner, list(Scope))[1]


@pytest.fixture
def ask(key: str, db: None) -> Ask:
    return Ask(key)


def count(ask: Ask, document: str, variables: dict[str, Any] | None = None) -> int:
    """Statements of one answer, without those that read the key."""
    with CaptureQueriesContext(connection) as queries:
        assert ask(document, variables).data
    # No text is known of what the driver has prepared by then.
    texts = [query["sql"] or "" for query in queries]
    return sum(not any(name in text for name in OF_KEYS) for text in texts)


@pytest.mark.parametrize("issuers", [1, 10, MOST])
def test_the_number_of_issuers_does_not_matter(issuers, ask: Ask):
    assert count(ask, FULL, {"first": issuers}) == FULL_STATEMENTS


@pytest.mark.parametrize(
    ("document", "statements"),
    [
        ("{ __typename viewer { login } }", 0),
        ("{ issuers { nodes { id } } }", 1),
        ("{ issuers { totalCount } }", 2),
        ("{ issuers { nodes { lei companyName legalForm headquartersAddress } } }", 1),
        ("{ issuers { nodes { owner { id } } } }", 2),
        ("{ issuers { nodes { tokens { totalCount } } } }", 3),
        ("{ issuers { nodes { tokens { edges { cursor } nodes { name } } } } }", 2),
        ("{ issuers { nodes { tokens { nodes { orderBook { at } } } } } }", 3),
        ("{ a: issuers { nodes { id } } b: issuers { nodes { id } } }", 2),
        ("{ issuers { nodes { a: country { code } b: country { name } } } }", 3),
        ('{ issuer(slug: "company-1") { slug } }', 1),
        ('{ issuer(slug: "no such slug!") { slug } }', 0),
        ('{ issuer(id: "Token|1") { slug } }', 0),
        ('{ node(id: "nothing") { id } }', 0),
        ("{ issuers(first: 0) { nodes { owner { id } } } }", 1),
    ],
)
def test_a_document_takes_so_many_statements(document, statements, ask: Ask):
    assert count(ask, document) == statements


def test_nodes_take_one_statement_for_each_type(ask: Ask):
    ids = [f"Issuer|{issuer.pk}" for issuer in Issuer.objects.all()[:10]]
    ids += [f"Token|{token.pk}" for token in Token.objects.all()[:10]]
    ids += ["Article|none", "Issuer|00000000-0000-7000-8000-000000000000"]
    document = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    assert count(ask, document, {"ids": ids}) == 2


def test_a_cursor_takes_no_statement_of_its_own(ask: Ask):
    page = ask("{ issuers(first: 2) { pageInfo { endCursor } } }").data["issuers"]
    document = """
    query ($after: String) {
      issuers(first: 2, after: $after) {
        nodes { id } pageInfo { hasNextPage hasPreviousPage }
      }
    }
    """
    assert count(ask, document, {"after": page["pageInfo"]["endCursor"]}) == 1
