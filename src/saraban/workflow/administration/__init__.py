"""What administrators do: publish versions, assign workflows to documents, simulate, intervene in instances, migrate them."""
