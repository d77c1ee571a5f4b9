"""What forms have in common on which staff ask for what a second person decides."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.management.base import CommandError

from issuers.management.register_command import account_named
from issuers.register.approvals import entry_content, entry_title
from issuers.register.ledger import Entry
from issuers.register.reasons import CHOICES, ReasonCode
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.staff.picking import TokenField


class AskForm(forms.Form):
    """What is asked for, as staff type it; `said` is what the database compares."""

    reason = forms.CharField(
        label="Reason",
        max_length=REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Visible to the approver.",
    )

    @abstractmethod
    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        """The content of the request, and its title.

        Raises:
            ValidationError: it names what is not there.
            LedgerError
        """


def reason_code(initial: ReasonCode) -> forms.ChoiceField:
    return forms.ChoiceField(
        label="Reason, public",
        choices=CHOICES,
        initial=initial,
        required=False,
        help_text="In the register and in the proofs of its entries; the text is not.",
    )


class OfToken(AskForm):
    """Something of a token's register; its reason stands there, too."""

    field_order = [
        "token", "units", "entry", "source", "target", "price", "origin", "code",
    ]  # fmt: skip
    token = TokenField()

    def of_entry(self, entry: Entry) -> tuple[Mapping[str, Any], str]:
        token = self.cleaned_data["token"]
        supply = int(token.ledger_head.supply)
        return entry_content(entry, supply), entry_title(entry, token)

    def given_code(self) -> ReasonCode | None:
        given = self.cleaned_data.get("code")
        return ReasonCode(given) if given else None

    def account(self, name: str) -> int | None:
        """The ledger account of whom the field names."""
        try:
            return account_named(self.cleaned_data[name], self.cleaned_data["token"])
        except CommandError as error:
            raise forms.ValidationError({name: str(error)}) from None
