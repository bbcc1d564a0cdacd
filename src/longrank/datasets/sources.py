"""The sources of the data sets: publisher, files, sizes and terms.

Checksums are the publishers' own (GroupLens, Zalando) or, for MNIST, those of the four original
files; None if none is published.
"""

from __future__ import annotations

from dataclasses import dataclass

from longrank.errors import InvalidInput


@dataclass(frozen=True)
class File:
    """A published file; ``urls`` are identical copies, tried in this order."""

    name: str
    urls: tuple[str, ...]
    size: int | None = None
    md5: str | None = None


@dataclass(frozen=True)
class Terms:
    """The publisher's terms in short, and where to find them in full."""

    summary: str
    url: str


@dataclass(frozen=True)
class Source:
    """A data set.

    ``manual`` says what the user has to do if the publisher allows no direct download; then there
    are no files.
    """

    name: str
    title: str
    page: str
    files: tuple[File, ...] = ()
    terms: Terms | None = None
    manual: str | None = None

    @property
    def size(self) -> int | None:
        """Bytes to download, if known."""
        sizes = [file.size for file in self.files]
        known = [size for size in sizes if size is not None]
        return sum(known) if sizes and len(known) == len(sizes) else None


def _images(folders: tuple[str, ...], files: dict[str, tuple[int, str]]) -> tuple[File, ...]:
    return tuple(
        File(name, tuple(folder + name for folder in folders), size, md5)
        for name, (size, md5) in files.items()
    )


_GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
_RESEARCH = (
    "for research; acknowledge it in publications; imply no endorsement by the University of "
    "Minnesota; no commercial use without permission"
)

_ALL = (
    Source(
        name="mnist",
        title="MNIST",
        page="https://yann.lecun.com/exdb/mnist/",
        files=_images(
            (
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
            ),
            {
                "train-images-idx3-ubyte.gz": (9912422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
                "train-labels-idx1-ubyte.gz": (28881, "d53e105ee54ea40749a09fcbcd1e9432"),
                "t10k-images-idx3-ubyte.gz": (1648877, "9fb629c4189551a2d022fa330f9573f3"),
                "t10k-labels-idx1-ubyte.gz": (4542, "ec29112dd5afa0611ce80d1b7f02629c"),
            },
        ),
    ),
    Source(
        name="fashion",
        title="Fashion-MNIST",
        page="https://github.com/zalandoresearch/fashion-mnist",
        files=_images(
            (
                "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
                "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
            ),
            {
                "train-images-idx3-ubyte.gz": (26421880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
                "train-labels-idx1-ubyte.gz": (29515, "25c81989df183df01b3e8a0aad5dffbe"),
                "t10k-images-idx3-ubyte.gz": (4422102, "bef4ecab320f06d8554ea6380940ec79"),
                "t10k-labels-idx1-ubyte.gz": (5148, "bb300cfdad3c16e7a12a480ee83cd310"),
            },
        ),
    ),
    Source(
        name="llm",
        title="LLMRouter: questions to language models",
        page="https://github.com/ulab-uiuc/LLMRouter",
        manual="copy train.json and default_llm.json of https://github.com/ulab-uiuc/LLMRouter "
        "(MIT licence), or files of your own in that format, into a folder",
    ),
    Source(
        name="movielens-25m",
        title="MovieLens-25M",
        page="https://grouplens.org/datasets/movielens/25m/",
        files=(
            File(
                "ml-25m.zip",
                (_GROUPLENS + "ml-25m.zip",),
                261978986,
                "6b51fb2759a8657d3bfcbfc42b592ada",
            ),
        ),
        terms=Terms(_RESEARCH, _GROUPLENS + "ml-25m-README.html"),
    ),
    Source(
        name="movielens-1m",
        title="MovieLens-1M",
        page="https://grouplens.org/datasets/movielens/1m/",
        files=(
            File(
                "ml-1m.zip",
                (_GROUPLENS + "ml-1m.zip",),
                5917549,
                "c4d9eecfca2ab87c1945afe126590906",
            ),
        ),
        terms=Terms(_RESEARCH + "; no redistribution", _GROUPLENS + "ml-1m-README.txt"),
    ),
    Source(
        name="yelp",
        title="Yelp Open Dataset",
        page="https://www.yelp.com/dataset",
        terms=Terms(
            "for academic use only; no redistribution; the agreement is accepted on Yelp's page",
            "https://www.yelp.com/dataset",
        ),
        manual="accept the agreement on https://www.yelp.com/dataset and download the JSON archive",
    ),
    Source(
        name="msd",
        title="Million Song Dataset, Echo Nest Taste Profile subset",
        page="https://millionsongdataset.com/tasteprofile/",
        files=(
            File(
                "train_triplets.txt.zip",
                (
                    "https://millionsongdataset.com/sites/default/files/challenge/train_triplets.txt.zip",
                ),
            ),
        ),
        terms=Terms(
            "for research, on the terms of The Echo Nest's interface; acknowledge it in "
            "publications; companies ask first",
            "https://raw.githubusercontent.com/tbertinmahieux/MSongsDB/master/LICENSE",
        ),
    ),
)

SOURCES = {source.name: source for source in _ALL}


def source(name: str) -> Source:
    """Return the source of this name."""
    try:
        return SOURCES[name]
    except KeyError:
        raise InvalidInput("name", f"be one of {', '.join(SOURCES)}", repr(name)) from None
