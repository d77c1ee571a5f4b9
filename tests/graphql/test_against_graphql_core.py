from tests.graphql.differences import compare
from tests.tiers import count


def test_equals_graphql_core_on_generated_documents():
    documents = count(150, 500)
    result = compare(documents, seed=7)
    assert result.differences == []
    assert result.compared >= 0.9 * documents
    assert result.without_errors >= 0.8 * result.compared
    assert result.errors > documents / 10
