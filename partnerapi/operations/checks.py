"""What an operator can misconfigure, explained by `manage.py check`."""

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from partnerapi.core.commands import INSTALLATION


@register(INSTALLATION)
def database_is_named(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    if settings.DATABASE_URL:
        return []
    return [
        Error(
            "DATABASE_URL is not set and no sandbox has been made here.",
            hint="Run `python manage.py up`, which makes one. Where `up --directory` "
            "made one, `export PARTNER_API_DIRECTORY=…` as it said. Or set "
            "DATABASE_URL=postgres://user:password@host:5432/name.",
            id="partnerapi.E001",
        )
    ]
