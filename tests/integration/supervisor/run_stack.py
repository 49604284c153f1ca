"""`pyoco up` with stand-ins for gateway and worker; the options come as JSON on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyoco.supervisor.main import run
from pyoco.supervisor.options import CannotStart, Patience, Programs, UpOptions
from pyoco.supervisor.restart import Policy

FAKE = str(Path(__file__).with_name("fake_child.py"))


def main() -> int:
    given = json.loads(sys.argv[1])
    options = UpOptions(
        data_dir=Path(given.pop("data_dir")),
        programs=Programs(gateway=(sys.executable, FAKE, "gateway"), worker=(sys.executable, FAKE, "worker")),
        patience=Patience(**{"stop": 10.0, **given.pop("patience", {})}),
        policy=Policy(**{"first_delay": 0.05, **given.pop("policy", {})}),
        **{"port": 0, "nats_port": 0, "nats_monitor_port": 0, "workers": 1, **given},
    )
    try:
        return run(options)
    except CannotStart as refusal:
        print(refusal, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
