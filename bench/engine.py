"""Compares our engine with pyoco 0.8.0, in turns in one run, and prints ratios.

Run it with `make bench`. The peer is installed into a scratch environment that is thrown away afterwards.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

PEER = "pyoco==0.8.0"
TURNS = 5
ROUNDS = 5
HERE = Path(__file__).parent

Samples = dict[str, list[float]]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="pyoco-bench-") as scratch:
        peer = install_peer(Path(scratch) / "peer")
        sides: dict[str, tuple[str, str]] = {
            "pyoco 0.8.0": (str(peer), "plain"),
            "ours": (sys.executable, "plain"),
            "ours, async": (sys.executable, "coroutine"),
        }
        samples = measure(sides)
    print_table(samples)
    print_start_up()


def install_peer(target: Path) -> Path:
    print(f"installing {PEER} into a scratch environment …", file=sys.stderr)
    venv.create(target, with_pip=True)
    python = target / "bin" / "python"
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEER]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return python


def measure(sides: dict[str, tuple[str, str]]) -> dict[str, Samples]:
    """All sides in turn, so that a slow moment of the machine meets each of them."""
    samples: dict[str, Samples] = {side: {} for side in sides}
    for turn in range(TURNS):
        print(f"turn {turn + 1} of {TURNS} …", file=sys.stderr)
        for side, (python, kind) in sides.items():
            # From the scratch side's own directory: the checkout must not shadow the installed peer.
            command = [python, "-I", str(HERE / "workloads.py"), kind, str(ROUNDS)]
            done = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/")
            for case, seconds in json.loads(done.stdout).items():
                samples[side].setdefault(case, []).extend(seconds)
    return samples


def print_table(samples: dict[str, Samples]) -> None:
    peer, ours, coroutine = samples.values()
    print(f"Microseconds per node: median of {TURNS * ROUNDS} runs (best). Ratios: peer / ours, medians.\n")
    print(f"{'case':<14}{'pyoco 0.8.0':>18}{'ours':>18}{'ratio':>8}{'ours, async':>18}")
    for case in peer:
        size = int(case.split()[-1])
        ratio = statistics.median(peer[case]) / statistics.median(ours[case])
        columns = [per_node(side[case], size) for side in (peer, ours, coroutine)]
        print(f"{case:<14}{columns[0]:>18}{columns[1]:>18}{ratio:>7.1f}×{columns[2]:>18}")


def per_node(seconds: list[float], size: int) -> str:
    return f"{statistics.median(seconds) / size * 1e6:.1f} ({min(seconds) / size * 1e6:.1f})"


def print_start_up() -> None:
    times = {}
    for name, command in {
        "python -c pass": [sys.executable, "-c", "pass"],
        "pyoco --help": [sys.executable, "-m", "pyoco", "--help"],
    }.items():
        seconds = []
        for _ in range(10):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
        times[name] = statistics.median(seconds) * 1e3
    print("\nStart-up, median of 10: " + ", ".join(f"{name} {ms:.0f} ms" for name, ms in times.items()))


if __name__ == "__main__":
    main()
