"""What was done to queries and keys instead of turning them as expected: each fault by its name, and no other."""

import numpy as np
import pytest

RNG = np.random.default_rng(3)
YARN = "rope:dim=16,scaling=yarn,factor=8,original-max=32"


def turned(x, positions, pairs="half", sign=1, size=1.0, width=16):
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
    c, s = size * np.cos(angle), sign * size * np.sin(angle)
    out = x.astype(np.float64)
    half, neighbours = (slice(0, width // 2), slice(width // 2, width)), (slice(0, width, 2), slice(1, width, 2))
    a, b = half if pairs == "half" else neighbours
    first, second = out[..., a].copy(), out[..., b].copy()
    out[..., a], out[..., b] = first * c - second * s, first * s + second * c
    return out.astype(np.float32)


AT = np.arange(7, 18)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (lambda x: turned(x, AT, "interleaved"), "turned as interleaved"),
        (lambda x: turned(x, AT, sign=-1), "other sign"),
        (lambda x: x, "not turned at all"),
        (lambda x: turned(x, AT + 1), "position p + 1"),
        (lambda x: turned(x, AT - 1), "position p - 1"),
        (lambda x: turned(turned(x, AT), AT), "turned twice"),
        (lambda x: turned(x, AT - 7), "begin at 0"),
        (lambda x: turned(x, AT, width=8), "8 columns were turned, and 16"),
    ],
)
def test_a_fault_of_a_kernel_is_named(fault, says, tmp_path, pecli):
    recipe = ("rope:dim=16", "--pairs", "half", "--start", "7")
    pecli("apply", *recipe, "--random", "2x3x11x16", "-o", "golden.npz")
    mine = {name: value for name, value in np.load(tmp_path / "golden.npz").items() if name != "recipe"}
    mine["k_rotated"] = fault(mine["k"])
    np.savez(tmp_path / "mine.npz", **mine)
    done = pecli("compare", "mine.npz", "golden.npz", "--ulp", "4")
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert "k_rotated: " in said
    assert says in said, done.stdout
    assert "q_rotated: " not in said


@pytest.mark.parametrize(("power", "says"), [(-1, "is missing"), (1, "is squared")])
def test_a_magnitude_is_missed(power, says, tmp_path, pecli):
    pecli("apply", YARN, "--pairs", "half", "--random", "2x3x11x16", "-o", "golden.npz")
    mine = {name: value for name, value in np.load(tmp_path / "golden.npz").items() if name != "recipe"}
    mine["q_rotated"] = (mine["q_rotated"].astype(np.float64) * (0.1 * np.log(8) + 1) ** power).astype(np.float32)
    np.savez(tmp_path / "mine.npz", **mine)
    done = pecli("compare", "mine.npz", "golden.npz", "--ulp", "4")
    assert says in " ".join(done.stdout.split()), done.stdout


def test_no_fault_is_said_that_leaves_a_value(tmp_path, pecli):
    pecli("apply", "rope:dim=16", "--pairs", "half", "--random", "2x3x11x16", "-o", "golden.npz")
    mine = {name: value for name, value in np.load(tmp_path / "golden.npz").items() if name != "recipe"}
    mine["k_rotated"] = mine["k"].copy()
    mine["k_rotated"][1, 2, 3, 4] += 1
    np.savez(tmp_path / "mine.npz", **mine)
    done = pecli("compare", "mine.npz", "golden.npz", "--ulp", "4")
    assert done.returncode == 1
    assert "not turned" not in done.stdout


def test_weights_of_the_other_pairing_are_named(tmp_path, pecli):
    w = RNG.normal(size=(32, 6)).astype(np.float32)
    by_head = w.reshape(4, 8, 6)
    np.save(tmp_path / "wq.npy", w)
    np.save(tmp_path / "q.npy", np.concatenate([by_head[:, 0::2], by_head[:, 1::2]], 1).reshape(w.shape))
    done = pecli("compare", "q.npy", "wq.npy", "--heads", "4")
    assert done.returncode == 1
    assert "rows permuted: half against interleaved" in " ".join(done.stdout.split())
    back = pecli("compare", "wq.npy", "q.npy", "--heads", "4")
    assert "rows permuted: interleaved against half" in " ".join(back.stdout.split())
    other = pecli("compare", "wq.npy", "q.npy", "--heads", "2")
    assert "rows permuted" not in other.stdout
