from issuers.admin import (
    classification,
    compliance,
    documents,
    issuers,
    legacy,
    publications,
    tokens,
)

__all__ = [
    "classification",
    "compliance",
    "documents",
    "issuers",
    "legacy",
    "publications",
    "tokens",
]
