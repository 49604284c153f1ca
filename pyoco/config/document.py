"""Writes docs/settings.md from the settings: `python -m pyoco.config.document > docs/settings.md`."""

from __future__ import annotations

import sys

from .groups import GROUPS
from .specs import ELSEWHERE, SPECS, Spec, as_text

_HEAD = """\
# Settings

<!-- Written by `python -m pyoco.config.document`; change pyoco/config/groups.py, not this page. -->

A setting can be given in four places. The first that has it wins:

1. a flag on the command line, where the table names one;
2. an environment variable;
3. the file `.env` in the current directory (`PYOCO_ENV_FILE` names another, `PYOCO_LOAD_DOTENV=0` turns it off): lines
   `NAME=value`, comments with `#`, quotes `'…'` (as it stands) and `"…"` (with `\\n`, `\\t`, `\\"`). Nothing is
   expanded;
4. the file `pyoco.yaml` in the current directory: a flat mapping whose keys are the names without `PYOCO_`, in lower
   case. Lists may be YAML lists.

```yaml
nats_url: nats://10.0.0.5:4222
allowed_hosts: [pyoco.example.org]
```

A blank value counts as not given. A value that is not allowed ends the program with exit code 1 and says which setting,
where it stands and what is allowed. An unknown `PYOCO_…` variable or key is only a warning. Relative paths start at the
current directory. Secrets are never shown.

The last column says which document defines a setting: "v0" are the two documents of the run server, the others are the
pages of this project's contract, with the number of the section.
"""


def page() -> str:
    lines = [_HEAD]
    for group in GROUPS:
        lines += [
            f"## {group.__doc__}",
            "",
            "| variable | default | allowed | meaning | documented in |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(spec) for spec in SPECS.values() if spec.group is group]
        lines.append("")
    lines += ["## Read elsewhere", "", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{variable}` | {meaning} |" for variable, meaning in ELSEWHERE.items()]
    return "\n".join([*lines, ""])


def _row(spec: Spec) -> str:
    flag = f"<br>`{spec.about.flag}`" if spec.about.flag else ""
    default = "`none`" if spec.name == "http_auth_mode" else f"`{as_text(spec.default)}`"
    shown = "–" if default == "``" else default
    return f"| `{spec.variable}`{flag} | {shown} | {spec.allowed} | {spec.about.help} | {spec.about.source} |"


if __name__ == "__main__":
    sys.stdout.write(page())
