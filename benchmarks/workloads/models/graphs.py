"""Models of graphs and sets: messages along edges, clouds of points, retrieval, forces of molecules."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.models.layers import (
    KINKS,
    Draw,
    adam_step,
    cross_entropy,
    is_torch,
    linear,
    model,
    moments_of,
    softplus,
)


def segment_sum(library: Any, x: Any, index: Any, count: int) -> Any:
    if is_torch(library):
        return library.torch.zeros((count, *x.shape[1:]), dtype=x.dtype).index_add(0, index, x)
    return library.module.ops.segment_sum(x, index, count)


def segment_max(library: Any, x: Any, index: Any, count: int) -> Any:
    if is_torch(library):
        torch = library.torch
        wide = index.long()[:, None].expand_as(x)
        return torch.full((count, *x.shape[1:]), -torch.inf).scatter_reduce(0, wide, x, "amax")
    return library.module.ops.segment_max(x, index, count)


# -------------------------------------------------------------------------------------------------- nodes of a graph

NODES, EDGES, FEATURES, CLASSES = 1500, 6000, 96, 7


def citations() -> tuple[np.ndarray, ...]:
    """Features, ends of edges (with one from each node to itself), classes, and which nodes are for training."""
    draw = Draw(40)
    ends = draw.integers(NODES, 2, EDGES)
    loops = np.arange(NODES, dtype=np.int32)
    source, target = (np.concatenate([a, b, loops]) for a, b in (ends, ends[::-1]))
    order = np.argsort(target, kind="stable")
    features = draw.normal(NODES, FEATURES)
    return (
        features,
        source[order],
        target[order],
        draw.integers(CLASSES, NODES),
        (draw.uniform(NODES) < 0.3).astype(np.float32),
    )


def loss_of_nodes(library: Any, logits: Any, classes: Any, counted: Any) -> Any:
    xp = library.xp
    if is_torch(library):
        losses = library.torch.nn.functional.cross_entropy(logits, classes.long(), reduction="none")
    else:
        losses = -xp.take_along_axis(library.nn.log_softmax(logits), classes[:, None], axis=1)[:, 0]
    return xp.sum(losses * counted) / xp.sum(counted)


def convolutional(library: Any) -> Any:
    """A graph convolutional network of two layers, weighted by the nodes' degrees."""
    if not library.functional:
        return None
    xp, hidden = library.xp, 32

    def loss(params: Any, features: Any, source: Any, target: Any, classes: Any, counted: Any) -> Any:
        degree = segment_sum(library, xp.ones(source.shape, dtype=xp.float32), target, NODES)
        weight = (degree[source] * degree[target]) ** -0.5
        x = features
        for i, p in enumerate(params):
            x = linear(p, x)
            x = segment_sum(library, weight[:, None] * x[source], target, NODES)
            x = library.nn.relu(x) if i == 0 else x
        return loss_of_nodes(library, x, classes, counted)

    draw = Draw(41)
    params = [draw.linear(FEATURES, hidden), draw.linear(hidden, CLASSES)]
    return library.thunk(adam_step(library, loss), params, moments_of(params), *citations())


def attentive(library: Any) -> Any:
    """A graph attention network: weights of edges by a softmax over those that meet at a node."""
    if not library.functional:
        return None
    xp, heads, size = library.xp, 4, 8

    def leaky(x: Any) -> Any:
        return library.torch.nn.functional.leaky_relu(x, 0.2) if is_torch(library) else library.nn.leaky_relu(x, 0.2)

    def layer(p: Any, x: Any, source: Any, target: Any) -> Any:
        h = (x @ p["w"]).reshape(NODES, heads, -1)
        from_source = xp.sum(h * p["source"], axis=-1)
        to_target = xp.sum(h * p["target"], axis=-1)
        scores = leaky(from_source[source] + to_target[target])
        largest = segment_max(library, scores, target, NODES)
        share = xp.exp(scores - largest[target])
        share = share / segment_sum(library, share, target, NODES)[target]
        return segment_sum(library, share[:, :, None] * h[source], target, NODES)

    def loss(params: Any, features: Any, source: Any, target: Any, classes: Any, counted: Any) -> Any:
        x = layer(params[0], features, source, target).reshape(NODES, heads * size)
        x = xp.where(x > 0, x, xp.exp(xp.where(x > 0, 0.0, x)) - 1)
        return loss_of_nodes(library, xp.mean(layer(params[1], x, source, target), axis=1), classes, counted)

    draw = Draw(42)
    params = [
        {"w": draw.dense(into, heads * out), "source": draw.normal(heads, out, scale=0.3), "target": draw.normal(heads, out, scale=0.3)}
        for into, out in ((FEATURES, size), (heads * size, CLASSES))
    ]  # fmt: skip
    return library.thunk(adam_step(library, loss), params, moments_of(params), *citations())


