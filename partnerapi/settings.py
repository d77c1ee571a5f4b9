"""Every environment variable is in VARIABLES; below it, plain Django settings.

A variable that does not parse or is missing where it is needed ends the process
with its name, what was expected and an example. Any variable may be given as
NAME_FILE instead, naming a file that holds the value (for secrets).
"""

import os
import secrets
import sys
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from environ.fileaware_mapping import FileAwareMapping

from partnerapi.variables import Variable, parse

BASE_DIR = Path(__file__).resolve().parent.parent


VARIABLES = {
    "DATABASE_URL": Variable("url", "", "postgres://api:secret@db:5432/partnerapi", "PostgreSQL 15 or newer; several hosts separated by commas, each with its port: the primary is used"),
    "DATABASE_OWNER_URL": Variable("url", "", "postgres://owner:secret@db:5432/partnerapi", "the role that owns the tables, for migrate, flush, grant_application_role, createsuperuser and the sandbox's data; leave it unset where requests are served"),
    "DATABASE_DIRECT_URL": Variable("url", "", "postgres://api:secret@db:5432/partnerapi", "the role and the server of DATABASE_URL without the pooler. Where it is set, DATABASE_URL names a pooler such as pgbouncer in transaction mode, for web processes; commands, workers, beat and the FIX acceptor connect here. Empty: DATABASE_URL names PostgreSQL"),
    "REPLICA_URL": Variable("url", "", "postgres://api:secret@standby:5432/partnerapi", "a streaming standby: it serves past capitalization tables and, while DATABASE_URL does not answer, every query"),
    "REDIS_URL": Variable("url", "", "redis://cache:6379/0", "Valkey or Redis: cache, request budgets, Celery's messages"),
    "SECRET_KEY": Variable("list", [], "fifty or more random characters", "signs staff sessions; several separated by commas, the new one first; required with DATABASE_URL"),
    "PARTNER_API_KEY_PEPPER": Variable("str", "", "fifty or more random characters", "keys the digests of API secrets; several separated by commas, the new one first; required with DATABASE_URL"),
    "PARTNER_API_SERVES": Variable("serves", "both", "api", "what a web process serves: api, admin or both; other addresses answer 404"),
    "ALLOWED_HOSTS": Variable("list", ["localhost", "127.0.0.1", "[::1]"], "api.example.com,admin.example.com", "host names that are served"),
    "LOG_FORMAT": Variable("format", "text", "json", "text: lines for people; json: one JSON object per line, with a line for each request to /graphql"),
    "LOG_LEVEL": Variable("level", "INFO", "WARNING", "lowest level that is logged"),
    "EMAIL_URL": Variable("url", "", "smtp+tls://user:secret@mail.example.com:587", "server that sends the e-mails to staff; smtp+ssl: TLS from the first byte; consolemail:// prints them, as a sandbox does; empty: they wait"),
    "EMAIL_FROM": Variable("str", "noreply@example.com", "platform@example.com", "sender of the e-mails to staff, and the address where partners report incidents: it must be read"),
    "PARTNER_API_PASSKEY_DOMAIN": Variable("str", "localhost", "admin.example.com", "host name of the back office, to which passkeys of staff are bound (WebAuthn's RP ID), over HTTPS; localhost in a sandbox"),
    "PARTNER_API_SANDBOX": Variable("bool", False, "true", "this installation is a sandbox: sandbox seed may write, and GraphiQL gets a key"),
    "PARTNER_API_SANDBOX_KEY": Variable("str", "", "service-apikey_demo_…", "the key that GraphiQL uses in a sandbox; where it is set, partners can drive the sandbox, and no process starts without sandbox data"),
    "PARTNER_API_BASE_URL": Variable("url", "https://api.example.com", "https://api.example.com", "production address, shown to partners"),
    "PARTNER_API_SANDBOX_URL": Variable("url", "https://sandbox.example.com", "https://sandbox.example.com", "sandbox address, shown to partners"),
    "PARTNER_API_LOCAL_URL": Variable("url", "http://localhost:8080", "http://localhost:8080", "local address, shown to developers"),
    "PARTNER_API_TRUSTED_PROXIES": Variable("int", 0, "1", "trusted proxies, whose X-Forwarded-For and X-Forwarded-Proto are used"),
    "PARTNER_API_HTTPS": Variable("bool", True, "false", "redirect to HTTPS, secure cookies, HSTS (off in a sandbox's local run)"),
    "PARTNER_API_BUDGET_POINTS": Variable("positive", 40_000, "40000", "points that a partner's budget holds"),
    "PARTNER_API_BUDGET_REFILL": Variable("positive", 2_000, "2000", "refill rate of a partner's budget, points per second"),
    "PARTNER_API_ANONYMOUS_BUDGET_POINTS": Variable("positive", 20_000, "20000", "points that the budget of an address without a key holds"),
    "PARTNER_API_ANONYMOUS_BUDGET_REFILL": Variable("positive", 200, "200", "refill rate of an address without a key, points per second"),
    "PARTNER_API_BUDGET_SECONDS": Variable("positive", 10, "10", "server time that a partner may take of each web process, seconds per minute; an address without a key has half"),
    "PARTNER_API_MAX_COST": Variable("positive", 10_000, "10000", "highest cost of one request, points"),
    "PARTNER_API_DATABASE_CONNECTIONS": Variable("positive", 6, "6", "connections to PostgreSQL per web process, and requests that it handles at once; one caller gets at most half of them"),
    "PARTNER_API_MAX_SECONDS": Variable("positive", 10, "10", "time a request may take before TIMEOUT, seconds"),
    "PARTNER_API_EVENT_DAYS": Variable("event_days", 1_830, "1830", "how long partners' events are kept, days, 30 or more"),
    "PARTNER_API_METRICS": Variable("writable", "", "/run/partnerapi/metrics", "directory for the counters of this machine's processes, read by serve_metrics; in memory where possible; if empty, each process keeps its own counters"),
    "PARTNER_API_BACKUPS": Variable("str", "", "/mnt/backup", "directory of the backups, checked by doctor, which warns if the newest is older than a day; empty: doctor warns that no backup is known"),
    "PARTNER_API_STATEMENTS": Variable("str", "", "/mnt/evidence/partnerapi", "directory for the register's signed statements, on a different machine than the database; empty: none are written"),
    "PARTNER_API_STATEMENT_KEY": Variable("key", "", "32 random bytes in base64", "Ed25519 key that signs the register's statements"),
    "MARKET_TIME_ZONE": Variable("zone", "Europe/Paris", "Europe/Paris", "time zone whose midnight ends a trading day; fixed by the first migrate"),
    "FIX_HOST": Variable("str", "127.0.0.1", "0.0.0.0", "address on which the FIX acceptor listens"),
    "FIX_PORT": Variable("port", 9878, "9878", "port on which the FIX acceptor listens"),
    "FIX_COMP_ID": Variable("comp_id", "PARTNERAPI", "PARTNERAPI", "our CompID: what partners send as TargetCompID(56)"),
    "FIX_ACCEPTOR": Variable("str", "", "paris-1", "this acceptor's name in a group of acceptors that share CompIDs; empty: it is the only one"),
    "FIX_MIC": Variable("mic", "", "XPAR", "the market's identifier (ISO 10383), SecurityExchange(207) of instruments; empty: none is sent"),
    "FIX_SESSIONS": Variable("positive", 1_000, "1000", "CompIDs in the acceptor's pool, from PARTNER001 on"),
    "FIX_TLS_CERTIFICATE": Variable("str", "", "/etc/fix/fullchain.pem", "file with the FIX acceptor's certificate chain; empty: no TLS"),
    "FIX_TLS_KEY": Variable("str", "", "/etc/fix/privkey.pem", "file with that certificate's private key"),
    "FIX_TRUSTED_PROXIES": Variable("networks", "", "10.0.0.0/24,192.0.2.7", "networks of proxies that send the FIX acceptor each partner's address by PROXY protocol, version 1; empty: none"),
    "FIX_CONNECTIONS_PER_ADDRESS": Variable("positive", 20, "20", "FIX connections allowed per address"),
}  # fmt: skip

