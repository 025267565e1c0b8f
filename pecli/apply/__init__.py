"""Application of tables to tensors: rotation, addition, biases, scores; and the weights of checkpoints."""
