"""Requests to change the symbol or the ISIN of a token that is traded."""

from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from issuers.models import Token
from issuers.register.approvals import token_links


def identity_content(token: Token, symbol: str, isin: str | None) -> dict[str, Any]:
    return {
        "token": str(token.pk),
        "from": {"symbol": token.symbol, "isin": token.isin},
        "symbol": symbol,
        "isin": isin,
    }


def identity_title(token: Token, symbol: str, isin: str | None) -> str:
    changes = []
    if symbol != token.symbol:
        changes.append(f"symbol {symbol}")
    if isin != token.isin:
        changes.append(f"ISIN {isin or 'none'}")
    return f"{token.symbol} of {token.issuer} becomes {' and '.join(changes)}"


class ChangeIdentity:
    """Superseded where the token's symbol or ISIN has changed since."""

    def preview(self, request: ApprovalRequest) -> Preview:
        token, content = self.token(request.content), request.content
        self.change_token(token, content)
        head = token.ledger_head
        rows = [
            ("Company", "", str(token.issuer)),
            ("Token", "", token.name),
            ("Supply", "", f"{head.supply:,} units, held by {head.holder_count:,}"),
            ("Symbol", content["from"]["symbol"], content["symbol"]),
            ("ISIN", content["from"]["isin"] or "none", content["isin"] or "none"),
        ]
        warning = (
            "The token is traded: partners' programs identify it by its symbol, in the "
            "API and on the FIX feed. The old symbol stops working immediately."
        )
        return Preview(rows, [warning], token_links(token))

    def execute(self, request: ApprovalRequest) -> Token:
        token = self.change_token(self.token(request.content), request.content)
        token.save(update_fields=["symbol", "isin"])
        return token

    def token(self, content: dict[str, Any]) -> Token:
        tokens = Token.objects.select_related("issuer", "ledger_head")
        token = tokens.get(pk=UUID(content["token"]))
        if {"symbol": token.symbol, "isin": token.isin} != content["from"]:
            raise Superseded("The symbol or the ISIN has changed since the request.")
        return token

    def change_token(self, token: Token, content: dict[str, Any]) -> Token:
        """The token with its new symbol and ISIN, which are valid and free.

        Raises:
            Superseded
        """
        token.symbol, token.isin = content["symbol"], content["isin"]
        try:
            token.full_clean()
        except ValidationError as error:
            raise Superseded(" ".join(error.messages)) from None
        return token
