// The editor of definitions: numbers beside the lines, a fault leads to its line, a new line begins where the last one did.
import { $, all } from "./dom.js";

const area = $(".editor textarea");
if (area) {
  const gutter = $(".editor-lines");
  let wrong = new Set();
  let count = 0;
  const number = (force) => {
    const lines = area.value.split("\n").length;
    if (lines === count && !force) return;
    count = lines;
    gutter.replaceChildren(...Array.from({ length: lines }, (_, index) => {
      const line = document.createElement("span");
      line.textContent = `${index + 1}\n`;
      if (wrong.has(index + 1)) line.className = "is-wrong";
      return line;
    }));
    gutter.scrollTop = area.scrollTop;
  };
  const mark = () => {
    wrong = new Set(all("#verdict [data-line]").map((link) => Number(link.dataset.line)));
    number(true);
  };
  area.addEventListener("input", () => number(false));
  area.addEventListener("scroll", () => { gutter.scrollTop = area.scrollTop; });
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing) return;
    const before = area.value.slice(0, area.selectionStart);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const deeper = /[{[]\s*$/.test(line) ? "  " : "";
    event.preventDefault();
    area.setRangeText(`\n${/^\s*/.exec(line)[0]}${deeper}`, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line]");
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    const lines = area.value.split("\n");
    const line = Math.min(Number(link.dataset.line), lines.length);
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(start, start + lines[line - 1].length);
    area.scrollTop = (line - 6) * parseFloat(getComputedStyle(area).lineHeight);
  }, true);
  document.addEventListener("htmx:afterSettle", (event) => { if (event.target.id === "verdict") mark(); });
  mark();
}
