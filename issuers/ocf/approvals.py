"""Requests for a register that an OCF package brings, with its issuer."""

from typing import Any

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from issuers.models import Issuer
from issuers.ocf.writing import ImportedPackage
from partnerapi.core.money import plural


def register_content(imported: ImportedPackage) -> dict[str, Any]:
    """The result of a package; both ids are derived from its exact content."""
    replay = imported.replay
    return {
        "issuer": str(imported.issuer.pk),
        "owner": str(imported.issuer.owner_id),
        "name": imported.issuer.trading_name,
        "supplies": {
            token.symbol: str(sum(replay.balances[class_id].values()))
            for class_id, token in imported.tokens.items()
            if replay.first.get(class_id)
        },
    }


def register_title(imported: ImportedPackage, name: str) -> str:
    tokens = plural(len(imported.tokens), "token")
    return f"Register of {imported.issuer} with {tokens}, from {name}"


class ImportRegister:
    """Carried out by the command, which alone has the package."""

    def preview(self, request: ApprovalRequest) -> Preview:
        content = request.content
        if issuer := Issuer.objects.filter(pk=content["issuer"]).first():
            raise Superseded(
                f"The register has already been imported, as {issuer.slug}."
            )
        rows = [("Company", "", content["name"])]
        rows += [
            (f"Units of {symbol}", "0", f"{int(supply):,}")
            for symbol, supply in sorted(content["supplies"].items())
        ]
        warning = "Compare the units with the company's own register."
        return Preview(rows, [warning])

    def execute(self, request: ApprovalRequest) -> None:
        """
        Raises:
            Superseded: always, since the command alone has the package.
        """
        self.preview(request)
        raise Superseded("Run `import ocf` with --approval to execute it.")
