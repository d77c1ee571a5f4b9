"""The same application, whose orders for one market go one after the other.

Served as `tests.benchmarks.without_groups`, to measure what it saves that they go
together.
"""

from partnerapi.graphql.documents import PreparedRequest
from partnerapi.wsgi import application

# The view needs the models, which are ready only now.
from partnerapi.gateway import views  # isort: skip

__all__ = ["application"]


def alone(prepared: PreparedRequest) -> None:
    return None


views.grouped = alone  # type: ignore[attr-defined]
