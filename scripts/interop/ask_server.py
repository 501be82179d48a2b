"""A LibreTranslate client translates through `tmt serve`: python ask_server.py URL KEY TEXT.

(pip install libretranslatepy)
"""

import sys

from libretranslatepy import LibreTranslateAPI

url, key, text = sys.argv[1:]
client = LibreTranslateAPI(url, key)
languages = client.languages()
source = next(one for one in languages if one["targets"])
print(client.translate(text, source["code"], source["targets"][0]))
