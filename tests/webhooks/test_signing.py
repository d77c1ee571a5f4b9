"""Signatures, against the libraries that partners verify them with."""

import json
from pathlib import Path
from time import time

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from partnerapi.webhooks import signing
from tests.packages import node, npm_packages

BODY = b'{"test": 2432232314}'
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
VERIFY = """
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";
const { secret, headers, body } = JSON.parse(readFileSync(process.argv[2]));
new Webhook(secret).verify(body, headers);
console.log("verified");
"""


def test_the_published_vector():
    made = signing.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, BODY, [SECRET])
    assert made == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@pytest.fixture
def now() -> int:
    return int(time())


def test_the_python_library_verifies_either_secret(now: int):
    old, new = signing.new_secret(), signing.new_secret()
    headers = signing.headers("msg_1", now, BODY, [new, old])
    for secret in (old, new):
        Webhook(secret).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(signing.new_secret()).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new).verify(BODY + b" ", headers)


def test_the_javascript_library_verifies(now: int, tmp_path: Path):
    directory = npm_packages("standardwebhooks@1.0.0")
    program = directory / "verify.mjs"
    program.write_text(VERIFY)
    secret = signing.new_secret()
    given = tmp_path / "message.json"
    headers = signing.headers("msg_1", now, BODY, [signing.new_secret(), secret])
    given.write_text(
        json.dumps({"secret": secret, "headers": headers, "body": BODY.decode()})
    )
    ran = node(str(program), str(given), cwd=directory)
    assert ran.stdout == "verified\n", ran.stderr
