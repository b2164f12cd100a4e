"""The graph of passages and the names that join them; its door is `silmari.graph.links.Links`."""
