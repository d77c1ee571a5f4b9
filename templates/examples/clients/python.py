"""Suspends your first active account, exactly once.

Needs PARTNER_API_URL, PARTNER_API_KEY and: pip install "gql[requests]>=4"
"""

import os
import uuid

from gql import Client, GraphQLRequest
from gql.transport.exceptions import TransportQueryError
from gql.transport.requests import RequestsHTTPTransport

ACCOUNTS = """
query {
  accounts(first: 3, status: ACTIVE) { nodes { id user { displayName } } }
}
"""
UPDATE = """
mutation ($input: UpdateAccountStatusInput!) {
  updateAccountStatus(input: $input) { changedAt account { id status } }
}
"""

headers = {"X-Token-Auth": os.environ["PARTNER_API_KEY"]}
# Retries with the same body and key when a response is lost or asks to wait.
transport = RequestsHTTPTransport(
    os.environ["PARTNER_API_URL"],
    headers=headers,
    timeout=15,
    retries=4,
    retry_status_forcelist=(409, 429, 500, 502, 503, 504),
)


def update(session, account_id, status, key):
    variables = {"input": {"accountID": account_id, "status": status}}
    request = GraphQLRequest(UPDATE, variable_values=variables)
    sent = {"headers": {**headers, "Idempotency-Key": str(key)}}
    return session.execute(request, extra_args=sent)["updateAccountStatus"]


with Client(transport=transport) as session:
    accounts = session.execute(GraphQLRequest(ACCOUNTS))["accounts"]["nodes"]
    account = accounts[0]
    print("account", account["id"], account["user"]["displayName"])

    # One key per change; keep it until you have the response.
    key = uuid.uuid4()
    change = update(session, account["id"], "SUSPENDED", key)
    print(change["account"]["status"], change["changedAt"])

    # A repeated request changes nothing and returns the first response.
    change = update(session, account["id"], "SUSPENDED", key)
    print(change["account"]["status"], change["changedAt"])
    print("replayed:", transport.response_headers["Idempotent-Replayed"])

    # Branch on the code: messages are for people and may change.
    try:
        update(session, account["id"], "PENDING", uuid.uuid4())
    except TransportQueryError as refused:
        why = refused.errors[0]["extensions"]
        print("refused:", why["code"], why.get("allowedStatuses"))
