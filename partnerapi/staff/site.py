"""The back office as a whole: who comes in, and how."""

from base64 import b32encode
from typing import Any

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from accounts.models import User
from partnerapi.staff.log import pages as log
from partnerapi.staff.second_factor import CodeForm, device_of, is_needed, picture
from partnerapi.staff.sign_in import SignInForm


class BackOffice(admin.AdminSite):
    login_form = SignInForm

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and not lacks_factor(request)

    def get_urls(self) -> list[Any]:
        return [
            path("second-factor/", self.second_factor, name="second_factor"),
            path("log/", self.admin_view(log.show), name="log"),
            *super().get_urls(),
        ]

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Sign in with a password; who has done so goes on to the second factor."""
        if request.method == "GET" and super().has_permission(request):
            return redirect_to_login(
                after(request), reverse("admin:second_factor"), "next"
            )
        return super().login(request, extra_context)

    @method_decorator([never_cache, csrf_protect])
    def second_factor(self, request: HttpRequest) -> HttpResponse:
        """Ask for a code; who has no device yet is shown how to get one."""
        if not super().has_permission(request):
            return redirect_to_login(after(request), reverse("admin:login"))
        if not lacks_factor(request):
            return HttpResponseRedirect(after(request))
        assert isinstance(request.user, User)
        device = device_of(request.user)
        form = CodeForm(request, device, request.POST or None)
        if form.is_valid():
            form.let_in()
            return HttpResponseRedirect(after(request))
        context = self.each_context(request) | {
            "title": "Second factor",
            "form": form,
            "next": after(request),
        }
        if not device.confirmed:
            context |= {
                "picture": picture(device),
                "secret": b32encode(device.bin_key).decode(),
            }
        return TemplateResponse(request, "admin/second_factor.html", context)


def lacks_factor(request: HttpRequest) -> bool:
    user: Any = request.user
    return is_needed(user) and not user.is_verified()


def after(request: HttpRequest) -> str:
    """The address of this site to which somebody wanted to go."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(
        wanted, {request.get_host()}, request.is_secure()
    )
    return wanted if is_ours else reverse("admin:index")
