"""Runs programs one after the other in this process, and says what each printed: one line of JSON for each.

    python runner.py DATA DIRECTORY QMGR [CHANNEL CONNAME]

With DATA the queue manager is started here, below that directory; with "-" it runs elsewhere. A program that does not
end within a minute ends all: the traceback says where it stood.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import runpy
import sys
import traceback
from pathlib import Path

_SECONDS_MAX = 60


def _run(program: Path, arguments: list[str]) -> dict[str, str]:
    sys.argv = [str(program), *arguments]
    output, errors = io.StringIO(), io.StringIO()
    faulthandler.dump_traceback_later(_SECONDS_MAX, exit=True)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            runpy.run_path(str(program), run_name="__main__")
        except BaseException:
            traceback.print_exc()
    faulthandler.cancel_dump_traceback_later()
    return {"program": program.stem, "output": output.getvalue(), "errors": errors.getvalue()}


def main() -> None:
    data, directory, *arguments = sys.argv[1:]
    with contextlib.ExitStack() as stack:
        if data != "-":
            from ostler.testing import queue_manager

            mqsc = (Path(__file__).parent / "objects.mqsc").read_text()
            stack.enter_context(queue_manager(arguments[0], mqsc=mqsc, data=data))
        for program in sorted(Path(directory).glob("*.py")):
            print(json.dumps(_run(program, arguments)), flush=True)


if __name__ == "__main__":
    main()
