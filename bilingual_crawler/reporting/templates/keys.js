"use strict";
addEventListener("keydown", (event) => {
  // a key that is held down judges one pair
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  document.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
});
