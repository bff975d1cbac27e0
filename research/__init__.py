"""Research around gistread, run from a checkout: it is not part of the package."""
