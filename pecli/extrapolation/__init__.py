"""How far does it reach? What lies past the length that training saw."""
