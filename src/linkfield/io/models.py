"""Fitted models to files and back, with skops: no pickle, no code in the file."""

from __future__ import annotations

import copy
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from .._version import __version__
from ..exceptions import ModelFileError
from ._packing import packed, unpacked
from ._trusted import ESTIMATORS, TRUSTED
from .files import check_there, need_folder, replacing

__all__ = ["load", "read_about", "save"]

#: What this version writes, and the newest that it reads.
FORMAT_VERSION = 1

#: The member of the file that says what it is; all others are those of skops.
_HEADER = "linkfield.json"
_FORMAT = "linkfield model"
#: The largest header in bytes: half a million names of columns. A few bytes can unpack to far more.
_LARGEST_HEADER = 16 * 2**20
#: What a file may unpack to, in bytes, and as a multiple of its own size if that is more.
_LARGEST_CONTENT, _LARGEST_RATIO = 2**30, 100
#: Where the file keeps what a step asks for in metadata routing.
_REQUESTS = "_linkfield_requests"


def save(model: Any, path: str | os.PathLike[str], *, about: dict[str, Any] | None = None) -> None:
    """Write a fitted model to a file; :func:`load` reads it back.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of linkfield, or a :class:`sklearn.pipeline.Pipeline` that ends in one,
        so that the preparation (scaling, TF-IDF, SVD) travels with the model.
    path : path
        By custom it ends in ``.skops``. A file of that name is replaced only when the new one is
        complete.
    about : dict, optional
        Anything that JSON can hold, for example the columns that were read; :func:`read_about`
        returns it.

    Raises
    ------
    ModelFileError
        If the model holds what a file cannot: functions (a user's own Bregman divergence, a
        tokenizer) or classes of the user's own.

    Notes
    -----
    The file holds parameters and fitted attributes, ``labels_`` among them, but neither the
    training data nor the constraints. A loaded model predicts the very same bits. It can be fitted
    again and cloned; with ``warm_start=True`` it goes on from its centres, metric and labels, but
    looks at all rows once; ``explain`` needs the data and explains the distances alone.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import linkfield
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> model = linkfield.PCKMeans(2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.skops"
    ...     linkfield.save(model, file, about={"columns": ["length"]})
    ...     again = linkfield.load(file)
    ...     linkfield.io.read_about(file)
    {'columns': ['length']}
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    file = Path(path)
    need_folder(file)
    estimator = _estimator_of(model)
    if estimator is None:
        raise ModelFileError(
            f"save takes a fitted estimator of linkfield, or a Pipeline that ends in one; got "
            f"{type(model).__name__}"
        )
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    content = _dumped(model)
    header = _header_text(estimator, about)
    if len(header) > _LARGEST_HEADER:
        raise ModelFileError(
            f"about takes {len(header):,} bytes, more than the {_LARGEST_HEADER:,} that a model "
            "file holds; keep it in a file of its own"
        )
    with zipfile.ZipFile(content, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_HEADER, header)
        total = sum(member.file_size for member in archive.infolist())
    if total > _most(content.getbuffer().nbytes):
        raise ModelFileError(
            f"this {type(model).__name__} takes {total:,} bytes, more than a model file may unpack "
            "to; keep it with joblib.dump"
        )
    with replacing(file) as raw:
        raw.write(content.getbuffer())


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote.

    Only classes of linkfield and what skops trusts by itself (scikit-learn's estimators, arrays,
    plain values) are made from a file; nothing in it is run.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator or Pipeline

    Raises
    ------
    ModelFileError
        If the file is something else, damaged, of a newer version, or holds other types.
    """
    file = Path(path)
    with _opened(file) as raw:
        header = _read_header(file, raw)
        raw.seek(0)
        return _loaded(file, raw, header)


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the ``about`` that a model was saved with, without loading the model."""
    file = Path(path)
    with _opened(file) as raw:
        return dict(_read_header(file, raw)["about"])


# --------------------------------------------------------------- the model


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__name__}"


def _steps(model: Any) -> list[Any]:
    """Return the steps of a pipeline, or the model itself."""
    if _name(model) != "sklearn.pipeline.Pipeline":
        return [model]
    return [step for _, step in model.steps]


def _estimator_of(model: Any) -> Any:
    """Return the estimator of linkfield that a model is or ends in, also a user's subclass."""
    last = _steps(model)[-1] if _steps(model) else None
    names = {f"{cls.__module__}.{cls.__name__}" for cls in type(last).__mro__}
    return last if names & ESTIMATORS else None


