"""Images with labels in the IDX format of MNIST: four files, gzipped or plain.

An IDX file is a big-endian header (a magic number that names type and dimensions, then the length
of each dimension) and the values row by row.
"""

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.datasets.containers import DAMAGED, Names, opened
from longrank.errors import BadFile

Bytes = NDArray[np.uint8]

_MAGIC = {1: 2049, 3: 2051}  # unsigned bytes in one dimension, in three

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
    size, magic = 4 * (1 + dimensions), _MAGIC[dimensions]
    with opened(path, names) as (stream, label):
        try:
            data = stream.read()
        except DAMAGED as error:
            raise BadFile(f"{label} cannot be read: {error}") from error
    if len(data) < 4 or int.from_bytes(data[:4]) != magic:
        shown = int.from_bytes(data[:4]) if len(data) >= 4 else f"{len(data)} bytes"
        raise BadFile(f"{label} must begin with the magic number {magic}, got {shown}")
    if len(data) < size:
        raise BadFile(f"{label} must have a header of {size} bytes, got {len(data)}")
    shape = struct.unpack(f">{dimensions}I", data[4:size])
    if len(data) - size != math.prod(shape):
        rule = f"must have {math.prod(shape)} bytes after its header, got {len(data) - size}"
        raise BadFile(f"{label} {rule}")
    return np.frombuffer(data, np.uint8, offset=size).reshape(shape)


def _by(images: Bytes) -> str:
    return f"{images.shape[1]} by {images.shape[2]}"