# -------------------------------------------------------------------------------------------------- clouds of points


def point_net(library: Any) -> Any:
    """PointNet: points are turned by a matrix that a first network finds, and described by their largest features."""
    if not library.functional:
        return None
    xp, nn, rows, points = library.xp, library.nn, 8, 256

    def described(p: Any, x: Any) -> Any:
        for layer in p:
            x = nn.relu(linear(layer, x))
        return xp.max(x, axis=1)

    def loss(params: Any, clouds: Any, classes: Any) -> Any:
        turn = linear(params["turn"][-1], described(params["turn"][:-1], clouds)).reshape(rows, 3, 3)
        turn = turn + library.array(np.eye(3, dtype=np.float32))
        x = described(params["points"], clouds @ turn)
        logits = linear(params["head"][1], nn.relu(linear(params["head"][0], x)))
        skew = turn @ xp.swapaxes(turn, 1, 2) - library.array(np.eye(3, dtype=np.float32))
        return cross_entropy(library, logits, classes) + 1e-3 * xp.mean(xp.sum(skew**2, axis=(1, 2)))

    draw = Draw(43)
    params = {
        "turn": [draw.linear(3, 32), draw.linear(32, 64), draw.linear(64, 9)],
        "points": [draw.linear(3, 64), draw.linear(64, 64), draw.linear(64, 128)],
        "head": [draw.linear(128, 64), draw.linear(64, 10)],
    }
    data = draw.normal(rows, points, 3), draw.integers(10, rows)
    return library.thunk(adam_step(library, loss), params, moments_of(params), *data)


# --------------------------------------------------------------------------------------------------------- retrieval


def two_towers(library: Any) -> Any:
    """Users and items as vectors; each user's item is to be found among those of the batch, corrected by how common they are."""
    if not library.functional:
        return None
    xp, nn, users, items, size, rows, longest = library.xp, library.nn, 4000, 4000, 32, 128, 20

    def tower(p: Any, x: Any) -> Any:
        x = linear(p[1], nn.relu(linear(p[0], x)))
        return x / xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True) + 1e-6)

    def loss(
        params: Any, user: Any, history: Any, lengths: Any, dense: Any, item: Any, category: Any, common: Any
    ) -> Any:
        inside = xp.where(xp.arange(longest) < lengths[:, None], 1.0, 0.0)
        seen = xp.sum(params["items"][history] * inside[..., None], axis=1) / lengths[:, None]
        u = tower(params["user"], xp.concatenate([params["users"][user], seen, dense], axis=-1))
        v = tower(params["item"], xp.concatenate([params["items"][item], params["categories"][category]], axis=-1))
        return cross_entropy(library, u @ v.T / 0.1 - xp.log(common), library.array(np.arange(rows, dtype=np.int32)))

    draw = Draw(44)
    params = {
        "users": draw.normal(users, size, scale=0.1), "items": draw.normal(items, size, scale=0.1),
        "categories": draw.normal(50, 8, scale=0.1), "user": [draw.linear(2 * size + 8, 64), draw.linear(64, size)],
        "item": [draw.linear(size + 8, 64), draw.linear(64, size)],
    }  # fmt: skip
    data = (
        draw.integers(users, rows), draw.integers(items, rows, longest), 1 + draw.integers(longest, rows), draw.normal(rows, 8),
        draw.integers(items, rows), draw.integers(50, rows), 0.1 + draw.uniform(rows),
    )  # fmt: skip
    return library.thunk(adam_step(library, loss), params, moments_of(params), *data)


# ------------------------------------------------------------------------------------------------- forces of molecules

ATOMS, MOLECULES, WIDTH, RADIAL, REACH = 12, 8, 32, 16, 5.0


