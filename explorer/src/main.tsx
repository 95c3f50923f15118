import { render } from "preact";
import { App } from "./app";
import { createEngine } from "./engine";
import "./style.css";
import { TEXTS, TextContext, languageOf } from "./text";
import { Failed } from "./views/failed";

const root = document.getElementById("app")!;
const t = TEXTS[languageOf(navigator.languages)];

createEngine().then(
  (engine) => render(<App engine={engine} />, root),
  (error: Error) =>
    render(
      <TextContext.Provider value={t}>
        <Failed what={t.failedList} error={error} />
      </TextContext.Provider>,
      root,
    ),
);