REMOVED = {
    "DEBUG": "it is off",
    "SECRET_KEY_FALLBACKS": "SECRET_KEY names the new value and the previous ones",
    "PARTNER_API_STAFF_OTP": "staff need a second factor, except in a sandbox",
    "PARTNER_API_POOLER": "DATABASE_DIRECT_URL alone shows that there is a pooler",
    "PARTNER_API_REPLICA_LAG": "it is 10 seconds",
    "PARTNER_API_REPLICA_SECONDS": "it is 900 seconds",
    "PARTNER_API_MAX_BODY_BYTES": "it is 1,048,576 bytes",
    "PARTNER_API_MAX_PAGE_SIZE": "it is 100",
    "PARTNER_API_MAX_DEPTH": "it is 12",
    "PARTNER_API_MAX_ALIASES": "it is 100",
    "PARTNER_API_MAX_FRAGMENTS": "it is 50",
    "PARTNER_API_MAX_DIRECTIVES": "it is 10",
    "PARTNER_API_MAX_TOKENS": "it is 2,000",
    "PARTNER_API_MAX_HOLDERS": "it is 50,000",
    "PARTNER_API_CONNECTIONS_PER_ADDRESS": "it is 100, or 2,000 behind trusted proxies",
    "FIX_MIN_HEARTBEAT": "it is 5 seconds",
    "FIX_REQUIRE_RESET": "it is Y",
    "FIX_FAILED_LOGONS_PER_MINUTE": "it is 10",
    "FIX_CONFLATION_MS": "it is 100 milliseconds",
    "FIX_MESSAGES_PER_SECOND": "it is 20",
}
"""Variables of earlier releases, with what holds in their place."""

