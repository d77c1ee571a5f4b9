"""The path of the stock dictionary of FIX 4.4. Standard library only."""

import sys
from pathlib import Path

STOCK_DICTIONARY = Path(sys.prefix) / "share" / "quickfix" / "FIX44.xml"
"""FIX 4.4 as the QuickFIX project publishes it, which its package brings along."""
