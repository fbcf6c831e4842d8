v3
