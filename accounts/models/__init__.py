from accounts.models.accounts import (
    Account,
    AccountStatusChange,
    Actor,
    InvalidStatusTransition,
    Right,
    allowed_statuses,
)
from accounts.models.applicants import (
    Applicant,
    Description,
    DuplicateReference,
    NotJoined,
)
from accounts.models.approvals import (
    ApprovalDecision,
    ApprovalKind,
    ApprovalOutcome,
    ApprovalPolicy,
    ApprovalRequest,
)
from accounts.models.cash import (
    BankLine,
    BankStatement,
    CashAccount,
    CashHead,
    CashPosting,
    CashTransaction,
    Withdrawal,
)
from accounts.models.changes import RowChange
from accounts.models.investors import (
    InvestorAttestation,
    InvestorChange,
    InvestorClass,
    InvestorProfile,
    Verification,
)
from accounts.models.partners import ApiKey, Partner, Pepper
from accounts.models.users import (
    Country,
    HolderImport,
    LEIIsValid,
    User,
    UserHolder,
    UserHolderName,
    validate_lei,
)

__all__ = [
    "Account",
    "AccountStatusChange",
    "Actor",
    "ApiKey",
    "Applicant",
    "ApprovalDecision",
    "ApprovalKind",
    "ApprovalOutcome",
    "ApprovalPolicy",
    "ApprovalRequest",
    "BankLine",
    "BankStatement",
    "CashAccount",
    "CashHead",
    "CashPosting",
    "CashTransaction",
    "Country",
    "Description",
    "DuplicateReference",
    "HolderImport",
    "InvalidStatusTransition",
    "InvestorAttestation",
    "InvestorChange",
    "InvestorClass",
    "InvestorProfile",
    "LEIIsValid",
    "NotJoined",
    "Partner",
    "Pepper",
    "Right",
    "RowChange",
    "User",
    "UserHolder",
    "UserHolderName",
    "Verification",
    "Withdrawal",
    "allowed_statuses",
    "validate_lei",
]
