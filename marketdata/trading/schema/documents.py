"""Issued documents, as the partner reads and fetches them."""

from base64 import b64encode

import graphene

from accounts.access import Scope, requires
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.schema import Account
from marketdata.trading.fees import Fee as FeeRow
from marketdata.trading.models import DocumentKind as Kind
from marketdata.trading.models import IssuedDocument as DocumentModel
from marketdata.trading.schema.orders import Fee
from partnerapi.graphql.cost import OBJECT, Cost, Field
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    connection_field,
    enumeration,
)
from partnerapi.graphql.resolvers import needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

FILE = Cost(points=2)
"""Of the text of a whole document."""
NEEDS_SCOPE = "Needs the scope `documents:read`."
IssuedDocumentKind = enumeration(
    Kind,
    "IssuedDocumentKind",
    "Kind of an issued document.",
    {
        Kind.CONTRACT_NOTE: "What an account traded on a day, with its fees.",
        Kind.STATEMENT: "An account's cash and its client's units over a quarter.",
        Kind.INVOICE: "The fees of all your clients in a month.",
    },
)


def newest_documents(name, parent=None):
    return OrderedList(
        name,
        "IssuedDocument",
        DocumentModel,
        (OrderKey("trading_issueddocument.issued_at", "timestamptz"),),
        descending=True,
        parent=parent,
    )


INVOICES = newest_documents("invoices")
DOCUMENTS_OF_ACCOUNT = newest_documents("accountDocuments", "account_id")


class IssuedDocument(ModelType):
    """A contract note, a statement or an invoice, kept as it was issued.

    Its two files and their digests never change.
    """

    class Meta:
        model = DocumentModel
        fields = ()
        interfaces = [Node]

    kind = IssuedDocumentKind(required=True, description="What it is.")
    number = Uint64(
        required=True, description="Number among all documents of its kind."
    )
    account = graphene.Field(
        Account,
        description="The account whose trades, cash and units it states; null for an "
        "invoice.",
    )
    begins = graphene.String(
        required=True,
        description="First day, such as 2026-10-01, in the markets' zone.",
    )
    ends = graphene.String(required=True, description="Last day, included.")
    fee = Field(
        Fee,
        required=True,
        cost=OBJECT,
        description="Fees of its period, less those that came back after busts; a sum "
        "may be negative.",
    )
    issued_at = Time(required=True, description="When it was issued.")
    json = Field(
        graphene.String,
        required=True,
        cost=FILE,
        description="The document as JSON. Its UTF-8 bytes have the digest "
        "`jsonDigest`; amounts are euro cents.",
    )
    json_digest = graphene.String(
        required=True, description="SHA-256 of the JSON, in hexadecimal digits."
    )
    pdf = Field(
        graphene.String,
        required=True,
        cost=FILE,
        description="The document as PDF, in Base64 (RFC 4648, section 4).",
    )
    pdf_digest = graphene.String(
        required=True, description="SHA-256 of the PDF's bytes, in hexadecimal digits."
    )

    @needs("account_id")
    def resolve_account(documents, info):
        accounts = AccountModel.objects.of_partner(info.context.caller)
        ids = [document.account_id for document in documents]
        return read_rows("Account", info, accounts, ids)

    @needs("begins")
    def resolve_begins(documents, info):
        return [f"{document.begins}" for document in documents]

    @needs("ends")
    def resolve_ends(documents, info):
        return [f"{document.ends}" for document in documents]

    @needs("fee_net", "fee_vat")
    def resolve_fee(documents, info):
        return [FeeRow(document.fee_net, document.fee_vat) for document in documents]

    @needs("content")
    def resolve_json(documents, info):
        return [bytes(document.content).decode() for document in documents]

    @needs("content_digest")
    def resolve_json_digest(documents, info):
        return [document.content_digest.hex() for document in documents]

    @needs("pdf")
    def resolve_pdf(documents, info):
        return [b64encode(document.pdf).decode() for document in documents]

    @needs("pdf_digest")
    def resolve_pdf_digest(documents, info):
        return [document.pdf_digest.hex() for document in documents]


class IssuedDocumentConnection(Connection):
    class Meta:
        node = IssuedDocument


class Query(graphene.ObjectType):
    invoices = connection_field(
        IssuedDocumentConnection,
        "Your monthly invoices of your clients' fees, latest first; each is paid "
        f"already. {NEEDS_SCOPE}",
    )

    @requires(Scope.DOCUMENTS_READ)
    def resolve_invoices(roots, info, **page):
        found = DocumentModel.objects.visible_to(info.context.caller)
        return read_pages(INVOICES, info, found.filter(kind=Kind.INVOICE), **page)


@requires(Scope.DOCUMENTS_READ)
def read_account_documents(accounts, info, kind=None, **page):
    found = DocumentModel.objects.visible_to(info.context.caller)
    if kind is not None:
        found = found.filter(kind=kind)
    ids = [account.id for account in accounts]
    return read_pages(DOCUMENTS_OF_ACCOUNT, info, found, ids, **page)


ACCOUNT_DOCUMENTS = connection_field(
    IssuedDocumentConnection,
    "Contract notes and statements of the account, latest first. " + NEEDS_SCOPE,
    resolver=read_account_documents,
    kind=IssuedDocumentKind(description="Only documents of this kind."),
)
NODES = {"IssuedDocument": DocumentModel.objects.visible_to}
"""By type, the rows that a caller may read by id."""
