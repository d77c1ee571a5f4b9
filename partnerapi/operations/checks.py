"""What an operator can misconfigure, explained by `manage.py check`."""

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from partnerapi.core.commands import INSTALLATION


@register(INSTALLATION)
def database_is_named(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    if settings.DATABASE_URL:
        return []
    return [
        Error(
            "DATABASE_URL is not set, and there is no sandbox here.",
            hint="Run `python manage.py up`, which creates a sandbox. If `up "
            "--directory` created one, `export PARTNER_API_DIRECTORY=…` as it "
            "printed. Or set "
            "DATABASE_URL=postgres://user:password@host:5432/name.",
            id="partnerapi.E001",
        )
    ]


@register(INSTALLATION)
def no_removed_variable_is_set(
    app_configs: object, **kwargs: object
) -> list[CheckMessage]:
    return [
        Warning(
            f"{name} is set but no longer used: {settings.REMOVED[name]}.",
            hint=f"Unset {name}.",
            id="partnerapi.W001",
        )
        for name in settings.REMOVED_BUT_SET
    ]
