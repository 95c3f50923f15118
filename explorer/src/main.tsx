import { render } from "preact";

render(<h1>Attention explorer</h1>, document.getElementById("app")!);
