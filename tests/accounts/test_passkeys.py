"""Decisions are signed with passkeys, and forged ones are found."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from accounts.approvals.four_eyes import NotApproved, decide, file_request, take_back
from accounts.approvals.models import ApprovalDecision, ApprovalKind, ApprovalRequest
from accounts.approvals.signed import decide_signed, digests_of
from accounts.approvals.verification import passkeys_stated, verify
from accounts.passkeys.models import Assertion, Passkey
from accounts.passkeys.signing import NotSigned, bytes_of, digest_of, revoke, vouch
from accounts.people.models import User
from partnerapi.staff.approvals.kinds import KINDS
from tests.accounts.test_four_eyes import RIGHTS, member
from tests.owner import tamper
from tests.passkeys import PRESENT, Device, counting, enrolled

pytestmark = pytest.mark.django_db


@dataclass
class Staff:
    ana: User
    ben: User
    device: Device
    passkey: Passkey
    request: ApprovalRequest = field(init=False)
    answer: str = ""
    """What the browser answers, in place of what the device would sign."""

    def asked(self, kind: str = ApprovalKind.MINT) -> ApprovalRequest:
        content = {"said": "what is minted", "units": "100", "name": "Ünïts"}
        return file_request(kind, content, "Mint", "Why", self.ana)

    def signed(
        self, *requests: ApprovalRequest, verdict: bool = True, why: str = ""
    ) -> None:
        digests = digests_of(requests, self.ben, verdict, why)
        answer = self.answer or self.device.sign(digests)
        decide_signed(requests, self.ben, verdict, why, answer)


@pytest.fixture
def staff() -> Staff:
    ana, ben = member("ana", *RIGHTS), member("ben", *RIGHTS)
    return Staff(ana, ben, *counting(ben))


def broken() -> list[str]:
    return [finding.rule for finding in verify() if finding.breaches]


def test_one_assertion_serves_the_decisions_confirmed_together(staff: Staff):
    requests = [staff.asked(), staff.asked(ApprovalKind.BURN)]
    staff.signed(*requests)
    assert all(request.decision.is_approved for request in requests)
    staff.signed(staff.asked(), verdict=False, why="No resolution\nof the board")
    made = {decision.assertion_id for decision in ApprovalDecision.objects.all()}
    assert (len(made), Assertion.objects.count(), broken()) == (2, 2, [])


def test_a_decision_by_code_is_for_kinds_that_allow_it(staff: Staff):
    for kind in KINDS:
        request = staff.asked(kind)
        if kind in {
            "MINT",
            "REVERSAL",
            "KEY",
            "STATEMENT",
            "WITHDRAWAL",
            "ASSIGNMENT",
            "DESK",
        }:
            with pytest.raises(NotApproved, match="is signed with a passkey"):
                decide(request, staff.ben, is_approved=True)
            take_back(request)
        else:
            decide(request, staff.ben, is_approved=True)
    assert broken() == []


def test_until_a_passkey_is_listed_codes_decide():
    ana, ben = member("ana", *RIGHTS), member("ben", *RIGHTS)
    enrolled(ben)
    request = file_request(ApprovalKind.MINT, {}, "Mint", "Why", ana)
    decide(request, ben, is_approved=True)
    assert broken() == []


def test_a_new_passkey_is_signed_by_an_older_one_or_by_two_others(staff: Staff):
    own, own_key = enrolled(staff.ben)
    vouch(own_key, staff.ben, staff.device.sign([digest_of(own_key)]))
    cleo, dora = member("cleo", *RIGHTS), member("dora", *RIGHTS)
    first, _ = counting(cleo)
    _, hers = enrolled(dora)
    vouch(hers, cleo, first.sign([digest_of(hers)]))
    with pytest.raises(NotSigned, match="signed by two"):
        vouch(hers, cleo, first.sign([digest_of(hers)]))
    hers.refresh_from_db()
    assert hers.vouched_at is None
    vouch(hers, staff.ben, staff.device.sign([digest_of(hers)]))
    stated = [one["passkey"] for one in passkeys_stated()]
    assert {str(own_key.pk), str(hers.pk)} <= {*stated}
    Passkey.objects.note_listed(stated)
    assert broken() == []
    staff.device, staff.passkey = own, own_key
    staff.signed(staff.asked())
    assert broken() == []


def other_site(staff: Staff) -> None:
    staff.device.origin = "http://localhost.example.com"


def other_domain(staff: Staff) -> None:
    staff.device.domain = "example.com"


def no_fingerprint(staff: Staff) -> None:
    staff.device.flags = PRESENT


def a_copy(staff: Staff) -> None:
    staff.signed(staff.asked())
    staff.device.count = 1


def other_key(staff: Staff) -> None:
    staff.device.key = Device().key


def of_someone_else(staff: Staff) -> None:
    staff.device, _ = counting(staff.ana)


def revoked(staff: Staff) -> None:
    revoke(staff.passkey, staff.ben)


def not_listed(staff: Staff) -> None:
    staff.device, _ = enrolled(staff.ben)


def other_request(staff: Staff) -> None:
    digests = digests_of([staff.asked()], staff.ben, True, "")
    staff.answer = staff.device.sign(digests)


def rejected(staff: Staff) -> None:
    """It was rejected, and the process says that it was approved."""
    digests = digests_of([staff.request], staff.ben, False, "")
    staff.answer = staff.device.sign(digests)


@pytest.mark.parametrize(
    "change",
    [
        *(other_site, other_domain, no_fingerprint, a_copy, other_key),
        *(of_someone_else, revoked, not_listed, other_request, rejected),
    ],
)
def test_what_the_person_has_not_signed_is_refused(
    staff: Staff, change: Callable[[Staff], None]
):
    staff.request = staff.asked()
    change(staff)
    before = ApprovalDecision.objects.count()
    with pytest.raises(NotApproved):
        staff.signed(staff.request)
    assert ApprovalDecision.objects.count() == before
    assert broken() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_passkey SET listed_at = now(), by_owner = TRUE",
        "INSERT INTO accounts_passkey SELECT * FROM accounts_passkey",
        "INSERT INTO accounts_assertion SELECT * FROM accounts_assertion",
        "INSERT INTO accounts_passkeyvoucher (passkey_id, assertion_id)"
        " SELECT id, id FROM accounts_passkey",
        "DELETE FROM accounts_passkey",
        "SELECT passkeys_assert(NULL, NULL, NULL, NULL, NULL, NULL)",
        "SELECT approvals_decide_each(NULL, NULL, TRUE, '', NULL)",
    ],
)
def test_the_application_writes_no_passkey_and_no_assertion(
    staff: Staff, statement: str
):
    with (
        pytest.raises(DatabaseError, match="permission denied"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def run(statement: str, *arguments: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)


def invented(staff: Staff, request: ApprovalRequest) -> None:
    """What a compromised process writes by the writer: all but the signature."""
    digests = digests_of([request], staff.ben, True, "")
    told = staff.device.told("webauthn.get", hashlib.sha256(digests[0]).digest())
    written(staff, request, staff.device.data(5), told, b"signature")


def written(staff: Staff, request: ApprovalRequest, *signed: bytes) -> None:
    run(
        "SELECT approvals_decide_signed(%s, %s, TRUE, '', %s, %s, %s, %s)",
        *([request.pk], staff.ben.pk, staff.passkey.pk, *signed),
    )


def invented_signature(staff: Staff) -> None:
    invented(staff, staff.asked())


def nested_too_deep(staff: Staff) -> None:
    """Client data that PostgreSQL reads, and Python does not."""
    request = staff.asked()
    digests = digests_of([request], staff.ben, True, "")
    told = staff.device.told("webauthn.get", hashlib.sha256(digests[0]).digest())
    deep = told[:-1] + b', "x": ' + b"[" * 3000 + b"]" * 3000 + b"}"
    written(staff, request, staff.device.data(5), deep, b"signature")


def signed_at(staff: Staff, device: Device) -> None:
    """The process that takes the signature does not look where it was made."""
    request = staff.asked()
    answer = device.sign(digests_of([request], staff.ben, True, ""))
    response = json.loads(answer)["response"]
    names = ("authenticatorData", "clientDataJSON", "signature")
    written(staff, request, *(bytes_of(response[name]) for name in names))


def signed_on_another_site(staff: Staff) -> None:
    staff.device.origin = "https://example.com"
    signed_at(staff, staff.device)


def signed_for_another_domain(staff: Staff) -> None:
    staff.device.domain = "example.com"
    signed_at(staff, staff.device)


def signed_by_another_device(staff: Staff) -> None:
    device = Device()
    device.count = staff.device.count
    signed_at(staff, device)


def own_key_enrolled(staff: Staff) -> None:
    """With an invented signature of an older key the newer one is vouched for."""
    device, key = enrolled(staff.ben)
    told = staff.device.told("webauthn.get", hashlib.sha256(digest_of(key)).digest())
    run(
        "SELECT passkeys_vouch(%s, %s, %s, %s, %s, %s)",
        *(key.pk, staff.passkey.pk, staff.ben.pk),
        *(staff.device.data(5), told, b"signature"),
    )
    Passkey.objects.note_listed([str(key.pk)])
    staff.device, staff.passkey = device, key
    staff.signed(staff.asked())


def verdict_swapped(staff: Staff) -> None:
    staff.signed(staff.asked(), verdict=False)
    tamper("UPDATE accounts_approvaldecision SET is_approved = TRUE")


def assertion_of_another_request(staff: Staff) -> None:
    staff.signed(staff.asked())
    other = staff.asked()
    tamper(
        "INSERT INTO accounts_approvaldecision (request_id, is_approved, reason,"
        f" decided_by_id, assertion_id) SELECT '{other.pk}', TRUE, '', decided_by_id,"
        " assertion_id FROM accounts_approvaldecision LIMIT 1"
    )


def content_exchanged(staff: Staff) -> None:
    staff.signed(staff.asked())
    tamper('UPDATE accounts_approvalrequest SET content = \'{"units": "1000"}\'')


def decider_exchanged(staff: Staff) -> None:
    staff.signed(staff.asked())
    cleo = member("cleo", *RIGHTS)
    tamper(f"UPDATE accounts_approvaldecision SET decided_by_id = '{cleo.pk}'")


def old_key(staff: Staff) -> None:
    """A key that was revoked signs all the same, and the owner writes it."""
    staff.signed(staff.asked())
    tamper(
        "UPDATE accounts_passkey SET revoked_at = clock_timestamp() - interval '1 s'"
    )
    tamper("UPDATE accounts_assertion SET made_at = clock_timestamp()")


def signature_taken_away(staff: Staff) -> None:
    """The decision is said to be by code."""
    staff.signed(staff.asked())
    tamper("UPDATE accounts_approvaldecision SET assertion_id = NULL")


def code_of_a_signed_kind(staff: Staff) -> None:
    request = staff.asked()
    tamper(
        "INSERT INTO accounts_approvaldecision (request_id, is_approved, reason,"
        f" decided_by_id) VALUES ('{request.pk}', TRUE, '', '{staff.ben.pk}')"
    )


def request_deleted(staff: Staff) -> None:
    staff.signed(staff.asked(), staff.asked())
    request = ApprovalRequest.objects.latest("pk").pk
    tamper(
        f"DELETE FROM accounts_approvaldecision WHERE request_id = '{request}'",
        f"DELETE FROM accounts_approvalrequest WHERE id = '{request}'",
    )


def assertion_replayed(staff: Staff) -> None:
    """The owner copies an assertion for another request."""
    staff.signed(staff.asked())
    other, made = staff.asked(), uuid4()
    tamper(
        "INSERT INTO accounts_assertion (id, passkey_id, digests, authenticator_data,"
        f" client_data, signature, made_at) SELECT '{made}', passkey_id, digests,"
        " authenticator_data, client_data, signature, clock_timestamp()"
        " FROM accounts_assertion ORDER BY made_at DESC LIMIT 1",
        "INSERT INTO accounts_approvaldecision (request_id, is_approved, reason,"
        f" decided_by_id, assertion_id) VALUES ('{other.pk}', TRUE, '',"
        f" '{staff.ben.pk}', '{made}')",
    )


def assertion_deleted(staff: Staff) -> None:
    staff.signed(staff.asked())
    tamper("DELETE FROM accounts_assertion")


def public_key_exchanged(staff: Staff) -> None:
    """The owner puts a key of their own in the place of a person's."""
    device = Device()
    staff.signed(staff.asked())
    number = device.key.public_key().public_numbers()
    point = b"\x04" + number.x.to_bytes(32) + number.y.to_bytes(32)
    tamper(f"UPDATE accounts_passkey SET public_key = '\\x{point.hex()}'")


