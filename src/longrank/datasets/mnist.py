"""Images with labels in the IDX format of MNIST: four files, gzipped or plain.

An IDX file is a big-endian header (a magic number that names type and dimensions, then the length
of each dimension) and the values row by row.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from longrank.datasets.containers import DAMAGED, Names, opened
from longrank.errors import BadFile

Bytes = NDArray[np.uint8]

_MAGIC = {1: 2049, 3: 2051}  # unsigned bytes in one dimension, in three
_BLOCK = 1 << 20

TRAIN_IMAGES = ("train-images-idx3-ubyte", "train-images.idx3-ubyte")
TRAIN_LABELS = ("train-labels-idx1-ubyte", "train-labels.idx1-ubyte")
TEST_IMAGES = ("t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte")
TEST_LABELS = ("t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte")
PARTS = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)


@dataclass(frozen=True, eq=False)
class Images:
    """Images of shape (n, height * width) and labels of shape (n,), for training and for test."""

    train: Bytes
    train_labels: Bytes
    test: Bytes
    test_labels: Bytes


def read(path: Path) -> Images:
    """Read the four files from a folder or an archive; :class:`BadFile` says what is wrong."""
    train, train_labels = _read_pair(path, TRAIN_IMAGES, TRAIN_LABELS)
    test, test_labels = _read_pair(path, TEST_IMAGES, TEST_LABELS)
    if train.shape[1:] != test.shape[1:]:
        raise BadFile(
            f"{path} must have images of one size, "
            f"got {_by(train)} for training and {_by(test)} for test"
        )
    return Images(
        train.reshape(len(train), -1), train_labels, test.reshape(len(test), -1), test_labels
    )


def _read_pair(path: Path, images: Names, labels: Names) -> tuple[Bytes, Bytes]:
    pixels = read_idx(path, images, dimensions=3)
    classes = read_idx(path, labels, dimensions=1)
    if len(pixels) != len(classes):
        raise BadFile(
            f"{path} must have one label for each image, "
            f"got {len(pixels)} in {images[0]} and {len(classes)} in {labels[0]}"
        )
    return pixels, classes


def read_idx(path: Path, names: Names, *, dimensions: int) -> Bytes:
    """Read an array of bytes, of one dimension (labels) or three (images)."""
    with opened(path, names) as (stream, label):
        try:
            header = stream.read(4 * (1 + dimensions))
            magic = int.from_bytes(header[:4])
            if len(header) < 4 or magic != _MAGIC[dimensions]:
                shown = magic if len(header) >= 4 else f"{len(header)} bytes"
                raise BadFile(
                    f"{label} must begin with the magic number {_MAGIC[dimensions]}, got {shown}"
                )
            if len(header) < 4 * (1 + dimensions):
                raise BadFile(
                    f"{label} must have a header of {4 * (1 + dimensions)} bytes, got {len(header)}"
                )
            shape = struct.unpack(f">{dimensions}I", header[4:])
            count = math.prod(shape)
            values = _read_up_to(stream, count + 1)
        except DAMAGED as error:
            raise BadFile(f"{label} cannot be read: {error}") from error
    if len(values) != count:
        got = "more" if len(values) > count else str(len(values))
        raise BadFile(f"{label} must have {count} bytes after its header, got {got}")
    return np.frombuffer(values, np.uint8).reshape(shape)


def _read_up_to(stream: IO[bytes], maximum: int) -> bytes:
    """Read in blocks, because a damaged header may ask for more than the memory."""
    values = bytearray()
    while block := stream.read(min(_BLOCK, maximum - len(values))):
        values += block
    return bytes(values)


def _by(images: Bytes) -> str:
    return f"{images.shape[1]} by {images.shape[2]}"
