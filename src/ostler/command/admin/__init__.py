"""What commands change, whether they came as MQSC or PCF."""
