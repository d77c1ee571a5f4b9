"""Every mutation refuses a key without its scope, before its key is claimed."""

from types import SimpleNamespace

import pytest

from accounts.access import Caller, Forbidden, Scope, Unauthenticated
from partnerapi.schema import schema

MUTATIONS = schema.mutation_type.fields


def without_scopes() -> Caller:
    return Caller(
        partner_id="0", login="acme", partner="Acme", scopes=frozenset(),
        granted_issuers=None, budget_points=1, budget_refill=1,
    )  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_needs_a_scope_that_its_description_names(name: str):
    field = MUTATIONS[name]
    check = field.extensions["batch"].check
    arguments: dict[str, dict] = {argument: {} for argument in field.args}

    with pytest.raises(Unauthenticated):
        check(SimpleNamespace(caller=None), **arguments)
    with pytest.raises(Forbidden) as refused:
        check(SimpleNamespace(caller=without_scopes()), **arguments)
    scope = refused.value.details["requiredScope"]
    assert scope in Scope.values
    assert f"Needs the scope `{scope}`" in field.description
