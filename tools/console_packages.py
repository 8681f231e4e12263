"""The npm packages that are in the console: for licences (tools/package) and the SBOM (tools/release)."""

import json
import pathlib

MODULES = pathlib.Path(__file__).resolve().parent.parent / "console" / "node_modules"


def installed():
    """{name: what its package.json says} of those that the console names, and those that they need. Empty if they are not
    installed: then the server is built without the console."""
    names = list(json.loads((MODULES.parent / "package.json").read_text())["dependencies"])
    found = {}
    while names:
        name = names.pop()
        file = MODULES / name / "package.json"
        if name not in found and file.exists():
            found[name] = json.loads(file.read_text())
            names += found[name].get("dependencies", {})
    return found
