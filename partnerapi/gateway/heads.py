"""What the web server may know of a request before its body has come."""

import re

from partnerapi.gateway import throttling
from partnerapi.gateway.authentication import known_caller
from partnerapi.gateway.bills import address_account, partner_account
from partnerapi.gateway.requests import seen_address

GRAPHQL = b"POST /graphql "
TOKEN = re.compile(rb"^x-token-auth:[ \t]*(.*?)[ \t]*\r$", re.I | re.M)
FORWARDED_FOR = re.compile(rb"^x-forwarded-for:(.*)\r$", re.I | re.M)


def is_spent(head: bytes, remote: str) -> bool:
    """Whether the budget that would pay is spent, as far as this process knows.

    `remote` is the address at the other end of the connection. Whose a key is that
    nobody has sent within the last second is not known.
    """
    if not head.startswith(GRAPHQL):
        return False
    tokens = TOKEN.findall(head)
    if tokens:
        caller = known_caller(b",".join(tokens).decode("latin-1"))
        if caller is None:
            return False
        account = partner_account(caller)
    else:
        seen = b",".join(FORWARDED_FOR.findall(head)).decode("latin-1")
        account = address_account(seen_address(remote, seen))
    return not throttling.look(*account, 1).taken
