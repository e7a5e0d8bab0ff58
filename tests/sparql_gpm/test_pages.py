"""What a dictionary has released goes back to the system, whatever stands on the heap beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.interning.pages import zeros

ROOT = Path(__file__).parents[2]
PROGRAM = """
import mmap
import numpy as np
from sparql_gpm.interning.term_table import ByteStrings

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE

np.ones(30 << 20, dtype=np.uint8)  # as it is freed, the heap takes arrays of this size from now on
strings, beside = ByteStrings(), []
for block in range(40):
    strings.add_all([b"%d " % number + bytes(90) for number in range(block * 5000, block * 5000 + 5000)])
    beside.append(np.ones(1 << 14, dtype=np.uint8))
held, full = resident(), len(strings.arena)
released = strings.retain(np.zeros(strings.bound, dtype=np.bool_))
print(released, full, held - resident())
"""


def test_what_is_released_goes_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    released, used, returned = map(int, done.stdout.split())
    assert released == 200_000
    assert returned > 0.5 * used > 8 << 20


@given(st.lists(st.sampled_from((0, 1, 3, 5000)), min_size=1, max_size=2), st.sampled_from((np.uint8, np.int64)))
def test_pages_are_an_array_of_zeros_that_can_be_written(shape: list[int], dtype: type[np.uint8 | np.int64]) -> None:
    array = zeros(tuple(shape), dtype)
    assert array.shape == tuple(shape) and array.dtype == dtype and not array.any()
    array[:] = 7
    assert (array == 7).all()
    assert array.flags.c_contiguous and array.flags.aligned
