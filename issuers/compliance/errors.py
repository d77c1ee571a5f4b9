"""The error that partners get if rules forbid a movement."""

from collections.abc import Sequence

from issuers.register.standing import Refusal
from partnerapi.core.errors import PartnerAPIError


class TransferRefused(PartnerAPIError):
    """Rules of the token or restrictions of the holder forbid the movement; `refusals`
    lists all of them.
    """

    code = "TRANSFER_REFUSED"
    example = "a buy order of an unverified user for a token that requires verification"
    remedy = "`checkTransfer` and `Token.transferRules` show who may hold the token."

    @classmethod
    def by(cls, found: Sequence[Refusal]) -> "TransferRefused":
        return cls(
            " ".join(refusal.text for refusal in found),
            refusals=[{"code": r.code, **r.details} for r in found],
        )


def refusals_of(error: PartnerAPIError) -> list[Refusal]:
    """The rules and restrictions that a `TransferRefused` lists; of others none."""
    listed = [dict(details) for details in error.details.get("refusals", ())]
    return [Refusal(details.pop("code"), details) for details in listed]
