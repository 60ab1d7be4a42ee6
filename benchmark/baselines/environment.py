"""Environment: other people's packages, each in a virtual environment of its own.

They ask for versions that cannot be had together with ours. Made once, in the user's cache, and
found there by the next run.
"""

import hashlib
import shutil
import subprocess
import venv
from pathlib import Path

from fonts.places import cache_folder
from ivl_shards import UserError


def environment(name: str, packages: tuple[str, ...]) -> Path:
    """The interpreter of an environment with these packages, and no others: all that is needed
    must be named."""
    # Named by its contents, so that another list of packages makes another environment.
    tag = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:8]
    folder = cache_folder() / "peers" / f"{name}-{tag}"
    python, whole = folder / "bin" / "python", folder / "installed"
    if whole.is_file():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    # Wheels, where there are any: to compile old ones takes ten minutes.
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--prefer-binary")
    installed = subprocess.run(
        [python, "-m", "pip", "install", *options, *packages], capture_output=True, text=True
    )
    if installed.returncode:
        reason = (installed.stderr.strip() or "pip failed").splitlines()[-1]
        raise UserError(f"{name} cannot be installed: {reason}")
    whole.touch()
    return python
