"""The handbook: each job that it names exists, each page links to its job."""

import re
from urllib.parse import urlsplit

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import resolve, reverse
from PIL import Image

from partnerapi.staff import handbook
from partnerapi.staff.approvals.filing import FORMS
from partnerapi.staff.handbook import OF_LISTS, OF_PAGES, OF_REQUESTS, job_of, roles
from partnerapi.staff.handbook_jobs import JOBS
from partnerapi.staff.work import WORK
from tests.pages.handbook import MOST_BYTES, PICTURES, SIZE

pytestmark = pytest.mark.django_db
WITHOUT_MENU = {
    "login", "logout", "second_factor", "autocomplete", "jsi18n", "app_list",
    "view_on_site",
}  # fmt: skip
OF_NO_JOB = {"index", "help", "help_job", "help_role"}


def test_each_page_of_the_back_office_belongs_to_a_job():
    names = {getattr(url, "name", None) for url in admin.site.get_urls()} - {None}
    unknown = []
    for name in sorted(names - WITHOUT_MENU - OF_NO_JOB - {"ask", "work"}):
        try:
            assert job_of(name, {}) in JOBS
        except KeyError:
            unknown.append(name)
    assert unknown == [], "name its job in OF_PAGES or OF_LISTS"
    assert {job_of("ask", {"kind": kind}) for kind in FORMS} <= set(JOBS)
    assert {job_of("work", {"name": name}) for name in WORK} <= set(JOBS)
    assert {kind.lower() for kind in FORMS} == set(OF_REQUESTS)


def test_no_page_is_named_that_is_gone():
    names = {getattr(url, "name", None) for url in admin.site.get_urls()}
    assert set(OF_PAGES) - names == set()
    lists = {
        f"{model._meta.app_label}_{model._meta.model_name}"
        for model in admin.site._registry
    }
    assert set(OF_LISTS) == lists


def test_each_job_has_a_role_a_picture_and_at_most_twenty_sentences():
    doing = {job.slug for role in roles()[:-1] for job in role.jobs}
    assert set(JOBS) - doing == set(), "jobs that no role may do"
    for job in JOBS.values():
        sentences = re.findall(r"[.?!](?:\s|$)", " ".join(job.steps))
        assert 3 <= len(job.steps) <= len(sentences) <= 20, job.slug
        picture = PICTURES / f"{job.slug}.png"
        assert picture.stat().st_size < MOST_BYTES, job.slug
        with Image.open(picture) as shown:
            assert shown.size == SIZE, job.slug
    assert {path.stem for path in PICTURES.glob("*.png")} == set(JOBS)


def test_every_link_of_the_handbook_works(staff: Client):
    seen, waiting = set(), [reverse("admin:help")]
    while waiting:
        page = waiting.pop()
        answer = staff.get(page)
        assert answer.status_code == 200, page
        text = answer.content.decode().partition("<main")[2].partition("</main")[0]
        for link in re.findall(r'href="(/admin/[^"#]+)', text):
            path = urlsplit(link).path
            if path in seen:
                continue
            seen.add(path)
            resolve(path)
            if path.startswith(reverse("admin:help")):
                waiting.append(link)
    jobs = {reverse("admin:help_job", args=[slug]) for slug in JOBS}
    named = {reverse("admin:help_role", args=[role.slug]) for role in roles()}
    assert jobs | named <= seen
    for job in JOBS.values():
        assert staff.get(f"/admin/{job.start}").status_code == 200, job.slug


@pytest.mark.parametrize(
    ("page", "job"),
    [
        ("find/?q=silva", "find"),
        ("payments/", "pay"),
        ("ask/grant/", "grants"),
        ("do/cancel-orders/", "cancel-orders"),
        ("do/stop-orders/", "stop-orders"),
        ("accounts/withdrawal/", "withdrawals"),
        ("issuers/article/add/", "publish"),
    ],
)
def test_a_page_links_to_the_handbook_at_its_job(staff: Client, page: str, job: str):
    text = staff.get(f"/admin/{page}").content.decode()
    assert f'href="/admin/help/{job}/">Help</a>' in text


@pytest.mark.parametrize("page", ["", "help/", "help/pay/", "help/role/treasury/"])
def test_help_on_the_first_page_lists_all_jobs(staff: Client, page: str):
    text = staff.get(f"/admin/{page}").content.decode()
    assert '<a href="/admin/help/">Help</a>' in text


def test_unknown_pages_are_not_found(staff: Client):
    for page in ("help/nothing/", "help/role/nothing/", "do/nothing/"):
        assert staff.get(f"/admin/{page}").status_code == 404


def test_who_may_not_do_a_job_reads_so(staff: Client):
    assert "Go to the page" in staff.get("/admin/help/pay/").content.decode()
    support = {job.slug for job in handbook.role_of("Support").jobs}
    assert "pay" not in support
    assert "open-account" in support
