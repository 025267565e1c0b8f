"""Charts as data, and the terminal, SVG and PNG that show them."""
