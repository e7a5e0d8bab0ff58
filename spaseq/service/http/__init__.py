"""The server of the service: requests, tokens, answers, server-sent events, metrics and the page.

server      the process: a port, the opening of the core, signals
protocol    connections: time for headers, limits before a request is whole
app         the way of every request: Host, Origin, recovery, errors, log
routes      the table of requests, of which the OpenAPI document is made
"""
