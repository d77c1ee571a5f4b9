from graphql import build_schema

from partnerapi.site.pages import SDL_FILE


def test_serves_the_committed_file(client):
    response = client.get("/schema.graphql")

    assert response.status_code == 200
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content == SDL_FILE.read_bytes()
    assert "issuers" in build_schema(response.content.decode()).query_type.fields


def test_answers_head_but_no_post(client):
    assert client.head("/schema.graphql").status_code == 200
    assert client.post("/schema.graphql").status_code == 405
