"""Behaviour of an encoding beyond its training length, and longer tables."""
