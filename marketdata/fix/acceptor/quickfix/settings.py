"""The QuickFIX acceptor as this product runs it: its sessions and their settings."""

from collections.abc import Sequence

import quickfix as fix
from django.conf import settings

from marketdata.fix.protocol.dictionary import STOCK_DICTIONARY
from marketdata.fix.protocol.rules import BEGIN_STRING, CLOCK_SECONDS

DEFAULTS = {
    "ConnectionType": "acceptor",
    "NonStopSession": "Y",
    "ResetOnLogon": "Y",
    # A ResendRequest is answered with a gap fill: stale book changes help no one.
    "PersistMessages": "N",
    # The listener is stricter with Logons; later messages may lag: clients are busy.
    "CheckLatency": "Y",
    "MaxLatency": CLOCK_SECONDS,
    # `inbound.py` has checked both.
    "ValidateLengthAndChecksum": "N",
    "UseDataDictionary": "N",
}


def session_id(comp_id: str) -> fix.SessionID:
    return fix.SessionID(BEGIN_STRING, settings.FIX_COMP_ID, comp_id)


def settings_text(comp_ids: Sequence[str]) -> str:
    """The sessions of a pool, as QuickFIX reads them."""
    lines = ["[DEFAULT]"]
    lines += [f"{name}={value}" for name, value in DEFAULTS.items()]
    for comp_id in comp_ids:
        lines += ["[SESSION]", f"BeginString={BEGIN_STRING}"]
        lines += [f"SenderCompID={settings.FIX_COMP_ID}", f"TargetCompID={comp_id}"]
        if comp_id == comp_ids[0]:
            lines += ["UseDataDictionary=Y", f"DataDictionary={STOCK_DICTIONARY}"]
    return "\n".join(lines) + "\n"


def new_acceptor(
    application: fix.Application,
    stores: fix.MessageStoreFactory,
    comp_ids: Sequence[str],
) -> fix.SocketAcceptor:
    """An acceptor with its sessions, not started.

    It keeps no reference to the other arguments: the caller must, as long as it lives.
    """
    pool = fix.SessionSettings()
    pool.setFromString(settings_text(comp_ids))
    acceptor = fix.SocketAcceptor(application, stores, pool)
    # A dictionary takes 2.6 MB and QuickFIX copies it for each session; messages are
    # only ever compared with it, so that one does for all.
    sessions = [fix.Session.lookupSession(session_id(one)) for one in comp_ids]
    for session in sessions[1:]:
        session.setDataDictionaryProvider(sessions[0].getDataDictionaryProvider())
    return acceptor
