"""What modules of biases do: the last rows are added to logits."""

from __future__ import annotations

TAILS = {
    "torch": '''
class Bias(torch.nn.Module):
    """Adds the bias to logits (batch, heads, queries, keys), the queries being the last of the keys."""

    def __init__(self, length):
        super().__init__()
        self.register_buffer("bias", torch.from_numpy(table(length)), persistent=False)

    def forward(self, logits):
        queries, keys = logits.shape[-2:]
        return logits + self.bias[:, keys - queries : keys, :keys]
''',
    "keras": '''
class Bias(keras.layers.Layer):
    """Adds the bias to logits (batch, heads, queries, keys), the queries being the last of the keys."""

    def __init__(self, length, **options):
        super().__init__(**options)
        self.bias = table(length, dtype=self.compute_dtype)

    def call(self, logits):
        queries, keys = ops.shape(logits)[-2:]
        return logits + ops.convert_to_tensor(self.bias)[:, keys - queries : keys, :keys]

    def compute_output_shape(self, shape):
        return shape
''',
}
