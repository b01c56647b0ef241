"""What the build adds to a wheel: a software bill of materials, in `.dist-info/sboms` (PEP 770).

It is CycloneDX's JSON, made of `pyproject.toml` at each build, so it cannot be older than that. It
has no time and no random number: the same source gives the same wheel.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement

#: Other people's work that is in the package, and where: numbers, no code.
COPIED = [
    {
        "type": "library",
        "bom-ref": "fdlibm",
        "name": "fdlibm",
        "description": "coefficients of its logarithm's polynomial",
        "licenses": [{"license": {"id": "SunPro"}}],
        "copyright": "Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.",
        "evidence": {"occurrences": [{"location": "lanewise/ops/random.py"}]},
    },
]


def external(requirement: str) -> dict[str, Any]:
    """Return the component of a package that is needed, and that is not in the wheel."""
    parsed = Requirement(requirement)
    bounds = "|".join(sorted(str(bound) for bound in parsed.specifier))
    return {
        "type": "library",
        "bom-ref": parsed.name,
        "name": parsed.name,
        "versionRange": f"vers:pypi/{bounds or '*'}",
        "isExternal": True,
        "scope": "required",
        "purl": f"pkg:pypi/{parsed.name}",
    }


def sbom(
    name: str, version: str, license: str, authors: Sequence[str], required: Sequence[str]
) -> dict[str, Any]:
    """Return the bill of materials of a wheel."""
    needed = [external(requirement) for requirement in required]
    own = {
        "type": "library",
        "bom-ref": name,
        "name": name,
        "version": version,
        "authors": [{"name": author} for author in authors],
        "licenses": [{"license": {"id": license}}],
        "purl": f"pkg:pypi/{name}@{version}",
    }
    on = [part["bom-ref"] for part in (*needed, *COPIED)]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "version": 1,
        "metadata": {"lifecycles": [{"phase": "build"}], "component": own},
        "components": [*needed, *COPIED],
        "dependencies": [{"ref": name, "dependsOn": on}, *[{"ref": ref} for ref in on]],
    }


class SbomHook(BuildHookInterface):
    """Puts the bill of materials into wheels; those of editable installs need none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write it, and say where it is."""
        self._folder: Path | None = None
        if self.target_name != "wheel" or version == "editable":
            return
        core = self.metadata.core
        authors = [author["name"] for author in core.authors]
        found = sbom(
            core.name, self.metadata.version, core.license_expression, authors, core.dependencies
        )
        self._folder = Path(tempfile.mkdtemp())
        path = self._folder / f"{core.name}.cdx.json"
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written."""
        if self._folder is not None:
            shutil.rmtree(self._folder)
