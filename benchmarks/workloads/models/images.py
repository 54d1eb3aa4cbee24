"""Models of images: steps of training of convolutional networks and of transformers of patches."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.models.layers import (
    KINKS,
    Draw,
    adam_step,
    adam_update,
    attention,
    batch_norm,
    block_parameters,
    convolve,
    cross_entropy,
    dropout,
    group_norm,
    is_torch,
    layer_norm,
    linear,
    max_pool,
    model,
    moments_of,
    momentum_step,
    norm_parameters,
    running,
    silu,
    transformer_block,
    value_and_grad_with_state,
    velocity_of,
)

# ----------------------------------------------------------------------------------------------------------- ResNet


def resnet_parameters() -> tuple[Any, Any]:
    draw = Draw(0)
    params: dict[str, Any] = {"stem": draw.kernel(3, 3, 16, False), "norm": norm_parameters(16), "stages": []}
    state: dict[str, Any] = {"norm": running(16), "stages": []}
    for into, out in ((16, 16), (16, 32), (32, 64)):
        stage = {
            "conv1": draw.kernel(3, into, out, False), "norm1": norm_parameters(out),
            "conv2": draw.kernel(3, out, out, False), "norm2": norm_parameters(out),
        }  # fmt: skip
        if into != out:
            stage["shortcut"] = draw.kernel(1, into, out, False)
        params["stages"].append(stage)
        state["stages"].append({"norm1": running(out), "norm2": running(out)})
    params["head"] = draw.linear(64, 10)
    return params, state


def resnet(library: Any) -> Any:
    """ResNet-8 of CIFAR's images, channels first, with momentum; batch norm remembers."""
    if not library.functional:
        return None
    xp, nn = library.xp, library.nn

    def block(p: Any, s: Any, x: Any, stride: int) -> Any:
        y = convolve(library, x, p["conv1"], stride, channels_last=False)
        y, norm1 = batch_norm(library, p["norm1"], s["norm1"], y, channels_last=False)
        y = convolve(library, nn.relu(y), p["conv2"], channels_last=False)
        y, norm2 = batch_norm(library, p["norm2"], s["norm2"], y, channels_last=False)
        if "shortcut" in p:
            x = convolve(library, x, p["shortcut"], stride, channels_last=False)
        return nn.relu(x + y), {"norm1": norm1, "norm2": norm2}

    def loss(params: Any, state: Any, images: Any, labels: Any) -> Any:
        x = convolve(library, images, params["stem"], channels_last=False)
        x, norm = batch_norm(library, params["norm"], state["norm"], x, channels_last=False)
        x = nn.relu(x)
        stages = []
        for i, (p, s) in enumerate(zip(params["stages"], state["stages"], strict=True)):
            x, s = block(p, s, x, 1 if i == 0 else 2)
            stages.append(s)
        logits = linear(params["head"], xp.mean(x, axis=(2, 3)))
        return cross_entropy(library, logits, labels), {"norm": norm, "stages": stages}

    params, state = resnet_parameters()
    draw = Draw(1)
    batch = draw.normal(16, 3, 32, 32), draw.integers(10, 16)
    return library.thunk(momentum_step(library, loss), params, velocity_of(params), state, *batch)


# ------------------------------------------------------------------------------------------------------------ U-Net


def unet_parameters(widths: tuple[int, ...], middle: int, classes: int) -> Any:
    draw = Draw(2)

    def double(into: int, out: int) -> Any:
        return {
            "conv1": draw.kernel(3, into, out), "norm1": norm_parameters(out),
            "conv2": draw.kernel(3, out, out), "norm2": norm_parameters(out),
        }  # fmt: skip

    intos = (3, *widths)
    return {
        "down": [double(into, out) for into, out in zip(intos, widths, strict=False)],
        "middle": double(widths[-1], middle),
        "up": [
            {"rise": draw.kernel(2, below, width), **double(2 * width, width)}
            for below, width in zip((middle, *widths[:0:-1]), widths[::-1], strict=True)
        ],
        "head": draw.linear(widths[0], classes),
    }


