// Dialogs that keys open, and the panes.

const one = (selector, within) => within.querySelector(selector);

function dialog(content, done) {
  const made = document.createElement("dialog"), from = document.activeElement;
  made.innerHTML = content;
  made.addEventListener("close", () => {
    made.remove();
    from.focus({ preventScroll: true });
    done(made.returnValue);
  });
  document.body.append(made);
  return made;
}

// resolves to the words that a reader enters; to "" if the dialog is left
export function ask(label) {
  return new Promise((resolve) => {
    const content = '<form method="dialog"><p><label for="answer"></label> <input id="answer" maxlength="200" autocomplete="off"> <button value="yes">Save</button></p></form>';
    const made = dialog(content, (answer) => resolve(answer && one("input", made).value.trim()));
    one("label", made).textContent = label;
    made.showModal();
  });
}

// the panes beside a page are folded or shown, on later pages, too: early.js reads what is stored here
export function fold(say) {
  if (!document.querySelector(".panes")) return false;
  const root = document.documentElement, folded = root.dataset.panes !== "folded";
  root.dataset.panes = folded ? "folded" : "";
  try {
    localStorage.setItem("neardup-panes", root.dataset.panes);
  } catch {
    // without storage, on this page alone
  }
  say(`Panes are ${folded ? "folded" : "shown"}.`);
}
