from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry
from tests.characters import World
from tests.issuers.register import people
from tests.owner import superuser


@pytest.fixture
def staff(db):
    user = superuser(
        "ana@example.com", "a long password", type="INDIVIDUAL", first_name="Ana",
        last_name="Lund",
    )  # fmt: skip
    client = Client()
    client.force_login(user)
    return client


def shown(staff, token):
    return staff.get(reverse("admin:token", args=[token.pk])).content.decode()


def form_of(staff, token):
    address = reverse("admin:issuers_token_change", args=[token.pk])
    return staff.get(address).content.decode()


def test_a_token_is_shown_with_its_register(world: World, staff):
    token = world.public_token
    page = shown(staff, token)
    assert "No price yet: units are valued at zero." in page
    assert "No entries yet: no unit of" in page
    own = ledger.treasury(world.listed)
    [user] = people(1)
    [account] = ledger.holder_accounts([user.pk]).values()
    first, _ = ledger.record(
        [
            Entry(token.pk, "MINT", 12_000, None, own, reason="Issue <1>"),
            Entry(token.pk, "ALLOCATE", 2_500, own, account),
        ],
        "ana@example.com",
    )
    ledger.set_price(token.pk, 1_250, "NAV", "bo@example.com")
    page = shown(staff, token)
    assert "<dt>Held</dt><dd>2,500</dd>" in page
    time = first.effective_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    assert (
        f'<td class="time">{time}</td><td>Mint</td><td class="number">12,000</td>'
        '<td class="brief">—</td><td class="brief">treasury</td>'
        '<td class="number">12,000</td><td class="brief">ana@example.com</td>'
        '<td class="brief">Issue &lt;1&gt;</td></tr>'
    ) in " ".join(page.split()).replace(" </td>", "</td>")
    price = "€12.50"
    assert (
        f'<td class="number">{price}</td><td>Net asset value</td>'
        '<td class="brief">bo@example.com</td>'
    ) in page
    listed = staff.get(reverse("admin:issuers_token_changelist")).content.decode()
    assert '<td class="field-supply">12,000</td>' in listed
    assert f'<td class="field-price">{price}</td>' in listed
    assert "delete_selected" not in listed


def test_what_the_register_forbids_is_not_offered(world: World, staff):
    token = world.public_token
    ledger.set_price(token.pk, 1, "MANUAL", "ana@example.com")
    address = reverse("admin:issuers_token_change", args=[token.pk])
    assert 'name="issuer"' not in form_of(staff, token)
    other = "SECONDARY_MARKET"
    data = {
        "issuer": world.quiet.pk, "name": "New name", "symbol": token.symbol,
        "visibility": token.visibility, "market_type": other,
    }  # fmt: skip
    assert staff.post(address, data).status_code == 302
    token.refresh_from_db()
    assert (token.name, token.issuer) == ("New name", world.listed)
    assert token.market_type == "PRIMARY_MARKET"
    delete = reverse("admin:issuers_token_delete", args=[token.pk])
    assert staff.post(delete, {"post": "yes"}).status_code == 403
    assert Token.objects.filter(pk=token.pk).exists()


def test_a_token_without_a_ledger_stays_where_it_is(world: World, staff):
    """Tables of the past list it from its creation on."""
    token = Token.objects.create(
        issuer=world.listed, name="New", symbol="NEW",
        created_at=datetime(2024, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    assert 'name="issuer"' not in form_of(staff, token)
    delete = reverse("admin:issuers_token_delete", args=[token.pk])
    assert staff.post(delete, {"post": "yes"}).status_code == 403
    assert Token.objects.filter(pk=token.pk).exists()
