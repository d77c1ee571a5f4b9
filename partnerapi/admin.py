"""Registers the pages of the rooms."""

# ruff: noqa: F401

import partnerapi.exports.admin
import partnerapi.gateway.admin
import partnerapi.operations.admin
import partnerapi.staff.approvals.pages
import partnerapi.staff.authentication.admin
import partnerapi.webhooks.admin
