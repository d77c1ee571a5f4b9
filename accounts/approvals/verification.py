"""Checks every decision and every signature of staff, from the rows alone.

It shares no code with the pages that take signatures: what a compromised process wrote
is checked by what it cannot make, the signature of a person's device.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.hashes import SHA256

from partnerapi.core.database import unshadowed_cursor
from partnerapi.core.invariants import Finding, Invariant, check_invariants

PRESENT_AND_VERIFIED = 0b101


class Key(NamedTuple):
    id: UUID
    person: UUID
    credential: bytes
    public_key: bytes
    domain: str
    created_at: datetime
    by_owner: bool
    vouched_at: datetime | None
    listed_at: datetime | None
    revoked_at: datetime | None


class Made(NamedTuple):
    """An assertion."""

    id: UUID
    key: UUID
    digests: list[bytes]
    authenticator_data: bytes
    client_data: bytes
    signature: bytes
    made_at: datetime


class Decision(NamedTuple):
    request: UUID
    kind: str
    filer: UUID
    content: str
    is_approved: bool
    decider: UUID
    reason: str
    decided_at: datetime
    assertion: UUID | None
    allows_code: bool


def verify(statement: Mapping[str, Any] | None = None) -> Iterator[Finding]:
    """Check every rule; with a statement of the register, also who its passkeys are."""
    keys = {key.id: key for key in (Key(*row) for row in read(KEYS))}
    made = {one.id: one for one in (Made(*row) for row in read(ASSERTIONS))}
    vouchers = read(VOUCHERS)
    decisions = [Decision(*row) for row in read(DECISIONS)]
    yield from check_invariants(INVARIANTS)
    rules = {
        "each assertion is signed by its passkey, of a person present and verified": (
            len(made),
            [*wrong_signatures(keys, made.values())],
        ),
        "the counter of each passkey grows": (len(keys), [*wrong_counters(made)]),
        "each signed decision is what its passkey has signed": (
            len(decisions),
            [*wrong_decisions(keys, made, decisions)],
        ),
        "each assertion signs decisions or a passkey, and nothing that is gone": (
            len(made),
            [*orphans(keys, made, vouchers, decisions)],
        ),
        "each decision without a passkey is of a kind that allows it": (
            len(decisions),
            [*decisions_by_code(keys, decisions)],
        ),
        "each passkey was vouched for before it counted": (
            len(keys),
            [*wrong_vouchers(keys, made, vouchers)],
        ),
    }
    if statement is not None:
        rules["the passkeys are those that the statement lists"] = (
            len(statement.get("passkeys", ())),
            [*unlisted(keys, made, vouchers, statement)],
        )
    for rule, (figure, wrong) in rules.items():
        yield Finding(rule, figure, len(wrong), wrong)


def wrong_signatures(keys: Mapping[UUID, Key], made: Iterable[Made]) -> Iterator[str]:
    for one in made:
        if why := fault_of(keys.get(one.key), one):
            yield f"Assertion {one.id}: {why}"


def fault_of(key: Key | None, one: Made) -> str:
    """What is wrong with an assertion; empty: nothing."""
    if key is None:
        return "there is no such passkey."
    try:
        point = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), key.public_key)
        signed = one.authenticator_data + sha256(one.client_data).digest()
        point.verify(one.signature, signed, ECDSA(SHA256()))
        # Only a browser's JSON is read: another may be nested too deep.
        told = json.loads(one.client_data)
    except InvalidSignature:
        return "the signature is not of its passkey."
    except ValueError as error:
        return f"it cannot be read: {error}."
    challenge = sha256(b"".join(sorted(one.digests))).digest()
    said = urlsafe_b64encode(challenge).rstrip(b"=").decode()
    if (told.get("type"), told.get("challenge")) != ("webauthn.get", said):
        return "it was signed for something else."
    origin = urlsplit(str(told.get("origin")))
    schemes = ("https", "http") if key.domain == "localhost" else ("https",)
    if origin.hostname != key.domain or origin.scheme not in schemes:
        return f"it was signed on another site, {told.get('origin')}."
    data = one.authenticator_data
    if data[:32] != sha256(key.domain.encode()).digest():
        return "the device signed for another domain."
    if data[32] & PRESENT_AND_VERIFIED != PRESENT_AND_VERIFIED:
        return "the device has not verified the person."
    if key.listed_at is None or one.made_at < key.listed_at:
        return "no statement had listed its passkey."
    if key.revoked_at and key.revoked_at < one.made_at:
        return "its passkey had been revoked."
    return ""


def wrong_counters(made: Mapping[UUID, Made]) -> Iterator[str]:
    last: dict[UUID, int] = {}
    for one in sorted(made.values(), key=lambda one: one.made_at):
        counted = int.from_bytes(one.authenticator_data[33:37])
        before = last.get(one.key, 0)
        if counted <= before and (counted, before) != (0, 0):
            yield f"Assertion {one.id}: {counted} does not follow on {before}."
        last[one.key] = max(counted, before)


def digest_of(one: Decision) -> bytes:
    verdict = "APPROVED" if one.is_approved else "REJECTED"
    lines = (
        *("decision", one.request, one.kind, one.filer, one.content, verdict),
        *(one.decider, one.reason),
    )
    return sha256("\n".join(map(str, lines)).encode()).digest()


def digest_of_key(key: Key) -> bytes:
    lines = (
        *("passkey", key.id, key.person, key.credential.hex()),
        *(key.public_key.hex(), key.domain),
    )
    return sha256("\n".join(map(str, lines)).encode()).digest()


def wrong_decisions(
    keys: Mapping[UUID, Key],
    made: Mapping[UUID, Made],
    decisions: Sequence[Decision],
) -> Iterator[str]:
    for one in decisions:
        if one.assertion is None:
            continue
        assertion = made.get(one.assertion)
        if assertion is None:
            yield f"Request {one.request}: the assertion of its decision is gone."
        elif digest_of(one) not in assertion.digests:
            yield f"Request {one.request}: its passkey has signed something else."
        elif keys[assertion.key].person != one.decider:
            yield f"Request {one.request}: the passkey is of someone else."


def orphans(
    keys: Mapping[UUID, Key],
    made: Mapping[UUID, Made],
    vouchers: Sequence[tuple[UUID, UUID]],
    decisions: Sequence[Decision],
) -> Iterator[str]:
    """Assertions of which a decision or a passkey is missing."""
    found: dict[UUID, set[bytes]] = {}
    for decision in decisions:
        if decision.assertion:
            found.setdefault(decision.assertion, set()).add(digest_of(decision))
    for newer, assertion in vouchers:
        found.setdefault(assertion, set()).add(digest_of_key(keys[newer]))
    for one in made.values():
        if missing := {*one.digests} - found.get(one.id, set()):
            yield f"Assertion {one.id}: {len(missing)} of what it signed is missing."


def decisions_by_code(
    keys: Mapping[UUID, Key], decisions: Sequence[Decision]
) -> Iterator[str]:
    listed = [key.listed_at for key in keys.values() if key.listed_at]
    for one in decisions:
        is_own = one.decider == one.filer and not one.is_approved
        if one.assertion or one.allows_code or is_own or not listed:
            continue
        if one.decided_at >= min(listed):
            yield f"Request {one.request}: no passkey has signed its decision."


def wrong_vouchers(
    keys: Mapping[UUID, Key],
    made: Mapping[UUID, Made],
    vouchers: Sequence[tuple[UUID, UUID]],
) -> Iterator[str]:
    for key in keys.values():
        if key.listed_at is None:
            continue
        if key.vouched_at is None or key.listed_at < key.vouched_at:
            yield f"Passkey {key.id} counted before it was vouched for."
        elif key.by_owner:
            older = [
                one.id
                for one in keys.values()
                if one.person == key.person
                and one.listed_at
                and one.listed_at < key.vouched_at
                and (one.revoked_at is None or one.revoked_at > key.vouched_at)
            ]
            if older:
                yield (
                    f"Passkey {key.id}: the owner's command vouched for it while its "
                    f"person had {older[0]}, which counted."
                )
        elif not is_signed(key, keys, made, vouchers):
            yield f"Passkey {key.id} is not signed by an older one, or by two others."


def is_signed(
    key: Key,
    keys: Mapping[UUID, Key],
    made: Mapping[UUID, Made],
    vouchers: Sequence[tuple[UUID, UUID]],
) -> bool:
    """Whether an older passkey of its person, or those of two others, signed it."""
    digest = digest_of_key(key)
    signers = {
        keys[made[assertion].key].person
        for newer, assertion in vouchers
        if newer == key.id
        and assertion in made
        and digest in made[assertion].digests
        and not fault_of(keys.get(made[assertion].key), made[assertion])
    }
    return key.person in signers or len(signers) >= 2


def unlisted(
    keys: Mapping[UUID, Key],
    made: Mapping[UUID, Made],
    vouchers: Sequence[tuple[UUID, UUID]],
    statement: Mapping[str, Any],
) -> Iterator[str]:
    """Passkeys that sign and stand in no statement, and those that were exchanged."""
    listed = {UUID(one["passkey"]): one for one in statement.get("passkeys", ())}
    for key, one in listed.items():
        now = stated(keys[key]) if key in keys else None
        if now != one:
            yield f"Passkey {key} is not what the statement lists."
    at = datetime.fromisoformat(statement["at"])
    policies = kinds_signed()
    for kind in statement.get("signedKinds", ()):
        if kind not in policies:
            yield f"Decisions of the kind {kind} needed a passkey, and need none now."
    used = {one.key for one in made.values()}
    for key in used - listed.keys():
        if key not in keys:
            continue
        if keys[key].by_owner or not is_signed(keys[key], keys, made, vouchers):
            yield (
                f"Passkey {key} signs and does not stand in the statement; if it is "
                "newer, compare with a later one."
            )
        elif (keys[key].listed_at or at) < at:
            yield f"Passkey {key} counted before the statement, which does not list it."


def stated(key: Key) -> dict[str, Any]:
    """A passkey as a statement lists it."""
    return {
        "passkey": str(key.id),
        "person": str(key.person),
        "credential": key.credential.hex(),
        "publicKey": key.public_key.hex(),
        "domain": key.domain,
        "byOwner": key.by_owner,
    }


def passkeys_stated() -> list[dict[str, Any]]:
    """Every passkey that was vouched for, for a statement."""
    keys = [Key(*row) for row in read(KEYS)]
    return [stated(key) for key in keys if key.vouched_at]


def kinds_signed() -> list[str]:
    """The kinds of requests whose decisions need a passkey, for a statement."""
    return [kind for (kind,) in read(SIGNED_KINDS)]


def read(statement: str) -> list[Any]:
    with unshadowed_cursor() as cursor:
        cursor.execute(statement)
        return [tuple(map(plain, row)) for row in cursor.fetchall()]


def plain(value: Any) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


KEYS = """
    SELECT id, person_id, credential, public_key, domain, created_at, by_owner,
        vouched_at, listed_at, revoked_at
    FROM accounts_passkey ORDER BY id
