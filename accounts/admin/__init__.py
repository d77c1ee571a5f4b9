from django.contrib import admin

from accounts.admin import accounts, cash, investors, partners, staff_changes, users

__all__ = ["accounts", "cash", "investors", "partners", "staff_changes", "users"]

admin.site.site_header = "Partner platform"
admin.site.site_title = "Partner platform"
admin.site.index_title = "Back office"
# Lists need its room, and the start page is a click away.
admin.site.enable_nav_sidebar = False
