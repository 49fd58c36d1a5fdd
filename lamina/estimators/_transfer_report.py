"""What a transfer copied, what it froze and what is new."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TransferResult:
    """What became of a pretrained model.

    Attributes
    ----------
    source : str or None
        Class of the pretrained model; None where there was none.
    strategy : str
        "frozen", "last", "fine_tune" or, without a source, "scratch".
    n_networks : int
        Networks that were copied; each was given to members of its own.
    sizes : tuple of int
        Units of the layers of the whole network, inputs first.
    origins : tuple of str
        What became of each layer: "copied, frozen", "copied, trained" or "new".
    labels : dict
        For each label, whether its output row was "copied" or is "new"; empty for numbers.
    n_unlabelled : int
        Rows without labels that were used.

    Examples
    --------
    >>> origins = ("copied, frozen", "new")
    >>> result = TransferResult("DenoisingEncoder", "frozen", 1, (8, 32, 2), origins)
    >>> print(result.summary())
    frozen, from DenoisingEncoder
    8 → 32  copied, frozen
    32 → 2  new
    """

    source: str | None
    strategy: str
    n_networks: int
    sizes: tuple[int, ...]
    origins: tuple[str, ...]
    labels: dict[Any, str] = field(default_factory=dict)
    n_unlabelled: int = 0

    @property
    def layers(self) -> pd.DataFrame:
        """A row for each layer: ``inputs``, ``outputs``, ``parameters``, ``origin``."""
        import pandas as pd

        pairs = list(zip(self.sizes[:-1], self.sizes[1:], strict=True))
        return pd.DataFrame(
            {
                "inputs": [n for n, _ in pairs],
                "outputs": [n for _, n in pairs],
                "parameters": [(n + 1) * m for n, m in pairs],
                "origin": list(self.origins),
            }
        )

    @property
    def n_copied(self) -> int:
        """How many layers were copied."""
        return sum(origin.startswith("copied") for origin in self.origins)

    def summary(self) -> str:
        """Return what happened in words, a line for each layer."""
        many = f" ({self.n_networks} networks)" if self.n_networks > 1 else ""
        source = "" if self.source is None else f", from {self.source}{many}"
        pairs = [f"{n} → {m}" for n, m in zip(self.sizes[:-1], self.sizes[1:], strict=True)]
        width = max(map(len, pairs))
        lines = [
            f"{pair.ljust(width)}  {origin}"
            for pair, origin in zip(pairs, self.origins, strict=True)
        ]
        copied = [str(label) for label, what in self.labels.items() if what == "copied"]
        if copied:
            new = [str(label) for label, what in self.labels.items() if what == "new"]
            lines.append(f"outputs copied: {', '.join(copied)}; new: {', '.join(new) or 'none'}")
        return "\n".join([f"{self.strategy}{source}", *lines])

    def __str__(self) -> str:
        return self.summary()
