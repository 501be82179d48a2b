import pytest
from support.page import LoadedPage
pytestmark = pytest.mark.slow
def test_dbg(chromium, served):
    with LoadedPage.opened(chromium, served.server.address, viewport={"width": 1280, "height": 900}) as opened:
        opened.type("Der Baum fällt.")
        opened.click("#class-mode"); opened.click("#tab-heads")
        for head in ("encoder.1.1", "decoder.2.1", "cross.2.2", "cross.1.mean"):
            opened.click(f"[data-place='pick {head}']"); opened.page.wait_for_timeout(800)
            print(head, opened.page.evaluate("[scrollY, document.querySelector('#one-head').scrollTop, document.querySelector('#one-head .scrolls').scrollTop]"), [(s, opened.find(s).first.bounding_box()) for s in ("#one-head","#one-head .scrolls","#one-head thead","#one-head tbody","#one-head .matrix")])
            opened.page.screenshot(path=f"/tmp/w/p45/shots/dbg-{head}.png")