STATE_DIRECTORY = Path(os.environ.get("PARTNER_API_DIRECTORY") or BASE_DIR / ".local")
"""Where `manage.py up` keeps its servers, and the file that names them."""


class Environment(environ.FileAwareEnv):
    # A copy: what `up` wrote must not look like a setting of the operator's own,
    # neither to `up` itself nor to a child.
    ENVIRON = FileAwareMapping(env=dict(os.environ))


def read_variables() -> tuple[dict[str, Any], list[str]]:
    """Read VARIABLES from the environment, or from the sandbox that `up` made.

    Returns their values, and those of REMOVED that are still set.

    Raises:
        ImproperlyConfigured: naming the variable, what was expected, an example.
    """
    if "DATABASE_URL" not in os.environ and "DATABASE_URL_FILE" not in os.environ:
        Environment.read_env(STATE_DIRECTORY / "environment", overwrite=False)
    env = Environment()
    values = {}
    for name, variable in VARIABLES.items():
        try:
            text = env.str(name, default="").strip()
        except OSError as error:
            raise ImproperlyConfigured(
                f"{name}_FILE names {error.filename}, which cannot be read: "
                f"{error.strerror}."
            ) from None
        values[name] = variable.default if not text else parse(name, variable, text)
    return values, [
        name
        for name in REMOVED
        if any(env.ENVIRON.env.get(key, "").strip() for key in (name, f"{name}_FILE"))
    ]


values, REMOVED_BUT_SET = read_variables()
DATABASE_URL = values["DATABASE_URL"]
DATABASE_OWNER_URL = values["DATABASE_OWNER_URL"]
MAKES_WHAT_IS_MISSING = sys.argv[1:2] == ["up"]
"""`up` starts a Valkey and makes secrets where none are given."""
for required in ("REDIS_URL", "SECRET_KEY", "PARTNER_API_KEY_PEPPER"):
    if DATABASE_URL and not values[required] and not MAKES_WHAT_IS_MISSING:
        raise ImproperlyConfigured(
            f"{required} is not set, and DATABASE_URL is; "
            f"example: {required}={VARIABLES[required].example}"
        )
