"""The command that checks decisions, and the one that vouches for first passkeys."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.approvals.four_eyes import file_request
from accounts.approvals.models import ApprovalDecision, ApprovalKind, ApprovalPolicy
from accounts.approvals.signed import decide_signed, digests_of
from accounts.passkeys.models import Passkey
from accounts.people.models import User
from tests.accounts.test_four_eyes import RIGHTS, member
from tests.owner import as_owner
from tests.passkeys import Device, enrolled

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture(autouse=True)
def statements(settings: Any, tmp_path: Path) -> Path:
    settings.PARTNER_API_STATEMENTS = str(tmp_path)
    settings.PARTNER_API_STATEMENT_KEY = "A" * 43 + "="
    return tmp_path


@pytest.fixture
def ben() -> User:
    return member("ben", *RIGHTS)


@pytest.fixture
def device(ben: User) -> Device:
    device, passkey = enrolled(ben)
    called("key", "vouch", ben.email, passkey.code)
    return device


def called(*arguments: Any) -> str:
    said = io.StringIO()
    try:
        call_command(*arguments, stdout=said)
    except CommandError as error:
        return f"{said.getvalue()}{error}"
    return said.getvalue()


def verify(statements: Path) -> str:
    [*_, newest] = sorted(statements.glob("*.statement"))
    return called("verify", "approvals", "--against", str(newest))


def decided(ben: User, device: Device) -> None:
    ana = member("ana", *RIGHTS)
    request = file_request(ApprovalKind.MINT, {"units": "1"}, "Mint", "Why", ana)
    answer = device.sign(digests_of([request], ben, True, ""))
    decide_signed([request], ben, True, "", answer)


def test_what_was_signed_is_right(ben: User, device: Device, statements: Path):
    decided(ben, device)
    said = verify(statements)
    assert "the passkeys are those that the statement lists: 1, ok" in said
    assert "the decisions that the statement covers are unchanged: 3, ok" in said
    assert "All 13 rules hold." in said


@pytest.mark.parametrize(
    ("forge", "found"),
    [
        (
            lambda: ApprovalDecision.objects.update(is_approved=False),
            "its passkey has signed something else",
        ),
        (
            lambda: ApprovalPolicy.objects.update(allows_code=True),
            "Decisions of the kind MINT needed a passkey, and need none now.",
        ),
        (
            lambda: Passkey.objects.update(public_key=b"\x04" + bytes(64)),
            "is not what the statement lists",
        ),
    ],
)
def test_what_the_owner_rewrote_is_told(
    ben: User, device: Device, statements: Path, forge: Any, found: str
):
    decided(ben, device)
    with as_owner():
        forge()
    try:
        assert found in verify(statements)
    finally:
        with as_owner():
            ApprovalPolicy.objects.filter(kind__in=ApprovalPolicy.SIGNED).update(
                allows_code=False
            )


def test_only_a_first_passkey_is_vouched_for_with_its_code(ben: User, device: Device):
    _, other = enrolled(ben)
    said = called("key", "vouch", ben.email, "0000-0000")
    assert "No passkey of ben@staff.example waits with the code 0000-0000." in said
    said = called("key", "vouch", ben.email, other.code)
    assert "has a passkey that counts" in said
    other.refresh_from_db()
    assert other.vouched_at is None
