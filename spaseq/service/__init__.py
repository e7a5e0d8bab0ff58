"""The service: queries over streams that do not end, one process, nothing lost and nothing twice.

errors      the refusal of a request
settings    streams, knowledge bases, queries and limits as users write them, in TOML and in JSON
core        streams, queries and rows; it knows nothing of HTTP
http        requests and answers, server-sent events, metrics, the page
"""
