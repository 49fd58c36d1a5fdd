"""Tensors: batches of images, products for several models, types and shared memory."""

from __future__ import annotations

import numpy as np
import torch

from lamina.datasets import make_xor
from lamina.nn import Network

from ._registry import Values, experiment


@experiment("tensor-batches")
def tensor_batches() -> Values:
    """Keep 64 images as (N, C, H, W), apply one layer, and five layers by one product."""
    rng = np.random.default_rng(6)
    images = torch.from_numpy(rng.uniform(size=(64, 1, 28, 28)).astype(np.float32))
    rows = images.reshape(len(images), -1)
    network = Network((784, 128), dtype="float32", random_state=0)
    W, b = network.weights[0].detach(), network.biases[0].detach()
    with torch.no_grad():
        linear = network(rows)

    models = torch.from_numpy(rng.standard_normal((5, 128, 784)).astype(np.float32))
    shared = rows.expand(5, -1, -1)  # one batch seen by five models, not copied
    batched = torch.bmm(shared, models.mT)
    by_index = torch.einsum("nd,khd->knh", rows, models)
    return {
        "batch": list(images.shape),
        "bytes": images.numel() * images.element_size(),
        "linear": list(linear.shape),
        "linear_same": torch.allclose(linear, rows @ W.T + b, atol=1e-5),
        "batched": list(batched.shape),
        "einsum_same": torch.allclose(batched, by_index, rtol=1e-5, atol=1e-4),
        "numpy_dtype": str(rng.standard_normal(3).dtype),
        "torch_dtype": str(torch.tensor([1.0]).dtype).removeprefix("torch."),
        "not_copied": shared.data_ptr() == images.data_ptr(),
    }


@experiment("tensor-basics")
def tensor_basics() -> Values:
    """Multiply a matrix with its transpose, and print the first rows of the XOR data."""
    x = torch.tensor([[1, 2], [3, 4]])
    X, _ = make_xor(random_state=189)
    tensor = torch.from_numpy(X)  # shares memory with the array
    return {"xxT": (x @ x.T).numpy(), "first_rows": tensor[:2].numpy()}
