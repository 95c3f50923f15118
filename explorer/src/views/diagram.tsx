/** The decoder's step as boxes and arrows. */

import { short } from "../draw/threads";
import type { ModelInfo, Step } from "../engine/types";
import { useText } from "../text";
import { percent, percentOf, useMedia } from "../ui";

export function Diagram(props: {
  info: ModelInfo;
  previous: string;
  chosen: string;
  source: string[];
  step: Step;
}) {
  const t = useText();
  const { info, step } = props;
  const still = useMedia("(prefers-reduced-motion: reduce)");
  const attends = info.attention !== "none" && step.weights.length > 0;
  const best = attends ? step.weights.indexOf(Math.max(...step.weights)) : -1;
  const vector = info.equation.startsWith("luong");
  const box = (x: number, y: number, symbol: string, label: string) => (
    <g>
      <rect x={x} y={y} width="92" height="40" rx="8" class="node" />
      <text x={x + 46} y={y + 18} text-anchor="middle" class="symbol">
        {symbol}
      </text>
      <text x={x + 46} y={y + 33} text-anchor="middle" class="caption">
        {label}
      </text>
    </g>
  );
  const state = { transformer: "zₜ", bahdanau: "sᵢ" }[info.equation] ?? "hₜ";
  const context = vector ? "cₜ" : info.equation === "bahdanau" ? "cᵢ" : "c";
  return (
    <figure class="diagram">
      <svg
        role="img"
        aria-label={t.diagram(props.previous, props.chosen, info.inputFeeding)}
        width="340"
        height="262"
        viewBox="0 0 340 262"
        data-export
      >
        <defs>
          <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">
            <path d="M0,0L8,4L0,8z" class="tip" />
          </marker>
          <marker id="tip-feeding" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">
            <path d="M0,0L8,4L0,8z" class="tip feeding" />
          </marker>
        </defs>
        <g class="arrows" fill="none">
          <path d="M166,222V187" marker-end="url(#tip)" />
          <path d="M52,164H118" marker-end="url(#tip)" stroke-dasharray="3 3" />
          {vector || !attends ? (
            <path d="M166,144V107" marker-end="url(#tip)" />
          ) : (
            <path d="M166,144V51" marker-end="url(#tip)" />
          )}
          {(vector || !attends) && <path d="M166,64V45" marker-end="url(#tip)" />}
          {attends && vector && <path d="M290,126C290,98 258,86 216,86" marker-end="url(#tip)" />}
          {attends && vector && <path d="M212,170C226,170 226,156 241,154" marker-end="url(#tip)" />}
          {attends && !vector && <path d="M244,156C230,156 230,164 216,164" marker-end="url(#tip)" />}
        </g>
        {info.inputFeeding && (
          <g class="feeding">
            <path
              class={still ? "" : "flows"}
              fill="none"
              d="M30,92C30,170 60,206 118,206Q140,206 140,188"
              marker-end="url(#tip-feeding)"
            />
            <text x="6" y="80" class="symbol">
              h̃ₜ₋₁
            </text>
            <text x="6" y="228" class="caption">
              {t.inputFeeding}
            </text>
          </g>
        )}
        <text x="14" y="169" class="symbol">
          {state.replace("ₜ", "ₜ₋₁").replace("ᵢ", "ᵢ₋₁")}
        </text>
        {box(120, 144, state, t.state)}
        {vector && box(120, 66, "h̃ₜ", t.readout)}
        {!vector && !attends && box(120, 66, "p(y)", t.readout)}
        {attends && box(244, 126, context, t.context)}
        {attends && (
          <g>
            <path d="M290,214V170" class="arrows" fill="none" marker-end="url(#tip)" />
            <text x="290" y="234" text-anchor="middle" class="diagram-word">
              {short(props.source[best] ?? "")}
            </text>
            <text x="290" y="250" text-anchor="middle" class="caption">
              {percent(step.weights[best] ?? 0)}
            </text>
          </g>
        )}
        <text x="166" y="238" text-anchor="middle" class="diagram-word">
          {short(props.previous)}
        </text>
        <text x="166" y="253" text-anchor="middle" class="caption">
          {t.reads}
        </text>
        <text x="166" y="34" text-anchor="middle" class="diagram-word strong">
          {short(props.chosen)}
        </text>
        <text x="166" y="14" text-anchor="middle" class="caption">
          {t.writes} ({percentOf(step.chosen.probability)})
        </text>
      </svg>
    </figure>
  );
}
