"""Forms that ask for a rule of a token, and for the lifting of a restriction."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms

from accounts.investors.models import InvestorClass
from issuers.compliance.models import Restriction, TokenRule
from issuers.compliance.restrictions import lifting_content, lifting_title
from issuers.compliance.rules import rule_content, rule_title
from partnerapi.core.typed_numbers import NotANumber, typed_number, typed_whole
from partnerapi.staff.approvals.asking import AskForm, OfToken
from partnerapi.staff.picking import Picker

Kind = TokenRule.Kind
ALONE = {Kind.TRANSFERS_PAUSED, Kind.VERIFIED_HOLDERS, Kind.APPROVED_HOLDERS}
EXPECTED = {
    Kind.COUNTRIES: "allowed FR, DE; or refused US",
    Kind.INVESTOR_CLASSES: ", ".join(InvestorClass.values[1:]),
    Kind.MAX_HOLDERS: "the number of holders, such as 2000",
    Kind.MAX_BALANCE: "units, such as 5000, or a share of the supply, such as 2.5%",
}


def parameters_from(kind: str, text: str) -> dict[str, Any]:
    """What a rule says, as staff type it.

    Raises:
        ValidationError: it is not what a rule of this kind says.
    """
    text = text.strip()
    words = [word for word in re.split(r"[\s,;]+", text) if word]
    if kind in ALONE:
        if words:
            raise forms.ValidationError({"says": "This rule takes no value."})
        return {}
    try:
        match kind:
            case Kind.COUNTRIES if len(words) > 1 and words[0] in KINDS_OF_LIST:
                return {words[0]: [word.upper() for word in words[1:]]}
            case Kind.INVESTOR_CLASSES if words:
                return {"classes": [word.upper() for word in words]}
            case Kind.MAX_HOLDERS if words:
                return {"holders": typed_whole(text)}
            case Kind.MAX_BALANCE if text.endswith("%"):
                return {"bps": basis_points(text)}
            case Kind.MAX_BALANCE if words:
                return {"units": typed_whole(text)}
    except NotANumber as error:
        more = SHARE if kind == Kind.MAX_BALANCE else ""
        raise forms.ValidationError({"says": f"{error}{more}"}) from None
    raise forms.ValidationError({"says": f"Enter {EXPECTED[Kind(kind)]}."})


KINDS_OF_LIST = ("allowed", "refused")
SHARE = " A share of the supply ends in %, such as 2.5%."


def basis_points(text: str) -> int:
    """Of `2.5 %`: 250.

    Raises:
        NotANumber: or it is finer than a hundredth of a percent.
    """
    points = typed_number(text.removesuffix("%")) * 100
    if points != int(points) or not 0 < points <= 10_000:
        raise NotANumber(f"{text} must be from 0.01% to 100%, in steps of 0.01%.")
    return int(points)


class RuleForm(OfToken):
    field_order = ["token", "rule", "says", "ends"]
    rule = forms.ChoiceField(label="Rule", choices=Kind.choices)
    says = forms.CharField(
        label="Rule value",
        max_length=1500,
        required=False,
        help_text=" · ".join(
            f"{kind.label}: {expected}" for kind, expected in EXPECTED.items()
        ),
    )
    ends = forms.BooleanField(label="No rule", required=False)

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        token, kind = asked["token"], asked["rule"]
        given = None if asked["ends"] else parameters_from(kind, asked["says"])
        content = rule_content(token, kind, given, asked["reason"])
        return content, rule_title(token, kind, given)


class LiftingForm(AskForm):
    field_order = ["restriction"]
    restriction = forms.UUIDField(
        label="Restriction", help_text="Id", widget=Picker("restriction")
    )

    def clean_restriction(self) -> Restriction:
        of = Restriction.objects.select_related("ledger_account__holder", "token")
        found = of.filter(pk=self.cleaned_data["restriction"], ended_at=None).first()
        if found is None:
            raise forms.ValidationError("There is no such active restriction.")
        return found

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        restriction = self.cleaned_data["restriction"]
        return lifting_content(restriction), lifting_title(restriction)