DATABASE_DIRECT_URL: str = values["DATABASE_DIRECT_URL"] or DATABASE_URL
IS_POOLED = bool(values["DATABASE_DIRECT_URL"])
"""Whether DATABASE_URL names a pooler."""
REPLICA_URL: str = values["REPLICA_URL"]
PARTNER_API_REPLICA_LAG = 10
"""Seconds that REPLICA_URL may be behind and still serve what the primary can."""
PARTNER_API_REPLICA_SECONDS = 900
"""Seconds for which keys and grants are believed as REPLICA_URL knows them, after
DATABASE_URL has ceased to answer."""

PARTNER_API_EVENT_DAYS: int = values["PARTNER_API_EVENT_DAYS"]
LOG_FORMAT: str = values["LOG_FORMAT"]
PARTNER_API_METRICS: str = values["PARTNER_API_METRICS"]
PARTNER_API_BACKUPS: str = values["PARTNER_API_BACKUPS"]
PARTNER_API_STATEMENTS: str = values["PARTNER_API_STATEMENTS"]
PARTNER_API_STATEMENT_KEY: str = values["PARTNER_API_STATEMENT_KEY"]
PARTNER_API_KEY_PEPPER: str = values["PARTNER_API_KEY_PEPPER"]
PARTNER_API_SERVES: str = values["PARTNER_API_SERVES"]
PARTNER_API_SANDBOX: bool = values["PARTNER_API_SANDBOX"]
PARTNER_API_STAFF_OTP = not PARTNER_API_SANDBOX
"""Whether staff who may change the register need a second factor."""
PARTNER_API_PASSKEY_DOMAIN: str = values["PARTNER_API_PASSKEY_DOMAIN"]
PARTNER_API_SANDBOX_KEY: str = values["PARTNER_API_SANDBOX_KEY"]
PARTNER_API_DRIVEN = PARTNER_API_SANDBOX and PARTNER_API_SANDBOX_KEY != ""
"""Whether partners can drive the sandbox by mutations of its own."""
PARTNER_API_BASE_URL: str = values["PARTNER_API_BASE_URL"]
PARTNER_API_SANDBOX_URL: str = values["PARTNER_API_SANDBOX_URL"]
PARTNER_API_LOCAL_URL: str = values["PARTNER_API_LOCAL_URL"]
PARTNER_API_SITE = (
    PARTNER_API_LOCAL_URL if PARTNER_API_SANDBOX else PARTNER_API_BASE_URL
)
"""The address of this installation."""
PARTNER_API_TRUSTED_PROXIES: int = values["PARTNER_API_TRUSTED_PROXIES"]
PARTNER_API_HTTPS: bool = values["PARTNER_API_HTTPS"]
PARTNER_API_BUDGET_POINTS: int = values["PARTNER_API_BUDGET_POINTS"]
PARTNER_API_BUDGET_REFILL: int = values["PARTNER_API_BUDGET_REFILL"]
PARTNER_API_ANONYMOUS_BUDGET_POINTS: int = values["PARTNER_API_ANONYMOUS_BUDGET_POINTS"]
PARTNER_API_ANONYMOUS_BUDGET_REFILL: int = values["PARTNER_API_ANONYMOUS_BUDGET_REFILL"]
PARTNER_API_BUDGET_SECONDS: int = values["PARTNER_API_BUDGET_SECONDS"]
PARTNER_API_MAX_COST: int = values["PARTNER_API_MAX_COST"]
PARTNER_API_DATABASE_CONNECTIONS: int = values["PARTNER_API_DATABASE_CONNECTIONS"]
PARTNER_API_MAX_SECONDS: int = values["PARTNER_API_MAX_SECONDS"]
PARTNER_API_MAX_BODY_BYTES = 1_048_576
PARTNER_API_MAX_PAGE_SIZE = 100
PARTNER_API_MAX_DEPTH = 12
PARTNER_API_MAX_ALIASES = 100
PARTNER_API_MAX_FRAGMENTS = 50
PARTNER_API_MAX_DIRECTIVES = 10
PARTNER_API_MAX_TOKENS = 2_000
PARTNER_API_MAX_HOLDERS = 50_000
FIXED_LIMITS = {
    "PARTNER_API_MAX_BODY_BYTES": "largest request body, bytes",
    "PARTNER_API_MAX_PAGE_SIZE": "largest first or last",
    "PARTNER_API_MAX_DEPTH": "deepest nesting of fields, through fragments",
    "PARTNER_API_MAX_ALIASES": "aliases, or repetitions of one response name, in a "
    "document",
    "PARTNER_API_MAX_FRAGMENTS": "fragment spreads in a document",
    "PARTNER_API_MAX_DIRECTIVES": "directives on one node of a document",
    "PARTNER_API_MAX_TOKENS": "tokens in a document",
    "PARTNER_API_MAX_HOLDERS": "holders that one capitalization table may list",
}
"""What the limits mean that every installation has alike."""
PARTNER_API_CONNECTIONS_PER_ADDRESS = 2_000 if PARTNER_API_TRUSTED_PROXIES else 100
"""Connections that one address may hold in one web process; a proxy may hold all."""

