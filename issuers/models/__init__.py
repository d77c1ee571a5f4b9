from issuers.models.classification import IndustryClassificationBenchmark
from issuers.models.documents import Document
from issuers.models.events import (
    ArticleToCome,
    Event,
    EventCount,
    EventHead,
    EventType,
    UnnumberedEvent,
    announce_articles,
)
from issuers.models.issuers import SLUG, Issuer, IssuerGrant
from issuers.models.publications import Article, IssuerFinancialData
from issuers.models.search import IssuerTerm
from issuers.models.tokens import ISINIsValid, Token, validate_isin

__all__ = [
    "SLUG",
    "Article",
    "ArticleToCome",
    "Document",
    "Event",
    "EventCount",
    "EventHead",
    "EventType",
    "ISINIsValid",
    "IndustryClassificationBenchmark",
    "Issuer",
    "IssuerFinancialData",
    "IssuerGrant",
    "IssuerTerm",
    "Token",
    "UnnumberedEvent",
    "announce_articles",
    "validate_isin",
]
