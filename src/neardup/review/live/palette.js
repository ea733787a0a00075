// Dialogs that keys open.

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
