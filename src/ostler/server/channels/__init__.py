"""Message channels: MCAs, the channel initiator, inbound and outbound connections, START and STOP CHANNEL."""
