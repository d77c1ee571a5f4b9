"""Which room may know which: imports and foreign keys go one way."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

# A room may import what stands before it, and itself.
ORDER = ["partnerapi.graphql", "accounts", "issuers", "marketdata", "partnerapi"]
EVERYBODY_MAY_IMPORT = ("partnerapi.settings",)
TOP_LEVEL = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "accounts",
    "issuers",
    "manage.py",
    "marketdata",
    "partnerapi",
    "pyproject.toml",
    "templates",
    "tests",
}


def room(module: str) -> int | None:
    """The place in ORDER of the room that a module lies in; None: not ours."""
    for number, name in enumerate(ORDER):
        if module == name or module.startswith(f"{name}."):
            return number
    return None


def files() -> Iterator[tuple[str, Path]]:
    for directory in ("partnerapi", "accounts", "issuers", "marketdata"):
        for path in sorted((settings.BASE_DIR / directory).rglob("*.py")):
            relative = path.relative_to(settings.BASE_DIR).with_suffix("")
            yield ".".join(relative.parts), path


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(("module", "path"), list(files()))
def test_imports_go_one_way(module: str, path: Path):
    here = room(module)
    assert here is not None
    # Commands compose: each may use whatever it commands.
    if ".management.commands." in module:
        return
    wrong = [
        name
        for name in imported(path)
        if not name.startswith(EVERYBODY_MAY_IMPORT) and (room(name) or 0) > here
    ]
    assert wrong == []


def test_foreign_keys_go_one_way():
    wrong = [
        f"{model.__name__}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if field.is_relation and field.concrete and field.related_model
        for here, there in [
            (room(model.__module__), room(field.related_model.__module__))
        ]
        if here is not None and there is not None and there > here
    ]
    assert wrong == []


def test_the_top_level_is_the_given_one():
    shown = {
        path.name
        for path in settings.BASE_DIR.iterdir()
        if not path.name.startswith(".")
        and not path.name.endswith(".egg-info")
        and path.name not in ("staticfiles", "build", "__pycache__")
    }
    assert shown <= TOP_LEVEL
