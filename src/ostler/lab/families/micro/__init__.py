"""Families of measurements of single parts: what one operation costs, beside the least that it could."""