"""
ASSERTIONS = """
    SELECT id, passkey_id, digests, authenticator_data, client_data, signature, made_at
    FROM accounts_assertion ORDER BY made_at, id
"""
VOUCHERS = "SELECT passkey_id, assertion_id FROM accounts_passkeyvoucher ORDER BY id"
DECISIONS = """
    SELECT r.id, r.kind, r.filed_by_id, r.content::text, d.is_approved,
        d.decided_by_id, d.reason, d.decided_at, d.assertion_id,
        coalesce(p.allows_code, FALSE)
    FROM accounts_approvaldecision d
    JOIN accounts_approvalrequest r ON r.id = d.request_id
    LEFT JOIN accounts_approvalpolicy p ON p.kind = r.kind
    ORDER BY r.id
"""
SIGNED_KINDS = """
    SELECT kind FROM accounts_approvalpolicy WHERE NOT allows_code ORDER BY kind
"""
INVARIANTS = (
    Invariant(
        "each decision and each outcome has its request",
        """
        SELECT count(*), count(*) FILTER (WHERE r.id IS NULL) FROM (
            SELECT request_id FROM accounts_approvaldecision
            UNION ALL SELECT request_id FROM accounts_approvaloutcome) x
        LEFT JOIN accounts_approvalrequest r ON r.id = x.request_id
        """,
    ),
    Invariant(
        "each executed request was approved before, by another person",
        """
        SELECT count(*), count(*) FILTER (WHERE d.is_approved IS DISTINCT FROM TRUE
            OR d.decided_by_id = r.filed_by_id OR d.decided_at > o.ended_at)
        FROM accounts_approvaloutcome o
        JOIN accounts_approvalrequest r ON r.id = o.request_id
        LEFT JOIN accounts_approvaldecision d ON d.request_id = o.request_id
        WHERE o.is_executed
        """,
    ),
    Invariant(
        "each member of a partner's desk is as two people approved, and no staff",
        """
        SELECT count(*), count(*) FILTER (WHERE o.is_executed IS DISTINCT FROM TRUE
            OR (r.kind, r.content) IS DISTINCT FROM ('DESK', jsonb_build_object(
                'partner', m.partner_id, 'email', m.email, 'scopes', m.scopes))
            OR m.ended_at IS NULL AND EXISTS (SELECT FROM accounts_user u
                WHERE u.is_staff AND lower(u.email) = m.email))
        FROM accounts_deskmember m
        LEFT JOIN accounts_approvalrequest r ON r.id = m.request_id
        LEFT JOIN accounts_approvaloutcome o ON o.request_id = m.request_id
        """,
    ),
    Invariant(
        "each key of a partner's desk is within its member's scopes, after the rest",
        """
        SELECT count(*), count(*) FILTER (WHERE k.partner_id <> m.partner_id
            OR NOT k.scopes <@ m.scopes OR m.usable_from IS NULL
            OR k.created_at < m.usable_from OR k.created_at > m.ended_at)
        FROM accounts_deskkey d
        JOIN accounts_apikey k ON k.id = d.key_id
        JOIN accounts_deskmember m ON m.id = d.member_id
        """,
    ),
    Invariant(
        "each request is decided before it expires",
        """
        SELECT count(*), count(*) FILTER (WHERE d.decided_at >= r.expires_at
            OR d.decided_at < r.filed_at)
        FROM accounts_approvaldecision d
        JOIN accounts_approvalrequest r ON r.id = d.request_id
        """,
    ),
)
