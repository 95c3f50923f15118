/** The inside of the selected model: its attention, its steps, its beam. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { ModelInfo } from "../engine/types";
import { gridOf, moveWeight, unitOf } from "../draw/words";
import { download, jsonOf, pngOf, sheetOf } from "../export";
import type { Entry } from "../session";
import { type Edits, NO_EDITS, type State, TABS, placeOf } from "../state";
import { useText } from "../text";
import { moved, unbroken } from "../ui";
import { Beam, Slider } from "./beam";
import { Explain } from "./explain";
import { Heads } from "./heads";
import { Heatmap, Legend } from "./heatmap";
import { Steps } from "./steps";
import { WeightTable } from "./table";
import type { Highlight } from "./threads";
import { WhatIf } from "./whatif";

export interface PanelProps {
  entry: Entry;
  state: State;
  dark: boolean;
  weights?: number[][];
  highlight: Highlight | null;
  onHighlight: (highlight: Highlight | null) => void;
  onChange: (part: Partial<State>) => void;
  onEdit: (part: Partial<Edits>) => void;
}

export function Panel(props: PanelProps) {
  const t = useText();
  const { entry, state, onEdit } = props;
  const { info, run } = entry;
  const tabs = useRef<HTMLDivElement>(null);
  const edits = state.edits[info.name] ?? NO_EDITS;
  const onKeyDown = (event: KeyboardEvent) => {
    const to = moved(event.key, TABS.indexOf(state.tab), TABS.length);
    if (to === null) return;
    event.preventDefault();
    props.onChange({ tab: TABS[to]! });
    tabs.current?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
  };
  if (!run) return null;
  return (
    <section class="panel" aria-label={t.panel(info.title)}>
      <header>
        <h2>{unbroken(t.panel(info.title))}</h2>
        <p class="links">
          {info.paper && <a href={info.paper}>{t.about.paper}</a>}
          {info.lesson && <a href={info.lesson}>{t.about.lesson}</a>}
          {info.page && <a href={info.page}>{t.about.page}</a>}
        </p>
      </header>
      <div class="tabs" role="tablist" aria-label={t.panel(info.title)} ref={tabs} onKeyDown={onKeyDown}>
        {TABS.map((tab) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`tab-${tab}`}
            aria-selected={state.tab === tab}
            aria-controls="tabpanel"
            tabIndex={state.tab === tab ? 0 : -1}
            onClick={() => props.onChange({ tab })}
          >
            {t.tabs[tab]}
          </button>
        ))}
      </div>
      <div class={`tabpanel${entry.stale ? " stale" : ""}`} role="tabpanel" id="tabpanel" aria-labelledby={`tab-${state.tab}`}>
        {run.untouched && (
          <WhatIf
            edits={edits}
            result={run.result}
            untouched={run.untouched}
            pieceOf={(id) => entry.pieces.get(id) ?? `#${id}`}
            onEdit={onEdit}
          />
        )}
        {state.tab === "attention" &&
          <Attention {...props} edits={edits} />}
        {state.tab === "steps" && (
          <>
            <Explain info={info} topics={info.inputFeeding ? ["steps", "inputFeeding"] : ["steps"]} />
            <Steps
              info={info}
              model={entry.model}
              result={run.result}
              text={run.text}
              dark={props.dark}
              step={state.step}
              head={props.weights ? state.head : null}
              onStep={(step) => props.onChange({ step })}
              edits={edits}
              onEdit={onEdit}
            />
          </>
        )}
        {state.tab === "beam" && (
          <>
            <Explain info={info} topics={["beam", "coverage"]} />
            <Beam info={info} result={run.result} state={state} onChange={props.onChange} />
          </>
        )}
        <Share {...props} />
      </div>
    </section>
  );
}

function Units(props: { state: State; onChange: (part: Partial<State>) => void }) {
  const t = useText();
  return (
    <fieldset class="choice">
      <legend>{t.unit}</legend>
      {(["words", "pieces"] as const).map((unit) => (
        <label key={unit}>
          <input type="radio" name="unit" checked={props.state.unit === unit} onChange={() => props.onChange({ unit })} />
          {t.units[unit]}
        </label>
      ))}
    </fieldset>
  );
}

function Attention(props: PanelProps & { edits: Edits }) {
  const t = useText();
  const { entry, state, dark, edits } = props;
  const { info } = entry;
  const result = entry.run!.result;
  const best = result.translations[0];
  const [numbers, setNumbers] = useState(false);
  const grid = useMemo(
    () => best && gridOf(best, unitOf(best, state.unit), props.weights),
    [best, state.unit, props.weights],
  );
  if (!best || !grid) return <p class="quiet">{t.nothingToAlign}</p>;
  if (info.attention === "none") return <Explain info={info} topics={["none"]} />;
  const row = grid.rowSpans.findIndex(([first, end]) => state.step >= first && state.step < end);
  const choose = (at: number) => props.onChange({ step: grid.rowSpans[at]![0], tab: "steps" });
  const move = (at: number, column: number, value: number) => {
    const [first, end] = grid.rowSpans[at]!;
    const attention = { ...edits.attention };
    for (let step = first; step < end; step++) {
      const row = (props.weights ?? best.alignment)[step]!;
      const place = placeOf(step, props.weights ? state.head : null);
      attention[place] = moveWeight(row, grid.columnSpans[column]!, value);
    }
    props.onEdit({ attention });
  };
  // p_t of a row among the pieces, for its curve.
  const { focus } = best;
  const pieces = focus && grid.rowSpans.map(([a, b]) => focus.slice(a, b).reduce((x, y) => x + y, 0) / (b - a));
  return (
    <div class="attention">
      <div class="beside">
        <Explain info={info} topics={["heatmap", ...topicsOf(info)]} />
        <div class="options">
          <Units state={state} onChange={props.onChange} />
          <label class="check">
            <input type="checkbox" checked={numbers} onChange={() => setNumbers(!numbers)} /> {t.numbers}
          </label>
          {info.window !== null && (
            <Slider
              label={t.window}
              min={1}
              max={Math.max(10, info.window)}
              step={1}
              value={edits.window ?? info.window}
              onValue={(size) => props.onEdit({ window: size === info.window ? null : size })}
            />
          )}
          <Legend dark={dark} />
        </div>
        {info.heads && (
          <section class="heads-section" aria-label={t.heads}>
            <h3>{t.heads}</h3>
            <p class="quiet">{t.headsHint}</p>
            <Heads info={info} result={result} dark={dark} head={state.head} onHead={(head) => props.onChange({ head })} />
          </section>
        )}
      </div>
      <div class="drawing">
        <Heatmap
          name={info.title}
          grid={grid}
          dark={dark}
          numbers={numbers}
          highlight={props.highlight}
          onHighlight={props.onHighlight}
          onChoose={choose}
          onMove={move}
          row={Math.max(0, row)}
          deviation={info.equation === "luong_local" ? (edits.window ?? info.window) : null}
          pieces={pieces}
        />
        <WeightTable caption={t.attentionIn} corner={t.translation} rows={grid.rows} columns={grid.columns} weights={grid.weights} />
      </div>
    </div>
  );
}

function topicsOf(info: ModelInfo) {
  if (info.attention === "local") {
    return [info.equation === "luong_local" ? ("local" as const) : ("monotonic" as const)];
  }
  if (info.attention === "multi_head") return ["heads" as const];
  return info.attention === "memory" ? ["memory" as const] : [];
}

/** The link to this state, and files to keep. */
function Share(props: PanelProps) {
  const t = useText();
  const [message, setMessage] = useState("");
  const { info, run } = props.entry;
  const best = run?.result.translations[0];
  const say = (text: string) => {
    setMessage(text);
    setTimeout(() => setMessage(""), 3000);
  };
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say(t.copied);
    } catch {
      say(location.href); // browsers refuse on pages without TLS, localhost aside
    }
  };
  const drawings = () => [
    ...document.querySelectorAll<SVGSVGElement>(".column.selected svg[data-export], .panel svg[data-export]"),
  ];
  const save = async (format: "svg" | "png") => {
    try {
      const sheet = sheetOf(drawings(), getComputedStyle(document.body).backgroundColor);
      const content = format === "svg" ? sheet.svg : await pngOf(sheet);
      download(content, `${info.name}_${props.state.tab}.${format}`, "image/svg+xml");
    } catch (error) {
      say(String(error));
    }
  };
  return (
    <div class="share" role="group" aria-label={t.share}>
      <button type="button" onClick={() => void copy()}>
        {t.copyLink}
      </button>
      {best &&
        (["png", "svg"] as const).map((format) => (
          <button key={format} type="button" onClick={() => void save(format)}>
            {t.save(format.toUpperCase())}
          </button>
        ))}
      {best && (
        <button
          type="button"
          title={t.savedJson}
          onClick={() => download(jsonOf(best), `${info.name}.json`, "application/json")}
        >
          {t.save("JSON")}
        </button>
      )}
      <span role="status" class="quiet">
        {message}
      </span>
    </div>
  );
}
