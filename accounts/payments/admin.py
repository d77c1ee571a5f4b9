"""The bank account with clients' money, which superusers name."""

from django import forms
from django.contrib import admin

from accounts.payments.iban import NAME_LENGTH, WrongIban, checked_iban, sepa_name
from accounts.payments.models import HouseAccount
from accounts.payments.paying import name_bank
from partnerapi.core.backoffice import ReadOnlyAdmin


class HouseAccountForm(forms.ModelForm):
    name = forms.CharField(
        label="Name of the account's owner",
        max_length=NAME_LENGTH,
        help_text="Payment files name it as debtor.",
    )
    iban = forms.CharField(
        label="IBAN",
        max_length=50,
        help_text="From now on, statements of another account are refused.",
    )

    class Meta:
        model = HouseAccount
        fields = ("name", "iban")

    def clean_name(self) -> str:
        if name := sepa_name(self.cleaned_data["name"]):
            return name
        raise forms.ValidationError("Use the letters of a SEPA payment: A to Z.")

    def clean_iban(self) -> str:
        try:
            return checked_iban(self.cleaned_data["iban"])
        except WrongIban as error:
            raise forms.ValidationError(f"Not valid: {error}.") from None


@admin.register(HouseAccount)
class HouseAccountAdmin(ReadOnlyAdmin):
    """Each row replaces the one before; the newest applies."""

    list_display = ["iban", "name", "named_by", "named_at"]
    fields = ["name", "iban"]
    ordering = ["-id"]
    search_fields = ["^iban"]
    form = HouseAccountForm

    def has_add_permission(self, request):
        return request.user.has_perm("accounts.add_houseaccount")

    def save_model(self, request, obj, form, change):
        """The function of the database compares the user's rights, and writes."""
        obj.pk = name_bank(obj.name, obj.iban, request.user.email).pk
        obj.refresh_from_db()
