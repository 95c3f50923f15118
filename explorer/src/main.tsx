import { render } from "preact";
import { App } from "./app";
import { createEngine } from "./engine";
import "./style.css";
import { TEXTS, languageOf } from "./text";

const root = document.getElementById("app")!;

createEngine().then(
  (engine) => render(<App engine={engine} />, root),
  (error: unknown) => render(<Failure error={error} />, root),
);

function Failure(props: { error: unknown }) {
  const t = TEXTS[languageOf(navigator.languages)];
  return (
    <main class="failure">
      <p>{t.failedList}</p>
      <p class="quiet">{String(props.error)}</p>
    </main>
  );
}
