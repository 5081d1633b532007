"""Families of the laboratory that need Spark: `lab/scenarios/families.py` names them."""
