"""Small models, trained with each encoding and tried beyond the length they saw."""
