"""Pages of the report as HTML and PDF."""
