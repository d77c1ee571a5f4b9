def answer_graphql_first(get_response):
    return get_response
