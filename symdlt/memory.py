"""How much memory this machine has."""

from __future__ import annotations

import ctypes
import os
import sys


def memory_of_machine() -> float:
    """Bytes of physical memory; infinite where no system says how many.

    >>> memory_of_machine() > 1e6
    True
    """
    if sys.platform == "win32":
        # GetPhysicallyInstalledSystemMemory writes kilobytes.
        kilobytes = ctypes.c_ulonglong()
        if ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes)):
            return 1024.0 * kilobytes.value
        return float("inf")
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
