"""Reference values of PyTorch's interpolate in float32; where torch is installed: python resize.py > resize.json."""

import json

import torch
from torch.nn import functional

CASES = [
    # grid, to-grid, channels
    ((14, 14), (24, 24), 1),
    ((14, 14), (16, 11), 1),
    ((16, 12), (7, 9), 2),
    ((24, 24), (14, 14), 1),
    ((5, 7), (5, 7), 2),
    ((3, 3), (37, 2), 2),
    ((2, 9), (1, 20), 2),
    ((1, 4), (3, 3), 2),
]
LINES = [(7, 20, 2), (16, 23, 1), (32, 48, 1)]


def drawn(rows, width):
    """Small integers over 64: the same in every library."""
    i = torch.arange(rows * width, dtype=torch.int64)
    return ((i * 7919 + 104729 * (i // width) ** 2) % 257 - 128).to(torch.float32).reshape(rows, width) / 64


def rounded(values):
    return [[round(v, 7) for v in row] for row in values.tolist()]


out = {"torch": torch.__version__, "grids": [], "lines": []}
for grid, to, width in CASES:
    rows = drawn(grid[0] * grid[1], width)
    image = rows.reshape(1, *grid, width).permute(0, 3, 1, 2)
    for extend, mode in (("linear", "bilinear"), ("cubic", "bicubic")):
        for antialias in (False, True):
            made = functional.interpolate(image, size=to, mode=mode, align_corners=False, antialias=antialias)
            values = made.permute(0, 2, 3, 1).reshape(-1, width)
            out["grids"].append(
                {
                    "grid": grid,
                    "to_grid": to,
                    "width": width,
                    "extend": extend,
                    "antialias": antialias,
                    "values": rounded(values),
                }
            )
for rows, to, width in LINES:
    table = drawn(rows, width).T[None]
    for extend, mode in (("linear", "linear"), ("nearest", "nearest"), ("cubic", "bicubic")):
        if mode == "bicubic":
            made = functional.interpolate(table[..., None], size=(to, 1), mode=mode, align_corners=False)[..., 0]
        elif mode == "linear":
            made = functional.interpolate(table, size=to, mode=mode, align_corners=False)
        else:
            made = functional.interpolate(table, size=to, mode=mode)
        out["lines"].append({"rows": rows, "to": to, "width": width, "extend": extend, "values": rounded(made[0].T)})
print(json.dumps(out, separators=(",", ":")))
