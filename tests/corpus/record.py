"""Record what a reference package does with the corpus.

<python of the reference> tests/corpus/record.py 0.8     writes expected_08.json
<python of the reference> tests/corpus/record.py 0.6     writes expected_06.json
<any python>              tests/corpus/record.py --case ID   prints one observation
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from flows import flow_cases  # noqa: E402
from observe import Case, Observation, differences, load_cases, observe  # noqa: E402


@contextlib.contextmanager
def scratch_directory() -> Iterator[Path]:
    """A current directory of its own: the reference drops `./artifacts` wherever it runs."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="corpus-") as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def observe_in_child(case_id: str, *python_options: str) -> Observation:
    """Run one case in a process of its own, with the interpreter that runs us."""
    command = [sys.executable, *python_options, str(HERE / "record.py"), "--case", case_id]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        return {"escaped": ["child process"], "text": done.stderr}
    answer: Observation = json.loads(done.stdout.splitlines()[-1])
    return answer


def all_cases(version: str) -> dict[str, Case]:
    return load_cases() | flow_cases("yaml") if version == "0.8" else flow_cases("yaml06")


def record(version: str) -> int:
    recorded: dict[str, Observation] = {}
    complaints: list[str] = []
    for case_id, case in all_cases(version).items():
        if case.child:
            seen = observe_in_child(case_id)
        else:
            with scratch_directory() as scratch:
                seen = observe(case, scratch)
        text = seen.pop("text", None) if "escaped" in seen else None
        recorded[case_id] = json.loads(json.dumps(seen))
        if "site-packages" in json.dumps(seen) or str(HERE) in json.dumps(seen):
            complaints.append(f"{case_id}: observes a path of this machine")
        if case.expect is None and "escaped" in seen:
            complaints.append(f"{case_id}: the case itself failed: {seen['escaped']} {text}")
        if case.expect is not None and not differences(case.expect, recorded[case_id]):
            complaints.append(f"{case_id}: marked as fixed ({case.fixed}), but the reference already does it")
    target = HERE / f"expected_{version.replace('.', '')}.json"
    lines = [
        f"{json.dumps(key)}: {json.dumps(recorded[key], ensure_ascii=False, sort_keys=True)}"
        for key in sorted(recorded)
    ]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(recorded)} cases -> {target.name}")
    for complaint in complaints:
        print("  " + complaint)
    return 1 if complaints else 0


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--case"]:
        cases = load_cases() | flow_cases("yaml") | flow_cases("yaml06")
        with scratch_directory() as scratch:
            seen = observe(cases[arguments[1]], scratch)
        print("\n" + json.dumps(seen), flush=True)
        os._exit(0)  # a thread that never ends must not keep the answer
    return record(arguments[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
