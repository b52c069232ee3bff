"""JAX's functions and flax's modules by jax2onnx."""

PACKAGES = ("jax2onnx", "flax")


def networks(network, seed):
    import jax
    import numpy as np
    from flax import nnx
    from jax import numpy as jnp
    from jax2onnx import to_onnx

    rngs = nnx.Rngs(seed)
    weights = (0.5 * np.random.default_rng(seed).normal(size=(4, 4))).astype(np.float32)

    class Dense(nnx.Module):
        def __init__(self):
            self.inner, self.norm = nnx.Linear(4, 8, rngs=rngs), nnx.LayerNorm(8, rngs=rngs)
            self.outer = nnx.Linear(8, 3, rngs=rngs)

        def __call__(self, x):
            return self.outer(jax.nn.gelu(self.norm(self.inner(x))))

    class Images(nnx.Module):
        def __init__(self):
            self.conv, self.last = nnx.Conv(2, 6, (3, 3), rngs=rngs), nnx.Linear(6, 3, rngs=rngs)

        def __call__(self, x):
            return self.last(jnp.mean(nnx.max_pool(jax.nn.relu(self.conv(x)), window_shape=(2, 2), strides=(2, 2)), (1, 2)))

    yield network("dense", to_onnx(Dense(), [(1, 4)]))
    yield network("images", to_onnx(Images(), [(1, 8, 8, 2)]))
    yield network("variance", to_onnx(lambda x: jnp.var(x @ weights, -1), [(1, 4)]))  # NaN where it has no numbers
    yield network("scan", to_onnx(
        lambda x: jax.lax.scan(lambda h, v: (jnp.tanh(h @ weights + v), h), jnp.zeros((4,)), x)[0], [(5, 4)]))
    yield network("branches", to_onnx(
        lambda x: jax.lax.cond(jnp.sum(x) > 0, lambda y: y @ weights, jnp.sin, x), [(1, 4)]))
    yield network("attention", to_onnx(lambda x: jax.nn.dot_product_attention(x, x, x, is_causal=True), [(1, 4, 2, 4)]))
    yield network("Fourier", to_onnx(lambda x: jnp.abs(jnp.fft.rfft(x)), [(1, 8)]))
    yield network("products of those before", to_onnx(lambda x: jnp.cumprod(jax.nn.sigmoid(x @ weights), -1), [(1, 4)]))