def _bare(model: Any) -> Any:
    """Return a copy without training data, its arrays of objects packed."""
    if _name(model) == "sklearn.pipeline.Pipeline":
        twin = copy.copy(model)
        twin.steps = [(name, _bare(step)) for name, step in model.steps]
        return twin
    if not hasattr(model, "__dict__"):  # a step such as "passthrough"
        return model
    twin = copy.copy(model)
    request = vars(twin).pop("_metadata_request", None)
    if request is not None:  # it refers to its estimator, which skops would follow for ever
        setattr(twin, _REQUESTS, _requests(request))
    if _name(model) in ESTIMATORS:
        twin.__dict__.update({name: packed(value) for name, value in vars(twin).items()})
    return twin


def _completed(model: Any) -> None:
    """Give a loaded model what :func:`_bare` took from it."""
    import sklearn

    if _name(model) == "sklearn.pipeline.Pipeline":
        for step in _steps(model):
            _completed(step)
    elif hasattr(model, "__dict__"):
        with sklearn.config_context(enable_metadata_routing=True):
            for method, asked in vars(model).pop(_REQUESTS, {}).items():
                getattr(model, f"set_{method}_request")(**asked)
        if _name(model) in ESTIMATORS:
            model.__dict__.update({name: unpacked(value) for name, value in vars(model).items()})


def _requests(request: Any) -> dict[str, dict[str, Any]]:
    """Return what a step asks for by name in scikit-learn's metadata routing, by method."""
    asked = {name: getattr(value, "requests", None) for name, value in vars(request).items()}
    return {
        name: dict(values) for name, values in asked.items() if isinstance(values, dict) and values
    }


def _dumped(model: Any) -> io.BytesIO:
    """Return the model as skops writes it, unless :func:`load` would refuse it."""
    import skops.io

    what = type(model).__name__
    try:
        content = skops.io.dumps(_bare(model), compression=zipfile.ZIP_DEFLATED, compresslevel=6)
        others = sorted(set(skops.io.get_untrusted_types(data=content)) - TRUSTED)
    except Exception as error:  # skops passes on whatever an object raises when it is taken apart
        raise ModelFileError(f"this {what} cannot be saved: {_first_line(error)}") from error
    if not others:
        return io.BytesIO(content)
    functions = [k for k, v in model.get_params().items() if callable(v) and not _is_made(v)]
    if functions:
        raise ModelFileError(
            f"this {what} cannot be saved: {', '.join(functions)} is a function, and a model file "
            "holds no code; take a named choice instead, or keep the model with joblib.dump"
        )
    raise ModelFileError(
        f"this {what} cannot be saved: a model file holds no objects of the type "
        f"{', '.join(others)}; take those of linkfield and scikit-learn, or keep the model with "
        "joblib.dump"
    )


def _is_made(value: Any) -> bool:
    """Whether something callable is an object with parameters, or a class, and no function."""
    return isinstance(value, type) or hasattr(value, "get_params")


