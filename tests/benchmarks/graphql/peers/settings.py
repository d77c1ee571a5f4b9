"""Django for a peer: the product's database, no middleware but a Content-Length.

BENCHMARK_PEER is graphene_django or strawberry_django; BENCHMARK_DATABASE holds NAME,
HOST and so on, as JSON.
"""

import json
import os

PEER = os.environ["BENCHMARK_PEER"]

ALLOWED_HOSTS = ["127.0.0.1"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": None,
        **json.loads(os.environ["BENCHMARK_DATABASE"]),
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "tests.benchmarks.graphql.peers",
    PEER,
]
MIDDLEWARE = ["tests.benchmarks.graphql.peers.wsgi.with_content_length"]
ROOT_URLCONF = f"tests.benchmarks.graphql.peers.{PEER}_urls"
SECRET_KEY = "a benchmark signs nothing"
USE_TZ = True
