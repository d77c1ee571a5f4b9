"""What generated documents ask of the sandbox: ids, slugs, cursors that are there."""

import uuid

from accounts.accounts.models import Account
from accounts.people.models import User, UserHolder
from issuers import models
from issuers.legacy.models import LegacyShareholder
from issuers.visible_documents import visible_documents
from tests.characters import Ask
from tests.generated.documents import Samples

MODELS = {
    "Account": Account.objects.filter(partner__login="demo"),
    "Issuer": models.Issuer.objects.all(),
    "Token": models.Token.objects.all(),
    "Article": models.Article.objects.published(),
    "Document": visible_documents(None),
    "IssuerFinancialData": models.IssuerFinancialData.objects.all(),
    "IssuerLegacyShareholder": LegacyShareholder.objects.all(),
    "IndustryClassificationBenchmark": (
        models.IndustryClassificationBenchmark.objects.all()
    ),
    "User": User.objects.filter(issuers__isnull=False),
    "UserHolder": UserHolder.objects.filter(user__issuers__isnull=False),
}
LISTS = """
{
  industryClassificationBenchmarks { edges { cursor } }
  issuers(first: 30) {
    edges {
      cursor
      node {
        tokens { edges { cursor } }
        articles { edges { cursor } }
        financialData { edges { cursor } }
        legacyShareholders { edges { cursor } }
      }
    }
  }
}
"""


def mutation_key(ask: Ask) -> str:
    """The Idempotency-Key of a mutation that has happened; it changes nothing."""
    account = Account.objects.filter(partner__login="demo").order_by("pk")[0]
    values = {"accountID": f"Account|{account.pk}", "status": account.status}
    key = str(uuid.uuid4())
    document = """
        mutation ($input: UpdateAccountStatusInput!) {
          updateAccountStatus(input: $input) { previousStatus }
        }
    """
    assert ask(document, {"input": values}, **{"Idempotency-Key": key}).data
    return key


def read_samples(ask: Ask) -> Samples:
    """Samples of a seeded sandbox; `ask` has a key that sees everything."""
    data = ask(LISTS).data
    lists = {name: [page] for name, page in data.items()}
    for edge in data["issuers"]["edges"]:
        for name, page in edge["node"].items():
            lists.setdefault(name, []).append(page)
    issuers = models.Issuer.objects.order_by("slug")
    names = issuers.values_list("trading_name", flat=True)
    return Samples(
        ids={
            name: [f"{name}|{row.pk}" for row in rows.order_by("pk")[:200]]
            for name, rows in MODELS.items()
        },
        cursors={
            name: [edge["cursor"] for page in pages for edge in page["edges"]]
            for name, pages in lists.items()
        },
        values={
            "idempotentRequest.key": [mutation_key(ask)],
            "issuer.slug": [*issuers.values_list("slug", flat=True)],
            "issuers.search": [name[: n % 3 + 1] for n, name in enumerate(names)],
            "issuers.country": sorted(
                set(issuers.exclude(country=None).values_list("country_id", flat=True))
            ),
            "issuers.industryCode": [
                benchmark.subsector_code[: n % 4 * 2 + 2]
                for n, benchmark in enumerate(
                    models.IndustryClassificationBenchmark.objects.filter(
                        issuers__isnull=False
                    )
                )
            ],
        },
    )
