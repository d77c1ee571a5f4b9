"""What each server is asked, and its answer in terms that all of them share."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from typing import Any

OWN = (
    "tradingName tagLine description website slug tradingLocation twitterUrl youtubeUrl"
    " linkedinUrl facebookUrl discordUrl instagramUrl initialNumberOfShares"
    " marketDescription"
)
OWNERS = "lei companyName legalForm"
FIGURES = "createdAt periodType year revenue ebitda ebit netIncome"
PAGE_INFO = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"


class WrongAnswer(Exception):
    """A server answered something else than the database holds."""


def pipe_id(value: str) -> str:
    return value.partition("|")[2]


def relay_id(value: str) -> str:
    return base64.b64decode(value).decode().partition(":")[2]


@dataclass(frozen=True)
class Dialect:
    """How a server's schema names what all of them are asked for."""

    issuers: str
    financial_data: str
    owner: str
    figures: str = FIGURES
    id: str = "id"
    row_id: Callable[[str], str] = field(default=relay_id)

    def document(self, first: int, nested: int) -> str:
        return (
            f"{{ issuers: {self.issuers}(first: {first}) {{ edges {{ cursor node {{"
            f" {self.id} {OWN} {self.owner}"
            f" financialData: {self.financial_data}(first: {nested}) {{"
            f" edges {{ cursor node {{ {self.id} {self.figures} }} }} {PAGE_INFO} }}"
            f" }} }} {PAGE_INFO} }} }}"
        )

    def read(self, data: dict[str, Any]) -> dict[str, Any]:
        """An answer as `rows.expected` has it."""
        nodes, more = read_page(data["issuers"])
        return {"issuers": list(map(self.read_issuer, nodes)), "hasNextPage": more}

    def read_issuer(self, node: dict[str, Any]) -> dict[str, Any]:
        figures, more = read_page(node["financialData"])
        return {
            "id": self.row_id(node["id"]),
            **{name: node[name] for name in OWN.split()},
            **read_owner(node),
            "initialNumberOfShares": whole(node["initialNumberOfShares"]),
            "financialData": list(map(self.read_figures, figures)),
            "hasNextPage": more,
        }

    def read_figures(self, node: dict[str, Any]) -> dict[str, Any]:
        amounts = ("revenue", "ebitda", "ebit", "netIncome")
        return {
            "id": self.row_id(node["id"]),
            "createdAt": datetime.fromisoformat(node["createdAt"]),
            "periodType": node["periodType"],
            "year": node["year"],
            **{name: whole(node[name]) for name in amounts},
        }


def read_page(connection: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """A page's nodes, and whether more follow; its cursors have to fit together."""
    cursors = [edge["cursor"] for edge in connection["edges"]]
    info = connection["pageInfo"]
    if (
        len(set(cursors)) < len(cursors)
        or not all(cursors)
        or info["startCursor"] != cursors[0]
        or info["endCursor"] != cursors[-1]
        or info["hasPreviousPage"]
    ):
        raise WrongAnswer(f"cursors {cursors} do not fit {info}")
    return [edge["node"] for edge in connection["edges"]], info["hasNextPage"]


def read_owner(node: dict[str, Any]) -> dict[str, Any]:
    if "owner" not in node:
        names = [*OWNERS.split(), "headquartersAddress"]
        return {name: node[name] for name in names}
    owner = node["owner"]
    town = f"{owner['postalCode']} {owner['city']}"
    address = ", ".join([owner["address"], town, owner["country"]["name"]])
    fields = {name: owner[name] for name in OWNERS.split()}
    return fields | {"headquartersAddress": address}


def whole(value: str | int | None) -> int | None:
    # PostGraphile writes a bigint as a string.
    return None if value is None else int(value)


PRODUCT = Dialect(
    issuers="issuers",
    financial_data="financialData",
    owner=f"{OWNERS} headquartersAddress",
    row_id=pipe_id,
)
DJANGO_PEER = Dialect(
    issuers="issuers",
    financial_data="financialData",
    owner=f"owner {{ {OWNERS} address postalCode city country {{ name }} }}",
)
POSTGRAPHILE = Dialect(
    issuers="allIssuersIssuers",
    financial_data="issuersIssuerfinancialdataByIssuerId",
    owner=f"owner: accountsUserByOwnerId {{ {OWNERS} address postalCode city"
    " country: accountsCountryByCountryId { name } }",
    figures="createdAt periodType year revenue: revenueCents ebitda: ebitdaCents"
    " ebit: ebitCents netIncome: netIncomeCents",
    id="id: rowId",
    row_id=str,
)


def compare(found: Any, wanted: Any, place: str = "answer") -> None:
    """Demand that two values are equal.

    Raises:
        WrongAnswer: naming the first place where they differ.
    """
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in sorted({*found, *wanted}):
            compare(found.get(name), wanted.get(name), f"{place}.{name}")
    elif isinstance(found, list) and isinstance(wanted, list):
        for n, pair in enumerate(zip_longest(found, wanted)):
            compare(*pair, f"{place}[{n}]")
    elif found != wanted:
        raise WrongAnswer(f"{place} is {found!r}, and the database holds {wanted!r}")
