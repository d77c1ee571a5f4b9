from django.contrib import admin
from django.contrib.auth import forms as auth_forms
from django.contrib.auth.admin import UserAdmin as AuthUserAdmin
from django_otp.plugins.otp_totp.admin import TOTPDevice

from accounts.people.models import Country, User, UserHolder
from partnerapi.core.backoffice import (
    OwnPage,
    PrefixSearchAdmin,
    ProtectedAdmin,
    ReadOnlyAdmin,
)

# Its forms show a secret and accept any device as confirmed. Each person enrols their
# own device at sign-in: `partnerapi/staff/authentication/second_factor.py`.
admin.site.unregister(TOTPDevice)


def user_columns(path: str = "") -> list[str]:
    """The columns whose beginnings staff search for users; `path` leads to the user."""
    names = ("first_name", "last_name", "company_name")
    folded = (f"{path}{name}__folded__startswith" for name in names)
    return [f"{path}email__startswith", *folded]


@admin.register(Country)
class CountryAdmin(ReadOnlyAdmin):
    """Countries come from ISO 3166 with each migration."""

    list_display = ["name", "code", "alpha3"]
    search_fields = ["^name", "=code", "=alpha3"]
    ordering = ["name"]


class UserAddForm(auth_forms.AdminUserCreationForm):
    """Staff get a password; holders, who do not sign in, get none."""

    class Meta:
        model = User
        fields = ["type", "email", "first_name", "last_name", "company_name"]
        field_classes: dict[str, type] = {}

    def clean_email(self):
        return lower(self.cleaned_data["email"])


class UserChangeForm(auth_forms.UserChangeForm):
    class Meta:
        model = User
        fields = [
            "type", "email", "first_name", "last_name", "company_name", "legal_form",
            "lei", "country", "address", "postal_code", "city",
            "is_active", "is_staff", "is_superuser", "groups", "user_permissions",
        ]  # fmt: skip
        field_classes: dict[str, type] = {}

    def clean_email(self):
        return lower(self.cleaned_data["email"])


def lower(email):
    return email and email.lower()


@admin.register(User)
class UserAdmin(OwnPage, PrefixSearchAdmin, ProtectedAdmin, AuthUserAdmin):
    own_page = "holder"
    form = UserChangeForm
    add_form = UserAddForm
    list_display = [
        "display_name", "type", "email", "country", "is_staff", "created_at"
    ]  # fmt: skip
    list_select_related = ["country"]
    list_filter = ["type", "is_staff", "is_active"]
    search_fields = user_columns()
    person = "pk"
    phrase_fields = ("company_name",)
    search_help_text = "Beginning of an email address, a name or a company name"
    ordering = ["-id"]
    # A user's entries in the log would be deleted with the user.
    also_protected_by = ("logentry",)
    protection = (
        "A user with an account, a holder profile, legacy shares or an issuer cannot "
        "be deleted. Neither can current or former staff, because the log names them. "
        "Clear “Active” below to prevent them from signing in."
    )
    autocomplete_fields = ["country"]
    fieldsets = [
        (None, {"fields": ["type", "email", "password"]}),
        ("Person", {"fields": ["first_name", "last_name"]}),
        ("Company", {"fields": ["company_name", "legal_form", "lei"]}),
        ("Address", {"fields": ["address", "postal_code", "city", "country"]}),
        (
            "Permissions",
            {
                "fields": [
                    "is_active", "is_staff", "is_superuser", "groups",
                    "user_permissions",
                ]
            },
        ),
    ]  # fmt: skip
    add_fieldsets = [
        (None, {"fields": ["type", "email"]}),
        ("Password", {"fields": ["usable_password", "password1", "password2"]}),
        ("Person", {"fields": ["first_name", "last_name"]}),
        ("Company", {"fields": ["company_name"]}),
    ]  # fmt: skip

    @admin.display(description="name")
    def display_name(self, user):
        return str(user)

    def get_readonly_fields(self, request, obj=None):
        # Staff who may edit users must not make themselves superusers.
        fields = super().get_readonly_fields(request, obj)
        if request.user.is_superuser:
            # Only the owner role creates one (createsuperuser).
            return [*fields, "is_superuser"]
        return [*fields, "is_staff", "is_superuser", "groups", "user_permissions"]

    def has_change_permission(self, request, obj=None):
        return may_touch(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request, obj=None):
        # Only colleagues sign in.
        if obj is not None and (obj.is_staff or obj.last_login):
            return False
        return super().has_delete_permission(request, obj)


def may_touch(request, user):
    """Only superusers edit staff; others could set a password and sign in as them."""
    return request.user.is_superuser or user is None or not user.is_staff


@admin.register(UserHolder)
class UserHolderAdmin(OwnPage, PrefixSearchAdmin, ProtectedAdmin):
    own_page, shown_row = "holder", "user_id"
    protection = (
        "A profile cannot move to another user. Once it has an account in the "
        "register, it cannot be deleted."
    )
    list_display = ["name", "user", "wallet_address"]
    list_select_related = ["user"]
    search_fields = user_columns("user__")
    person = "user_id"
    phrase_fields = ("user__company_name",)
    search_help_text = "Beginning of the user's email address or name"
    ordering = ["-id"]
    autocomplete_fields = ["user"]

    def get_readonly_fields(self, request, obj=None):
        # The units that a profile holds belong to its user.
        return [] if obj is None else ["user"]
