"""The write-ahead log: numbered records in segment files, durable before they are acknowledged."""
