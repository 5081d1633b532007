"""The report: one page with all results, made from the tables of the lake. Needs no Spark.

`ostler.pipeline.report.build.write_report` makes the page and its PDF. The modules of `sections` determine the content;
`html`, `charts` and the files in `assets/` the appearance.
"""
