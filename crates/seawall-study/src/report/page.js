// Puts the texts of the chosen radius in their places. They were all worded beforehand.
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
  document.getElementById("dial").hidden = false;
  show();
})();
