"""Family `shared-data-sets`: shared message data sets are formatted, grow, are backed up, and made known again."""
