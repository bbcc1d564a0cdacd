"""Archives, for tests of what reads them."""

import io
import zipfile
from pathlib import Path


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def zipped_folder(folder: Path, inside: str = "") -> bytes:
    return zipped({f"{inside}{file.name}": file.read_bytes() for file in folder.iterdir()})
