from issuers.admin import companies, register

__all__ = ["companies", "register"]
