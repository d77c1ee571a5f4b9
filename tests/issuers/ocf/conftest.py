import json

import pytest

from tests.issuers.ocf.packages import files, run


@pytest.fixture
def write(tmp_path):
    """A package as a folder, a file each; what is text already stays."""

    def write(package):
        folder = tmp_path / "package"
        for name, content in package.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(
                content if isinstance(content, str) else json.dumps(content)
            )
        return folder

    return write


@pytest.fixture
def load(write):
    return lambda *transactions, **more: run(write(files(*transactions, **more)))
