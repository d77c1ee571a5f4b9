from issuers.admin import (
    classification,
    compliance,
    documents,
    issuers,
    legacy,
    offerings,
    publications,
    tokens,
)

__all__ = [
    "classification",
    "compliance",
    "documents",
    "issuers",
    "legacy",
    "offerings",
    "publications",
    "tokens",
]
