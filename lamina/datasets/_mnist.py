"""The MNIST digits, from files or through scikit-learn's OpenML loader."""

from __future__ import annotations

import os
from pathlib import Path as FilePath

import numpy as np

from lamina._checks import check_choice, check_integer
from lamina._errors import FileError, ParameterError
from lamina._typing import Array, FloatArray, IntArray, Path

from ._idx import read_idx

FOLDER_VARIABLE = "LAMINA_DATA"
"""Environment variable that names the folder of data files."""

_STEMS = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
_N_TRAIN = 60_000  # OpenML keeps the training images before the test images


def load_mnist(
    part: str = "train", n_samples: int | None = None, *, folder: Path | None = None
) -> tuple[FloatArray, IntArray]:
    """Load handwritten digits as images between 0 and 1.

    They are read from the four IDX files, plain or gzip, in ``folder``; without files, they are
    fetched from OpenML by scikit-learn, which needs a network once and keeps its own copy.

    Parameters
    ----------
    part : {"train", "test"}, default="train"
        60,000 images to train on or 10,000 to test on.
    n_samples : int, optional
        Take only the first ones.
    folder : str or PathLike, optional
        Folder of the files, or one that holds them in ``mnist/``. By default, the folder named
        by the environment variable ``LAMINA_DATA``.

    Returns
    -------
    X : ndarray of float32 of shape (n_samples, 784)
        Pixels row by row, 0 (background) to 1; ``X.reshape(-1, 28, 28)`` are the images.
    y : ndarray of int64 of shape (n_samples,)
        The digits.

    Raises
    ------
    FileError
        If a file is damaged, files do not belong together, or no source can be reached.

    References
    ----------
    .. [1] Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Gradient-based learning applied to
       document recognition, Proceedings of the IEEE 1998, https://doi.org/10.1109/5.726791
    """
    part = check_choice("part", part, _STEMS)
    files = _find(part, folder)
    images, labels = _from_files(*files) if files else _from_openml(part, folder)
    if n_samples is not None:
        n_samples = check_integer("n_samples", n_samples, 1)
        if n_samples > len(images):
            raise ParameterError(f"n_samples must be at most {len(images)}. Got {n_samples}.")
        images, labels = images[:n_samples], labels[:n_samples]
    X = images.reshape(len(images), -1).astype(np.float32) / np.float32(255)
    return X, labels.astype(np.int64)


def _find(part: str, folder: Path | None) -> tuple[FilePath, FilePath] | None:
    """Return the files of images and labels, or None if neither is there."""
    root = os.environ.get(FOLDER_VARIABLE) if folder is None else os.fspath(folder)
    if not root:
        return None
    if folder is not None and not os.path.isdir(root):
        raise FileError(f"folder must be an existing folder. Got {root!r}.")
    for place in (FilePath(root), FilePath(root) / "mnist"):
        found = [_file(place, stem) for stem in _STEMS[part]]
        if found[0] and found[1]:
            return found[0], found[1]
        if found[0] or found[1]:
            missing = _STEMS[part][0 if found[0] is None else 1]
            raise FileError(
                f"{place} must hold images and labels. Got no {missing} and no {missing}.gz."
            )
    return None


def _file(folder: FilePath, stem: str) -> FilePath | None:
    """Return the plain or compressed file of that name, if there is one."""
    for name in (
        stem,
        stem + ".gz",
        stem.replace("-idx", ".idx"),
        stem.replace("-idx", ".idx") + ".gz",
    ):
        if (folder / name).is_file():
            return folder / name
    return None


def _from_files(images_file: FilePath, labels_file: FilePath) -> tuple[Array, Array]:
    """Return images (N, 28, 28) and labels (N,) after checking that they fit together."""
    images, labels = read_idx(images_file), read_idx(labels_file)
    if images.dtype != np.uint8 or images.ndim != 3 or images.shape[1:] != (28, 28):
        raise FileError(
            f"{images_file} must hold bytes of shape (N, 28, 28). Got {images.dtype} of shape "
            f"{images.shape}."
        )
    if labels.shape != images.shape[:1]:
        raise FileError(
            f"{labels_file} must hold one label for each of {len(images)} images. "
            f"Got shape {labels.shape}."
        )
    if labels.size and (labels.dtype != np.uint8 or labels.max() > 9):
        raise FileError(f"{labels_file} must hold digits from 0 to 9. Got {labels.max()}.")
    return images, labels


def _from_openml(part: str, folder: Path | None) -> tuple[Array, Array]:
    """Return images (N, 784) and labels (N,) from OpenML."""
    from sklearn.datasets import fetch_openml

    place = os.environ.get(FOLDER_VARIABLE) if folder is None else os.fspath(folder)
    try:
        bunch = fetch_openml("mnist_784", version=1, as_frame=False, n_retries=1)
    except (OSError, ValueError) as error:
        raise FileError(
            f"MNIST must be in the folder named by {FOLDER_VARIABLE}, as {_STEMS[part][0]} and "
            f"{_STEMS[part][1]}, plain or .gz, or be reachable at OpenML. Got "
            f"{'no such folder' if place is None else f'no such files in {place!r}'}, and OpenML "
            f"failed ({type(error).__name__}: {error})."
        ) from error
    rows = slice(None, _N_TRAIN) if part == "train" else slice(_N_TRAIN, None)
    return bunch.data[rows], bunch.target[rows].astype(np.int64)
