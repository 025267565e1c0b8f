"""Charts of tables and reports: in the terminal, as SVG or PNG, and as a page to play with."""
