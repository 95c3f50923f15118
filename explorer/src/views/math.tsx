/** Formulas. KaTeX is loaded when the first one is shown; where it can't be, LaTeX stands there. */

import { useEffect, useRef } from "preact/hooks";

type Katex = typeof import("katex").default;

let loading: Promise<Katex> | null = null;

function load(): Promise<Katex> {
  loading ??= Promise.all([import("katex"), import("katex/dist/katex.min.css")]).then(
    ([module]) => module.default,
  );
  return loading;
}

export function Formula(props: { latex: string }) {
  const ref = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let current = true;
    const show = (katex: Katex) => {
      if (!current || !ref.current) return;
      // Nodes, not markup: a strict policy allows their styles, and text stays text.
      katex.render(props.latex, ref.current, {
        displayMode: true,
        throwOnError: false,
        trust: false,
        strict: "ignore",
        maxExpand: 100,
      });
    };
    load().then(show).catch(() => {
      if (current && ref.current) ref.current.textContent = props.latex;
    });
    return () => {
      current = false;
    };
  }, [props.latex]);
  return <span class="formula" ref={ref} data-latex={props.latex} />;
}