MARKET_TIME_ZONE: str = values["MARKET_TIME_ZONE"]
FIX_HOST: str = values["FIX_HOST"]
FIX_PORT: int = values["FIX_PORT"]
FIX_COMP_ID: str = values["FIX_COMP_ID"]
FIX_ACCEPTOR: str = values["FIX_ACCEPTOR"]
FIX_MIC: str = values["FIX_MIC"]
FIX_SESSIONS: int = values["FIX_SESSIONS"]
FIX_TLS_CERTIFICATE: str = values["FIX_TLS_CERTIFICATE"]
FIX_TLS_KEY: str = values["FIX_TLS_KEY"]
FIX_TRUSTED_PROXIES: list[IPv4Network | IPv6Network] = values["FIX_TRUSTED_PROXIES"]
FIX_CONNECTIONS_PER_ADDRESS: int = values["FIX_CONNECTIONS_PER_ADDRESS"]
FIX_MIN_HEARTBEAT = 5
"""Shortest HeartBtInt(108) of a Logon, seconds; the longest is 60."""
FIX_REQUIRE_RESET = True
"""Whether a Logon needs ResetSeqNumFlag(141)=Y or MsgSeqNum(34)=1."""
FIX_FAILED_LOGONS_PER_MINUTE = 10
"""Of a login at an address, before more are refused unread."""
FIX_CONFLATION_MS = 100
"""Book updates are at least this far apart; 0: only those read at once are gathered."""
FIX_MESSAGES_PER_SECOND = 20
"""Messages that a session may send, with a burst of 50."""

# Without a database only commands that need none can run, `up` first of all.
SECRET_KEY, *SECRET_KEY_FALLBACKS = values["SECRET_KEY"] or [secrets.token_urlsafe(50)]
DEBUG = False
ALLOWED_HOSTS = values["ALLOWED_HOSTS"]

INSTALLED_APPS = [
    "partnerapi",
    "accounts",
    "issuers",
    "marketdata",
    "marketdata.trading",
    "partnerapi.staff.apps.BackOfficeConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "django.forms",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
]

MIDDLEWARE = [
    "partnerapi.gateway.middleware.answer_graphql_first",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "partnerapi.staff.authentication.sign_in.limit_sign_ins",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "partnerapi.staff.authentication.session_ends.end_sessions",
    "django_otp.middleware.OTPMiddleware",
    "partnerapi.staff.log.authorship.tell_author",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "partnerapi.urls"
WSGI_APPLICATION = "partnerapi.wsgi.application"
# Widgets, too, are made of the templates here where there is one.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"cells": "partnerapi.staff.cells"},
        },
    }
]

