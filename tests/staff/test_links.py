"""Pages of rows lead to the pages that show more of them."""

from tests.characters import World


def test_an_issuer_and_a_token_lead_to_their_pages(world: World, staff):
    issuer, token = world.listed.pk, world.public_token.pk
    page = staff.get(f"/admin/issuers/issuer/{issuer}/change/").content.decode()
    assert f'href="/admin/issuer/{issuer}/"' in page
    assert f'href="/admin/issuer/{issuer}/captable/"' in page
    page = staff.get(f"/admin/issuers/token/{token}/change/").content.decode()
    assert f'href="/admin/token/{token}/ledger/"' in page
    assert f'href="/admin/token/{token}/book/"' in page
