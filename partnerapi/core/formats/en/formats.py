"""How pages write times: as the API does, not in words. Django looks for it here."""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = "Y-m-d H:i:s T"
