"""The back office as a whole: who comes in, and how."""

from django.contrib import admin

from partnerapi.staff.sign_in import SignInForm


class BackOffice(admin.AdminSite):
    login_form = SignInForm
