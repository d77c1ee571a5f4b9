"""The settings, with limits that no operator changes as a test has them (LIMITS)."""

import json
import os

from partnerapi.settings import *  # noqa: F403

globals().update(json.loads(os.environ["LIMITS"]))
