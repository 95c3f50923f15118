/** Weights as a table of text, for those who cannot see the drawings: empty until it is unfolded. */

import { useState } from "preact/hooks";
import { useText } from "../text";

export function WeightTable(props: {
  caption: string;
  /** Above the names of the rows. */
  corner?: string;
  rows: string[];
  columns: string[];
  weights: number[][];
}) {
  const { rows, columns, weights } = props;
  const t = useText();
  const [open, setOpen] = useState(false);
  return (
    <details class="as-table" onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
      <summary>{t.asTable}</summary>
      {open && (
        <div class="scroll" role="region" aria-label={t.asTable}>
          <table>
            <caption>{props.caption}</caption>
            <thead>
              <tr>
                {props.corner ? <th scope="col">{props.corner}</th> : <td></td>}
                {columns.map((name, column) => (
                  <th key={column} scope="col" dir="auto">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((name, row) => (
                <tr key={row}>
                  <th scope="row" dir="auto">
                    {name}
                  </th>
                  {columns.map((_, column) => (
                    <td key={column}>{Math.round(100 * (weights[row]?.[column] ?? 0))}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
