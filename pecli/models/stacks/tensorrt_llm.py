"""TensorRT-LLM: RopeParams and RopeEmbeddingUtils, read and not run."""

from __future__ import annotations

from pecli.models import changes
from pecli.models.remedies import INNER_ORIGINAL, NO_ATTENTION_FACTOR, NO_MSCALE, NO_TRUNCATE
from pecli.models.stack import Rule, Stack

_PATH = "tensorrt_llm/_torch/attention_backend/interface.py, RopeParams.from_config"

STACK = Stack(
    title="TensorRT-LLM", version="unknown (a stored file)", scalings=("none", "yarn", "longrope", "llama3"),
    run=False,
    rules=(
        Rule(
            key="attention_factor", scaling="yarn",
            text="reads no attention_factor, and scales by mscale over mscale_all_dim, with 1 and 0 for what is "
            "absent",
            source=_PATH, change=changes.ratio, remedies=(NO_ATTENTION_FACTOR, NO_MSCALE),
        ),
        Rule(
            key="truncate", scaling="yarn",
            text="rounds the ends of the ramp to whole indices, whatever truncate says", source=_PATH,
            change=changes.whole_ends, remedies=(NO_TRUNCATE,),
        ),
        Rule(
            key=changes.ORIGINAL, scaling=("yarn", "llama3"), text="takes 1024 for an original length that is absent",
            source=_PATH, change=changes.original(1024), where=changes.no_original, remedies=(INNER_ORIGINAL,),
        ),
        Rule(
            key="low_freq_factor", scaling="llama3",
            text="has 1 and 4 for low_freq_factor and high_freq_factor, whatever the config says", source=_PATH,
            change=lambda params, written: {**params, "low-freq-factor": "1", "high-freq-factor": "4"},
        ),
        Rule(
            key="max_position_embeddings", scaling="longrope",
            text="takes the long factors unless the longest sequence is at most the original length; the magnitude "
            "follows the ratio of the lengths alone",
            source=_PATH, change=changes.after(changes.magnitude_by_lengths, changes.by_served_length),
        ),
    ),
)  # fmt: skip
