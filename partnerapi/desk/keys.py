"""The keys of a partner: members issue them within approved scopes, and revoke them."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from accounts.access import Scope
from accounts.desk import keys
from accounts.desk.models import DeskMember
from accounts.desk.passkeys import check_member, new_challenge, options_to_sign
from accounts.keys.models import ApiKey
from accounts.passkeys.signing import NotSigned
from partnerapi.core.form_fields import WholeField
from partnerapi.desk.entry import challenge_of, with_challenge
from partnerapi.desk.pages import page
from partnerapi.desk.sessions import for_members

KEYS = 100
"""The most that the page shows, active ones first."""


class IssueForm(forms.Form):
    scopes = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)
    days = WholeField(
        label="Expires after (days)",
        min_value=1,
        max_value=keys.MOST_DAYS,
        initial=90,
    )

    def __init__(self, member: DeskMember, *given: Any) -> None:
        super().__init__(*given)
        self.fields["scopes"].choices = [  # type: ignore[attr-defined]
            (scope.value, f"{scope.value}: {scope.label}")
            for scope in Scope
            if scope.value in member.scopes
        ]

    def purpose(self, member: DeskMember) -> str:
        """What the passkey signs: this key, and no other."""
        scopes, days = self.cleaned_data["scopes"], self.cleaned_data["days"]
        return f"issue {member.pk} {','.join(sorted(scopes))} {days}"


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def show_keys(request: HttpRequest, member: DeskMember) -> HttpResponse:
    if request.method == "POST" and request.POST.get("do") == "revoke":
        return revoke(request, member)
    form = IssueForm(member, request.POST or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST":
        if "options" in request.POST:
            return options(form, member)
        issue(request, form, member, context)
    newest = member.partner.api_keys.select_related("from_desk__member").order_by(
        F("revoked_at").desc(nulls_first=True), "-created_at"
    )
    context["keys"] = [(key, state_of(key)) for key in newest[:KEYS]]
    return page(request, "keys", member, context)


def options(form: IssueForm, member: DeskMember) -> JsonResponse:
    if not form.is_valid():
        said = [f"{error}" for errors in form.errors.values() for error in errors]
        return JsonResponse({"problem": " ".join(said)})
    challenge = new_challenge(form.purpose(member))
    return with_challenge(options_to_sign(challenge), challenge)


def issue(
    request: HttpRequest, form: IssueForm, member: DeskMember, context: dict[str, Any]
) -> None:
    """Issue the key and put it, or what is wrong, into the page's context."""
    if not form.is_valid():
        return
    scopes, days = form.cleaned_data["scopes"], form.cleaned_data["days"]
    try:
        answer = request.POST.get("answer", "")
        signature = check_member(challenge_of(request), form.purpose(member), answer)
        if signature.member.pk != member.pk:
            raise NotSigned("This passkey is of another person.")
        at = timezone.now() + timedelta(days)
        context["issued"], context["key_token"] = keys.issue(signature, scopes, at)
    except NotSigned as error:
        form.add_error(None, str(error))


def revoke(request: HttpRequest, member: DeskMember) -> HttpResponse:
    try:
        key_id = UUID(request.POST.get("key", ""))
    except ValueError:
        key_id = None
    if key_id:
        keys.revoke(member, key_id, timezone.now())
    return HttpResponseRedirect(reverse("desk_keys"))


def state_of(key: ApiKey) -> str:
    """Whether the key is accepted, in words for people."""
    if key.revoked_at:
        return f"revoked {key.revoked_at:%Y-%m-%d %H:%M}"
    if key.expires_at is None:
        return "active, never expires"
    ended = key.expires_at <= timezone.now()
    return f"{'expired' if ended else 'active until'} {key.expires_at:%Y-%m-%d %H:%M}"
