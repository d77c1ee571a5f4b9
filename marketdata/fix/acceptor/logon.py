"""Admits Logons: by the rules of engagement, the API keys and the CompIDs.

A Logon is judged before the FIX engine sees it, and reaches the engine without its key.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings

from accounts.access import Caller, Scope, Unauthenticated
from accounts.keys.models import ApiKey
from issuers.callers import caller_of
from issuers.models.events import newest_events
from marketdata.fix.acceptor.failed_logons import FailedLogons
from marketdata.fix.protocol.rules import DATA_FIELD
from marketdata.fix.protocol.wire import DATA_FIELDS
from marketdata.models import FixSession
from marketdata.models.sessions import pool
from partnerapi.core import json_lines
from partnerapi.core.addresses import Address, source

LONGEST_HEARTBEAT = 60
CLOCK_SECONDS = 30
"""How far SendingTime(52) of a Logon may be from our clock."""
READ_TAGS = (34, 49, 52, 56, 98, 108, 141, 464, 553, 554, 925)
PREFIX = "service-apikey_"
CREDENTIALS_REFUSED = (
    "Logon refused: Password(554) is not a live API key, or SenderCompID(49) is not "
    "a CompID of its integration account. Send the whole key, as in X-Token-Auth, "
    "and the CompID assigned to you."
)
SCOPE_REFUSED = (
    "This API key lacks the scope {scope}; ask your account manager for a key that "
    "has it."
)
KEY_ENDED = (
    "The API key of this session is no longer live: it was revoked, it expired, or "
    "its integration account is switched off."
)
SWITCHED_OFF = "This FIX session is switched off; ask your account manager why."
ELSEWHERE = (
    "Logons of this CompID are not accepted from {address}; ask your account "
    "manager to add the network to the allowed ones."
)
TOO_MANY_FAILURES = (
    "Too many failed Logons with this login from this address; correct the "
    "credentials, wait a minute, and log on again."
)
NUMBER = re.compile("[1-9][0-9]{0,8}")
COMP_ID = re.compile("[A-Z0-9]{1,20}")
TIMESTAMP = re.compile(r"(\d{8}-\d\d:\d\d:\d\d)(?:\.(?:\d{3}|\d{6}|\d{9}))?", re.ASCII)


class LogonRefused(Exception):
    """The Logon is refused. The message names the rule and the remedy."""


class CredentialsRefused(LogonRefused):
    """The key is not live, or the CompID is another partner's; one text for both."""

    def __init__(self) -> None:
        super().__init__(CREDENTIALS_REFUSED)


class NotForUs(LogonRefused):
    """A Logon for a session that is not ours: no answer (FIX 4.4, test case 1S c).

    TargetCompID(56) is not ours, or SenderCompID(49) does not have the form we issue.
    """


@dataclass(slots=True, eq=False)
class Admission:
    """An admitted Logon, and the caller on whose behalf it acts.

    `caller` follows the database as long as the session lives. `is_numbered`: the
    CompID gets BookSequence(5083). `last_event`: of a drop copy, the partner's last
    event before it; None: the CompID gets market data. `lease`: its generation, in a
    group. The session's log lines have the `request_id`.
    """

    comp_id: str
    key_id: str
    caller: Caller
    is_numbered: bool = False
    last_event: int | None = None
    lease: int = 0
    request_id: str | None = field(default_factory=json_lines.request_id.get)

    @property
    def login(self) -> str:
        return self.caller.login

    @property
    def scope(self) -> Scope:
        """The scope without which the session ends."""
        is_copy = self.last_event is not None
        return Scope.TRADING_READ if is_copy else Scope.MARKETDATA_READ


