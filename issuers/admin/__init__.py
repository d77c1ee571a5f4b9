from issuers.admin import (
    classification,
    documents,
    issuers,
    legacy,
    publications,
    tokens,
)

__all__ = [
    "classification",
    "documents",
    "issuers",
    "legacy",
    "publications",
    "tokens",
]
