"""The page and its server: your own runs over HTTP, on this machine.

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
page           HTML, JavaScript modules and CSS, without a build step
"""

from transformer_mt.ground.plugins import Command, Extension, View

EXTENSION = Extension(
    commands={
        "serve": Command("Open your models in the browser", f"{__name__}.serve_command:serve", 180),
        "page": Command("Save a page about one sentence", f"{__name__}.page_command:page", 185),
    },
    views={
        "attend": View(f"{__name__}.answers:view_attention_maps", f"{__name__}.questions:Attend"),
        "losses": View(f"{__name__}.answers:view_losses"),
    },
)
