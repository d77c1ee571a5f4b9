"""Mutations that happen exactly once for their Idempotency-Key.

One transaction holds the claim of a key, the effect and the stored answer: a crash, at
any time, leaves either all of them or none.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import OperationalError, transaction
from django.utils import timezone
from graphql import ExecutionResult, GraphQLError
from psycopg.errors import LockNotAvailable

from accounts.access import Caller
from accounts.keys.sealing import MARK, seal, unseal
from partnerapi.core.database import CONFIRM, confirm, fetch
from partnerapi.core.errors import NotNow, PartnerAPIError, RequestTimeout
from partnerapi.core.locks import lock
from partnerapi.core.postgresql.faults import took_too_long
from partnerapi.gateway.clock import Running
from partnerapi.gateway.models import NAME_LENGTH, RETENTION, IdempotencyRecord
from partnerapi.gateway.refusals import AnswerNotReplayed, Refusal
from partnerapi.graphql.documents import PreparedRequest
from partnerapi.graphql.resolvers import batch_resolvers, root_fields


class KeyRequired(Refusal):
    """A mutation came without `Idempotency-Key`."""

    code, status = "IDEMPOTENCY_KEY_REQUIRED", 400
    example = "a mutation without the header"
    remedy = "Send a new UUID v4 for each mutation, and the same one when you retry it."


class KeyInvalid(Refusal):
    """`Idempotency-Key` is not a UUID v4, bare or in double quotes."""

    code, status = "IDEMPOTENCY_KEY_INVALID", 400
    example = "`Idempotency-Key: 1`"
    remedy = "Send a UUID v4."


class KeyParameterMismatch(Refusal):
    """The key was used for another request; a new mutation needs a new key."""

    code, status = "IDEMPOTENCY_KEY_PARAMETER_MISMATCH", 422
    example = "the key of another mutation"
    remedy = "Use a new key for a new mutation; retry a mutation unchanged."


class ConcurrentRequest(Refusal):
    """The first request with this key still runs; send it again a little later."""

    code, status = "IDEMPOTENCY_CONCURRENT_REQUEST", 409
    example = "a retry while the first request runs"
    remedy = "Send it again, with the same key, after `Retry-After`."


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer of a mutation, its bytes, and until when it is stored.

    `replayed`: an earlier request with the same key got it first.
    """

    body: bytes
    expires_at: datetime
    replayed: bool


class NotStored(Exception):
    """The mutation failed inside or ran out of time: nothing happened or is stored."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


def parse_key(header: str | None) -> UUID:
    """The key in an `Idempotency-Key` header.

    Raises:
        KeyRequired, KeyInvalid
    """
    if header is None:
        raise KeyRequired(
            "A mutation needs the header Idempotency-Key: a new UUID v4 for each "
            "mutation, and the same one when you retry it."
        )
    text = header.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    try:
        key = UUID(text)
    except ValueError:
        key = UUID(int=0)
    if str(key) != text.lower() or key.version != 4:
        raise KeyInvalid(f"Idempotency-Key is {header[:100]!r}; send one UUID v4.")
    return key


def fingerprint(prepared: PreparedRequest) -> bytes:
    """SHA-256 of a request: of what it means.

    White space and the order of members do not count, nor whether what may be left out
    is absent or null. Null for a variable that has a default is not the default.
    """
    operation = prepared.operation
    name = operation.node.name.value if operation.node.name else ""
    with_default = {
        definition.variable.name.value
        for definition in operation.node.variable_definitions
        if definition.default_value
    }
    given = {
        name: without_nulls(value)
        for name, value in prepared.inputs.items()
        if value is not None or name in with_default
    }
    variables = orjson.dumps(given, option=orjson.OPT_SORT_KEYS)
    asked = b"\0".join([operation.printed.encode(), name.encode(), variables])
    return hashlib.sha256(asked).digest()


def without_nulls(value: Any) -> Any:
    """A value without the members of input objects that are null."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def once(
    caller: Caller,
    key: UUID,
    prepared: PreparedRequest,
    run: Callable[[], ExecutionResult],
    write: Callable[[ExecutionResult], bytes],
) -> StoredAnswer:
    """Run a mutation, or return the answer that its key has already.

    `run` executes the mutation. A business error rolls its effect back, and is the
    answer that is stored. `write` makes the answer's bytes.

    Raises:
        KeyParameterMismatch: another request used the key.
        AnswerNotReplayed: the answer needed a scope that the caller does not have.
        ConcurrentRequest: the first request did not end while this one waited.
        NotStored: an internal error or TIMEOUT; the same key may be tried again.
    """
    asked = fingerprint(prepared)
    # Most repetitions come late: they need no transaction and no lock.
    known = find_record(caller, key)
    if known:
        return replay(known, asked, caller)
    try:
        with transaction.atomic():
            claimed = None
            while claimed is None and known is None:
                claimed = claim(caller, key, prepared, asked)
                known = None if claimed else find_record(caller, key)
            if known is None:
                result = run_in_savepoint(run)
                body = write(result)
                if may_be_tried_again(result):
                    raise NotStored(body)
                expires_at = timezone.now() + RETENTION
                stored = seal(body, key.bytes) if seals(prepared) else body
                fetch(STORE, [stored, expires_at, claimed], tuple)
    except OperationalError as error:
        if not took_too_long(error):
            raise
        # What is checked at the commit took too long: it was not made.
        late = GraphQLError("", original_error=error)
        raise NotStored(write(ExecutionResult(None, [late]))) from error
    if known:
        return replay(known, asked, caller)
    return StoredAnswer(body, expires_at, replayed=False)


