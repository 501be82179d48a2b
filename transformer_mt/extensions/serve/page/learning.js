// The tab "How it learned": a sentence at each saved checkpoint.

import { short } from "./chart.js";
import { element } from "./dom.js";
import { drawHead, drawHeads, headToShow } from "./heads.js";
import { addTab, ofPair } from "./tabs.js";
import { comparison } from "./translation.js";

addTab({
  id: "learning",
  title: "How it learned",
  place: 50,
  needsModel: true,
  questions: {
    history: (now) => now.run?.checkpoints.length > 1 &&
      ofPair(now, "history", { checkpoint: now.run.checkpoints.at(now.checkpoint ?? -1), words: true }),
  },
  pictures: [
    ["too-few", ({ run }) => [run], drawTooFew],
    ["history", ({ history, translation, run, head }) => [history, translation, run, head],
      (history, translation, run, head, { pick }) => drawHistory(history, translation, run, head, { pick })],
  ],
});

/** The sentence at a checkpoint, from an answer of `history`: its translation, and where the heads looked. */
function drawHistory(frame, { read, translation }, run, head, { pick }) {
  const loss = frame.loss === null ? "" : `, loss on validation ${short(frame.loss)}`;
  const attention = { ...frame, method: "weights", source: read, target: translation };
  const chosen = headToShow(attention, run, head);
  const now = frame.translation === translation ? ", as now" : "";
  return [
    element("h3", {}, `After step ${short(frame.step)}`, loss),
    element("p", { class: "then" }, `It translated${now}: `,
      comparison(frame.translation, translation, run.target_language)),
    element("p", { class: "quiet" }, "Where each head looked then, given the current translation."),
    drawHeads(attention, run, chosen, [], null, { pick }),
    drawHead(attention, run, chosen, [], null),
  ];
}

/** A hint for runs without earlier checkpoints. */
function drawTooFew({ checkpoints }) {
  const how = "tmt train --set training.keep_checkpoints=weights";
  return checkpoints.length < 2 &&
    element("p", {}, "This run has no earlier checkpoints. To keep the weights of every validation: ",
      element("code", {}, how));
}
