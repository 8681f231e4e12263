/* A chart over time, drawn by uPlot; its colours follow the page. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { timeRange } from "./lib/format.js";
import { useObservable } from "./lib/observable.js";
import { theme } from "./theme.jsx";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* light-dark() values as they apply now: a canvas does not know them. */
function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/* Hours and minutes, with seconds where the marks are closer. */
function timeText(seconds, all) {
  const isClose = all.length > 1 && all[1] - all[0] < 60;
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(isClose && { second: "2-digit" }) });
}

/* at: times in milliseconds; series: [{label, values, colour: "--c1", fill?}]; seconds: the longest time that is shown, 0: all; least: the
 * shortest, also for one point or none. */
export function Chart({ label, at, series, format, seconds = 0, least = 60, height = 160 }) {
  const box = useRef();
  const plot = useRef(null);
  const name = useObservable(theme);
  const shape = series.map((one) => one.label).join();
  const data = at.length > 0 ? [at.map((ms) => ms / 1000), ...series.map((one) => one.values)] : [[Date.now() / 1000], ...series.map(() => [null])];
  const newest = useRef(data);
  newest.current = data;
  useEffect(() => {
    const grid = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: colour("--muted"), font: `11px ${css("font-family") || "system-ui"}`, ticks: { show: false } };
    const range = (plotted, min, max) => timeRange(min, plotted.data[0].length > 1 ? max : min, seconds, least); /* for a single point max is a day later */
    plot.current = new uPlot({
      width: Math.max(200, box.current.clientWidth),
      height,
      padding: [10, 26, 0, 0], /* at the right, half of a time with seconds */
      cursor: { y: false, points: { size: 6 } },
      legend: { live: true, markers: { width: 2 } },
      scales: { x: { range }, y: { range: (_, min, max) => [0, max > 0 ? max * 1.15 : 1] } },
      axes: [{ ...axis, grid: { show: false }, space: 70, size: 28, values: (_, ticks) => ticks.map((seconds) => timeText(seconds, ticks)) }, { ...axis, grid, size: 52, space: 36, values: (_, ticks) => ticks.map(format) }],
      series: [{ value: (_, seconds) => (seconds ? new Date(seconds * 1000).toLocaleTimeString("en-GB") : "") },
        ...series.map((one) => ({
          label: one.label, stroke: colour(one.colour), width: 1.5, points: { show: (plotted) => plotted.data[0].length < 3 }, value: (_, value) => (value === null || value === undefined ? "–" : format(value)),
          fill: one.fill ? colour(one.colour).replace("rgb(", "rgba(").replace(")", ", 0.12)") : undefined,
        }))],
    }, newest.current, box.current);
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(200, box.current.clientWidth), height }));
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [name, shape, height, seconds, least]);
  useEffect(() => {
    plot.current?.setData(data);
  });
  return <div class="chart" ref={box} role="img" aria-label={label} style={{ minHeight: height }} />;
}

/* A small line without axes. */
export function Spark({ values, colour: stroke = "var(--accent)" }) {
  const max = Math.max(1e-9, ...values);
  const points = values.map((value, i) => `${((100 * i) / Math.max(1, values.length - 1)).toFixed(1)},${(26 - (24 * value) / max).toFixed(1)}`);
  return (
    <svg class="spark" viewBox="0 0 100 28" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(" ")} fill="none" stroke={stroke} stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  );
}
