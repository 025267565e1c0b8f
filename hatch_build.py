"""The wheel's bill of materials: CycloneDX, in the folder `sboms` of its metadata (PEP 770)."""

import json
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BillOfMaterials(BuildHookInterface):
    """Writes pecli.cdx.json from the project's own metadata, with no date and no serial number."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file and name it to the builder."""
        core = self.metadata.core
        name = f"pkg:pypi/{core.name}@{self.metadata.version}"
        needed = [re.fullmatch(r"([\w-]+)(\S*)", requirement).groups() for requirement in core.dependencies]
        bill = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.7",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "application",
                    "bom-ref": name,
                    "name": core.name,
                    "version": self.metadata.version,
                    "description": core.description,
                    "licenses": [{"license": {"id": core.license}}],
                    "purl": name,
                }
            },
            "components": [
                {
                    "type": "library",
                    "bom-ref": f"pkg:pypi/{package}",
                    "name": package,
                    "versionRange": f"vers:pypi/{bounds.replace(',', '|')}",
                    "isExternal": True,  # installed beside pecli, not contained in the wheel
                    "purl": f"pkg:pypi/{package}",
                }
                for package, bounds in needed
            ],
            "dependencies": [{"ref": name, "dependsOn": [f"pkg:pypi/{package}" for package, _ in needed]}],
        }
        self._path = Path(self.directory) / "pecli.cdx.json"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(self._path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file, which the wheel now contains."""
        self._path.unlink()