# A key whose record has expired counts as new. If another transaction holds the key,
# the statement waits for its end, at most lock_timeout.
CLAIM = """
INSERT INTO partnerapi_idempotencyrecord AS record
    (partner_id, key, fingerprint, operation_name, scopes, created_at)
VALUES (%(partner)s, %(key)s, %(asked)s, %(name)s, %(scopes)s, clock_timestamp())
ON CONFLICT ON CONSTRAINT one_answer_per_partner_and_key DO UPDATE
SET fingerprint = EXCLUDED.fingerprint, operation_name = EXCLUDED.operation_name,
    scopes = EXCLUDED.scopes, created_at = EXCLUDED.created_at, body = NULL,
    expires_at = NULL
WHERE record.expires_at <= clock_timestamp()
RETURNING id
"""
STORE = """
UPDATE partnerapi_idempotencyrecord SET body = %s, expires_at = %s WHERE id = %s
RETURNING id
"""


def claim(
    caller: Caller, key: UUID, prepared: PreparedRequest, asked: bytes
) -> int | None:
    """Take the key for this transaction; None: it has an answer already.

    Raises:
        ConcurrentRequest: another transaction holds the key for too long.
    """
    values: dict[str, Any] = {
        "partner": caller.partner_id,
        "key": key,
        "asked": asked,
        "name": name_of(prepared),
        "scopes": scopes_used(caller, prepared),
    }
    try:
        rows = lock(CLAIM, values)
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise ConcurrentRequest(
                "The first request with this Idempotency-Key is still running.",
                headers={"Retry-After": "1"},
            ) from error
        raise
    return rows[0][0] if rows else None


def name_of(prepared: PreparedRequest) -> str | None:
    node = prepared.operation.node
    return node.name.value[:NAME_LENGTH] if node.name else None


def scopes_used(caller: Caller, prepared: PreparedRequest) -> list[str]:
    """The caller's scopes that fields of the answer need, sorted."""
    resolvers = batch_resolvers(prepared.plan.selection)
    needed = {s for resolver in resolvers for s in getattr(resolver, "scopes", ())}
    return sorted(scope for scope in caller.scopes if scope in needed)


class Recorded(NamedTuple):
    """Of a record, what answers a repetition."""

    fingerprint: bytes
    scopes: list[str]
    body: bytes
    expires_at: datetime


# The first commit of the record may have been cancelled while it waited for a standby.
RECORDED = f"""
SELECT fingerprint, scopes, body, expires_at, {CONFIRM}
FROM partnerapi_idempotencyrecord
WHERE partner_id = %s AND key = %s AND expires_at > clock_timestamp()
"""


def find_record(caller: Caller, key: UUID) -> Recorded | None:
    """The record of a key whose answer is still stored, or None.

    With the end of the transaction the standbys have it, too.
    """
    rows = fetch(RECORDED, [caller.partner_id, key], lambda row: Recorded(*row[:4]))
    if not rows:
        return None
    record: Recorded = rows[0]
    return record._replace(body=opened(record.body, key))


def seals(prepared: PreparedRequest) -> bool:
    """Whether the answer holds a secret, and is stored encrypted."""
    return any(hasattr(batch, "seals_answer") for _, batch in root_fields(prepared))


def opened(body: bytes, key: UUID) -> bytes:
    """A stored answer as it was given.

    Raises:
        SealBroken: the pepper that encrypted it is no longer in the settings.
    """
    return unseal(body, key.bytes) if body.startswith(MARK) else body


