"""The bill of materials of a wheel: CycloneDX 1.6, with each package whose code is in it."""

from __future__ import annotations

import datetime
import hashlib
import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linked_software import OWN_LICENCE, Component


def of_wheel(name: str, version: str, software: Sequence[Component], seconds: int) -> dict[str, Any]:
    """The document for a wheel of that file name, built from a commit of that time. Equal builds have equal ones."""
    ours = f"pkg:pypi/cotangent@{version}"
    content = json.dumps([name, version, [component.address for component in software]])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "library",
                "bom-ref": ours,
                "name": "cotangent",
                "version": version,
                "purl": ours,
                "licenses": [{"license": {"id": OWN_LICENCE}}],
                "properties": [{"name": "cotangent:wheel", "value": name}],
            },
        },
        "components": [_component(component) for component in software],
        "dependencies": [
            {"ref": ours, "dependsOn": [component.address for component in software]},
            *({"ref": component.address} for component in software),
        ],
    }


def _component(component: Component) -> dict[str, Any]:
    licence = {"expression": component.licence} if component.licence else {"license": {"name": component.terms}}
    return {
        "type": "library",
        "bom-ref": component.address,
        "name": component.name,
        "version": component.version,
        "purl": component.address,
        "licenses": [licence],
        "externalReferences": [{"type": "website", "url": component.home}],
        "properties": [{"name": "cotangent:linked", "value": how} for how in component.how],
    }


def with_hash(document: dict[str, Any], wheel: Path) -> dict[str, Any]:
    """The document that lies beside the wheel: with its digest."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    component = {**document["metadata"]["component"], "hashes": [{"alg": "SHA-256", "content": digest}]}
    return {**document, "metadata": {**document["metadata"], "component": component}}


def complaints(document: dict[str, Any]) -> list[str]:
    """What the schema of CycloneDX says against it; needs cyclonedx-python-lib."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document))
    return [f"the bill of materials is not valid: {error}"] if error else []
