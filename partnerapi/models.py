"""Registers the models of the rooms; they are imported from there."""

# ruff: noqa: F401

import partnerapi.exports.models
import partnerapi.gateway.counts
import partnerapi.gateway.models
import partnerapi.operations.models
import partnerapi.staff.authentication.models
import partnerapi.staff.register.models
import partnerapi.webhooks.models
