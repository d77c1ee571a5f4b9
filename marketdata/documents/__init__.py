"""Documents for clients and partners: contract notes, statements, invoices."""
