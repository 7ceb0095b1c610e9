// Draws the states and transitions of a workflow, laid out by dagre; a table on the same page says them in words.
import { Graph, layout } from "./vendor/dagre.esm.js";
import { $, all, make } from "./dom.js";

const SPACING = { nodesep: 28, edgesep: 28, ranksep: 36, marginx: 6, marginy: 6 };
const SVG = "http://www.w3.org/2000/svg";

const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const lines = (texts) => texts.map((text) => make("div", {}, text));

// A state carries the actions that stay in it; its border says whether documents start or end there.
const stateBox = (state, transitions) => {
  const loops = transitions.filter((one) => one.start === state.name && one.to === state.name).flatMap((one) => one.labels);
  const kind = `diagram-state${state.initial ? " is-initial" : ""}${state.terminal ? " is-final" : ""}`;
  return make("div", { class: `diagram-box ${kind}` }, make("strong", {}, state.label), ...lines(loops.map((one) => `↻ ${one}`)));
};

// Corners are rounded: a line goes from middle to middle of its parts, and each corner only pulls it.
const path = (points) => {
  const middle = (one, other) => `${(one.x + other.x) / 2} ${(one.y + other.y) / 2}`;
  const bends = points.slice(1, -1).map((point, index) => `Q${point.x} ${point.y} ${middle(point, points[index + 2])}`);
  const last = points.at(-1);
  return `M${points[0].x} ${points[0].y}L${middle(points[0], points[1])}${bends.join("")}L${last.x} ${last.y}`;
};

const place = (box, { x, y }) => {
  box.style.left = `${x - box.offsetWidth / 2}px`;
  box.style.top = `${y - box.offsetHeight / 2}px`;
};

const draw = async (figure) => {
  const { states, transitions } = JSON.parse(figure.dataset.diagram);
  const sheet = make("div", { class: "diagram-sheet", "aria-hidden": "true" });
  const graph = new Graph().setGraph(SPACING).setDefaultEdgeLabel(() => ({}));
  const boxes = new Map(states.map((state) => [state.name, stateBox(state, transitions)]));
  const arrows = transitions.filter((one) => one.start !== one.to);
  const labels = arrows.map((one) => make("div", { class: "diagram-box diagram-action" }, ...lines(one.labels)));
  sheet.append(...boxes.values(), ...labels);
  figure.hidden = false;
  $(".diagram", figure).replaceChildren(sheet);
  // Boxes are measured in the page's own font, which wraps Thai where words end.
  await document.fonts.ready;
  const size = (box) => ({ width: box.offsetWidth, height: box.offsetHeight });
  for (const [name, box] of boxes) graph.setNode(name, size(box));
  arrows.forEach((one, index) => graph.setEdge(one.start, one.to, { ...size(labels[index]), labelpos: "c" }));
  layout(graph);
  const { width, height } = graph.graph();
  const head = svg("marker", { id: "diagram-head", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { class: "diagram-head", d: "M0 0L10 5L0 10z" }));
  const drawn = arrows.map((one) =>
    svg("path", { class: "diagram-line", d: path(graph.edge(one.start, one.to).points), "marker-end": "url(#diagram-head)" }));
  sheet.prepend(svg("svg", { width, height }, svg("defs", {}, head), ...drawn));
  sheet.style.width = `${width}px`;
  sheet.style.height = `${height}px`;
  for (const [name, box] of boxes) place(box, graph.node(name));
  arrows.forEach((one, index) => place(labels[index], graph.edge(one.start, one.to)));
  figure.dataset.drawn = "";
};

const drawAll = () => all("[data-diagram][hidden]").forEach(draw);
document.addEventListener("htmx:afterSettle", drawAll);
drawAll();
