"""What every test shares: a private cache directory, so that no test reads what another run compiled."""

from __future__ import annotations

import os
import tempfile

# Set before cotangent is imported anywhere, subprocesses included; each pytest worker gets its own directory.
os.environ["CT_CACHE_DIR"] = tempfile.mkdtemp(prefix="cotangent-test-cache-")
