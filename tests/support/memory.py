"""The memory of a process, as the kernel counts it: resident, in MiB."""

import re

from c_programs import sanitizer_flags


def _status(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(rf"^{field}:\s+(\d+) kB", file.read(), re.MULTILINE)[1]) / 1024


def resident_mb(pid):
    return _status(pid, "VmRSS")


class Growth:
    """By how much a process grew at most since this object was made."""

    def __init__(self, pid):
        self.pid = pid
        with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # resets VmHWM
        self.before = resident_mb(pid)

    def peak_mb(self):
        return _status(self.pid, "VmHWM") - self.before

    def check(self, most_mb):
        """Sanitizers keep freed memory for a while: with them only the answers are checked."""
        if not sanitizer_flags():
            assert self.peak_mb() < most_mb
