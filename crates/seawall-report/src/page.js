// Puts the texts of the chosen radius in their places, and names the group of the mark pointed at.
// They were all worded beforehand. Marks the section that is being read, and copies the summary.
(() => {
  const { strings, places } = JSON.parse(document.getElementById("texts").textContent);
  const slider = document.getElementById("slider");
  const follow = (attribute, put) => {
    for (const element of document.querySelectorAll(`[data-${attribute}]`)) {
      followers.push([places[element.dataset[attribute]], (text) => put(element, text)]);
    }
  };
  const followers = [];
  follow("text", (element, text) => {
    element.textContent = text;
    if (element.tagName === "LI") element.hidden = text === "";
  });
  follow("width", (element, text) => { element.style.width = text.replace("<", ""); });
  follow("move", (element, text) => { element.setAttribute("transform", text); });
  follow("words", (element, text) => { element.setAttribute("aria-valuetext", "radius " + text); });
  const show = () => {
    for (const [texts, put] of followers) put(strings[texts[slider.value]]);
  };
  slider.addEventListener("input", show);
  for (const button of document.querySelectorAll("[data-stop]")) {
    button.hidden = false;
    button.addEventListener("click", () => { slider.value = button.dataset.stop; show(); });
  }
  const steps = { ArrowRight: -1, ArrowDown: -1, ArrowLeft: 1, ArrowUp: 1, Home: Infinity, End: -Infinity };
  for (const chart of document.querySelectorAll("[data-marks]")) {
    const marks = [...chart.querySelectorAll("[role=img]")];
    const name = (event) => {
      const at = marks.indexOf(event.target.closest("[role=img]"));
      if (at >= 0) chart.nextElementSibling.textContent = marks[at].getAttribute("aria-label");
      return at;
    };
    chart.addEventListener("pointerover", name);
    chart.addEventListener("focusin", name);
    chart.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      const at = name(event);
      marks[at].tabIndex = -1;
      const next = marks[Math.min(Math.max(at + step, 0), marks.length - 1)];
      next.tabIndex = 0;
      next.focus();
    });
  }
  document.getElementById("dial").hidden = false;
  show();

  // The section being read: the last that began above the upper third of the window.
  const contents = document.getElementById("contents");
  const links = [...contents.querySelectorAll("a")];
  const sections = links.map((link) => document.getElementById(link.hash.slice(1)));
  const mark = () => {
    const line = innerHeight / 3;
    const below = sections.findIndex((section) => section.getBoundingClientRect().top > line);
    const ended = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    const at = ended || below < 0 ? links.length - 1 : Math.max(below - 1, 0);
    if (links[at].hasAttribute("aria-current")) return;
    for (const link of links) link.removeAttribute("aria-current");
    links[at].setAttribute("aria-current", "location");
    const [strip, link] = [contents.getBoundingClientRect(), links[at].getBoundingClientRect()];
    contents.scrollLeft += link.left + link.width / 2 - strip.left - strip.width / 2;
    contents.scrollTop += link.top + link.height / 2 - strip.top - strip.height / 2;
  };
  addEventListener("scroll", mark, { passive: true });
  addEventListener("resize", mark);
  mark();

  // The summary: to the clipboard; by the selection where that is not allowed; else left selected.
  const copy = document.getElementById("copy");
  const copied = document.getElementById("copied");
  const summary = document.getElementById("summary-text");
  const selected = () => {
    getSelection().selectAllChildren(summary);
    return document.execCommand("copy");
  };
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const title = document.querySelector("h1").textContent;
    const text = `${title}. ${summary.textContent}`.replace(/\s+/g, " ").trim();
    let done = true;
    try { await navigator.clipboard.writeText(text); } catch { done = selected(); }
    copied.textContent = done ? "Copied." : "Selected: press Ctrl+C (on a Mac ⌘C) to copy.";
  });
})();
