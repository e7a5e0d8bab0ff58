import { render } from "preact";
import { App } from "./app";
import { keepFresh } from "./model/service";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const host = document.getElementById("app");
if (host !== null) render(<App />, host);
keepFresh();
