// What is wrong with a page as it is shown: things that stick out, controls without a name, lines too tight for Thai,
// text too faint for its ground (WCAG 2.2 AA), a font that is not ours. An empty list is a good page.
() => {
  const shown = [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility({ opacityProperty: true }));
  const name = (one) => `${one.tagName}.${one.className} ${one.textContent.trim().slice(0, 40)}`;
  const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const isSeen = (one) => one.getBoundingClientRect().width > 1;

  const root = document.documentElement;
  const wide = root.scrollWidth > root.clientWidth ? [`the page is ${root.scrollWidth} wide`] : [];
  // What is wider than its card may be scrolled there, where the keyboard reaches it, too.
  const cut = shown.filter((one) => one.matches(".card:not([tabindex='0'])") && one.scrollWidth > one.clientWidth + 1);

  // The top bar stays in sight, however long the page is.
  const bar = document.querySelector(".topbar");
  scrollTo(0, root.scrollHeight);
  const lost = bar && Math.abs(bar.getBoundingClientRect().top) > 1 ? ["the top bar scrolls away"] : [];
  scrollTo(0, 0);

  const unnamed = shown.filter((one) => one.matches("input:not([type=hidden]), select, textarea, button, a"))
    .filter((one) => !(one.labels && one.labels.length) && !one.getAttribute("aria-label") && !one.textContent.trim());

  const tight = shown.filter((one) => hasText(one) && /[\u0e00-\u0e7f]/.test(one.textContent))
    .filter((one) => !["OPTION", "SCRIPT", "TITLE"].includes(one.tagName))
    .filter((one) => parseFloat(getComputedStyle(one).lineHeight) < 1.55 * parseFloat(getComputedStyle(one).fontSize));

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const read = (text) => {
    if (known.has(text)) return known.get(text);
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    known.set(text, [r, g, b, a / 255]);
    return known.get(text);
  };
  const over = (top, ground) => [0, 1, 2].map((i) => top[i] * top[3] + ground[i] * (1 - top[3]));
  const ground = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      const layer = read(getComputedStyle(at).backgroundColor);
      if (layer[3]) layers.unshift(layer);
      if (layer[3] === 1) break;
    }
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one) => {
    const below = ground(one);
    const [high, low] = [light(over(read(getComputedStyle(one).color), below)), light(below)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const faint = shown.filter((one) => hasText(one) && isSeen(one) && !one.disabled && contrast(one) < 4.5);

  const ours = [...document.fonts].some((font) => font.family.includes("Sarabun") && font.status === "loaded");
  return [
    ...wide,
    ...lost,
    ...cut.map((one) => `cut off: ${name(one)}`),
    ...unnamed.map((one) => `without a name: ${one.outerHTML.slice(0, 120)}`),
    ...tight.map((one) => `too tight: ${name(one)}`),
    ...faint.map((one) => `too faint (${contrast(one).toFixed(2)}): ${name(one)}`),
    ...(ours ? [] : ["the font is not ours"]),
  ];
}
