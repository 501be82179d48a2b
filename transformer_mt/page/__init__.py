"""The page that `tmt serve` delivers: HTML, JavaScript modules and CSS, without a build step.

`app.js` has the state, the requests that follow from it, and the list of views. `translation.js`, `choices.js`,
`heads.js`, `steps.js`, `lens.js` and `learning.js` draw the views from an answer and callbacks; they use `words.js`
(two lines and their links), `matrix.js`, `shades.js`, `keyboard.js` and `dom.js`. Only `server.js` sends requests. In a
saved page, joined from all modules by `saved_page.py`, `saved.js` replaces it.
"""
