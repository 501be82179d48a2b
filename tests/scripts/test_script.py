import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "compare_variants.py"


@pytest.mark.slow
def test_usage_error(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "rotory"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert process.stderr == "compare_variants: error: VARIANT: 'rotory' is unknown; did you mean rotary?\n"
    assert (process.returncode, process.stdout, list(tmp_path.iterdir())) == (2, "", [])
