/** Beam search as a tree, with its settings and the n best translations. */

import { useId, useMemo, useRef, useState } from "preact/hooks";
import type { ModelInfo, Result } from "../engine/types";
import { type Placed, layOutTree, lineOf } from "../draw/tree";
import { labels } from "../draw/words";
import { MOST_BEAM, type State } from "../state";
import { useText } from "../text";
import { measurer } from "../ui";

export function Beam(props: {
  info: ModelInfo;
  result: Result;
  state: State;
  onChange: (part: Partial<State>) => void;
}) {
  const t = useText();
  const { state, onChange, result } = props;
  return (
    <div class="beam">
      <div class="sliders">
        <Slider label={t.beamSize} min={1} max={MOST_BEAM} step={1} value={state.beam} onValue={(beam) => onChange({ beam })} />
        <Slider label={t.lengthPenalty} min={0} max={2} step={0.1} value={state.length} onValue={(length) => onChange({ length })} />
        <Slider label={t.coveragePenalty} min={0} max={2} step={0.1} value={state.coverage} onValue={(coverage) => onChange({ coverage })} />
      </div>
      {result.tree.length ? <Tree name={props.info.title} result={result} /> : <p class="quiet">{t.noTree}</p>}
      <Best result={result} />
    </div>
  );
}

export function Slider(props: {
  label: string;
  min: number;
  max: number;
  step: number;
  value: number;
  onValue: (value: number) => void;
}) {
  const id = useId();
  const digits = props.step < 1 ? 1 : 0;
  return (
    <div class="slider">
      <label for={id}>{props.label}</label>
      <input
        id={id}
        type="range"
        min={props.min}
        max={props.max}
        step={props.step}
        value={props.value}
        onInput={(event) => props.onValue(Number((event.target as HTMLInputElement).value))}
      />
      <output for={id}>{props.value.toFixed(digits)}</output>
    </div>
  );
}

function Tree(props: { name: string; result: Result }) {
  const t = useText();
  const { tree } = props.result;
  const [dropped, setDropped] = useState(true);
  const [current, setCurrent] = useState<number | null>(null);
  const [shown, setShown] = useState<number | null>(null); // that is pointed at
  const box = useRef<SVGSVGElement>(null);
  const measure = useMemo(() => measurer(14), []);
  const names = useMemo(() => labels(tree.map((node) => node.piece)).map((name) => (name === "</s>" ? t.end : name)), [tree, t]);
  const layout = useMemo(
    () => layOutTree(tree.map((node, i) => ({ ...node, piece: names[i]! })), dropped, measure),
    [tree, names, dropped, measure],
  );
  const active = current !== null && layout.places.has(current) ? current : (layout.nodes[0]?.index ?? 0);
  const line = new Set(shown === null ? [] : lineOf(tree, shown));
  const text = (index: number) =>
    lineOf(tree, index)
      .map((at) => tree[at]!.piece)
      .filter((piece) => piece !== "</s>")
      .join("")
      .replaceAll("▁", " ")
      .trim();
  const describe = (index: number) =>
    t.node(
      names[index]!,
      tree[index]!.score.toFixed(2),
      text(index) || t.end,
      t.states[tree[index]!.state],
    );

  const go = (placed: Placed | undefined) => {
    if (!placed) return;
    setCurrent(placed.index);
    box.current?.querySelector<SVGElement>(`[data-node="${placed.index}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = layout.nodes[layout.places.get(active) ?? 0];
    if (!here) return;
    const beside = layout.nodes.filter((other) => other.node.step === here.node.step);
    const row = beside.indexOf(here);
    const to = {
      ArrowLeft: () => layout.nodes[layout.places.get(here.node.parent) ?? -1],
      ArrowRight: () => {
        const children = layout.nodes.filter((other) => other.node.parent === here.index);
        return children.find((other) => other.node.best) ?? children[0];
      },
      ArrowUp: () => beside[row - 1],
      ArrowDown: () => beside[row + 1],
      Home: () => layout.nodes[0],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    go(to());
  };
  return (
    <section class="tree">
      <div class="tree-head">
        <p class="keys" aria-hidden="true">
          <span class="key live">{t.states.live}</span>
          <span class="key finished">{t.states.finished}</span>
          <span class="key dropped">{t.states.dropped}</span>
          <span class="key best">{t.best}</span>
        </p>
        <label class="check">
          <input type="checkbox" checked={dropped} onChange={() => setDropped(!dropped)} /> {t.showDropped}
        </label>
      </div>
      <div class="scroll">
        <svg
          ref={box}
          role="tree"
          aria-label={t.tree(props.name)}
          width={layout.width}
          height={layout.height}
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          onKeyDown={onKeyDown}
          data-export
        >
          <g fill="none" aria-hidden="true">
            {layout.nodes.map(({ index, node, x, y }) => {
              const from = layout.nodes[layout.places.get(node.parent) ?? -1];
              if (!from) return null;
              const start = from.x + measure(from.node.piece) + 8;
              const bend = (start + x) / 2;
              const on = line.has(index) && line.has(from.index);
              return (
                <path
                  key={index}
                  class={`branch ${node.state}${node.best ? " best" : ""}${on ? " on" : ""}`}
                  d={`M${start},${from.y - 4}C${bend},${from.y - 4} ${bend},${y - 4} ${x - 5},${y - 4}`}
                />
              );
            })}
          </g>
          {layout.nodes.map(({ index, node, x, y }) => (
            <g
              key={index}
              role="treeitem"
              aria-level={node.step + 1}
              aria-label={describe(index)}
              aria-selected={shown === index}
              data-node={index}
              tabindex={index === active ? 0 : -1}
              class={`hypothesis ${node.state}${node.best ? " best" : ""}${line.has(index) ? " on" : ""}`}
              onMouseEnter={() => setShown(index)}
              onMouseLeave={() => setShown(null)}
              onFocus={() => {
                setCurrent(index);
                setShown(index);
              }}
              onBlur={() => setShown(null)}
            >
              <rect x={x - 5} y={y - 15} width={measure(node.piece) + 12} height="27" rx="5" />
              <text x={x} y={y}>
                {node.piece}
              </text>
              <text class="score" x={x} y={y + 9}>
                {node.score.toFixed(2)}
              </text>
            </g>
          ))}
        </svg>
      </div>
      <p class="readout">{shown !== null && <bdi>{describe(shown)}</bdi>}</p>
      <p class="quiet hint">{t.treeHint}</p>
    </section>
  );
}

function Best(props: { result: Result }) {
  const t = useText();
  return (
    <section class="n-best">
      <h3>{t.nBest}</h3>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">{t.rank}</th>
              <th scope="col">{t.output}</th>
              <th scope="col">{t.score}</th>
            </tr>
          </thead>
          <tbody>
            {props.result.translations.map((translation, rank) => (
              <tr key={rank}>
                <td>{rank + 1}</td>
                <td dir="auto">{translation.text || t.noTranslation}</td>
                <td class="figure">{translation.score.toFixed(3)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
