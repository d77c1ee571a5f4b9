"""Every kind of request, with the class that previews and executes it."""

from collections.abc import Mapping

from accounts.accounts.approvals import CloseAccount
from accounts.approvals.four_eyes import Kind
from accounts.approvals.models import ApprovalKind
from accounts.cash.bank_statements import BookStatement
from accounts.cash.suspense import AssignMoney
from accounts.cash.withdrawals import MoveWithdrawal
from accounts.desk.invitations import InviteToDesk
from accounts.keys.approvals import IssueKey
from accounts.sign_ins.resets import ResetSignIn
from issuers.compliance.restrictions import LiftRestriction
from issuers.compliance.rules import SetRule
from issuers.grants import GiveGrant
from issuers.legacy.approvals import ReleaseDelivery
from issuers.ocf.approvals import ImportRegister
from issuers.offerings.deciding import MoveOffering, SettleOffering
from issuers.offerings.paying import PayIssuer
from issuers.register.approvals import EnterUnits, SetPrice
from issuers.register.erasure import ErasePerson
from issuers.register.identities import ChangeIdentity
from marketdata.trading.busts import BustTrade
from marketdata.trading.controls import ReleaseOrders
from marketdata.trading.parameters import SetParameters
from marketdata.trading.phases import ReopenMarket
from marketdata.trading.tariffs import SetTariff

KINDS: Mapping[str, Kind] = {
    ApprovalKind.MINT: EnterUnits(),
    ApprovalKind.BURN: EnterUnits(),
    ApprovalKind.FORCED_TRANSFER: EnterUnits(),
    ApprovalKind.REVERSAL: EnterUnits(),
    ApprovalKind.PRICE: SetPrice(),
    ApprovalKind.DELIVERY: ReleaseDelivery(),
    ApprovalKind.KEY: IssueKey(),
    ApprovalKind.CLOSING: CloseAccount(),
    ApprovalKind.WITHDRAWAL: MoveWithdrawal(),
    ApprovalKind.ASSIGNMENT: AssignMoney(),
    ApprovalKind.RULE: SetRule(),
    ApprovalKind.LIFTING: LiftRestriction(),
    ApprovalKind.BUST: BustTrade(),
    ApprovalKind.REOPEN: ReopenMarket(),
    ApprovalKind.STATEMENT: BookStatement(),
    ApprovalKind.TRANSFER: EnterUnits(),
    ApprovalKind.IDENTITY: ChangeIdentity(),
    ApprovalKind.GRANT: GiveGrant(),
    ApprovalKind.REGISTER: ImportRegister(),
    ApprovalKind.DESK: InviteToDesk(),
    ApprovalKind.RELEASE: ReleaseOrders(),
    ApprovalKind.SIGN_IN: ResetSignIn(),
    ApprovalKind.TARIFF: SetTariff(),
    ApprovalKind.PARAMETERS: SetParameters(),
    ApprovalKind.ERASURE: ErasePerson(),
    ApprovalKind.OFFERING: MoveOffering(),
    ApprovalKind.SETTLEMENT: SettleOffering(),
    ApprovalKind.PAYOUT: PayIssuer(),
}

BY_ASKER: Mapping[str, str] = {
    ApprovalKind.KEY: "The requester issues the key on this page.",
    ApprovalKind.REGISTER: (
        "The owner of the package imports it with manage.py import ocf --approval and "
        "the id of this request."
    ),
    ApprovalKind.ERASURE: (
        "The requester runs manage.py erase_person --approval with the id of this "
        "request."
    ),
    ApprovalKind.SETTLEMENT: (
        "The requester settles the offering on its page, or with manage.py offering "
        "settle --approval and the id of this request."
    ),
}
"""What an approval does not carry out at once, and what follows."""
