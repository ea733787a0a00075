"""The kernels are compiled when a wheel or an editable installation is made (hatchling calls this)."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "src/neardup/kernels/library"


class KernelsHook(BuildHookInterface[Any]):
    """Builds the library for this processor, or for the levels that ``NEARDUP_KERNELS_FOR`` names."""

    def dependencies(self) -> list[str]:
        """Return what the build requires besides: a C compiler, where the system has none that serves."""
        sys.path[:0] = [self.root, str(Path(self.root, "src"))]
        from kernelbuild.machine import COMPILERS

        named = os.environ.get("CC")
        found = "ziglang" not in named if named else any(map(shutil.which, COMPILERS))
        return [] if found else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the library into the wheel, whose tag then names the platform and no version of Python."""
        if self.target_name != "wheel":
            return
        sys.path[:0] = [self.root, str(Path(self.root, "src"))]
        from kernelbuild.library import HOST, build

        folder = Path(self.root, FOLDER)
        made = [build(folder, level) for level in os.environ.get("NEARDUP_KERNELS_FOR", HOST).split()]
        for old in folder.iterdir():
            if old not in made and old.suffix != ".txt":
                old.unlink()
        build_data["artifacts"] += [f"{FOLDER}/{path.name}" for path in made]
        build_data["pure_python"] = False
        platform = os.environ.get("NEARDUP_WHEEL_PLATFORM") or sysconfig.get_platform()
        build_data["tag"] = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"
