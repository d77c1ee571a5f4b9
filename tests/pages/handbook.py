"""Takes the pictures of the handbook from a sandbox of its own.

python -m tests.pages.handbook
"""

import argparse
import io
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from partnerapi.staff.handbook_jobs import JOBS, Job
from tests.system import free_port, remove_servers, system

PICTURES = Path(__file__).resolve().parents[2] / "templates/static/help"
WINDOW = {"width": 1024, "height": 640}
SIZE = (640, 400)
COLOURS = 24
MOST_BYTES = 40_000


def sign_in(page: Any, described: Any) -> None:
    page.goto(described["admin"])
    page.get_by_label("Email").fill(described["staff"]["login"])
    page.get_by_label("Password").fill(described["staff"]["password"])
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Back office").wait_for()


def pictures(page: Any, admin: str, jobs: Iterable[Job]) -> Iterator[tuple[str, bytes]]:
    """Each job's slug, and a picture of the page where the job begins."""
    page.set_viewport_size(WINDOW)
    for job in jobs:
        answer = page.goto(admin + job.start)
        assert answer.ok, job.slug
        if job.opens:
            page.locator("#result_list tbody th a").first.click()
            page.wait_for_load_state("networkidle")
        shot = Image.open(io.BytesIO(page.screenshot()))
        small = shot.convert("RGB").resize(SIZE, Image.Resampling.LANCZOS)
        written = io.BytesIO()
        small.quantize(COLOURS).save(written, "PNG", optimize=True)
        yield job.slug, written.getvalue()


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    import django
    from playwright.sync_api import sync_playwright

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")
    django.setup()
    from tests.pages.test_browser import launch

    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        directory = Path(parent) / "state"
        with system(directory, free_port()) as running, sync_playwright() as playwright:
            browser = launch(playwright)
            page = browser.new_page()
            page.set_default_timeout(60_000)
            sign_in(page, running.described)
            for slug, picture in pictures(
                page, running.described["admin"], JOBS.values()
            ):
                (PICTURES / f"{slug}.png").write_bytes(picture)
                sys.stdout.write(f"{slug}: {len(picture):,} bytes\n")
            browser.close()
        remove_servers(directory)


if __name__ == "__main__":
    main()
