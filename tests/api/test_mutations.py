"""Every mutation refuses a key without its scope, before its key is claimed."""

from types import SimpleNamespace

import pytest

from accounts.access import Caller, Forbidden, Scope, Unauthenticated
from partnerapi.exports.connections import CONNECTIONS
from partnerapi.schema import schema

MUTATIONS = schema.mutation_type.fields


def without_scopes() -> Caller:
    return Caller(
        partner_id="0", login="acme", partner="Acme", scopes=frozenset(),
        granted_issuers=None, budget_points=1, budget_refill=1,
    )  # fmt: skip


INPUTS: dict[str, list[dict[str, str]]] = {
    "createExport": [
        {"connection": name} for name, e in CONNECTIONS.items() if e.scopes
    ]
}
"""Of a mutation whose input decides which scope it needs."""
WITH_INPUTS = [(name, input) for name in MUTATIONS for input in INPUTS.get(name, [{}])]


@pytest.mark.parametrize(("name", "input"), WITH_INPUTS)
def test_needs_a_scope_that_its_description_names(name: str, input: dict[str, str]):
    field = MUTATIONS[name]
    check = getattr(field.extensions["batch"], "check", None)
    assert check, "its resolver needs @checked(check_…), which refuses a key at once"
    arguments = dict.fromkeys(field.args, input)

    with pytest.raises(Unauthenticated):
        check(SimpleNamespace(caller=None), **arguments)
    with pytest.raises(Forbidden) as refused:
        check(SimpleNamespace(caller=without_scopes()), **arguments)
    scope = refused.value.details["requiredScope"]
    assert scope in Scope.values
    assert f"Needs the scope `{scope}`" in field.description


@pytest.mark.parametrize("name", [n for n, e in CONNECTIONS.items() if not e.scopes])
def test_an_export_of_what_needs_no_scope_needs_a_key(name: str):
    check = MUTATIONS["createExport"].extensions["batch"].check
    with pytest.raises(Unauthenticated):
        check(SimpleNamespace(caller=None), input={"connection": name})
