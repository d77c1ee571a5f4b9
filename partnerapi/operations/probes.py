"""What balancers and operators ask a web process: does it answer, can it serve."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from partnerapi.core.version import version
from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.diagnosis.readiness import Readiness

NEVER_KEPT = {"Cache-Control": "no-store"}

readiness = Readiness()


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; whatever else does."""
    return HttpResponse("ok\n", content_type="text/plain", headers=NEVER_KEPT)


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 where requests can be served, else 503; anyone may read it."""
    found = readiness.now()
    is_ready = all(finding.state is not State.FAILED for finding in found)
    answer = {
        "ready": is_ready,
        "version": version(),
        "checks": [public_fields(finding) for finding in found],
    }
    status = 200 if is_ready else 503
    return JsonResponse(answer, status=status, headers=NEVER_KEPT)


def public_fields(finding: Finding) -> dict[str, Any]:
    """Nothing that `says` may name: roles, hosts, files."""
    told = {"check": finding.check, "state": finding.state, **finding.figures}
    return told | ({"remedy": finding.remedy} if finding.remedy else {})
