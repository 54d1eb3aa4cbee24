"""Models that draw: diffusion, autoencoders, flows, adversaries."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.models.images import key_of
from workloads.models.layers import (
    KINKS,
    Draw,
    adam_step,
    adam_update,
    convolve,
    functional,
    group_norm,
    is_torch,
    linear,
    model,
    moments_of,
    norm_parameters,
    silu,
    softplus,
)

# -------------------------------------------------------------------------------------------------------- diffusion

SIZE, STEPS, CHANNELS, TIMES = 16, 1000, 32, 64


def schedule() -> tuple[np.ndarray, np.ndarray]:
    """Betas, and what is left of the signal after each step."""
    betas = np.linspace(1e-4, 0.02, STEPS, dtype=np.float32)
    return betas, np.cumprod(1 - betas).astype(np.float32)


def denoiser_parameters() -> Any:
    draw = Draw(20)

    def residual() -> Any:
        return {
            "norm1": norm_parameters(CHANNELS), "conv1": draw.kernel(3, CHANNELS, CHANNELS), "time": draw.linear(TIMES, 2 * CHANNELS),
            "norm2": norm_parameters(CHANNELS), "conv2": draw.kernel(3, CHANNELS, CHANNELS),
        }  # fmt: skip

    return {
        "time1": draw.linear(TIMES, TIMES), "time2": draw.linear(TIMES, TIMES), "in": draw.kernel(3, 1, CHANNELS),
        "blocks": [residual() for _ in range(3)], "norm": norm_parameters(CHANNELS), "out": draw.kernel(3, CHANNELS, 1),
    }  # fmt: skip


def denoise(library: Any, params: Any, x: Any, t: Any) -> Any:
    """The noise in x: residual blocks that are scaled and shifted by the time's embedding."""
    xp = library.xp
    frequencies = library.array(np.exp(-np.log(1e4) * np.arange(TIMES // 2) / (TIMES // 2)).astype(np.float32))
    angles = (t.float() if is_torch(library) else t.astype(np.float32))[:, None] * frequencies
    time = xp.concatenate([xp.sin(angles), xp.cos(angles)], axis=-1)
    time = linear(params["time2"], silu(library, linear(params["time1"], time)))
    x = convolve(library, x, params["in"])
    for p in params["blocks"]:
        y = convolve(library, silu(library, group_norm(library, p["norm1"], x, 8)), p["conv1"])
        scale, shift = xp.split(linear(p["time"], silu(library, time))[:, None, None, :], 2, axis=-1)
        y = group_norm(library, p["norm2"], y, 8) * (1 + scale) + shift
        x = x + convolve(library, silu(library, y), p["conv2"])
    return convolve(library, silu(library, group_norm(library, params["norm"], x, 8)), params["out"])


def diffusion_step(library: Any) -> Any:
    """A step of training, and the average of the weights over steps."""
    if not library.functional:
        return None
    xp, kept = library.xp, library.array(schedule()[1])

    def drawn(key: Any, shape: tuple[int, ...]) -> Any:
        if is_torch(library):
            return library.torch.randint(0, STEPS, (shape[0],)), library.torch.randn(shape)
        random = library.module.random
        for_time, for_noise = random.split(key)
        return random.randint(for_time, (shape[0],), 0, STEPS), random.normal(for_noise, shape)

    def loss(params: Any, t: Any, noise: Any, images: Any) -> Any:
        share = kept[t][:, None, None, None]
        found = denoise(library, params, xp.sqrt(share) * images + xp.sqrt(1 - share) * noise, t)
        return xp.mean((found - noise) ** 2)

    def step(params: Any, average: Any, moments: Any, key: Any, images: Any) -> Any:
        t, noise = drawn(key, images.shape)
        params, moments, value = adam_step(library, loss, clip=1.0)(params, moments, t, noise, images)
        average = library.tree_map(lambda a, p: 0.999 * a + 0.001 * p, average, params)
        return params, average, moments, value

    params = denoiser_parameters()
    images = Draw(21).normal(8, SIZE, SIZE, 1)
    return library.thunk(step, params, params, moments_of(params), key_of(library, 2), images)


def diffusion_sample(library: Any) -> Any:
    """50 steps from noise to images (every 20th of the training's), each with new noise."""
    if not library.functional or library.name in ("torch.func", "torch.compile"):
        return None
    xp, kept_of = library.xp, schedule()[1]
    times = np.arange(STEPS - 20, -1, -20, dtype=np.int32)
    kept = kept_of[times]
    before = np.append(kept[1:], np.float32(1))

    def cleaner(params: Any, x: Any, t: Any, kept: Any, before: Any, noise: Any) -> Any:
        found = denoise(library, params, x, xp.broadcast_to(t, (x.shape[0],)))
        image = (x - xp.sqrt(1 - kept) * found) / xp.sqrt(kept)
        image = library.torch.clamp(image, -3, 3) if is_torch(library) else xp.clip(image, -3, 3)
        beta = 1 - kept / before
        mean = (xp.sqrt(before) * beta * image + xp.sqrt(1 - beta) * (1 - before) * x) / (1 - kept)
        return mean + xp.sqrt(beta * (1 - before) / (1 - kept)) * noise

    def sample(params: Any, key: Any) -> Any:
        random, lax = library.module.random, library.lax
        key, start = random.split(key)

        def step(carry: Any, now: Any) -> Any:
            x, key = carry
            key, use = random.split(key)
            return (cleaner(params, x, *now, random.normal(use, x.shape)), key), None

        now = tuple(map(library.array, (times, kept, before)))
        (x, _), _ = lax.scan(step, (random.normal(start, (4, SIZE, SIZE, 1)), key), now)
        return x

    def by_torch(params: Any, _: Any) -> Any:
        torch = library.torch
        with torch.no_grad():
            x = torch.randn(4, SIZE, SIZE, 1)
            for now in zip(*(torch.from_numpy(part) for part in (times, kept, before)), strict=True):
                x = cleaner(params, x, *now, torch.randn(x.shape))
        return x

    return library.thunk(by_torch if is_torch(library) else sample, denoiser_parameters(), key_of(library, 3))


# ----------------------------------------------------------------------------------------- variational autoencoder


def autoencoder(library: Any) -> Any:
    """Of binary images, by Adam."""
    if not library.functional:
        return None
    xp, latent = library.xp, 16

    def elbo(params: Any, key: Any, x: Any) -> Any:
        h = xp.tanh(linear(params["encoder1"], x))
        h = xp.tanh(linear(params["encoder2"], h))
        mean, log_var = xp.split(linear(params["code"], h), 2, axis=-1)
        noise = library.torch.randn(mean.shape) if is_torch(library) else library.module.random.normal(key, mean.shape)
        z = mean + xp.exp(0.5 * log_var) * noise
        h = xp.tanh(linear(params["decoder1"], z))
        logits = linear(params["decoder2"], xp.tanh(linear(params["decoder3"], h)))
        likelihood = -xp.sum(softplus(library, logits) - x * logits, axis=-1)
        divergence = 0.5 * xp.sum(mean**2 + xp.exp(log_var) - log_var - 1, axis=-1)
        return -xp.mean(likelihood - divergence)

    draw = Draw(22)
    params = {
        "encoder1": draw.linear(784, 256), "encoder2": draw.linear(256, 128), "code": draw.linear(128, 2 * latent),
        "decoder1": draw.linear(latent, 128), "decoder3": draw.linear(128, 256), "decoder2": draw.linear(256, 784),
    }  # fmt: skip
    x = (draw.uniform(64, 784) < 0.3).astype(np.float32)
    return library.thunk(adam_step(library, elbo), params, moments_of(params), key_of(library, 4), x)


# ------------------------------------------------------------------------------------------------ normalizing flow


def flow(library: Any) -> Any:
    """RealNVP: less the log-likelihood through eight affine couplings, and its gradient."""
    if not library.functional:
        return None
    xp, size, hidden = library.xp, 32, 64

    def coupling(p: Any, x: Any, turned: bool) -> Any:
        a, b = xp.split(x, 2, axis=-1)
        if turned:
            a, b = b, a
        h = library.nn.relu(linear(p["second"], library.nn.relu(linear(p["first"], a))))
        scale, shift = xp.split(linear(p["third"], h), 2, axis=-1)
        scale = xp.tanh(scale) * p["reach"]
        b = b * xp.exp(scale) + shift
        return xp.concatenate([b, a] if turned else [a, b], axis=-1), xp.sum(scale, axis=-1)

    def loss(params: Any, x: Any) -> Any:
        total = 0.0
        for i, p in enumerate(params):
            x, log_det = coupling(p, x, i % 2 == 1)
            total = total + log_det
        log_density = -0.5 * xp.sum(x**2, axis=-1) - 0.5 * size * np.log(2 * np.pi).item()
        return -xp.mean(log_density + total)

    draw = Draw(23)
    params = [
        {
            "first": draw.linear(size // 2, hidden), "second": draw.linear(hidden, hidden), "third": draw.linear(hidden, size),
            "reach": np.full(size // 2, 0.5, np.float32),
        }
        for _ in range(8)
    ]  # fmt: skip
    return library.thunk(adam_step(library, loss), params, moments_of(params), draw.normal(256, size))


# ------------------------------------------------------------------------------------------------------ adversaries


def adversaries(library: Any) -> Any:
    """WGAN-GP: the critic's gradient for each example is to have norm 1 between true and made ones; one update of each network."""
    if not library.functional:
        return None
    xp, latent, size, rows = library.xp, 16, 64, 64

    def perceptron(p: Any, x: Any) -> Any:
        for layer in p[:-1]:
            x = leaky(linear(layer, x))
        return linear(p[-1], x)

    def leaky(x: Any) -> Any:
        return functional(library).leaky_relu(x, 0.2) if is_torch(library) else library.nn.leaky_relu(x, 0.2)

    def slopes(critic: Any, x: Any) -> Any:
        """Of the critic at each example."""
        if library.name == "torch":
            x = x.detach().requires_grad_()
            return library.torch.autograd.grad(perceptron(critic, x).sum(), x, create_graph=True)[0]
        return library.vmap(library.grad(lambda x: perceptron(critic, x)[0]))(x)

    def critic_loss(critic: Any, generator: Any, true: Any, z: Any, share: Any) -> Any:
        made = perceptron(generator, z)
        between = share * true + (1 - share) * made
        norms = xp.sqrt(xp.sum(slopes(critic, between) ** 2, axis=-1) + 1e-12)
        return xp.mean(perceptron(critic, made)) - xp.mean(perceptron(critic, true)) + 10 * xp.mean((norms - 1) ** 2)

    def generator_loss(generator: Any, critic: Any, z: Any) -> Any:
        return -xp.mean(perceptron(critic, perceptron(generator, z)))

    def step(generator: Any, critic: Any, moments: Any, critic_moments: Any, true: Any, z: Any, share: Any) -> Any:
        value, gradients = library.value_and_grad(critic_loss)(critic, generator, true, z, share)
        critic, critic_moments = adam_update(library, critic, critic_moments, gradients)
        other, gradients = library.value_and_grad(generator_loss)(generator, critic, z)
        generator, moments = adam_update(library, generator, moments, gradients)
        return generator, critic, moments, critic_moments, value, other

    draw = Draw(24)
    generator = [draw.linear(latent, 128), draw.linear(128, 128), draw.linear(128, size)]
    critic = [draw.linear(size, 128), draw.linear(128, 128), draw.linear(128, 1)]
    data = draw.normal(rows, size), draw.normal(rows, latent), draw.uniform(rows, 1)
    return library.thunk(step, generator, critic, moments_of(generator), moments_of(critic), *data)


# ---------------------------------------------------------------------------------- autoencoder with a list of codes


def codebook(library: Any) -> Any:
    """VQ-VAE: each place takes the nearest code, and gradients pass it by; images are grown again by resizing."""
    if not library.functional:
        return None
    xp, codes, width = library.xp, 64, 16

    def stopped(x: Any) -> Any:
        return x.detach() if is_torch(library) else library.lax.stop_gradient(x)

    def grown(x: Any) -> Any:
        rows, height, across, channels = x.shape
        if is_torch(library):
            y = functional(library).interpolate(x.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear")
            return y.permute(0, 2, 3, 1)
        return library.module.image.resize(x, (rows, 2 * height, 2 * across, channels), "bilinear")

    def loss(params: Any, images: Any) -> Any:
        x = library.nn.relu(convolve(library, images, params["down1"], 2))
        x = convolve(library, x, params["down2"], 2)
        flat = x.reshape(-1, width)
        distance = (
            xp.sum(flat**2, axis=1, keepdims=True) - 2 * flat @ params["codes"].T + xp.sum(params["codes"] ** 2, axis=1)
        )
        code = params["codes"][xp.argmin(distance, axis=1)].reshape(x.shape)
        y = x + stopped(code - x)
        y = library.nn.relu(convolve(library, grown(y), params["up1"]))
        found = convolve(library, grown(y), params["up2"])
        near = xp.mean((code - stopped(x)) ** 2) + 0.25 * xp.mean((x - stopped(code)) ** 2)
        return xp.mean((found - images) ** 2) + near

    draw = Draw(25)
    params = {
        "down1": draw.kernel(3, 3, 32), "down2": draw.kernel(3, 32, width), "codes": draw.normal(codes, width),
        "up1": draw.kernel(3, width, 32), "up2": draw.kernel(3, 32, 3),
    }  # fmt: skip
    return library.thunk(adam_step(library, loss), params, moments_of(params), draw.normal(8, 32, 32, 3))


# ----------------------------------------------------------------------------------------------------- radiance fields


def radiance(library: Any) -> Any:
    """NeRF: colours along rays, by a network of places and directions, seen through what is before them."""
    if not library.functional:
        return None
    xp, rays, samples, octaves = library.xp, 64, 32, 6

    def encoded(x: Any) -> Any:
        scaled = (x[..., None, :] * library.array(2.0 ** np.arange(octaves, dtype=np.float32))[:, None]).reshape(
            *x.shape[:-1], -1
        )
        return xp.concatenate([x, xp.sin(scaled), xp.cos(scaled)], axis=-1)

    def field(params: Any, x: Any, direction: Any) -> Any:
        inputs = encoded(x)
        h = inputs
        for i, p in enumerate(params["layers"]):
            h = library.nn.relu(linear(p, xp.concatenate([h, inputs], axis=-1) if i == 2 else h))
        density = library.nn.relu(linear(params["density"], h))[..., 0]
        seen = xp.broadcast_to(encoded(direction)[:, None, :], (*h.shape[:-1], 3 * (1 + 2 * octaves)))
        return density, library.nn.sigmoid(linear(params["colour"], xp.concatenate([h, seen], axis=-1)))

    def loss(params: Any, origin: Any, direction: Any, shift: Any, wanted: Any) -> Any:
        depth = 2 + 4 * (xp.arange(samples) + shift) / samples
        density, colour = field(params, origin[:, None] + depth[..., None] * direction[:, None], direction)
        gap = xp.concatenate([depth[:, 1:] - depth[:, :-1], xp.ones((rays, 1), dtype=depth.dtype)], axis=1)
        solid = 1 - xp.exp(-density * gap)
        ones = xp.ones((rays, 1), dtype=depth.dtype)
        clear = library.torch.cumprod if is_torch(library) else xp.cumprod
        weight = solid * clear(xp.concatenate([ones, 1 - solid[:, :-1] + 1e-10], axis=1), axis=1)
        return xp.mean((xp.sum(weight[..., None] * colour, axis=1) - wanted) ** 2)

    draw = Draw(26)
    size, hidden = 3 * (1 + 2 * octaves), 64
    params = {
        "layers": [draw.linear(into, hidden) for into in (size, hidden, hidden + size, hidden)],
        "density": draw.linear(hidden, 1), "colour": draw.linear(hidden + size, 3),
    }  # fmt: skip
    data = draw.normal(rays, 3), draw.normal(rays, 3, scale=0.5), draw.uniform(rays, samples), draw.uniform(rays, 3)
    return library.thunk(adam_step(library, loss), params, moments_of(params), *data)


# ------------------------------------------------------------------------------------------------- Fourier operators


def fourier_operator(library: Any) -> Any:
    """A neural operator: products of a few frequencies of a field on a grid with complex weights."""
    if not library.functional or library.name == "torch.compile":
        return None
    xp, grid, width, modes = library.xp, 32, 16, 8
    fft = library.torch.fft if is_torch(library) else xp.fft

    def spectral(p: Any, x: Any) -> Any:
        """x: (rows, width, grid, grid)."""
        weights = (
            library.torch.complex(p["real"], p["imaginary"]) if is_torch(library) else p["real"] + 1j * p["imaginary"]
        )
        found = fft.rfft2(x)
        low = xp.einsum("bixy,ioxy->boxy", found[:, :, :modes, :modes], weights[0])
        high = xp.einsum("bixy,ioxy->boxy", found[:, :, -modes:, :modes], weights[1])
        if is_torch(library):
            out = library.torch.zeros_like(found)
            out[:, :, :modes, :modes], out[:, :, -modes:, :modes] = low, high
        else:
            out = xp.zeros_like(found).at[:, :, :modes, :modes].set(low).at[:, :, -modes:, :modes].set(high)
        return fft.irfft2(out, s=x.shape[-2:])

    def loss(params: Any, x: Any, y: Any) -> Any:
        h = xp.einsum("bcxy,cd->bdxy", x, params["lift"])
        for p in params["layers"]:
            h = library.nn.gelu(spectral(p, h) + xp.einsum("bcxy,cd->bdxy", h, p["mix"]))
        found = xp.einsum("bcxy,cd->bdxy", h, params["drop"])
        # Relative to each field's own size.
        sizes = xp.sqrt(xp.sum((y - found) ** 2, axis=(1, 2, 3))) / xp.sqrt(xp.sum(y**2, axis=(1, 2, 3)))
        return xp.mean(sizes)

    draw = Draw(27)
    layers = [
        {
            "mix": draw.dense(width, width), "real": draw.normal(2, width, width, modes, modes, scale=1 / width),
            "imaginary": draw.normal(2, width, width, modes, modes, scale=1 / width),
        }
        for _ in range(3)
    ]  # fmt: skip
    params = {"lift": draw.dense(3, width), "layers": layers, "drop": draw.dense(width, 1)}
    step = adam_step(library, loss)
    return library.thunk(step, params, moments_of(params), draw.normal(4, 3, grid, grid), draw.normal(4, 1, grid, grid))


WORKLOADS = [
    model("diffusion model, 8 images 16×16, training step", diffusion_step, own_draws=True),
    model("diffusion model, 4 images drawn in 50 steps", diffusion_sample, own_draws=True),
    model("variational autoencoder, batch 64, training step", autoencoder, own_draws=True),
    model("normalizing flow of 8 couplings, batch 256, training step", flow),
    model("adversaries with gradient penalty, batch 64, training step", adversaries),
    model("autoencoder with a list of codes, 8 images 32×32, training step", codebook, tolerance=KINKS),
    model("radiance field, 64 rays of 32 places, training step", radiance, tolerance=KINKS),
    model("Fourier neural operator, 4 fields 32×32, training step", fourier_operator),
]