def second_first_key(staff: Staff) -> None:
    """The owner vouches for a key of someone that has one."""
    staff.device, staff.passkey = counting(staff.ben)
    staff.signed(staff.asked())


FORGED: dict[Callable[[Staff], None], str] = {
    invented_signature: "each assertion is signed by its passkey, of a person present",
    nested_too_deep: "each assertion is signed by its passkey",
    signed_on_another_site: "each assertion is signed by its passkey",
    signed_for_another_domain: "each assertion is signed by its passkey",
    signed_by_another_device: "each assertion is signed by its passkey",
    assertion_replayed: "the counter of each passkey grows",
    own_key_enrolled: "each assertion is signed by its passkey",
    verdict_swapped: "each signed decision is what its passkey has signed",
    assertion_of_another_request: "each signed decision is what its passkey has signed",
    content_exchanged: "each signed decision is what its passkey has signed",
    decider_exchanged: "each signed decision is what its passkey has signed",
    old_key: "each assertion is signed by its passkey",
    signature_taken_away: "each decision without a passkey",
    code_of_a_signed_kind: "each decision without a passkey",
    request_deleted: "each assertion signs decisions or a passkey",
    assertion_deleted: "each signed decision is what its passkey has signed",
    public_key_exchanged: "each assertion is signed by its passkey",
    second_first_key: "each passkey was vouched for",
}


@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_decision_is_found(staff: Staff, forge: Callable[[Staff], None]):
    staff.signed(staff.asked())
    assert broken() == []
    forge(staff)
    assert any(rule.startswith(FORGED[forge]) for rule in broken())


def test_a_statement_tells_a_first_key_that_it_does_not_list(staff: Staff):
    stated = {"at": staff.passkey.listed_at.isoformat(), "passkeys": passkeys_stated()}
    assert not any(finding.breaches for finding in verify(stated))
    cleo = member("cleo", *RIGHTS)
    staff.device, staff.passkey = counting(cleo)
    staff.ben = cleo
    staff.signed(staff.asked())
    wrong = [finding for finding in verify(stated) if finding.breaches]
    assert [finding.details for finding in wrong] == [
        [
            f"Passkey {staff.passkey.pk} signs and does not stand in the statement; if "
            "it is newer, compare with a later one."
        ]
    ]
    tamper(f"UPDATE accounts_passkey SET person_id = '{staff.ana.pk}'")
    told = [detail for finding in verify(stated) for detail in finding.details]
    assert any("is not what the statement lists" in one for one in told)
