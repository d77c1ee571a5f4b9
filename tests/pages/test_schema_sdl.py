from graphql import GraphQLScalarType, build_schema, is_specified_scalar_type

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


def test_types_every_scalar_of_its_own_for_code_generators(client):
    types = build_schema(SDL_FILE.read_text()).type_map.values()
    own = {
        type_.name
        for type_ in types
        if isinstance(type_, GraphQLScalarType) and not is_specified_scalar_type(type_)
    }

    response = client.get("/scalars.json")

    assert response["Content-Type"] == "application/json"
    assert response.json().keys() == own
