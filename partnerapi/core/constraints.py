"""Constraints of models."""

from django.db.models import CheckConstraint, Expression, Q


def check(name: str, condition: Q | Expression) -> CheckConstraint:
    """A rule that the database keeps for each row; its name states the rule."""
    return CheckConstraint(condition=condition, name=name)
