"""Exports in the schema: to ask for one, and to see how far it is."""

from dataclasses import replace
from datetime import datetime

import graphene
from django.utils import timezone

from accounts.access import Unauthenticated
from partnerapi.core.errors import RequestTimeout
from partnerapi.core.lock_waits import LockTimeout, name_locked_row
from partnerapi.exports import models
from partnerapi.exports.access import check_access, check_scopes
from partnerapi.exports.connections import (
    CONNECTIONS,
    TYPES_NAMED,
    named,
    rights,
)
from partnerapi.exports.connections import ExportedConnection as Connection
from partnerapi.exports.creation import Wanted, check_members, create_export
from partnerapi.exports.download import address
from partnerapi.graphql.cost import MUTATION, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.relay import ModelType, Node, enumeration, key_of
from partnerapi.graphql.resolvers import check_first, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.trials import would_be

ExportedConnection = enumeration(
    Connection,
    "ExportedConnection",
    "A connection that can be exported as a file. HOLDERS and TRANSACTIONS are as of "
    "the instant that you ask for, all others as of the instant when they are read.",
    {name: each.description + named(each) for name, each in CONNECTIONS.items()},
)
Status = models.Export.Status
ExportStatus = enumeration(
    Status,
    "ExportStatus",
    "Status of an export.",
    {
        Status.WAITING: "Waiting until one of your other exports ends: "
        f"{models.MOST_AT_WORK} are written at a time.",
        Status.RUNNING: "Being written, or waiting for your budget to refill.",
        Status.READY: "Available for download for one day.",
        Status.FAILED: "Could not be written; `reason` says why.",
        Status.EXPIRED: "The file has been deleted after one day.",
    },
)


class Export(ModelType):
    """A connection as a file: gzip-compressed JSON Lines, one object a line."""

    class Meta:
        model = models.Export
        fields = ()
        interfaces = [Node]

    connection = ExportedConnection(
        required=True, description="The exported connection."
    )
    status = ExportStatus(required=True, description="Status of the export.")
    date = Time(
        description="The instant as of which its rows are exported. For connections "
        "without history it is null until the rows are read; pass it as "
        "`updatedSince` to find later changes."
    )
    rows = Uint64(required=True, description="Rows written so far.")
    size_bytes = Uint64(
        description="Size of the file in bytes; null until it can be downloaded."
    )
    url = graphene.String(
        description="Download URL that needs no key, valid for one hour; each query "
        "returns a new one. Keep it as secret as a key. Null unless READY."
    )
    expires_at = Time(
        description="When the file will be deleted; null before it is READY."
    )
    reason = graphene.String(description="Why it FAILED; null otherwise.")

    @needs("status", "expires_at")
    def resolve_status(exports, info):
        return [Status.EXPIRED if has_expired(e) else e.status for e in exports]

    @needs("status", "expires_at", "size_bytes")
    def resolve_size_bytes(exports, info):
        return [e.size_bytes if is_ready(e) else None for e in exports]

    @needs("status", "expires_at")
    def resolve_url(exports, info):
        absolute = info.context.absolute_url
        return [absolute(address(e.id)) if is_ready(e) else None for e in exports]


def has_expired(export):
    return (
        export.status == Status.READY
        and datetime.fromisoformat(export.expires_at) <= timezone.now()
    )


def is_ready(export):
    return export.status == Status.READY and not has_expired(export)


class Query(graphene.ObjectType):
    export = graphene.Field(
        Export,
        id=graphene.ID(required=True, description="The export's id."),
        description="One of your exports; null if you have none with this id. Needs "
        "the scope and the grant of its connection.",
    )

    def resolve_export(roots, info, id):
        caller = info.context.caller
        if caller is None:
            raise Unauthenticated(
                "`export` needs an API key: send it in the X-Token-Auth header."
            )
        exports = models.Export.objects.of_partner(caller)
        found = exports.filter(pk=key_of(id, "Export")).first()
        if found is None:
            return [None]
        check_access(found, caller)
        return read_rows("Export", info, exports, [str(found.pk)])


class CreateExportInput(graphene.InputObjectType):
    """The connection, its object and the instant."""

    connection = ExportedConnection(required=True, description="What to export.")
    issuer_id = graphene.ID(
        name="issuerID",
        description="The issuer's id, for connections that require or accept it.",
    )
    token_id = graphene.ID(
        name="tokenID", description="The token's id, for connections that require it."
    )
    account_id = graphene.ID(
        name="accountID",
        description="The account's id, for connections that require or accept it.",
    )
    date = Time(
        description="The instant, for HOLDERS and TRANSACTIONS; defaults to now, as do "
        "future instants."
    )


class CreateExportPayload(graphene.ObjectType):
    """The export, which a worker will write."""

    export = graphene.Field(
        Export, required=True, description="The export that was created."
    )

    def resolve_export(ids, info):
        exports = models.Export.objects.of_partner(info.context.caller)
        return read_rows("Export", info, exports, ids)


def check_creation(context, input):
    """Refuse what can never succeed before the idempotency key is claimed."""
    check_scopes(input["connection"], context.caller)
    check_members(input["connection"], named_ids(input), input.get("date"))


def named_ids(input):
    """What the input names, by the member that names it."""
    keys = {"issuerID": "issuer_id", "tokenID": "token_id", "accountID": "account_id"}
    ids = {name: input.get(key) for name, key in keys.items()}
    return {name: id for name, id in ids.items() if id is not None}


class Mutation(graphene.ObjectType):
    create_export = Field(
        CreateExportPayload,
        cost=MUTATION,
        input=CreateExportInput(required=True, description="What to export."),
        description="Export a whole connection to a file. Needs a key with the rights "
        f"of the connection. {rights()}",
    )

    @check_first(check_creation)
    def resolve_create_export(roots, info, input):
        wanted = Wanted(input["connection"], date=input.get("date"))
        for name, id in named_ids(input).items():
            key = key_of(id, TYPES_NAMED[name])
            wanted = replace(wanted, named_by=name, key=key)
        try:
            with name_locked_row():
                is_trial = info.context.trial is not None
                export = create_export(info.context.caller, wanted, is_trial)
        except LockTimeout as error:
            raise RequestTimeout(
                "Another of your exports is being created at the same time; nothing "
                "was done. Send the same request again."
            ) from error
        if is_trial:
            would_be(info.context.trial, "Export", export)
        return [str(export.pk)]


NODES = {"Export": models.Export.objects.visible_to}
"""By type, the rows that a caller may read by id."""