SESSION = {
    # A killed client's statement ends within half a second and frees its rows.
    "client_connection_check_interval": "500",
    "lock_timeout": "2000",
    # A server or a role with another default would have every change refused.
    "default_transaction_isolation": "read committed",
    "idle_in_transaction_session_timeout": "60000",
    # PostgreSQL warns of a commit that it does not hold to be durable.
    "client_min_messages": "warning",
    # Compiling a plan takes longer than running any that a request needs.
    "jit": "off",
}
SESSION_OF_REQUESTS = SESSION | {
    "statement_timeout": str(PARTNER_API_MAX_SECONDS * 1000)
}
"""Settings of a session of PostgreSQL; behind a pooler its role says it."""


def address(url: str, wanted: str = "read-write") -> dict[str, Any]:
    """Where an address leads, as Django names it; OPTIONS are those of its query.

    Of several hosts it is the first whose sessions are `wanted`: the primary, wherever
    a fail-over has brought it (libpq's target_session_attrs).
    """
    named: dict[str, Any] = environ.Env.db_url_config(url)
    named.setdefault("OPTIONS", {})
    hosts = urlsplit(url).netloc.rpartition("@")[2].split(",")
    if len(hosts) > 1:
        places = [urlsplit(f"//{host}") for host in hosts]
        named["HOST"] = ",".join(place.hostname or "" for place in places)
        named["PORT"] = ",".join(str(place.port or 5432) for place in places)
        named["OPTIONS"].setdefault("target_session_attrs", wanted)
    return named


def database(
    url: str, session: dict[str, str], wanted: str = "read-write"
) -> dict[str, Any]:
    """How Django connects to an address; what the address says goes before the rest."""
    named = address(url, wanted)
    given = named["OPTIONS"]
    if given.get("prepare_threshold") == "None":
        given["prepare_threshold"] = None
    values = {name: value.replace(" ", r"\ ") for name, value in session.items()}
    options = [*(f"-c {name}={value}" for name, value in values.items())]
    if "options" in given:
        options.append(given["options"])
    return named | {
        "ENGINE": "partnerapi.core.postgresql",
        # The threads of a web process share a few: `core/postgresql/lending.py`.
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": 2,
            # A server that a lost network hides is given up after ten seconds.
            "keepalives_idle": 5,
            "keepalives_interval": 1,
            "keepalives_count": 5,
            "tcp_user_timeout": 10_000,
            # Without settings of its own a session is a pooler's, which may give each
            # transaction another one: what is prepared in one is unknown to the next.
            "prepare_threshold": 5 if session else None,
        }
        | given
        | ({"options": " ".join(options)} if options else {}),
        "DISABLE_SERVER_SIDE_CURSORS": not session,
    }


DATABASES: dict[str, dict[str, Any]] = {"default": {}}
DATABASE_OF_REQUESTS: dict[str, Any] = {}
"""How the default connection of a web process differs from that of other processes."""
if DATABASE_URL:
    # The role has a limit for the statements of requests, and this is none.
    unlimited = {"statement_timeout": "0"} if IS_POOLED else {}
    DATABASES["default"] = database(DATABASE_DIRECT_URL, SESSION | unlimited)
    if IS_POOLED:
        DATABASE_OF_REQUESTS = database(DATABASE_URL, {})
    else:
        of_requests = database(DATABASE_URL, SESSION_OF_REQUESTS)
        DATABASE_OF_REQUESTS = {"OPTIONS": of_requests["OPTIONS"]}
if DATABASE_URL and DATABASE_OWNER_URL:
    # The same database by another role, in tests, too.
    OWNER = address(DATABASE_OWNER_URL)
    if OWNER["NAME"] != DATABASES["default"]["NAME"]:
        raise ImproperlyConfigured(
            f"DATABASE_OWNER_URL names the database {OWNER['NAME']}, and "
            f"DATABASE_URL {DATABASES['default']['NAME']}; both must name the same"
        )
    DATABASES["owner"] = DATABASES["default"] | {
        name: OWNER[name] for name in ("USER", "PASSWORD", "HOST", "PORT")
    }
    DATABASES["owner"]["TEST"] = {"MIRROR": "default"}

