"""Registers the pages of the rooms."""

# ruff: noqa: F401

from django.contrib import admin

import accounts.accounts.admin
import accounts.cash.admin
import accounts.history.admin
import accounts.investors.admin
import accounts.keys.admin
import accounts.payments.admin
import accounts.people.admin

admin.site.site_header = "Partner platform"
admin.site.site_title = "Partner platform"
admin.site.index_title = "Back office"
# Lists need its room, and the start page is a click away.
admin.site.enable_nav_sidebar = False