def rise(library: Any, x: Any, w: Any) -> Any:
    """A transposed convolution that doubles the size."""
    if is_torch(library):
        # Torch's kernel is the other way round.
        y = library.torch.nn.functional.conv_transpose2d(
            x.permute(0, 3, 1, 2), w.permute(2, 3, 0, 1).flip(2, 3), stride=2
        )
        return y.permute(0, 2, 3, 1)
    return library.lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def unet(library: Any) -> Any:
    """Segmentation: cross entropy of each pixel and the overlap of classes."""
    if not library.functional:
        return None
    xp, nn = library.xp, library.nn

    def double(p: Any, x: Any) -> Any:
        x = silu(library, group_norm(library, p["norm1"], convolve(library, x, p["conv1"]), 8))
        return silu(library, group_norm(library, p["norm2"], convolve(library, x, p["conv2"]), 8))

    def loss(params: Any, x: Any, labels: Any, wanted: Any) -> Any:
        skips = []
        for p in params["down"]:
            x = double(p, x)
            skips.append(x)
            x = max_pool(library, x)
        x = double(params["middle"], x)
        for p in params["up"]:
            x = double(p, xp.concatenate([skips.pop(), rise(library, x, p["rise"])], axis=-1))
        logits = linear(params["head"], x)
        found = nn.softmax(logits, axis=-1)
        both = 2 * xp.sum(found * wanted, axis=(1, 2)) + 1
        dice = both / (xp.sum(found, axis=(1, 2)) + xp.sum(wanted, axis=(1, 2)) + 1)
        return cross_entropy(library, logits, labels) + 1 - xp.mean(dice)

    params, draw = unet_parameters((16, 32), 64, 5), Draw(3)
    labels = draw.integers(5, 2, 64, 64)
    step = adam_step(library, loss)
    return library.thunk(
        step, params, moments_of(params), draw.normal(2, 64, 64, 3), labels, np.eye(5, dtype=np.float32)[labels]
    )


# ----------------------------------------------------------------------------------------------------- EfficientNet

# Width before, width after, how much wider within, stride.
BOTTLENECKS = ((16, 16, 2, 1), (16, 24, 4, 2), (24, 24, 4, 1), (24, 40, 4, 2))


