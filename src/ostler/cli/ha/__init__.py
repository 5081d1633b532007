"""Commands of high availability and disaster recovery, in the words of MQ's three families; one engine behind them."""
