"""Publish/subscribe: the topic tree, subscriptions, fan-out of publications, retained publications."""
