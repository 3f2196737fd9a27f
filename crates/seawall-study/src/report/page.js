// Puts the texts of the chosen radius in their places, and names the group of the mark pointed at.
// They were all worded beforehand.
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
})();
