"""The page's server: one's own runs over HTTP, on this machine. Read in this order:

guard      the headers of every answer, and what is refused before anything else
protocol   a request must have arrived after ten seconds
questions  the requests, with exact keys
worker     the one thread that computes
served_runs  the runs on offer, of which three stay in memory
answers    what each route computes: what the command prints with `--json`
saved_answers  all answers about one pair, for a page without a server
routes     from a request to its answer
server     the port, the address with its key, and the loop
"""
