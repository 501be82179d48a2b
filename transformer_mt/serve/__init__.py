"""The page's server: your own runs over HTTP, on this machine.

Read in this order:

guard          security headers for every response; rejects foreign requests before reading them
protocol       timeouts for slow clients, and a limit on connections
questions      the requests, parsed strictly
worker         the single compute thread
served_runs    the available runs; three stay in memory
answers        the answer of each route: the JSON that the command prints with `--json`
clients        answers in LibreTranslate's form, for its clients
saved_answers  all answers about one pair, for a page without a server
routes         from a request to its response
server         the port, the address with its key, and the event loop
"""
