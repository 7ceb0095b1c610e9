"""What the migration scripts share. It never imports the product's models: history must not change when they do."""
