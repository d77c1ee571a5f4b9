"""The people and companies that tests speak of, and a client for each of them.

`owner` issues; `partner` has a key with every scope and a grant for one issuer;
`observer` has a key for issuers only and no grant; `stranger` has no key.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.core.cache import caches
from django.test import Client

from accounts.access import Scope
from accounts.keys.models import Partner
from accounts.people.models import Country, User
from issuers.legacy.models import LegacyShareholder
from issuers.models import Article, Issuer, IssuerFinancialData, Token
from partnerapi.gateway.clock import minutes
from partnerapi.gateway.throttling import local_buckets
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.issuers.register import past

START = datetime(2024, 1, 1, 12, tzinfo=UTC)


def on(day: float) -> datetime:
    """The instant so many days after START."""
    return START + timedelta(days=day)


@dataclass
class Answer:
    """A response: status, headers, and the body's two members."""

    status: int
    headers: Any
    body: dict[str, Any]

    @property
    def data(self) -> Any:
        assert "errors" not in self.body, self.body["errors"]
        return self.body["data"]

    @property
    def errors(self) -> list[dict[str, Any]]:
        return self.body["errors"]

    @property
    def code(self) -> str:
        """The code of the only error."""
        [error] = self.errors
        return error["extensions"]["code"]


class Ask:
    """Posts documents as a client does, with one caller's key or none."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.client = Client(raise_request_exception=False)

    def __call__(
        self, query: str, variables: dict[str, Any] | None = None, **headers: str
    ) -> Answer:
        body = {"query": query, "variables": variables}
        return self.post(orjson.dumps(body), **headers)

    def post(
        self, body: bytes, content_type: str = "application/json", **headers: str
    ) -> Answer:
        if self.key:
            headers.setdefault("X-Token-Auth", self.key)
        response = self.client.generic(
            "POST", "/graphql", body, content_type, headers=headers
        )
        return Answer(
            response.status_code, response.headers, orjson.loads(response.content)
        )


@dataclass
class World:
    """Two issuers: `listed` has everything, `quiet` has little."""

    owner: User
    listed: Issuer
    quiet: Issuer
    public_token: Token
    private_token: Token
    article: Article
    draft: Article
    figures: list[IssuerFinancialData]
    shareholders: list[LegacyShareholder]
    partner: Partner
    observer: Partner


@pytest.fixture
def world(db: None) -> World:
    return new_world()


def new_world() -> World:
    france = Country.objects.get(code="FR")
    owner = User.objects.create(
        type=User.Type.COMPANY,
        company_name="Lumen Optique SA",
        legal_form=User.LegalForm.SA,
        lei="529900T8BM49AURSDO55",
        country=france,
        address="3 rue des Lentilles",
        postal_code="21000",
        city="Dijon",
    )
    person = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Ines", last_name="Roca"
    )
    listed = Issuer.objects.create(
        trading_name="Lumen",
        slug="lumen",
        trading_location="Dijon",
        owner=owner,
        country=france,
        initial_number_of_shares=5_000_000_000,
    )
    quiet = Issuer.objects.create(
        trading_name="Arbor", slug="arbor", trading_location="Porto", owner=person
    )
    with past(listed):
        public_token, private_token = (
            Token.objects.create(
                issuer=listed,
                name=name,
                symbol=symbol,
                visibility=visibility,
                created_at=START + timedelta(days=day),
            )
            for day, (name, symbol, visibility) in enumerate(
                [
                    ("Ordinary", "LUM", Token.Visibility.PUBLIC),
                    ("Founders", "LUMF", Token.Visibility.PRIVATE),
                ]
            )
        )
    article, draft = Article.objects.bulk_create(
        Article(issuer=listed, title=title, slug=slug, body="…", published_at=at)
        for title, slug, at in (("Hello", "hello", START), ("Soon", "soon", None))
    )
    period = IssuerFinancialData.PeriodType
    figures = IssuerFinancialData.objects.bulk_create(
        IssuerFinancialData(
            issuer=listed, year=year, period_type=period_type, revenue_cents=revenue
        )
        for year, period_type, revenue in [
            (2025, period.FIRST_SEMESTER, -5),
            (2024, period.YEAR, 9_000_000_000_000),
            (2024, period.FIRST_SEMESTER, None),
        ]
    )
    shareholders = LegacyShareholder.objects.bulk_create(
        LegacyShareholder(
            issuer=listed,
            user=person,
            number_of_shares=number,
            price_cents=125,
            created_at=START + timedelta(seconds=number),
        )
        for number in range(1, 8)
    )
    partner = Partner.objects.create(login="broker_one", name="Broker One")
    approved_grant(partner, listed)
    observer = Partner.objects.create(login="reader", name="Reader")
    return World(
        owner,
        listed,
        quiet,
        public_token,
        private_token,
        article,
        draft,
        figures,
        shareholders,
        partner,
        observer,
    )


@pytest.fixture(autouse=True)
def full_budgets(request: pytest.FixtureRequest) -> None:
    """Every test that reaches Redis begins with budgets that no one has drawn on."""
    if "db" in request.fixturenames or "transactional_db" in request.fixturenames:
        caches["default"].clear()
        caches["default"].client.get_client().flushdb()
        local_buckets.clear()
        minutes.clear()


@pytest.fixture
def unlimited_budgets(settings: Any) -> None:
    """For tests that ask far more than a client may in their time."""
    settings.PARTNER_API_BUDGET_POINTS = settings.PARTNER_API_BUDGET_REFILL = 10**9
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 10**9
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 10**9


@pytest.fixture
def stranger(db: None) -> Ask:
    return Ask()


@pytest.fixture
def partner(world: World) -> Ask:
    return Ask(approved_key(world.partner, list(Scope))[1])


@pytest.fixture
def observer(world: World) -> Ask:
    return Ask(approved_key(world.observer, [Scope.ISSUERS_READ])[1])


def page_of(code: str) -> str:
    """What errors with this code have as their `docUrl`."""
    return f"{settings.PARTNER_API_SITE}/docs/schema/error.{code}"
