"""Master data the product ships with, and the references that other features hold; pure."""