def check_rules(logon: Mapping[int, str], now: datetime) -> None:
    """Refuse a Logon that breaks a rule that needs no secret to check.

    Raises:
        NotForUs, LogonRefused
    """
    if logon.get(56) != settings.FIX_COMP_ID:
        raise NotForUs(f"TargetCompID(56) is not {settings.FIX_COMP_ID}")
    if logon.get(49) not in pool():
        raise NotForUs("SenderCompID(49) is not in the pool")
    for tag in filter(DATA_FIELDS.__contains__, logon):
        raise LogonRefused(DATA_FIELD.format(tag=tag))
    if not logon.get(554):
        raise LogonRefused("Password(554) is missing: send your API key in it.")
    if not NUMBER.fullmatch(logon.get(34, "")):
        raise LogonRefused(
            "MsgSeqNum(34) must be a whole number from 1, with at most 9 digits."
        )
    if logon.get(464) == "Y" and not settings.PARTNER_API_SANDBOX:
        raise LogonRefused(
            "TestMessageIndicator(464)=Y: this is not a sandbox. Omit 464, or log "
            "on to the sandbox's acceptor."
        )
    if 925 in logon:
        raise LogonRefused(
            "NewPassword(925) is not supported: your account manager issues and "
            "revokes keys."
        )
    if logon.get(98) != "0":
        raise LogonRefused(
            "EncryptMethod(98) must be 0 (none): TLS encrypts the connection."
        )
    shortest, heartbeat = settings.FIX_MIN_HEARTBEAT, logon.get(108, "")
    if not re.fullmatch("[0-9]{1,3}", heartbeat) or not (
        shortest <= int(heartbeat) <= LONGEST_HEARTBEAT
    ):
        raise LogonRefused(
            f"HeartBtInt(108) must be {shortest} to {LONGEST_HEARTBEAT} seconds; "
            "set it in your engine."
        )
    if abs(sending_time(logon.get(52, "")) - now) > timedelta(seconds=CLOCK_SECONDS):
        raise LogonRefused(
            f"SendingTime(52) differs by more than {CLOCK_SECONDS} seconds from our "
            f"clock, which shows {now:%Y%m%d-%H:%M:%S} UTC; synchronise your clock "
            "by NTP."
        )
    if settings.FIX_REQUIRE_RESET and logon.get(141) != "Y" and logon.get(34) != "1":
        raise LogonRefused(
            "Sequence numbers restart with every Logon: send "
            "ResetSeqNumFlag(141)=Y, or MsgSeqNum(34)=1."
        )


def sending_time(text: str) -> datetime:
    """The instant of a UTCTimestamp, whole seconds.

    Raises:
        LogonRefused: it is not a UTCTimestamp.
    """
    match = TIMESTAMP.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        return datetime.strptime(f"{match[1]}Z", "%Y%m%d-%H:%M:%S%z")
    except ValueError:
        raise LogonRefused(
            "SendingTime(52) must be the time in UTC as YYYYMMDD-HH:MM:SS.sss."
        ) from None


def token_of(logon: Mapping[int, str]) -> str:
    """The key of a Logon in the form of X-Token-Auth; "" where 553 contradicts it.

    554 holds the whole key, or only its secret. In the second case 553 holds the login.
    """
    login, password = logon.get(553, ""), logon[554]
    if not password.startswith(PREFIX):
        return f"{PREFIX}{login}_{password}"
    if login and password.rpartition("_")[0] != PREFIX + login:
        return ""
    return password


def verify(logon: Mapping[int, str], address: Address, now: datetime) -> Admission:
    """Admit a Logon by its key, CompID and address; three statements, or four.

    The CompID is looked up only after the key has been verified. So without a key,
    neither text nor timing reveals whether a CompID exists.

    Raises:
        CredentialsRefused, LogonRefused
    """
    try:
        key = ApiKey.objects.authenticate(token_of(logon), now)
    except Unauthenticated:
        raise CredentialsRefused from None
    comp_id = logon.get(49, "")
    if not COMP_ID.fullmatch(comp_id):
        raise CredentialsRefused
    try:
        session = key.partner.fix_sessions.get(comp_id=comp_id)
    except FixSession.DoesNotExist:
        raise CredentialsRefused from None
    if not session.enabled:
        raise LogonRefused(SWITCHED_OFF)
    if not session.may_come_from(address):
        raise LogonRefused(ELSEWHERE.format(address=address))
    caller = caller_of(key)
    admission = Admission(
        comp_id=session.comp_id,
        key_id=str(key.pk),
        caller=caller,
        is_numbered=session.book_sequence,
    )
    if session.is_drop_copy:
        last_events = newest_events([caller.partner_id])
        admission.last_event = last_events.get(caller.partner_id, 0)
    if admission.scope not in caller.scopes:
        raise LogonRefused(SCOPE_REFUSED.format(scope=admission.scope))
    return admission


class Admissions:
    """Judges Logons, and counts those that fail. Thread-safe."""

    def __init__(self) -> None:
        self.failed = FailedLogons(settings.FIX_FAILED_LOGONS_PER_MINUTE)

    def admit(
        self, logon: Mapping[int, str], address: Address, now: datetime
    ) -> Admission:
        """Judge a Logon; waits for the database.

        Raises:
            LogonRefused
            DatabaseError: keys cannot be looked up now.
        """
        check_rules(logon, now)
        login = token_of(logon).removeprefix(PREFIX).rpartition("_")[0]
        counted = source(address)
        if self.failed.is_exhausted(login, counted):
            raise LogonRefused(TOO_MANY_FAILURES)
        try:
            return verify(logon, address, now)
        except CredentialsRefused:
            self.failed.count(login, counted)
            raise
