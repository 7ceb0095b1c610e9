"""Parts that all pages share: layout, forms, labels, session and static files."""
