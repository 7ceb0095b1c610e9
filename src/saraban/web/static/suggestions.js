// What the box in the header suggests while somebody types: htmx brings it, the keyboard chooses. Enter alone searches.
import { $ } from "./dom.js";
import { Options } from "./options.js";

const input = $("#search-all");
if (input) {
  const list = $("#suggestions");
  const options = Options(input, list);
  let wanted = false; // what was asked for before Escape may come after it
  const close = () => { wanted = false; options.show(false); };
  input.addEventListener("input", () => { wanted = true; });
  input.addEventListener("blur", close);
  list.addEventListener("htmx:afterSwap", () => {
    options.mark(null);
    options.show(wanted && options.items().length > 0);
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.items().length) { options.show(true); options.move(step); }
    else if (event.key === "Enter" && options.active()) options.active().click();
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
  });
}
