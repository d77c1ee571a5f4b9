from collections.abc import Sequence

from django.apps import AppConfig
from django.contrib.admin import autodiscover
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core.checks import CheckMessage, Tags, register


class BackOfficeConfig(SimpleAdminConfig):
    """Pages are loaded by what serves, checks or lists them: `autodiscover`."""

    default_site = "partnerapi.staff.site.BackOffice"

    def ready(self):
        register(check_dependencies, Tags.admin)
        register(check_pages, Tags.admin)


def check_pages(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[CheckMessage]:
    autodiscover()
    return check_admin_app(app_configs)