def molecules() -> tuple[np.ndarray, ...]:
    """Kinds and positions of atoms, the molecule of each, pairs of atoms of a molecule that are near, energies, forces."""
    draw = Draw(45)
    count = ATOMS * MOLECULES
    owner = np.repeat(np.arange(MOLECULES, dtype=np.int32), ATOMS)
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), -1).reshape(-1, 3)[:ATOMS]
    positions = (np.tile(grid, (MOLECULES, 1)) * 1.4 + draw.normal(count, 3, scale=0.1)).astype(np.float32)
    near = np.linalg.norm(positions[:, None] - positions, axis=-1) < 3
    a, b = np.where(near & (owner[:, None] == owner) & ~np.eye(count, dtype=bool))
    pairs = a.astype(np.int32), b.astype(np.int32)
    return draw.integers(5, count), positions, owner, *pairs, draw.normal(MOLECULES), draw.normal(count, 3)


def forces(library: Any) -> Any:
    """SchNet: energies by continuous filters, forces by their derivative, and a step of training on both."""
    if not library.functional:
        return None
    xp = library.xp
    centers = library.array(np.linspace(0, REACH, RADIAL, dtype=np.float32))

    def act(x: Any) -> Any:
        return softplus(library, x) - np.log(2).item()

    def energies(params: Any, positions: Any, kinds: Any, owner: Any, a: Any, b: Any) -> Any:
        d = positions[a] - positions[b]
        distance = xp.sqrt(xp.sum(d * d, axis=-1))
        radial = xp.exp(-4.0 * (distance[:, None] - centers) ** 2)
        fade = 0.5 * (xp.cos(distance * (np.pi / REACH)) + 1)
        x = params["embed"][kinds]
        for p in params["layers"]:
            weights = linear(p["filter2"], act(linear(p["filter1"], radial))) * fade[:, None]
            messages = segment_sum(library, (x @ p["in"])[b] * weights, a, ATOMS * MOLECULES)
            x = x + linear(p["out2"], act(linear(p["out1"], messages)))
        each = linear(params["head2"], act(linear(params["head1"], x)))[:, 0]
        return segment_sum(library, each, owner, MOLECULES)

    def with_forces(params: Any, positions: Any, *rest: Any) -> Any:
        if library.name == "torch":
            positions = positions.detach().requires_grad_()
            found = energies(params, positions, *rest)
            return found, -library.torch.autograd.grad(found.sum(), positions, create_graph=True)[0]
        # The sum's derivative is that of each molecule by its own atoms.
        found, back = by_pullback(lambda positions: energies(params, positions, *rest), positions)
        return found, -back(xp.ones(found.shape, dtype=xp.float32))[0]

    def by_pullback(function: Any, x: Any) -> Any:
        return (library.torch.func if is_torch(library) else library.module).vjp(function, x)

    def loss(params: Any, kinds: Any, positions: Any, owner: Any, a: Any, b: Any, energy: Any, force: Any) -> Any:
        found, found_force = with_forces(params, positions, kinds, owner, a, b)
        return xp.mean((found - energy) ** 2) + 10 * xp.mean((found_force - force) ** 2)

    draw = Draw(46)
    layers = [
        {
            "in": draw.dense(WIDTH, WIDTH), "filter1": draw.linear(RADIAL, WIDTH), "filter2": draw.linear(WIDTH, WIDTH),
            "out1": draw.linear(WIDTH, WIDTH), "out2": draw.linear(WIDTH, WIDTH),
        }
        for _ in range(3)
    ]  # fmt: skip
    params = {
        "embed": draw.normal(5, WIDTH),
        "layers": layers,
        "head1": draw.linear(WIDTH, 16),
        "head2": draw.linear(16, 1),
    }
    return library.thunk(adam_step(library, loss), params, moments_of(params), *molecules())


WORKLOADS = [
    model("graph convolutions, 1,500 nodes and 13,500 edges, training step", convolutional),
    model("graph attention, 1,500 nodes and 13,500 edges, training step", attentive),
    model("PointNet, 8 clouds of 256 points, training step", point_net, tolerance=KINKS),
    model("two towers with histories, batch 128, training step", two_towers),
    model("energies and forces of 8 molecules, training step", forces),
]
