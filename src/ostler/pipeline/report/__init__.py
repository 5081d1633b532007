"""The report: one page that tells what was measured, made from the tables of the lake. Needs no Spark.

`ostler.pipeline.report.build.write_report` makes the page and its PDF. What is told is decided by the modules named
`section_...`; how it looks by `page`, `svg` and the files in `assets/`.
"""
