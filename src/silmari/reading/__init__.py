"""Files in, documents out: the door is `read`."""
