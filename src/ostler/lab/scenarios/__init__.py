"""The scenarios of the published performance reports, as data: what each does, what it sweeps, and what it needs.

`ostler.lab.scenarios.loader.catalogue()` reads and checks all of them. A family (`families`) names the code that runs
a scenario; `readiness` says whether it can run today and, if not, what is missing.
"""
