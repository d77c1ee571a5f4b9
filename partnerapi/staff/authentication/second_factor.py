"""Staff who may change the register prove at each sign-in that they have a device.

The device is an app that shows a new code each half minute (TOTP, RFC 6238).
"""

from typing import Any

import segno
from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from django_otp import login
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.approvals.models import ApprovalKind
from accounts.people.models import User
from accounts.sign_ins.models import RecoveryCode
from accounts.sign_ins.recovery import NUMBER_OF_CODES, make_codes, use_code
from partnerapi.core.authors import written_by
from partnerapi.staff.authentication.sign_in import record_failure

CHANGES_THE_REGISTER = (
    "issuers.change_legacyshareholder",
    "issuers.add_token",
    "issuers.change_token",
    "issuers.change_issuer",
    "accounts.change_user",
    "accounts.change_userholder",
    "accounts.change_account",
    "accounts.change_apikey",
    *(
        f"accounts.{may}_{kind.lower()}"
        for kind in ApprovalKind
        for may in ("file", "decide")
    ),
)
"""Each lets a user deliver shares, name holders, or allow others to."""


def is_needed(user: User | AnonymousUser) -> bool:
    return settings.PARTNER_API_STAFF_OTP and any(
        user.has_perm(permission) for permission in CHANGES_THE_REGISTER
    )


def device_of(user: User) -> TOTPDevice:
    """The user's device, or a new one, which the first right code confirms.

    The database takes it from its owner only.
    """
    devices = TOTPDevice.objects.filter(user=user).order_by("-confirmed", "id")
    if device := devices.first():
        return device
    with written_by(user.email or "", "page /admin/second-factor/"):
        return TOTPDevice.objects.create(user=user, name="app", confirmed=False)


def picture(device: TOTPDevice) -> str:
    """What an app reads from the screen, as an address of an image."""
    return str(segno.make(device.config_url).svg_data_uri(scale=4))


class CodeForm(forms.Form):
    code = forms.RegexField(
        r"^\s*[0-9]{3}\s?[0-9]{3}\s*$",
        label="Code",
        error_messages={"invalid": "A code has six digits."},
        widget=forms.TextInput(
            attrs={
                "autofocus": True,
                "autocomplete": "one-time-code",
                "inputmode": "numeric",
            }
        ),
    )

    def __init__(self, request: HttpRequest, device: TOTPDevice, *given: Any) -> None:
        super().__init__(*given)
        self.request, self.device = request, device

    def clean_code(self) -> str:
        """Take the code, which no other sign-in can use then.

        Raises:
            ValidationError: it is wrong, was used, or follows wrong ones too soon.
        """
        code = "".join(self.cleaned_data["code"].split())
        if not self.device.verify_token(code):
            record_failure(self.request, self.device.user.email)
            raise ValidationError(
                "This code is wrong or has already been used. Wait for the next code; "
                "after several wrong codes, wait a few minutes. Check that your "
                "device's clock is correct."
            )
        return code

    def let_in(self) -> None:
        if not self.device.confirmed:
            self.device.confirmed = True
            self.device.save(update_fields=["confirmed"])
        login(self.request, self.device)


class RecoveryForm(forms.Form):
    recovery_code = forms.CharField(
        label="Recovery code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, request: HttpRequest, device: TOTPDevice, *given: Any) -> None:
        super().__init__(*given)
        self.request, self.device = request, device

    def clean_recovery_code(self) -> None:
        """Take the code, and remove the authenticator that it stands in for.

        Raises:
            ValidationError: it is wrong, was used, or follows wrong ones too soon.
        """
        is_allowed, _ = self.device.verify_is_allowed()
        typed = self.cleaned_data["recovery_code"]
        if not is_allowed or not use_code(self.device.user, typed):
            if is_allowed:
                self.device.throttle_increment()
            record_failure(self.request, self.device.user.email)
            raise ValidationError(
                "This recovery code is wrong or has already been used. After several "
                "wrong codes, wait a few minutes."
            )


@never_cache
def show_recovery_codes(request: HttpRequest) -> HttpResponse:
    """Count one's own codes; a code of the authenticator makes new ones, shown once."""
    assert isinstance(request.user, User)
    user, made = request.user, []
    device = TOTPDevice.objects.filter(user=user, confirmed=True).first()
    form = CodeForm(request, device, request.POST or None) if device else None
    if form and form.is_valid():
        with transaction.atomic():
            made = make_codes(user)
            LogEntry.objects.log_actions(
                user.pk, [user], CHANGE, f"Made {NUMBER_OF_CODES} recovery codes."
            )
    context = admin.site.each_context(request) | {
        "title": "Recovery codes",
        "form": form,
        "made": made,
        "unused": RecoveryCode.objects.filter(person=user, used_at=None),
    }
    return TemplateResponse(request, "admin/recovery_codes.html", context)
