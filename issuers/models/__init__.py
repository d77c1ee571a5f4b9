from issuers.models.classification import IndustryClassificationBenchmark
from issuers.models.documents import Document
from issuers.models.issuers import SLUG, Issuer, IssuerGrant
from issuers.models.publications import Article, IssuerFinancialData, public_documents
from issuers.models.terms import IssuerTerm
from issuers.models.tokens import ISINIsValid, Token, validate_isin

__all__ = [
    "SLUG",
    "Article",
    "Document",
    "ISINIsValid",
    "IndustryClassificationBenchmark",
    "Issuer",
    "IssuerFinancialData",
    "IssuerGrant",
    "IssuerTerm",
    "Token",
    "public_documents",
    "validate_isin",
]
