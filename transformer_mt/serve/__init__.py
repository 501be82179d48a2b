"""The page's server: one's own runs over HTTP, on this machine. Read in this order:

guard          the headers of every answer; refuses foreign requests before they are read
protocol       a client has ten seconds to send its request
questions      the requests, with exact keys
worker         the one thread that computes
served_runs    the runs on offer; three stay in memory
answers        each route's answer: the JSON that the command prints with `--json`
saved_answers  all answers about one pair, for a page without a server
routes         from a request to its answer
server         the port, the address with its key, and the loop
"""
