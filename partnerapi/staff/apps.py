from django.contrib.admin.apps import AdminConfig


class BackOfficeConfig(AdminConfig):
    default_site = "partnerapi.staff.site.BackOffice"
