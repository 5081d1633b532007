"""The scenarios of the published performance reports, as data: their work, their sweeps and their requirements.

`ostler.lab.scenarios.loader.catalogue()` reads and checks all of them. A family (`families`) names the code that runs a
scenario; `readiness` returns whether it can run today and what is missing.
"""
