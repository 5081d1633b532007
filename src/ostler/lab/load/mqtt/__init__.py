"""Lean MQTT clients for Mosquitto."""