if DATABASE_URL and REPLICA_URL:
    DATABASES["replica"] = database(REPLICA_URL, SESSION_OF_REQUESTS, "prefer-standby")
    DATABASES["replica"]["TEST"] = {"MIRROR": "default"}

REDIS_URL: str = values["REDIS_URL"] or "redis://localhost:6379/0"
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"SOCKET_CONNECT_TIMEOUT": 0.1, "SOCKET_TIMEOUT": 0.1},
    }
}

EMAIL_URL: str = values["EMAIL_URL"] or (
    "consolemail://" if PARTNER_API_SANDBOX else ""
)
_email = environ.Env.email_url_config(EMAIL_URL or "consolemail://")
EMAIL_BACKEND: str = _email["EMAIL_BACKEND"]
EMAIL_HOST: str = _email.get("EMAIL_HOST") or ""
EMAIL_HOST_USER: str = _email.get("EMAIL_HOST_USER") or ""
EMAIL_HOST_PASSWORD: str = _email.get("EMAIL_HOST_PASSWORD") or ""
EMAIL_USE_TLS: bool = _email.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL: bool = _email.get("EMAIL_USE_SSL", False)
EMAIL_PORT: int = _email.get("EMAIL_PORT") or (
    587 if EMAIL_USE_TLS else 465 if EMAIL_USE_SSL else 25
)
# A server that does not answer holds up a worker for no longer.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL: str = values["EMAIL_FROM"]

# Absolute; an idle session of staff ends sooner: `partnerapi/staff/authentication/session_ends.py`.
SESSION_COOKIE_AGE = 12 * 60 * 60

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = ["partnerapi.staff.authentication.passwords.PBKDF2PasswordHasher"]
# Guesses at one staff member's password from one address lead to a lockout. It is long
# enough that a thousand guesses take two days, and short enough for a forgetful person.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_FORM_FIELD = "username"
AXES_USERNAME_CALLABLE = "partnerapi.staff.authentication.sign_in.login_of"
AXES_CLIENT_IP_CALLABLE = "partnerapi.staff.authentication.sign_in.place_of"
AXES_LOCKOUT_CALLABLE = "partnerapi.staff.authentication.sign_in.locked_out"
# FailedSignIn has all attempts; further guesses do not extend a lock.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
OTP_TOTP_ISSUER = "Partner platform"
# A colleague who removes a device must not see its secret.
OTP_ADMIN_HIDE_SENSITIVE_DATA = True
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]  # fmt: skip
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
FORMAT_MODULE_PATH = "partnerapi.core.formats"

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "templates" / "static"]
WHITENOISE_USE_FINDERS = PARTNER_API_SANDBOX
# A sandbox serves files from where they are written; production collects them.
STATIC_ROOT = None if PARTNER_API_SANDBOX else BASE_DIR / "staticfiles"

# A body over the API's limit is refused by the gateway, with its own error.
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024

# Of the back office; other pages bring a policy of their own.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PARTNER_API_HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if PARTNER_API_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = PARTNER_API_HTTPS
if PARTNER_API_TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    # Of the two only the one in use is made.
    "formatters": {
        LOG_FORMAT: {
            "text": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
            "json": {"()": "partnerapi.core.json_lines.formatter"},
        }[LOG_FORMAT]
    },
    "filters": {"refusals": {"()": "partnerapi.core.sparing_log.RefusalFilter"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["refusals"],
        }
    },
    "loggers": {
        # Each of its lines says what `staff/sign_in.py` says sparingly.
        "axes": {"level": "ERROR"},
        # Of each task up to four lines. What a job did stands in the table of its runs.
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.request": {"level": "WARNING"},
    },
    "root": {"handlers": ["stderr"], "level": values["LOG_LEVEL"]},
}
