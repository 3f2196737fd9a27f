// Saves a figure as a drawing that stands alone: its colours written into it, light whatever the page is,
// its legend below.
(() => {
  const XML = "http://www.w3.org/2000/svg";
  const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size"];
  const [WIDTH, LINE, STRIP] = [760, 22, 330];
  const make = (name, attributes, text) => {
    const made = document.createElementNS(XML, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };
  const write = (x, y, text, anchor) =>
    make("text", { x, y, "font-size": "13px", fill: "#1b1f24", "text-anchor": anchor || "start" },
      text.length > 90 ? text.slice(0, 89) + "…" : text);
  // A copy with the looks that style sheets gave the original.
  const dressed = (original) => {
    const copy = original.cloneNode(true);
    const [from, to] = [original, copy].map((svg) => [svg, ...svg.querySelectorAll("*")]);
    from.forEach((element, k) => {
      const looks = getComputedStyle(element);
      for (const look of LOOKS) to[k].setAttribute(look, looks.getPropertyValue(look));
      for (const name of ["class", "tabindex", "data-move", "data-marks", "role", "aria-hidden"]) to[k].removeAttribute(name);
    });
    return copy;
  };
  // Rows of a table with a strip each, as one drawing.
  const stacked = (table) => {
    const all = make("svg", { width: WIDTH });
    [...table.rows].forEach((row, k) => {
      const texts = [...row.cells].filter((cell) => !cell.querySelector("svg")).map((cell) => cell.innerText);
      texts.forEach((text, n) => all.append(n ? write(190 + 65 * n, 15 + 28 * k, text, "end") : write(8, 15 + 28 * k, text)));
      const strip = row.querySelector("svg");
      if (!strip) return;
      const own = dressed(strip);
      const place = { x: STRIP, y: 28 * k, width: WIDTH - STRIP, height: 28 };
      for (const [key, value] of Object.entries(place)) own.setAttribute(key, value);
      all.append(own);
    });
    all.setAttribute("height", 28 * table.rows.length);
    return all;
  };
  const alone = (figure) => {
    const chart = figure.querySelector("svg.wide") || figure.querySelector("svg.chart");
    const table = figure.querySelector("table.love");
    const drawing = chart ? dressed(chart) : stacked(table);
    const box = chart ? chart.viewBox.baseVal : { width: WIDTH, height: 28 * table.rows.length };
    const title = figure.dataset.title || figure.querySelector("figcaption, caption").textContent;
    const legend = document.getElementById(figure.dataset.legend) || figure.querySelector(".legend");
    const letters = figure.querySelector(".mark") ? document.querySelectorAll("#marks li") : [];
    const entries = [...legend.children, ...letters];
    const height = LINE + box.height + LINE * entries.length + 10;
    const all = make("svg", { xmlns: XML, width: box.width, height, viewBox: `0 0 ${box.width} ${height}`, "font-family": "sans-serif" });
    all.append(make("title", {}, title), make("rect", { width: "100%", height: "100%", fill: "#ffffff" }), write(8, 16, title));
    drawing.setAttribute("width", box.width);
    drawing.setAttribute("height", box.height);
    drawing.setAttribute("y", LINE);
    all.append(drawing);
    entries.forEach((entry, k) => {
      const y = LINE + box.height + LINE * k + 4;
      const swatch = entry.querySelector("svg");
      if (swatch) {
        const own = dressed(swatch);
        own.setAttribute("x", 8);
        own.setAttribute("y", y);
        all.append(own);
      }
      all.append(write(swatch ? 50 : 8, y + 11, entry.innerText.trim()));
    });
    return all;
  };
  for (const button of document.querySelectorAll("[data-svg]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const root = document.documentElement;
      root.classList.add("light");
      const drawing = alone(button.closest("figure"));
      root.classList.remove("light");
      const blob = new Blob([new XMLSerializer().serializeToString(drawing)], { type: "image/svg+xml" });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${button.dataset.svg}.svg`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  }
})();
