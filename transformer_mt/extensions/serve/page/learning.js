// The tab "How it learned": a sentence at each saved checkpoint.

import { short } from "./chart.js";
import { control } from "./controls.js";
import { element, quiet, say } from "./dom.js";
import { drawHead, drawHeads } from "./heads.js";
import { addTab, ofPair } from "./tabs.js";
import { comparison } from "./translation.js";

addTab({
  id: "learning", title: "How it learned", place: 50, needsModel: true,
  questions: {
    history: (now) => now.run?.checkpoints.length > 1 &&
      ofPair(now, "history", { checkpoint: now.run.checkpoints.at(now.checkpoint ?? -1), words: true }),
  },
  pictures: [
    ["checkpoints", ({ run }) => [run], drawCheckpoints],
    ["history", ({ history, translation, run, head }) => [history, translation, run, head], drawHistory],
  ],
});

/** The sentence at a checkpoint, from an answer of `history`: its translation, and where the heads looked. */
function drawHistory(frame, { read, translation }, run, head, { pick }) {
  const loss = frame.loss === null ? "" : say`, loss on validation ${short(frame.loss)}`;
  const attention = { ...frame, method: "weights", source: read, target: translation };
  return [
    element("h3", {}, say`After step ${short(frame.step)}`, loss),
    element("p", { class: "then" }, frame.translation === translation ? "It translated, as now: " : "It translated: ",
      comparison(frame.translation, translation, run.target_language)),
    quiet("Where each head looked then, given the current translation."),
    drawHeads(attention, run, head, [], null, { pick }),
    drawHead(attention, run, head, [], null),
  ];
}

/** A slider from the oldest to the newest checkpoint, or a hint for runs with fewer than two. */
function drawCheckpoints({ checkpoints }, { state, change }) {
  const max = checkpoints.length - 1;
  const shown = (place) => say`step ${checkpoints[place]}`;
  const slider = { label: "Checkpoint", value: state.checkpoint ?? max, min: 0, max, shown };
  return max < 1
    ? element("p", {}, "This run has no earlier checkpoints. To keep the weights of every validation: ",
      element("code", {}, "tmt train --set training.keep_checkpoints=weights"))
    : element("p", { class: "controls" }, control("checkpoint", slider, (checkpoint) => change({ checkpoint })));
}
