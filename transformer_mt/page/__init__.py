"""The page that `tmt serve` gives to the browser: HTML, modules and styles, as they are.

`app.js` holds the one state, the questions that follow from it and the pictures of state and answers. `translation.js`,
`choices.js`, `heads.js`, `steps.js`, `lens.js` and `learning.js` draw the views, from an answer and with functions to
call for what a person does; they use `words.js` (two lines and their links), `matrix.js`, `shades.js`, `keyboard.js`
and `dom.js`. `server.js` alone asks.
In a saved page, which `saved.py` joins of them all, `saved.js` answers in its place.
"""
