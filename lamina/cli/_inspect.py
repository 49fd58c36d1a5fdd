"""``lamina inspect``: what a saved model is inside, as a page of plain findings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from lamina._errors import ParameterError

from ._finding import Finding, worst_first
from ._finding_data import findings_on_data
from ._findings import findings_of
from ._inspected import Inspected, take_apart
from ._options import TARGET, Flag
from ._output import Output, quoted

_STYLES = {"serious": "bold red", "look": "yellow"}


def inspect(
    model: Path,
    data: Path | None = None,
    /,
    *,
    target: Annotated[str | None, TARGET] = None,
    plots: Path | None = None,
    quiet: Flag = False,
    json: Flag = False,
) -> None:
    """Say what a model is inside: plain findings, the worst first, each with what to do.

    Without a table only the weights are looked at; with one also what units do on its rows;
    with its target also whether probabilities or intervals keep their promise.

    Parameters
    ----------
    model : Path
        Folder of a saved model of any kind.
    data : Path
        CSV, TSV or Parquet file with the columns that the model takes.
    target : str
        Name of the target, where the model does not know it.
    plots : Path
        Folder for pictures of units, gradients, linear regions and calibration, each with its
        numbers as CSV beside it.
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    say = Output(json=json, quiet=quiet)
    if plots is not None and plots.is_file():
        raise ParameterError(f"--plots must be a folder. Got the file {str(plots)!r}.")
    found = take_apart(model, data, target)
    findings = [
        _of_network(finding, i + 1)
        for i, network in enumerate(found.networks)
        for finding in findings_of(network, found.matrix, seed=i)
    ]
    findings = worst_first([*findings, *findings_on_data(found)])
    say.line(_title(found), style="bold")
    for number, finding in enumerate(findings, start=1):
        say.line(
            f"{number}. {_sentence(finding, len(found.networks))}", _STYLES.get(finding.level, "")
        )
        if finding.advice:
            say.line(f"   → {finding.advice}")
    files: list[Path] = []
    if plots is not None:
        from ._inspect_pictures import write_pictures

        files, left_out = write_pictures(found, plots)
        for file in files:
            say.note(f"Wrote {file}")
        for sentence in left_out:
            say.note(sentence)
    say.document(_document(found, findings, model, data, files))
    if data is None:
        say.next(f"lamina inspect {quoted(str(model))} DATA")


def _of_network(finding: Finding, number: int) -> Finding:
    from dataclasses import replace

    return replace(finding, networks=(number,))


def _title(found: Inspected) -> str:
    """Return what was looked at."""
    sizes = {"-".join(map(str, network.sizes)) for network in found.networks}
    shape = sizes.pop() if len(sizes) == 1 else f"{len(sizes)} shapes"
    n = len(found.networks)
    what = f"{found.kind}, {n} networks" if n > 1 else found.kind
    parameters = sum(network.n_parameters for network in found.networks)
    rows = "its weights alone"
    if found.matrix is not None:
        n_rows = len(found.matrix)
        rows = "1 row" if n_rows == 1 else f"{n_rows:,} rows"
        rows += f" of {found.n_rows:,}" if found.n_rows > len(found.matrix) else ""
    return f"{what} {shape}, {parameters:,} parameters, on {rows}"


def _sentence(finding: Finding, n_networks: int) -> str:
    """Return the finding with how bad it is, and for how many networks it holds."""
    level = f"[{finding.level}] " if finding.level in ("serious", "look") else ""
    which = ""
    if finding.networks and n_networks > 1:
        which = (
            f" (network {finding.networks[0]}; {len(finding.networks)} of {n_networks} have it)"
        )
    return f"{level}{finding.text}{which}"


def _document(
    found: Inspected, findings: list[Finding], model: Path, data: Path | None, files: list[Path]
) -> dict[str, Any]:
    """Return the result for machines."""
    return {
        "command": "inspect",
        "model": str(model),
        "data": None if data is None else str(data),
        "kind": found.kind,
        "networks": [
            {"sizes": list(network.sizes), "n_parameters": network.n_parameters}
            for network in found.networks
        ],
        "n_rows": None if found.matrix is None else len(found.matrix),
        "findings": [
            {name: value for name, value in vars(finding).items() if name != "weight"}
            for finding in findings
        ],
        "files": [str(file) for file in files],
    }
