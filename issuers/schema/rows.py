"""Reads rows that objects of several types refer to."""

from accounts.people.models import User as UserModel
from issuers import models
from partnerapi.graphql.pages import read_rows

NULLS_ISSUER = (
    "an error here nulls the issuer, or, in a list of issuers, the whole response, "
    "because list items are non-null"
)
NULLS_TOKEN = (
    "an error here nulls the token, or, in a list of tokens, the issuer, because "
    "list items are non-null"
)


def read_issuers(ids, info):
    return read_rows("Issuer", info, models.Issuer.objects.all(), ids)


def read_users(ids, info):
    return read_rows("User", info, UserModel.objects.all(), ids)


def read_documents(ids, info):
    return read_rows("Document", info, models.Document.objects.all(), ids)


def ids(rows):
    return [row.id for row in rows]