def efficientnet_parameters() -> tuple[Any, Any]:
    draw = Draw(4)
    blocks, states = [], []
    for into, out, wider, _ in BOTTLENECKS:
        width = wider * into
        blocks.append({
            "expand": draw.kernel(1, into, width), "norm1": norm_parameters(width),
            "depthwise": draw.kernel(3, 1, width), "norm2": norm_parameters(width),
            "squeeze": draw.linear(width, width // 4), "excite": draw.linear(width // 4, width),
            "project": draw.kernel(1, width, out), "norm3": norm_parameters(out),
        })  # fmt: skip
        states.append({"norm1": running(width), "norm2": running(width), "norm3": running(out)})
    params = {
        "stem": draw.kernel(3, 3, 16),
        "norm": norm_parameters(16),
        "blocks": blocks,
        "head": draw.linear(40, 100),
    }
    return params, {"norm": running(16), "blocks": states}


def efficientnet(library: Any) -> Any:
    """Inverted bottlenecks of depthwise convolutions with squeeze and excitation, channels last."""
    if not library.functional:
        return None
    xp, nn = library.xp, library.nn

    def bottleneck(p: Any, s: Any, x: Any, stride: int) -> Any:
        y, norm1 = batch_norm(library, p["norm1"], s["norm1"], convolve(library, x, p["expand"]))
        y = convolve(library, silu(library, y), p["depthwise"], stride, groups=y.shape[-1])
        y, norm2 = batch_norm(library, p["norm2"], s["norm2"], y)
        y = silu(library, y)
        gate = nn.sigmoid(linear(p["excite"], nn.relu(linear(p["squeeze"], xp.mean(y, axis=(1, 2))))))
        y = convolve(library, y * gate[:, None, None, :], p["project"])
        y, norm3 = batch_norm(library, p["norm3"], s["norm3"], y)
        return x + y if x.shape == y.shape else y, {"norm1": norm1, "norm2": norm2, "norm3": norm3}

    def loss(params: Any, state: Any, images: Any, labels: Any) -> Any:
        x, norm = batch_norm(library, params["norm"], state["norm"], convolve(library, images, params["stem"], 2))
        x = silu(library, x)
        blocks = []
        for p, s, (_, _, _, stride) in zip(params["blocks"], state["blocks"], BOTTLENECKS, strict=True):
            x, s = bottleneck(p, s, x, stride)
            blocks.append(s)
        logits = linear(params["head"], xp.mean(x, axis=(1, 2)))
        return cross_entropy(library, logits, labels), {"norm": norm, "blocks": blocks}

    params, state = efficientnet_parameters()
    draw = Draw(5)
    batch = draw.normal(8, 64, 64, 3), draw.integers(100, 8)
    return library.thunk(momentum_step(library, loss), params, velocity_of(params), state, *batch)


# ------------------------------------------------------------------------------------------ transformers of patches

PATCH, WIDTH, HEADS, PATCHES = 4, 96, 4, 64


def patches_of(library: Any, images: Any) -> Any:
    rows, height, width, channels = images.shape
    x = images.reshape(rows, height // PATCH, PATCH, width // PATCH, PATCH, channels)
    return library.xp.transpose(x, (0, 1, 3, 2, 4, 5)).reshape(rows, -1, PATCH * PATCH * channels)


def vit(library: Any) -> Any:
    """A vision transformer with dropout, by AdamW."""
    if not library.functional:
        return None
    xp, nn = library.xp, library.nn
    rate = 0.1

    def block(p: Any, key: Any, x: Any) -> Any:
        keys = (None,) * 3 if is_torch(library) else library.module.random.split(key, 3)
        y = attention(library, p["attention"], layer_norm(library, p["norm1"], x), HEADS)
        x = x + dropout(library, keys[0], y, rate)
        y = nn.gelu(linear(p["up"], layer_norm(library, p["norm2"], x)))
        return x + dropout(library, keys[2], linear(p["down"], dropout(library, keys[1], y, rate)), rate)

    def loss(params: Any, key: Any, images: Any, labels: Any) -> Any:
        x = linear(params["embed"], patches_of(library, images))
        rows, _, width = x.shape
        x = xp.concatenate([xp.broadcast_to(params["class"], (rows, 1, width)), x], axis=1) + params["position"]
        for i, p in enumerate(params["blocks"]):
            x = block(p, key if is_torch(library) else library.module.random.fold_in(key, i), x)
        return cross_entropy(library, linear(params["head"], layer_norm(library, params["norm"], x[:, 0])), labels)

    draw = Draw(6)
    params = {
        "embed": draw.linear(3 * PATCH * PATCH, WIDTH), "class": draw.normal(WIDTH, scale=0.02),
        "position": draw.normal(PATCHES + 1, WIDTH, scale=0.02), "blocks": [block_parameters(draw, WIDTH) for _ in range(3)],
        "norm": norm_parameters(WIDTH), "head": draw.linear(WIDTH, 10),
    }  # fmt: skip
    step = adam_step(library, loss, decay=0.05)
    return library.thunk(
        step, params, moments_of(params), key_of(library, 0), draw.normal(8, 32, 32, 3), draw.integers(10, 8)
    )


def key_of(library: Any, seed: int) -> Any:
    """Torch has a generator of its own."""
    return None if is_torch(library) else library.module.random.PRNGKey(seed)


def masked_autoencoder(library: Any) -> Any:
    """A quarter of the patches, drawn by sorting noise, is seen; the others are to be found."""
    if not library.functional:
        return None
    xp = library.xp
    seen, narrow = PATCHES // 4, 64

    def taken(x: Any, index: Any) -> Any:
        if is_torch(library):
            return library.torch.gather(x, 1, index[..., None].expand(-1, -1, x.shape[-1]))
        return xp.take_along_axis(x, index[..., None], axis=1)

    def loss(params: Any, images: Any, noise: Any) -> Any:
        patches = patches_of(library, images)
        rows = len(patches)
        order = library.torch.argsort(noise, dim=1) if is_torch(library) else xp.argsort(noise, axis=1)
        back = library.torch.argsort(order, dim=1) if is_torch(library) else xp.argsort(order, axis=1)
        x = taken(linear(params["embed"], patches) + params["position"], order[:, :seen])
        for p in params["encoder"]:
            x = transformer_block(library, p, x, HEADS)
        x = linear(params["narrow"], layer_norm(library, params["norm1"], x))
        hidden = xp.broadcast_to(params["hidden"], (rows, PATCHES - seen, narrow))
        x = taken(xp.concatenate([x, hidden], axis=1), back) + params["place"]
        for p in params["decoder"]:
            x = transformer_block(library, p, x, HEADS)
        found = linear(params["head"], layer_norm(library, params["norm2"], x))
        error = xp.mean((found - patches) ** 2, axis=-1)
        return xp.sum(xp.where(back >= seen, error, 0.0)) / (rows * (PATCHES - seen))

    draw = Draw(7)
    size = 3 * PATCH * PATCH
    params = {
        "embed": draw.linear(size, WIDTH), "position": draw.normal(PATCHES, WIDTH, scale=0.02),
        "encoder": [block_parameters(draw, WIDTH) for _ in range(3)], "norm1": norm_parameters(WIDTH),
        "narrow": draw.linear(WIDTH, narrow), "hidden": draw.normal(narrow, scale=0.02),
        "place": draw.normal(PATCHES, narrow, scale=0.02), "decoder": [block_parameters(draw, narrow)],
        "norm2": norm_parameters(narrow), "head": draw.linear(narrow, size),
    }  # fmt: skip
    step = adam_step(library, loss)
    return library.thunk(step, params, moments_of(params), draw.normal(8, 32, 32, 3), draw.uniform(8, PATCHES))


# ----------------------------------------------------------------------------------------------------------- SimCLR


def augmented(library: Any, key: Any, image: Any) -> Any:
    """One image, cropped, turned over and in other colours by chance."""
    xp, random, lax = library.xp, library.module.random, library.lax
    crop, flip, bright, contrast = random.split(key, 4)
    size = image.shape[0]
    image = xp.pad(image, ((4, 4), (4, 4), (0, 0)), mode="reflect")
    y, x = random.randint(crop, (2,), 0, 9)
    image = lax.dynamic_slice(image, (y, x, 0), (size, size, 3))
    image = xp.where(random.bernoulli(flip), image[:, ::-1], image)
    image = image * random.uniform(bright, minval=0.6, maxval=1.4)
    mean = xp.mean(image, axis=(0, 1), keepdims=True)
    return (image - mean) * random.uniform(contrast, minval=0.6, maxval=1.4) + mean


def augmented_by_torch(torch: Any, image: Any) -> Any:
    """The same as torch's users write it: one image after the other."""
    size = image.shape[0]
    image = torch.nn.functional.pad(image.permute(2, 0, 1)[None], (4, 4, 4, 4), mode="reflect")[0]
    y, x = torch.randint(0, 9, (2,)).tolist()
    image = image[:, y : y + size, x : x + size]
    if torch.rand(()) < 0.5:
        image = image.flip(2)
    image = image * (0.6 + 0.8 * torch.rand(()))
    mean = image.mean((1, 2), keepdim=True)
    return ((image - mean) * (0.6 + 0.8 * torch.rand(())) + mean).permute(1, 2, 0)


def simclr(library: Any) -> Any:
    """Contrastive learning: two views of each image are to be alike."""
    if not library.functional:
        return None
    xp, nn = library.xp, library.nn
    count = 16

    def views(key: Any, images: Any) -> Any:
        if is_torch(library):
            return library.torch.stack([augmented_by_torch(library.torch, image) for _ in range(2) for image in images])
        keys = library.module.random.split(key, 2 * count)
        return library.vmap(lambda key, image: augmented(library, key, image))(keys, xp.concatenate([images, images]))

    def loss(params: Any, state: Any, key: Any, images: Any) -> Any:
        x = views(key, images)
        new = []
        for p, s in zip(params["convolutions"], state, strict=True):
            x, s = batch_norm(library, p["norm"], s, convolve(library, x, p["kernel"], 2))
            x = nn.relu(x)
            new.append(s)
        z = linear(params["project"], nn.relu(linear(params["hidden"], xp.mean(x, axis=(1, 2)))))
        z = z / xp.sqrt(xp.sum(z * z, axis=-1, keepdims=True) + 1e-12)
        likeness = z @ z.T / 0.5
        # Not with itself; with the other view of the same image.
        scores = xp.where(library.array(np.eye(2 * count, dtype=bool)), -1e9, likeness)
        return cross_entropy(library, scores, library.array(np.roll(np.arange(2 * count, dtype=np.int32), count))), new

    def step(params: Any, moments: Any, state: Any, key: Any, images: Any) -> Any:
        (value, state), gradients = value_and_grad_with_state(library, loss)(params, state, key, images)
        return *adam_update(library, params, moments, gradients), state, value

    draw = Draw(8)
    widths = (3, 16, 32, 64)
    convolutions = [
        {"kernel": draw.kernel(3, into, out), "norm": norm_parameters(out)}
        for into, out in zip(widths, widths[1:], strict=False)
    ]
    params = {"convolutions": convolutions, "hidden": draw.linear(64, 64), "project": draw.linear(64, 32)}
    state = [running(width) for width in widths[1:]]
    return library.thunk(step, params, moments_of(params), state, key_of(library, 1), draw.normal(count, 32, 32, 3))


WORKLOADS = [
    model("ResNet-8, 16 images 3×32×32, training step", resnet, tolerance=KINKS),
    model("U-Net, 2 images 64×64, training step", unet),
    model("EfficientNet's bottlenecks, 8 images 64×64, training step", efficientnet),
    model("vision transformer with dropout, 8 images 32×32, training step", vit, own_draws=True),
    model("masked autoencoder, 8 images 32×32, training step", masked_autoencoder),
    model("SimCLR, 16 images 32×32, training step", simclr, own_draws=True, tolerance=KINKS),
]
