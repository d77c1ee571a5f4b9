from accounts.models.partners import ApiKey, Partner
from accounts.models.users import Country, LEIIsValid, User, UserHolder, validate_lei

__all__ = [
    "ApiKey",
    "Country",
    "LEIIsValid",
    "Partner",
    "User",
    "UserHolder",
    "validate_lei",
]
