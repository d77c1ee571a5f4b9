"""The industry classification."""

from issuers import models
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
)
from partnerapi.graphql.statements import OrderedList, OrderKey

CLASSIFICATION = OrderedList(
    "classification",
    "IndustryClassificationBenchmark",
    models.IndustryClassificationBenchmark,
    (OrderKey("issuers_industryclassificationbenchmark.subsector_code", "text"),),
    unique=True,
)


class IndustryClassificationBenchmark(ModelType):
    """Four-level taxonomy entry that categorises issuers."""

    class Meta:
        model = models.IndustryClassificationBenchmark
        fields = [
            "industry",
            "supersector",
            "sector",
            "subsector",
            "description",
            "subsector_code",
        ]
        interfaces = [Node]


class IndustryClassificationBenchmarkConnection(Connection):
    class Meta:
        node = IndustryClassificationBenchmark
        nullable_nodes = True
