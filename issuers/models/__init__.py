from issuers.models.classification import IndustryClassificationBenchmark
from issuers.models.companies import SLUG, Issuer, IssuerGrant
from issuers.models.deliveries import DeliveryJob, DeliveryStep
from issuers.models.documents import Document
from issuers.models.legacy import (
    LegacyImport,
    LegacyShareholder,
    LegacyShareholderChange,
)
from issuers.models.publications import Article, IssuerFinancialData, public_documents
from issuers.models.register import (
    HolderBalance,
    LedgerAccount,
    LedgerPosting,
    LedgerTransaction,
    TokenLedgerHead,
    TokenPrice,
)
from issuers.models.shares import (
    ISINIsValid,
    Token,
    validate_isin,
)
from issuers.models.visibility import holders_visible_to, users_visible_to

__all__ = [
    "SLUG",
    "Article",
    "DeliveryJob",
    "DeliveryStep",
    "Document",
    "HolderBalance",
    "ISINIsValid",
    "IndustryClassificationBenchmark",
    "Issuer",
    "IssuerFinancialData",
    "IssuerGrant",
    "LedgerAccount",
    "LedgerPosting",
    "LedgerTransaction",
    "LegacyImport",
    "LegacyShareholder",
    "LegacyShareholderChange",
    "Token",
    "TokenLedgerHead",
    "TokenPrice",
    "holders_visible_to",
    "public_documents",
    "users_visible_to",
    "validate_isin",
]
