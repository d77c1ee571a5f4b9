"""What the web server may know of a request before it is worked on."""

import re

from partnerapi.core.addresses import source_of
from partnerapi.gateway import clock, throttling
from partnerapi.gateway.authentication import known_caller, known_partner
from partnerapi.gateway.bills import address_account, partner_account
from partnerapi.gateway.requests import seen_address

GRAPHQL = (b"POST /graphql ", b"POST /graphql?")
TOKEN = re.compile(rb"^x-token-auth:(.*)\r$", re.I | re.M)
KILL_SWITCH = re.compile(rb"^x-kill-switch:[ \t]*1[ \t]*\r$", re.I | re.M)
FORWARDED_FOR = re.compile(rb"^x-forwarded-for:(.*)\r$", re.I | re.M)


def token_of(head: bytes) -> str | None:
    """The API key in a head of /graphql, if it has one."""
    if not head.startswith(GRAPHQL):
        return None
    tokens = [token.strip(b" \t") for token in TOKEN.findall(head)]
    return b",".join(tokens).decode("latin-1") if tokens else None


def address_of(head: bytes, remote: str) -> str:
    """The client's address; `remote` is at the other end of the connection."""
    seen = b",".join(FORWARDED_FOR.findall(head)).decode("latin-1")
    return seen_address(remote, seen)


def asks_for_kill_switch(head: bytes) -> bool:
    return head.startswith(GRAPHQL) and KILL_SWITCH.search(head) is not None


def is_spent(head: bytes, remote: str) -> bool:
    """Whether the budget that would pay is spent, as far as this process knows.

    The owner of a key that was not sent within the last second is not known.
    """
    if not head.startswith(GRAPHQL):
        return False
    token = token_of(head)
    if token is not None:
        known = known_caller(token)
        if known is None:
            return False
        account = partner_account(known)
    else:
        account = address_account(address_of(head, remote))
    return not throttling.look(*account, 1).taken or not clock.left(account[0])


def caller(head: bytes, remote: str) -> str:
    """The caller whose turn a request takes: the partner of its key, or its address.

    A key that this process has not seen accepted takes its address's turn: a caller
    that invents keys has one turn for all of them.
    """
    token = token_of(head)
    partner = known_partner(token) if token is not None else None
    if partner:
        return f"partner:{partner}"
    return f"address:{source_of(address_of(head, remote))}"