def replay(record: Recorded, asked: bytes, caller: Caller) -> StoredAnswer:
    if record.fingerprint != asked:
        raise KeyParameterMismatch(
            "This Idempotency-Key was used for a different request; use a new key."
        )
    if missing := sorted(set(record.scopes) - caller.scopes):
        raise AnswerNotReplayed(
            "The response stored for this Idempotency-Key needs the scope "
            f"{missing[0]}, which your key does not have. The mutation was not "
            "executed again.",
            requiredScope=missing[0],
        )
    return StoredAnswer(record.body, record.expires_at, replayed=True)


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation that others go with, and its key.

    `arguments` are those of its root field. `run` gets what came of it, a value or a
    refusal, and makes the answer; `write` makes the answer's bytes.
    """

    caller: Caller
    key: UUID
    prepared: PreparedRequest
    arguments: dict[str, Any]
    context: Any
    run: Callable[[object], ExecutionResult]
    write: Callable[[ExecutionResult], bytes]
    running: Running

    @property
    def owner(self) -> str:
        return self.caller.partner_id

    @property
    def identity(self) -> tuple[UUID, UUID]:
        return UUID(self.caller.partner_id), self.key


class GroupFailed(Exception):
    """One of several mutations could not be answered: nothing happened to any."""


def once_each(
    mutations: Sequence[Mutation],
    resolve: Callable[[list[Mutation]], Sequence[object]],
) -> list[StoredAnswer | None]:
    """Run mutations of different keys in one transaction.

    None: the key has an answer, or another transaction holds it; this waits for none.
    `resolve` makes the value of each root field, or its refusal.

    Raises:
        GroupFailed, or what `resolve` raises: nothing happened to any of them.
        OutcomeUnknown: all of them happened, or none.
    """
    with transaction.atomic():
        records = claim_each(mutations)
        claimed = [m for m in mutations if m.identity in records]
        values = resolve(claimed) if claimed else []
        bodies = [answer_of(*pair) for pair in zip(claimed, values, strict=True)]
        expires_at = timezone.now() + RETENTION
        if claimed:
            ids = [records[m.identity] for m in claimed]
            fetch(STORE_EACH, [expires_at, ids, bodies], tuple)
    answers = iter(bodies)
    return [
        StoredAnswer(next(answers), expires_at, replayed=False)
        if m.identity in records
        else None
        for m in mutations
    ]


def answer_of(mutation: Mutation, value: object) -> bytes:
    result = mutation.run(value)
    if result.errors and not isinstance(value, PartnerAPIError):
        raise GroupFailed from result.errors[0]
    return mutation.write(result)


CLAIM_EACH = "SELECT * FROM partnerapi_claim_keys(%s, %s, %s, %s)"
STORE_EACH = """
UPDATE partnerapi_idempotencyrecord r SET body = u.body, expires_at = %s
FROM unnest(%s::bigint[], %s::bytea[]) AS u (id, body) WHERE r.id = u.id
RETURNING r.id
"""


def claim_each(mutations: Sequence[Mutation]) -> dict[tuple[UUID, UUID], int]:
    """The records of the keys that are taken for this transaction, without waiting."""
    arguments = [
        [UUID(m.caller.partner_id) for m in mutations],
        [m.key for m in mutations],
        [fingerprint(m.prepared) for m in mutations],
        [name_of(m.prepared) for m in mutations],
    ]
    rows = fetch(CLAIM_EACH, arguments, tuple)
    return {(partner, key): record for partner, key, record in rows}


def run_in_savepoint(run: Callable[[], ExecutionResult]) -> ExecutionResult:
    """Run a mutation; with an error nothing has happened, and its fields are null."""
    with transaction.atomic():
        result = run()
        if result.errors:
            transaction.set_rollback(True)
            result.data = result.data and dict.fromkeys(result.data)
    # Django keeps to itself that the session had ended, so that nothing could be undone
    # in it; the next statement tells.
    transaction.set_rollback(False)
    return result


def may_be_tried_again(result: ExecutionResult) -> bool:
    return any(
        not isinstance(error.original_error, PartnerAPIError)
        or isinstance(error.original_error, RequestTimeout | NotNow)
        for error in result.errors or ()
    )


def find_record_at(caller: Caller, key: str, at: datetime) -> Any:
    """The record of a key whose answer is stored at that time, or None.

    The standbys have it, too.
    """
    try:
        parsed = parse_key(key)
    except KeyInvalid:
        return None
    record = IdempotencyRecord.objects.filter(
        partner_id=caller.partner_id, key=parsed, expires_at__gt=at
    ).first()
    if record:
        confirm()
        record.body = opened(bytes(record.body or b""), parsed)
    return record
