"""The file of an export: whole, from any byte on, and who may have it."""

from typing import Any
from uuid import uuid4

import pytest
from django.core import signing
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.keys.models import ApiKey
from issuers import grants
from issuers.models import IssuerGrant
from partnerapi.exports import download
from partnerapi.exports.models import Export, ExportMember
from tests.approved import asker
from tests.characters import World
from tests.exports.conftest import Partner, uuid_of
from tests.owner import tamper


def body(response: Any) -> bytes:
    return b"".join(response) if response.streaming else response.content


def test_a_file_is_resumed_from_any_byte(client_of: Partner, ready: str):
    whole = client_of.get(ready)
    file = body(whole)
    size, etag = len(file), whole["ETag"]
    assert (whole.status_code, whole["Content-Length"]) == (200, str(size))
    assert whole["Content-Type"] == "application/gzip"
    assert whole["Accept-Ranges"] == "bytes"
    assert Export.objects.get(pk=uuid_of(ready)).members > 1
    for first in range(0, size, 37):
        rest = client_of.get(ready, Range=f"bytes={first}-", **{"If-Range": etag})
        assert (rest.status_code, body(rest)) == (206, file[first:])
        assert rest["Content-Range"] == f"bytes {first}-{size - 1}/{size}"
    for wanted, part in {
        "bytes=5-9": file[5:10],
        "bytes=-7": file[-7:],
        f"bytes=-{size + 1}": file,
        f"bytes=3-{size + 9}": file[3:],
    }.items():
        found = client_of.get(ready, Range=wanted)
        assert (found.status_code, body(found)) == (206, part)
        assert found["Content-Length"] == str(len(part))


@pytest.mark.parametrize(
    "headers",
    [
        {"Range": "bytes=5-", "If-Range": '"another"'},
        {"Range": "bytes=9-5"},
        {"Range": "bytes=0-1,5-6"},
        {"Range": "bytes=-"},
        {"Range": "lines=1-2"},
    ],
)
def test_a_range_that_does_not_count_gets_the_whole_file(
    headers: dict[str, str], client_of: Partner, ready: str
):
    found = client_of.get(ready, **headers)
    assert found.status_code == 200
    assert len(body(found)) == Export.objects.get(pk=uuid_of(ready)).size_bytes


def test_there_is_nothing_behind_the_file(client_of: Partner, ready: str):
    size = Export.objects.get(pk=uuid_of(ready)).size_bytes
    for wanted in (f"bytes={size}-", "bytes=-0"):
        found = client_of.get(ready, Range=wanted)
        assert (found.status_code, found["Content-Range"]) == (416, f"bytes */{size}")


def test_who_has_the_file_is_not_sent_it_again(client_of: Partner, ready: str):
    etag = client_of.get(ready)["ETag"]
    found = client_of.get(ready, **{"If-None-Match": etag})
    assert (found.status_code, body(found)) == (304, b"")
    url = client_of.export(ready)["url"]
    head = client_of.http.head(url)
    size = Export.objects.get(pk=uuid_of(ready)).size_bytes
    assert (head.status_code, head["Content-Length"]) == (200, str(size))
    checking = Client(enforce_csrf_checks=True)
    assert checking.post(url).status_code == 405


def test_the_signature_is_of_one_export_and_ends(
    client_of: Partner, ready: str, monkeypatch: pytest.MonkeyPatch
):
    url, pk = client_of.export(ready)["url"], str(uuid_of(ready))
    assert client_of.http.get(url).status_code == 200
    bare, _, signature = url.partition("?signature=")
    other = download.address(str(uuid4())).partition("?signature=")[2]
    for wrong in ("", "?signature=", f"?signature={other}", f"?signature={signature}x"):
        assert client_of.http.get(bare + wrong).status_code == 403

    def signed(seconds_ago: int) -> str:
        at = int(timezone.now().timestamp()) - seconds_ago
        with monkeypatch.context() as patched:
            stamp = signing.b62_encode(at)
            patched.setattr(download.signer, "timestamp", lambda: stamp)
            return download.address(pk)

    assert client_of.http.get(signed(3_500)).status_code == 200
    assert client_of.http.get(signed(3_700)).status_code == 403


def test_a_withdrawn_grant_or_key_stops_the_download(
    world: World, client_of: Partner, ready: str
):
    url = client_of.export(ready)["url"]
    for key in ApiKey.objects.filter(partner=world.partner):
        key.revoke(timezone.now())
    assert client_of.http.get(url).status_code == 403
    # A revoked key stays so; only the owner of the tables could revive it.
    tamper("UPDATE accounts_apikey SET revoked_at = NULL")
    assert client_of.http.get(url).status_code == 200
    grants.end(IssuerGrant.objects.get(partner=world.partner), asker())
    assert client_of.http.get(url).status_code == 403


def test_after_a_day_it_is_gone(client_of: Partner, ready: str):
    url, pk = client_of.export(ready)["url"], uuid_of(ready)
    tamper("UPDATE partnerapi_export SET expires_at = now()")
    assert client_of.http.get(url).status_code == 410
    told = client_of.export(ready)
    assert (told["status"], told["url"], told["sizeBytes"]) == ("EXPIRED", None, None)
    call_command("prune", "exports", "--dry-run")
    assert ExportMember.objects.exists()
    call_command("prune", "exports")
    assert not ExportMember.objects.exists()
    assert Export.objects.get(pk=pk).status == "EXPIRED"
    assert client_of.export(ready)["status"] == "EXPIRED"
    tamper("UPDATE partnerapi_export SET ended_at = now() - interval '31 days'")
    call_command("prune", "exports")
    assert not Export.objects.exists()


def test_who_has_no_signature_draws_on_the_budget(
    ready: str, settings: Any, client: Client
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 2
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    found = [client.get(f"/exports/{uuid4()}").status_code for _ in range(5)]
    assert found[:2] == [403, 403]
    assert 429 in found