def _loaded(file: Path, raw: BinaryIO, header: dict[str, Any]) -> Any:
    import skops.io
    from skops.io.exceptions import UntrustedTypesFoundException

    try:
        model = skops.io.load(raw, trusted=sorted(TRUSTED))
        estimator = _estimator_of(model)
        _completed(model)
    except UntrustedTypesFoundException as error:
        raise ModelFileError(
            f"{file} holds types that linkfield does not load ({_first_line(error)}); load models "
            "only from people you trust, with the package that wrote them"
        ) from None
    except Exception as error:  # damage can show as any error
        raise ModelFileError(
            f"{file} is damaged, or not to be read by linkfield {__version__} (it was written by "
            f"{header.get('linkfield')}): {_first_line(error)}; save the model again"
        ) from error
    if type(estimator).__name__ != header["estimator"]:
        raise ModelFileError(f"{file} is damaged: it holds no {header['estimator']}; save it again")
    return model


# -------------------------------------------------------------- the header


def _header_text(estimator: Any, about: dict[str, Any] | None) -> str:
    import numpy
    import scipy
    import sklearn
    import skops

    if about is not None and not isinstance(about, dict):
        raise TypeError(f"about must be a dict, got {type(about).__name__}")
    packages = {p.__name__: p.__version__ for p in (numpy, scipy, sklearn, skops)}
    header = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "linkfield": __version__,
        "packages": packages,
        "estimator": type(estimator).__name__,
        "about": about or {},
    }
    try:
        return json.dumps(header, indent=1)
    except (TypeError, ValueError) as error:
        raise TypeError(f"about must hold only what JSON can hold: {error}") from None


def _opened(file: Path) -> BinaryIO:
    check_there(file)
    return file.open("rb")


def _read_header(file: Path, raw: BinaryIO) -> dict[str, Any]:
    start = raw.read(4)
    if not start:
        raise ModelFileError(f"{file} is empty; save the model again")
    if start[0] == 0x80:
        raise ModelFileError(
            f"{file} looks like a pickle, which can run code when it is loaded; load it with what "
            "wrote it, and save the model with linkfield.save"
        )
    if start[:2] != b"PK":
        raise ModelFileError(f"{file} is no model of linkfield; give a file that save wrote")
    try:
        with zipfile.ZipFile(raw) as archive:
            names = archive.namelist()
            _check_sizes(file, archive)
            text = archive.read(_HEADER) if _HEADER in names else None
    except ModelFileError:
        raise
    except Exception as error:  # damage can show as any error
        raise ModelFileError(
            f"{file} is damaged or was cut off ({_first_line(error)}); save the model again"
        ) from error
    if text is None:
        what = "a skops file, but not one of linkfield" if "schema.json" in names else "a zip file"
        raise ModelFileError(f"{file} is {what}; give a file that linkfield.save wrote")
    return _checked_header(file, text)


def _most(size: int) -> int:
    """Return how many bytes a file of some size may unpack to."""
    return max(_LARGEST_CONTENT, _LARGEST_RATIO * size)


def _check_sizes(file: Path, archive: zipfile.ZipFile) -> None:
    """Refuse a small file that would fill the memory; no more is unpacked than it says itself."""
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    header = sum(member.file_size for member in members if member.filename == _HEADER)
    if header > _LARGEST_HEADER or total > _most(file.stat().st_size):
        raise ModelFileError(
            f"{file} would unpack to {total:,} bytes, {header:,} of them in {_HEADER}, which no "
            "model does; load models only from people you trust"
        )


def _checked_header(file: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
        version = header["format_version"]
        right = header["format"] == _FORMAT and isinstance(version, int) and version >= 1
        right = right and isinstance(header["about"], dict) and isinstance(header["estimator"], str)
    except (KeyError, TypeError, ValueError, RecursionError):
        right = False
    if not right:
        raise ModelFileError(f"{file} is damaged: {_HEADER} in it is not as linkfield writes it")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{file} was written by linkfield {header.get('linkfield')} in format {version}; this "
            f"is linkfield {__version__}, which reads formats up to {FORMAT_VERSION}: upgrade "
            "linkfield"
        )
    return dict(header)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__
