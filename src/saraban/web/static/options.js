// Options in a list below a field: which one is marked, and how arrows move the mark. The focus stays in the field.
import { all } from "./dom.js";

export const Options = (input, list) => {
  let active = null;
  const items = () => all("[role=option]", list);
  const mark = (item) => {
    if (active) active.removeAttribute("aria-selected");
    active = item;
    if (!item) { input.removeAttribute("aria-activedescendant"); return; }
    item.setAttribute("aria-selected", "true");
    input.setAttribute("aria-activedescendant", item.id);
    item.scrollIntoView({ block: "nearest" });
  };
  const move = (step) => {
    const known = items();
    const next = active ? known.indexOf(active) + step : Math.min(step, 0);
    mark(known.at(next % known.length) || null);
  };
  const show = (shown) => {
    list.hidden = !shown;
    input.setAttribute("aria-expanded", String(shown));
    if (!shown) mark(null);
  };
  list.addEventListener("mousedown", (event) => event.preventDefault());
  return { items, mark, move, show, active: () => active };
};
