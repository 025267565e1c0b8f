"""What modules of absolute tables do: rows are added to embeddings."""

from __future__ import annotations

FIXED = {
    "torch": '''
class PositionalEncoding(torch.nn.Module):
    """Adds the rows to embeddings (batch, length, dim)."""

    def __init__(self, length):
        super().__init__()
        self.register_buffer("pe", torch.from_numpy(table(length)), persistent=False)

    def forward(self, x, offset=0):
        return x + self.pe[offset : offset + x.shape[-2]]
''',
    "keras": '''
class PositionalEncoding(keras.layers.Layer):
    """Adds the rows to embeddings (batch, length, dim)."""

    def __init__(self, length, **options):
        super().__init__(**options)
        self.pe = table(length, dtype=self.compute_dtype)

    def call(self, x, offset=0):
        return x + ops.convert_to_tensor(self.pe)[offset : offset + ops.shape(x)[-2]]

    def compute_output_shape(self, shape):
        return shape
''',
}
