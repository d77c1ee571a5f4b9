"""Registers the models of the rooms; they are imported from there."""

# ruff: noqa: F401

import accounts.accounts.models
import accounts.applicants.models
import accounts.approvals.models
import accounts.cash.models
import accounts.desk.models
import accounts.history.models
import accounts.investors.models
import accounts.keys.models
import accounts.passkeys.models
import accounts.payments.models
import accounts.people.models
import accounts.sign_ins.models
import accounts.totals
