"""TensorRT-LLM: RopeParams and RopeEmbeddingUtils, read and not run."""

from __future__ import annotations

from pecli.models import changes, common_rules
from pecli.models.stack import Rule, Stack

_PATH = "tensorrt_llm/_torch/attention_backend/interface.py, RopeParams.from_config"

STACK = Stack(
    title="TensorRT-LLM", version="unknown (a stored file)", scalings=("none", "yarn", "longrope", "llama3"),
    run=False,
    rules=(
        common_rules.null_factor(_PATH),
        common_rules.ratio(_PATH),
        common_rules.whole_ends(_PATH),
        common_rules.absent_original(1024, _PATH, ("yarn", "llama3")),
        Rule(
            key="low_freq_factor", scaling="llama3",
            text="has 1 and 4 for low_freq_factor and high_freq_factor, whatever the config says", source=_PATH,
            change=changes.giving(low_freq_factor="1", high_freq_factor="4"),
        ),
        Rule(
            key="max_position_embeddings", scaling="longrope",
            text="takes the long factors unless the longest sequence is at most the original length; the magnitude "
            "follows the ratio of the lengths alone",
            source=_PATH, change=changes.after(changes.magnitude_by_lengths, changes.by_served_length),
        ),
    ),
)  # fmt: skip
