"""The IDX format, whole and broken, and the real MNIST."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from archives import zipped_folder

from longrank.datasets.download import mismatch
from longrank.datasets.mnist import PARTS, TRAIN_IMAGES, TRAIN_LABELS, read, read_idx
from longrank.datasets.sources import SOURCES
from longrank.errors import BadFile

IMAGES = TRAIN_IMAGES[0]
LABELS = TRAIN_LABELS[0]


def plain(folder: Path) -> Path:
    """Unpack the gzipped files of a folder."""
    for file in list(folder.iterdir()):
        file.with_suffix("").write_bytes(gzip.decompress(file.read_bytes()))
        file.unlink()
    return folder


def test_images_come_as_rows_with_their_labels(small_images):
    images = read(small_images)
    assert images.train.shape == (60, 16)
    assert images.test.shape == (20, 16)
    assert images.train.dtype == images.train_labels.dtype == np.uint8
    assert images.train_labels.tolist() == [n % 10 for n in range(60)]
    raw = gzip.decompress((small_images / f"{IMAGES}.gz").read_bytes())
    assert images.train[1].tobytes() == raw[16 + 16 : 16 + 32]


def test_plain_files_other_names_and_a_zip_are_read_as_well(small_images, tmp_path):
    expected = read(small_images)
    path = tmp_path / "images.zip"
    path.write_bytes(zipped_folder(small_images, "images/"))
    assert np.array_equal(read(path).train, expected.train)
    assert np.array_equal(read(plain(small_images)).train, expected.train)
    for file in list(small_images.iterdir()):
        file.rename(file.with_name(file.name.replace("-idx", ".idx")))
    assert np.array_equal(read(small_images).test, expected.test)


def header(magic: int, *lengths: int) -> bytes:
    return struct.pack(f">{1 + len(lengths)}I", magic, *lengths)


def test_a_broken_file_is_named_with_the_rule(small_images):
    packed = small_images / f"{IMAGES}.gz"
    whole = packed.read_bytes()
    packed.write_bytes(whole[:500])
    with pytest.raises(BadFile, match=f"{IMAGES}.gz cannot be read: "):
        read(small_images)
    packed.write_bytes(whole)
    path = plain(small_images) / IMAGES
    for data, rule in [
        (b"", "must begin with the magic number 2051, got 0 bytes"),
        (header(2049, 60), "must begin with the magic number 2051, got 2049"),
        (b"userId,movieId", "must begin with the magic number 2051, got 1970496882"),
        (header(2051, 60), "must have a header of 16 bytes, got 8"),
        (header(2051, 60, 4, 4), "must have 960 bytes after its header, got 0"),
        (header(2051, 60, 4, 4) + bytes(959), "must have 960 bytes after its header, got 959"),
        (header(2051, 60, 4, 4) + bytes(961), "must have 960 bytes after its header, got 961"),
        (header(2051, *[2**32 - 1] * 3)[:16] + bytes(9), "bytes after its header, got 9"),
    ]:
        path.write_bytes(data)
        with pytest.raises(BadFile, match=rule) as caught:
            read(small_images)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (LABELS, header(2049, 59) + bytes(59), f"got 60 in {IMAGES} and 59 in"),
        (
            "t10k-images-idx3-ubyte",
            header(2051, 20, 4, 5) + bytes(400),
            "got 4 by 4 for training and 4 by 5 for test",
        ),
    ],
)
def test_files_that_do_not_fit_together_are_refused(small_images, name, data, message):
    (plain(small_images) / name).write_bytes(data)
    with pytest.raises(BadFile, match=message):
        read(small_images)


@pytest.mark.parametrize("names", PARTS, ids=lambda names: names[0])
def test_a_missing_file_is_named(small_images, names):
    (small_images / f"{names[0]}.gz").unlink()
    with pytest.raises(BadFile, match=f"must hold {names[0]}"):
        read(small_images)


@pytest.mark.mnist
def test_the_real_files_are_read_and_those_of_the_catalogue(real_mnist):
    images = read(real_mnist)
    assert images.train.shape == (60_000, 784)
    assert images.test.shape == (10_000, 784)
    assert images.train_labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert np.bincount(images.test_labels).tolist() == [
        *(980, 1135, 1032, 1010, 982),
        *(892, 958, 1028, 974, 1009),
    ]
    assert images.train.mean() == pytest.approx(33.318, abs=0.001)
    for file in SOURCES["mnist"].files:
        assert mismatch(real_mnist / file.name, file.size, file.md5) is None
    with pytest.raises(BadFile, match="must begin with the magic number 2051, got 2049"):
        read_idx(real_mnist, TRAIN_LABELS, dimensions=3)
