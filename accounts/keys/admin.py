from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.http import HttpResponseRedirect
from django.urls import reverse

from accounts.access import Scope
from accounts.keys.models import ApiKey, Partner
from partnerapi.core.backoffice import (
    MOST_AT_ONCE,
    InEuros,
    OwnPage,
    ProtectedAdmin,
    money,
)


@admin.register(Partner)
class PartnerAdmin(InEuros, OwnPage, ProtectedAdmin):
    own_page = "partner"
    in_euros = {"open_value_limit": "open_value"}
    open_value = money("open_value_limit", "open value limit")
    protection = (
        "A partner that has accounts, API keys, grants or FIX sessions cannot be "
        "deleted. Instead, clear “Is active” to disable all its keys."
    )
    list_display = ["login", "name", "is_active", "budget_points", "budget_refill"]
    list_filter = ["is_active"]
    search_fields = ["^login", "name"]
    ordering = ["login"]

    def get_readonly_fields(self, request, obj=None):
        # The login is part of every key that was handed out.
        return [] if obj is None else ["login"]


class ApiKeyForm(forms.ModelForm):
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices, widget=forms.CheckboxSelectMultiple
    )

    def clean_scopes(self):
        """The scopes that a second person has approved, or fewer."""
        scopes = self.cleaned_data["scopes"]
        if further := sorted(set(scopes) - set(self.instance.scopes)):
            raise forms.ValidationError(
                f"Scopes cannot be added to a key. For {', '.join(further)}, request "
                "another key."
            )
        return scopes

    def clean_expires_at(self):
        """As approved, or earlier."""
        expires_at, end = self.cleaned_data["expires_at"], self.instance.expires_at
        if expires_at and expires_at <= self.instance.created_at:
            raise forms.ValidationError(
                "The expiry must be later than the key's creation. To end the key now, "
                "revoke it."
            )
        if end and (expires_at is None or expires_at > end):
            raise forms.ValidationError(
                "The expiry of a key cannot be moved beyond "
                f"{end:%Y-%m-%d %H:%M} UTC. Request another key."
            )
        return expires_at


@admin.register(ApiKey)
class ApiKeyAdmin(OwnPage):
    """A key gets fewer scopes or an earlier end; its page leads to all else."""

    own_page = "key"

    form = ApiKeyForm
    list_display = [
        "partner", "last_four", "scopes", "created_at", "expires_at", "last_used_at",
        "revoked_at",
    ]  # fmt: skip
    list_select_related = ["partner"]
    list_filter = [
        ("revoked_at", admin.EmptyFieldListFilter),
        ("expires_at", admin.EmptyFieldListFilter),
        "partner",
    ]
    search_fields = ["^partner__login", "partner__name", "=last_four"]
    ordering = ["-created_at", "-id"]
    fields = ["scopes", "expires_at"]
    actions = ["revoke"]

    def has_add_permission(self, request):
        return False

    def has_delete_permission(self, request, obj=None):
        return False

    def save_model(self, request, obj, form, change):
        obj.narrow(obj.scopes, obj.expires_at)

    @admin.action(description="Revoke selected keys", permissions=["change"])
    def revoke(self, request, queryset):
        """Open the page that explains the consequences and asks for a reason."""
        keys = queryset.values_list("pk", flat=True)
        chosen = urlencode([("key", pk) for pk in keys[:MOST_AT_ONCE]])
        return HttpResponseRedirect(f"{reverse('admin:revoke')}?{chosen}")
