"""How what was found is shown. A module is called after what it shows and how, as `matrix_text` and `chart_svg`.

    attention_text    what `tmt attend` prints: matrices beside each other, their legend, agreement with erasure
    matrix_text       one matrix, or several with the same labels            matrix_svg
    graph_text        a matrix as a graph: edges and degrees                 graph_dot
    alignment_text, explanation_text, faithfulness_text, heads_text, history_text, lens_text, search_text
                      what `tmt align`, `explain`, `heads`, `attend --history`, `lens` and `translate --trace` print
    chart             curves as data                                         chart_text, chart_svg
    plots             the pictures of `tmt plot`

What these are made with: `escape`, by which text from strangers commands no terminal; `layout`, columns and lines
measured in terminal cells; `numbers` in few characters; `glyphs` and `shading` of a terminal; `svg`, what all pictures
share.

Nothing is measured here: rooms below find it, and know nothing of how it is shown.
"""
