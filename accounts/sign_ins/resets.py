"""Requests to reset the sign-in of a member of staff; two colleagues approve one."""

from typing import Any

from axes.utils import reset
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.people.models import User
from accounts.sign_ins.models import RecoveryCode
from partnerapi.core.database import execute


def reset_content(person: User) -> dict[str, Any]:
    return {"person": str(person.pk)}


def reset_title(person: User) -> str:
    return f"Reset of the sign-in of {person.email}"


class ResetSignIn:
    """Superseded if the person has left since."""

    def preview(self, request: ApprovalRequest) -> Preview:
        person = self.person(request)
        has_device = TOTPDevice.objects.filter(user=person, confirmed=True).exists()
        codes = RecoveryCode.objects.filter(person=person, used_at=None).count()
        roles = ", ".join(sorted(group.name for group in person.groups.all()))
        seen = person.last_login
        rows = [
            ("Name", "", str(person)),
            ("Email address", "", str(person.email)),
            ("Roles", "", "Superuser" if person.is_superuser else roles or "none"),
            ("Last sign-in", "", f"{seen:%Y-%m-%d %H:%M} UTC" if seen else "never"),
            ("Authenticator", "enrolled" if has_device else "none", "none"),
            ("Unused recovery codes", str(codes), "0"),
        ]
        warnings = [
            "Call the person at a number that you know from before: at the next "
            "sign-in, the password alone enrols an authenticator."
        ]
        if has_device:
            warnings.append("The person cannot decide requests for 24 hours.")
        return Preview(rows, warnings, {"Name": person})

    def execute(self, request: ApprovalRequest) -> User:
        person = self.person(request)
        execute("SELECT sign_in_reset(%s)", [person.pk])
        reset(username=person.email)
        return person

    def person(self, request: ApprovalRequest) -> User:
        people = User.objects.filter(is_staff=True, is_active=True)
        person = people.filter(pk=request.content["person"]).first()
        if person is None:
            raise Superseded("The person is no longer an active member of staff.")
        return person
