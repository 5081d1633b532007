"""The kernel's figures: text as proc(5) documents it, awkward names, and what is refused."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.lab.sampling import kernel_text

_counts = st.integers(0, 2**40)
_names = st.text(st.characters(exclude_characters="\n"), max_size=15)


def stat_line(pid: int, name: str, user: int, system: int, start: int, pages: int) -> str:
    rest = [
        "S",
        "77",
        *["0"] * 9,
        str(user),
        str(system),
        "0",
        "0",
        "20",
        "0",
        "3",
        "0",
        str(start),
        "4096",
        str(pages),
    ]
    return f"{pid} ({name}) {' '.join(rest)} 0 0 0\n"


@given(st.integers(1, 2**22), _names, _counts, _counts, _counts, _counts)
def test_a_process_is_read_whatever_its_name(
    pid: int, name: str, user: int, system: int, start: int, pages: int
) -> None:
    found = kernel_text.process_stat(stat_line(pid, name, user, system, start, pages))
    assert (found.pid, found.name, found.parent, found.threads) == (pid, name, 77, 3)
    assert (found.user_ticks, found.system_ticks, found.start_ticks) == (user, system, start)
    assert found.resident_pages == pages
    assert not found.is_over


@pytest.mark.parametrize("text", ["", "12 python S 1", "12 (python) S 1 2 3"])
def test_a_process_that_is_cut_short_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no name|only \d+ fields"):
        kernel_text.process_stat(text)


def test_the_real_process_agrees_with_the_system() -> None:
    found = kernel_text.process_stat(Path("/proc/self/stat").read_text())
    assert (found.pid, found.parent) == (os.getpid(), os.getppid())
    spent = time.process_time() * os.sysconf("SC_CLK_TCK")
    assert abs(found.user_ticks + found.system_ticks - spent) <= 3


def test_storage_is_told_apart_from_calls() -> None:
    text = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 5\nwrite_bytes: 4\ncancelled_write_bytes: 3\n"
    assert kernel_text.storage_use(text) == kernel_text.StorageUse(5, 4, 7, 6)
    with pytest.raises(ValueError, match="write_bytes"):
        kernel_text.storage_use(text.replace("write_bytes: 4\n", ""))


def test_switches_and_waits_of_a_thread() -> None:
    status = "Name:\tpython\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n"
    assert kernel_text.context_switches(status) == (12, 3)
    assert kernel_text.core_wait_ns("1000 250 4\n") == 250
    with pytest.raises(ValueError, match="three numbers"):
        kernel_text.core_wait_ns("1000\n")


STAT = """cpu  100 1 50 800 9 2 3 5 40 0
cpu0 60 1 30 400 5 1 2 1 20 0
cpu1 40 0 20 400 4 1 1 4 20 0
intr 5 0 0
ctxt 4321
procs_running 3
"""


def test_the_states_of_cores() -> None:
    found = kernel_text.machine_stat(STAT)
    assert found.together.total == 970, "guests are within user already"
    assert found.together.busy == 156
    assert (found.together.steal, found.together.iowait) == (5, 9)
    assert len(found.cores) == 2
    assert (found.context_switches, found.running) == (4321, 3)
    with pytest.raises(ValueError, match="all cores"):
        kernel_text.machine_stat("ctxt 1\n")
    with pytest.raises(ValueError, match="states"):
        kernel_text.machine_stat("cpu  1 2 3\n")


def test_a_state_that_the_kernel_corrected_downwards_counts_as_nothing() -> None:
    early = kernel_text.CoreTimes(10, 0, 0, 100, 5, 0, 0, 0)
    late = kernel_text.CoreTimes(15, 0, 0, 99, 6, 0, 0, 0)
    assert late.minus(early) == kernel_text.CoreTimes(5, 0, 0, 0, 1, 0, 0, 0)


NETWORK = """Inter-|   Receive                                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 1000      10    0    2    0     0          0         0     1000      10    0    1    0     0       0          0
  eth0:  500       5    0    0    0     0          0         0      300       3    0    4    0     0       0          0
  eth1:   50       1    0    0    0     0          0         0       30       1    0    0    0     0       0          0
"""


def test_loopback_is_told_apart_from_other_interfaces() -> None:
    assert kernel_text.network_use(NETWORK, loopback=True) == kernel_text.NetworkUse(1000, 10, 1000, 10, 3)
    assert kernel_text.network_use(NETWORK, loopback=False) == kernel_text.NetworkUse(550, 6, 330, 4, 4)


DISKS = """   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 36 35 99 28 24 96 13 48 0 16 60 15 11 64 22 97 64
   8       1 sda1 1 0 2 0 3 0 4 0 0 5 0
"""


def test_a_disk_is_found_by_its_numbers() -> None:
    assert kernel_text.disk_use(DISKS, 254, 0) == kernel_text.DiskUse(
        "vda", 36, 99 * 512, 24, 13 * 512, 16, 97, 28 + 48 + 64, 60
    )
    old = kernel_text.disk_use(DISKS, 8, 1)
    assert old is not None
    assert (old.flushes, old.busy_ms) == (0, 5), "kernels before 5.5 do not count flushes"
    assert (old.wait_ms, old.queue_ms) == (0, 0)
    assert kernel_text.disk_use(DISKS, 0, 25) is None, "a file system in memory"


def test_memory_and_swap() -> None:
    text = "MemTotal: 100 kB\nMemFree: 5 kB\nMemAvailable: 60 kB\nDirty: 2 kB\nSwapTotal: 10 kB\nSwapFree: 9 kB\n"
    assert kernel_text.memory_use(text) == kernel_text.MemoryUse(102_400, 61_440, 2048, 10_240, 9216)
    assert kernel_text.swapped_pages("nr_free 3\npswpin 4\npswpout 5\n") == 9
    assert kernel_text.load_average("2.69 4.57 6.49 7/151 19648\n") == 2.69
