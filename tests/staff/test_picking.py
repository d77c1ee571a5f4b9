"""Fields that offer rows while someone types."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from issuers.legacy.models import LegacyImport
from partnerapi.staff.approvals.filing import FORMS
from partnerapi.staff.log.pages import WantedForm
from partnerapi.staff.picking import PICKS, Picker
from partnerapi.staff.register.delivery.choosing import ChoiceForm
from partnerapi.staff.register.uploads import UploadForm
from partnerapi.staff.work import WORK
from tests.characters import World
from tests.staff.test_markets import Traded, of_role

TYPED = {
    "token", "source", "target", "partner", "issuer", "account", "line", "withdrawal",
    "restriction", "person",
}  # fmt: skip
"""Fields of requests that take the identifier of a row."""


def offers(client, kind: str, text: str) -> list[tuple[str, str]]:
    answer = client.get(f"/admin/pick/{kind}/", {"q": text})
    assert answer.status_code == 200
    return [(each["value"], each["label"]) for each in answer.json()["choices"]]


def test_rows_are_offered_by_the_beginning_of_their_names(world: World, staff):
    token, partner = world.public_token, world.partner
    assert offers(staff, "token", token.symbol[:2].lower())[0][0] == token.symbol
    assert offers(staff, "token", str(token.pk)) == [
        (token.symbol, f"{token.name}, {token.issuer}")
    ]
    assert (partner.login, partner.name) in offers(staff, "partner", partner.name[:3])
    assert (world.listed.slug, "Lumen") in offers(staff, "issuer", "lum")
    assert any("Roca" in label for _, label in offers(staff, "person", "ines"))
    assert offers(staff, "halted", token.symbol) == []


@pytest.mark.parametrize("kind", PICKS)
@pytest.mark.parametrize("text", ["", "%", "x" * 500, "\0", "Ines Roca"])
def test_any_text_is_answered_by_three_statements_more(world, staff, kind, text):
    with CaptureQueriesContext(connection) as captured:
        assert len(offers(staff, kind, text)) <= 10
    assert len(captured) <= 5


def test_each_kind_asks_for_the_right_to_view_its_rows(world: World, staff):
    support = of_role("Key manager")
    for kind, pick in PICKS.items():
        answer = support.get(f"/admin/pick/{kind}/", {"q": "a"})
        meta = pick.model._meta
        hidden = meta.model_name in ("withdrawal", "bankline")
        assert answer.status_code == (403 if hidden else 200), kind
    assert staff.get("/admin/pick/nonsense/").status_code == 404


def test_staff_orders_and_imports_are_offered(world: World, staff):
    assert offers(staff, "staff", "sam") == [("sam@example.com", "Sam Staff")]
    assert offers(staff, "staff", "ines") == []
    file = LegacyImport.objects.create(
        issuer=world.listed, file_name="a.csv", checksum_sha256="0" * 64,
        imported_by="me",
    )  # fmt: skip
    assert offers(staff, "import", "lum") == [(str(file.pk), "a.csv of Lumen")]
    traded = Traded()
    [(value, label)] = offers(staff, "order", "S-1")
    assert value == str(traded.sold.pk)
    assert label.startswith(f"Sell 10 {traded.token.symbol}, ")
    assert offers(staff, "order", str(traded.bought.pk)) == []


def test_every_field_of_other_forms_that_names_a_row_offers_rows():
    forms = [*(work.form for work in WORK.values()), UploadForm, ChoiceForm, WantedForm]
    plain = {
        (form.__name__, name)
        for form in forms
        for name, field in form.base_fields.items()
        if name in TYPED | {"login", "client", "order", "batch", "who"}
        and not isinstance(field.widget, Picker)
    }
    # Of units, and of an export: a choice of few, and no row.
    assert plain == {("OfferingDraftForm", "source"), ("WantedForm", "source")}


def test_every_field_of_a_request_that_names_a_row_offers_rows():
    fields = {
        (kind, name): field
        for kind, form in FORMS.items()
        for name, field in form.base_fields.items()
        if name in TYPED
    }
    assert len(fields) >= 20
    for place, field in fields.items():
        assert isinstance(field.widget, Picker), place
        assert field.widget.attrs["data-pick"] in PICKS, place
