from issuers.models.classification import IndustryClassificationBenchmark
from issuers.models.companies import SLUG, Issuer, IssuerGrant
from issuers.models.documents import Document
from issuers.models.publications import Article, IssuerFinancialData, public_documents
from issuers.models.shares import (
    ISINIsValid,
    LegacyShareholder,
    Token,
    holders_visible_to,
    users_visible_to,
    validate_isin,
)

__all__ = [
    "SLUG",
    "Article",
    "Document",
    "ISINIsValid",
    "IndustryClassificationBenchmark",
    "Issuer",
    "IssuerFinancialData",
    "IssuerGrant",
    "LegacyShareholder",
    "Token",
    "holders_visible_to",
    "public_documents",
    "users_visible_to",
    "validate_isin",
]
