import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./look.css";
import { App } from "./app.jsx";
import { applyTheme } from "./theme.jsx";

applyTheme();
render(<App />, document.body);
