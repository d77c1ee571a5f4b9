"""Every kind of request, with the class that previews and executes it."""

from collections.abc import Mapping

from accounts.approvals import CloseAccount, IssueKey
from accounts.bank_statements import BookStatement
from accounts.four_eyes import Kind
from accounts.models import ApprovalKind
from accounts.suspense import AssignMoney
from accounts.withdrawals import MoveWithdrawal
from issuers.compliance.restrictions import LiftRestriction
from issuers.compliance.rules import SetRule
from issuers.grant_approvals import GiveGrant
from issuers.imports.ocf.approvals import ImportRegister
from issuers.legacy.approvals import ReleaseDelivery
from issuers.register.approvals import EnterUnits, SetPrice
from issuers.register.identities import ChangeIdentity
from marketdata.trading.busts import BustTrade
from marketdata.trading.phases import ReopenMarket

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
}
