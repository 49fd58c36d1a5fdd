"""The exact largest rate of change on a line or in a plane whose linear regions are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import shown
from lamina._errors import ParameterError
from lamina.nn import Network

from ._line import LineRegionsResult

if TYPE_CHECKING:
    from ._plane_result import PlaneRegionsResult


_ANOTHER = "regions must be those of net. Got those of another network."


def largest_on_slice(net: Network, regions: Any) -> tuple[float, str]:
    """Return the largest rate of change on a slice, and the slice's name."""
    if isinstance(regions, LineRegionsResult):
        return _on_line(net, regions), "line"
    from ._plane_result import PlaneRegionsResult

    if isinstance(regions, PlaneRegionsResult):
        return _in_plane(net, regions), "plane"
    raise ParameterError(
        f"regions must be a result of regions_on_line or regions_in_plane. Got {shown(regions)}."
    )


def _on_line(net: Network, line: LineRegionsResult) -> float:
    """Return the largest norm of the outputs' slopes, per unit of length along the line."""
    ends = np.array([line.start, line.end])
    inputs_fit = ends.shape[1] == net.sizes[0]
    told = line.values[[0, -1], [0, 1]]
    if not inputs_fit or not _close(net, ends, told):
        raise ParameterError(_ANOTHER)
    if _jumps(net, line):
        return float("inf")
    length = float(np.linalg.norm(line.end - line.start))
    return float(np.linalg.norm(line.slopes, axis=1).max()) / length


def _in_plane(net: Network, plane: PlaneRegionsResult) -> float:
    """Return the largest norm of the faces' maps, per unit of length in the plane."""
    maps, places = plane.affine_maps, plane.centroids
    some = np.linspace(0, len(maps) - 1, min(len(maps), 20)).astype(np.intp)
    told = np.einsum("fqk,fk->fq", maps[some, :, :2], places[some]) + maps[some, :, 2]
    inputs_fit = plane.axes.shape[1] == net.sizes[0]
    if not inputs_fit or not _close(net, plane.points(places[some]), told):
        raise ParameterError(_ANOTHER)
    steps = any(activation.name == "step" for activation in net.activations)
    if steps and np.ptp(maps, axis=0).any():
        return float("inf")
    # A step of (u, v) has the length of R (u, v), where the axes are R' times orthonormal rows.
    R = np.linalg.qr(plane.axes.T, mode="r")
    return float(np.linalg.norm(maps[:, :, :2] @ np.linalg.inv(R), 2, axis=(1, 2)).max())


def _close(net: Network, points: Any, told: Any) -> bool:
    """Tell whether the network has the outputs that a result of regions has."""
    outputs = net.predict_raw(points)
    same_shape = outputs.shape == told.shape
    scale = float(np.abs(outputs).max()) + 1e-300
    return same_shape and bool(np.abs(outputs - told).max() <= 1e-6 * scale)


def _jumps(net: Network, line: LineRegionsResult) -> bool:
    """Tell whether the outputs jump somewhere on the line, as those of steps do."""
    steps = any(activation.name == "step" for activation in net.activations)
    if not steps or line.n_regions < 2:
        return False
    return bool((np.abs(line.values[1:, 0] - line.values[:-1, 1]) > 0).any())
