"""What forms have in common whose work one member of staff does at once."""

from abc import abstractmethod
from dataclasses import dataclass

from django import forms
from django.db.models import Model

from accounts.people.models import User
from partnerapi.core.lengths import REASON_LENGTH


class NotDone(Exception):
    """The work cannot be done; the message says why. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Done:
    """The row whose log has it, what was done to it in a sentence, and what follows."""

    row: Model
    what: str
    place: str


class WorkForm(forms.Form):
    reason = forms.CharField(
        label="Reason",
        max_length=REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Kept in the log.",
    )
    note = ""
    """What the page says above the form."""

    @abstractmethod
    def do(self, user: User) -> Done:
        """
        Raises:
            NotDone
        """
