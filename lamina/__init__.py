"""Deep feedforward networks: trained many at once, and open to look inside."""

__version__ = "0.1.0"
