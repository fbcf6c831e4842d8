"""Waits of the tests' programs: for a condition, with an end that says what did not come."""
import time


def eventually(test, seen=lambda: None, limit=180):
    """Waits until test() is true, and returns what it returned. `seen` tells what there is instead after `limit` seconds."""
    end = time.monotonic() + limit
    while not (result := test()):
        if time.monotonic() > end:
            raise AssertionError("not within %d seconds: %s" % (limit, seen()))
        time.sleep(0.01)
    return result


def state(pid):
    """The letter that ps(1) shows of a process; None if there is no such process."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def has_ended(pid):
    """Whether a process has ended; one that its parent has not waited for counts as ended."""
    return state(pid) in (None, "Z")


def await_block(pid):
    """Waits until a process waits in a system call, or has ended."""
    still = 0
    while still < 5:
        still = 0 if state(pid) == "R" else still + 1
        time.sleep(0.002)
