from tests.graphql.differences import compare


def test_equals_graphql_core_on_generated_documents():
    result = compare(500, seed=7)
    assert result.differences == []
    assert result.compared >= 450
    assert result.without_errors >= 0.8 * result.compared
    assert result.errors > 50
