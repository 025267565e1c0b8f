"""What does it do to tensors? Rotation, addition, biases and scores, each output rounded once."""
