"""From sentences to translations, with any model. Read in this order:

search        beam search and sampling, token ids in, token ids out
sampling      temperature, top-k, top-p and the draw
engine        the interface of whatever finds translations, token ids in, hypotheses out
torch_engine  our own search as an engine
ctranslate2   CTranslate2 as an engine
engines       the engines by name
translator    sentences in, translations out
scoring       ln p of given translations, token by token
alternatives  the likeliest other subwords at each position of a translation
trace         the tree of hypotheses that a beam search kept
opened_run    a run with its translator, and what it knows of its words and links
"""
