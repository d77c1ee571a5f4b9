from tests.characters import Ask, World


def test_answers_an_issuer_with_all_its_lists(world: World, partner: Ask):
    answer = partner(
        """
        query ($slug: String!) {
          issuer(slug: $slug) {
            id tradingName lei companyName legalForm headquartersAddress
            initialNumberOfShares
            country { code alpha3 name }
            owner { displayName type createdAt }
            tokens { totalCount nodes { symbol visibility marketType } }
            articles { nodes { title publishedAt } }
            financialData { nodes { year periodType revenue } }
            legacyShareholders(first: 2) {
              totalCount
              pageInfo { hasNextPage hasPreviousPage }
              edges { cursor node { numberOfShares status user { displayName } } }
            }
          }
        }
        """,
        {"slug": "lumen"},
    )
    issuer = answer.data["issuer"]
    assert answer.status == 200
    for edge in issuer["legacyShareholders"]["edges"]:
        assert edge.pop("cursor")
    assert issuer.pop("owner").pop("createdAt").endswith("Z")
    assert issuer == {
        "id": f"Issuer|{world.listed.id}",
        "tradingName": "Lumen",
        "lei": "529900T8BM49AURSDO55",
        "companyName": "Lumen Optique SA",
        "legalForm": "SA",
        "headquartersAddress": "3 rue des Lentilles, 21000 Dijon, France",
        "initialNumberOfShares": 5_000_000_000,
        "country": {"code": "FR", "alpha3": "FRA", "name": "France"},
        "tokens": {
            "totalCount": 2,
            "nodes": [
                {
                    "symbol": "LUM",
                    "visibility": "PUBLIC",
                    "marketType": "PRIMARY_MARKET",
                },
                {
                    "symbol": "LUMF",
                    "visibility": "PRIVATE",
                    "marketType": "PRIMARY_MARKET",
                },
            ],
        },
        "articles": {
            "nodes": [{"title": "Hello", "publishedAt": "2024-01-01T12:00:00Z"}]
        },
        "financialData": {
            "nodes": [
                {"year": 2025, "periodType": "FIRST_SEMESTER", "revenue": -5},
                {"year": 2024, "periodType": "YEAR", "revenue": 9_000_000_000_000},
                {"year": 2024, "periodType": "FIRST_SEMESTER", "revenue": None},
            ]
        },
        "legacyShareholders": {
            "totalCount": 7,
            "pageInfo": {"hasNextPage": True, "hasPreviousPage": False},
            "edges": [
                {
                    "node": {
                        "numberOfShares": number,
                        "status": "PENDING",
                        "user": {"displayName": "Ines Roca"},
                    }
                }
                for number in (1, 2)
            ],
        },
    }


def test_lists_issuers_by_trading_name(world: World, stranger: Ask):
    answer = stranger("{ issuers { totalCount nodes { tradingName lei } } }")
    assert answer.data["issuers"] == {
        "totalCount": 2,
        "nodes": [
            {"tradingName": "Arbor", "lei": None},
            {"tradingName": "Lumen", "lei": "529900T8BM49AURSDO55"},
        ],
    }
